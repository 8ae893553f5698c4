"""f and L in turn, nothing else: the closed form for f, the structure's step for L."""

from __future__ import annotations

from okl.certificates import relative_gap
from okl.output_kernels import OutputKernel
from okl.problems import Rotated
from okl.solvers.alternation import (
    best_output_kernel,
    in_outputs,
    known_coefficients,
)

# The step of a structure without a closed form is solved to this relative gap.
STEP = 1e-8


def alternate(
    rotated: Rotated, kernel: OutputKernel, alpha: float, rounds: int, tol: float = 0.0
) -> tuple[OutputKernel, float]:
    """Alternate from an L until the gap is closed; return L and the last gap.

    With ``tol = 0`` the gap is looked at once, after the last round.
    """
    for _ in range(rounds):
        coordinates = known_coefficients(rotated, kernel, alpha)
        coefficients = in_outputs(coordinates, kernel)
        if tol and _gap(rotated, kernel, alpha) <= tol:
            break
        kernel = best_output_kernel(rotated, coefficients, tol=STEP)
    return kernel, _gap(rotated, kernel, alpha)


def _gap(rotated: Rotated, kernel: OutputKernel, alpha: float) -> float:
    coefficients = in_outputs(known_coefficients(rotated, kernel, alpha), kernel)
    primal, dual = rotated.bounds(coefficients, kernel, alpha)
    return relative_gap(primal, dual, rotated.problem.reference)
