"""f and L in turn, for structures that have an update of L but no region.

For an L the best f is a closed form (`okl.solvers.predictor.spectral`); for an f the
best L is the structure's update at P = F'K^+F = Theta'K Theta. Both lower the same
convex objective, so the iteration is monotone and L stays PSD. Holding the coefficients
C instead of f while L is updated, as published (Dinuzzo et al. 2011, Lemma 4.1), has
neither property.

With f given, the range of L can only shrink. Where L is singular at the optimum the gap
may stay at 1e-5 to 1e-2, and where L is nearly singular it takes many rounds to close.
Structures with a region (`okl.optimization.regions`) have Newton's method instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from okl.numerics.arrays import Array, namespace, symmetric
from okl.output_kernels import SpectralKernel
from okl.problems import Rotated
from okl.solvers.output_kernel.value_function import NewtonIterate
from okl.solvers.predictor.spectral import best_coefficients

# The update is solved to a fraction of the gap asked for.
_UPDATE_TOLERANCE = 1e-2
# Fixed-point rounds for the scale of a first output kernel, and when to stop them.
_SCALE_ROUNDS = 20
_SCALE_CHANGE = 0.1


def alternate(
    rotated: Rotated, alpha: float, start: SpectralKernel | None, *, tol: float
) -> Iterator[NewtonIterate]:
    """Yield models without end, from L of a neighbouring alpha if it has full rank."""
    tol = _UPDATE_TOLERANCE * tol
    if start is not None and start.rank == rotated.targets.shape[1]:
        kernel = start
    else:
        kernel = first_output_kernel(rotated, alpha, tol=tol)
    while True:
        coefficients = best_coefficients(rotated, kernel, alpha)
        bounds = rotated.bounds(coefficients, kernel, alpha)
        yield NewtonIterate(kernel, *bounds, kernel)
        kernel = best_output_kernel(rotated, coefficients, tol=tol)


def best_output_kernel(
    rotated: Rotated, coefficients: Array, *, tol: float
) -> SpectralKernel:
    """Return the structure's update for U'Theta (k, n_outputs)."""
    moment = coefficients.T @ (rotated.eigenvalues * coefficients)
    step = rotated.problem.structure.update(symmetric(moment), tol=tol)
    return SpectralKernel.from_matrix(step)


def typical_scale(rotated: Rotated, alpha: float, *, tol: float) -> float:
    """Return the mean eigenvalue of the best multiple of the identity.

    It is found by alternating between f and this one number.
    """
    targets = rotated.targets
    xp = namespace(targets)
    n_outputs = targets.shape[1]
    identity = xp.eye(n_outputs, dtype=targets.dtype)
    energy = rotated.eigenvalues * targets * targets
    mean = float(xp.mean(rotated.eigenvalues)) if energy.shape[0] else 0.0
    scale = alpha / mean if mean > 0 else 0.0
    for _ in range(_SCALE_ROUNDS):
        shrunk = scale / (rotated.eigenvalues * scale + alpha)
        moment = xp.sum(energy * shrunk**2) / n_outputs * identity
        step = rotated.problem.structure.update(moment, tol=tol)
        previous = scale
        scale = float(xp.mean(xp.linalg.diagonal(step)))
        if scale <= 0 or abs(scale - previous) <= _SCALE_CHANGE * previous:
            break
    return max(scale, 0.0)


def first_output_kernel(
    rotated: Rotated, alpha: float, *, tol: float
) -> SpectralKernel:
    """Return a full-rank output kernel of the right scale, and somewhat of its shape.

    One alternation from a scaled identity gives the shape.
    """
    targets = rotated.targets
    one = namespace(targets).ones((targets.shape[1],), dtype=targets.dtype)
    kernel = SpectralKernel(typical_scale(rotated, alpha, tol=tol) * one)
    coefficients = best_coefficients(rotated, kernel, alpha)
    return best_output_kernel(rotated, coefficients, tol=tol)
