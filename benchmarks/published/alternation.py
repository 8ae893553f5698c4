"""f and L in turn, nothing else: the closed form for f, the structure's update of L."""

from __future__ import annotations

from okl.certificates import relative_gap
from okl.output_kernels import SpectralKernel
from okl.problems import Rotated
from okl.solvers.output_kernel.alternation import best_output_kernel
from okl.solvers.predictor.spectral import best_coefficients

# The update of a structure without a closed form is solved to this relative gap.
STEP = 1e-8


def alternate(
    rotated: Rotated,
    kernel: SpectralKernel,
    alpha: float,
    rounds: int,
    tol: float = 0.0,
) -> tuple[SpectralKernel, float]:
    """Alternate from an L until the gap is closed; return L and the last gap.

    With ``tol = 0`` the gap is looked at once, after the last round.
    """
    for _ in range(rounds):
        coefficients = best_coefficients(rotated, kernel, alpha)
        if tol and _gap(rotated, kernel, alpha) <= tol:
            break
        kernel = best_output_kernel(rotated, coefficients, tol=STEP)
    return kernel, _gap(rotated, kernel, alpha)


def _gap(rotated: Rotated, kernel: SpectralKernel, alpha: float) -> float:
    coefficients = best_coefficients(rotated, kernel, alpha)
    primal, dual = rotated.bounds(coefficients, kernel, alpha)
    return relative_gap(primal, dual, rotated.problem.gap_scale)
