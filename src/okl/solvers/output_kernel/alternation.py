"""The best L for a given f, and a first L: what block coordinate descent alternates.

For the f of `okl.solvers.predictor.spectral` the best L is the structure's update at
P = F'K^+F = Theta'K Theta. Either half lowers the same convex objective.
"""

from __future__ import annotations

from okl.numerics.arrays import Array, namespace, symmetric
from okl.output_kernels import SpectralKernel
from okl.problems import Rotated
from okl.solvers.predictor.spectral import best_coefficients

# Fixed-point rounds for the scale of a first output kernel, and when to stop them.
_SCALE_ROUNDS = 20
_SCALE_CHANGE = 0.1


def best_output_kernel(
    rotated: Rotated, coefficients: Array, *, tol: float
) -> SpectralKernel:
    """Return the structure's update for U'Theta (k, n_outputs)."""
    moment = coefficients.T @ (rotated.eigenvalues * coefficients)
    step = rotated.problem.structure.update(symmetric(moment), tol=tol)
    return SpectralKernel.from_matrix(step)


def typical_scale(rotated: Rotated, alpha: float, *, tol: float) -> float:
    """Return the mean eigenvalue of the best multiple of the identity.

    Found by alternating, one number at a time.
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
