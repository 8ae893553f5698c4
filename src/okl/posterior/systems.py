r"""What targets tell of a block of outputs that were observed in different rows.

Outputs that L = B B' ties together are theta_t = sum_a B_ta z_a, the z_a standard
normal and as many as B has columns; each has an intercept b of flat prior. Given
the observed targets (z, b) is normal again, and there are two ways to its covariance:

- in coordinates, by the Cholesky factor R of the precision of (z, b): with a_t(x) the
  vector that takes (z, b) to f_t(x) + b_t, the covariance of outputs t and u at x is
  (R^-1 a_t)'(R^-1 a_u);
- in the observed targets, by the factor R of their covariance: the prior covariance
  less (R^-1 k_t)'(R^-1 k_u), k_t(x) the covariance of f_t(x) and the targets, and b by
  generalised least squares.

The smaller of both systems is taken.
"""

from __future__ import annotations

import numpy as np

from okl.numerics.memory import require_memory
from okl.posterior.entry_system import EntrySystem
from okl.posterior.in_coordinates import InCoordinates
from okl.posterior.in_targets import InTargets

_REMEDY = (
    "Use weights of shape (n_samples,) and complete targets (the closed form), a "
    "linear kernel, an output kernel of low rank or with many zeros, or fewer rows."
)


def system_of(
    training: np.ndarray,
    weights: np.ndarray,
    factor: np.ndarray,
    alpha: float,
    free_intercept: bool,
) -> EntrySystem:
    """Factorise: training (n, r), weights (n, m), B (m, q).

    Raises
    ------
    MemoryError
        If the system cannot fit.
    numpy.linalg.LinAlgError
        If alpha is at rounding level beside the kernels.
    """
    n_observed = int(np.count_nonzero(weights))
    size = training.shape[1] * factor.shape[1] + weights.shape[1] * free_intercept
    require_memory(
        3 * 8 * min(n_observed, size) ** 2,
        f"The standard deviation with {n_observed} targets observed in different rows",
        _REMEDY,
    )
    side = InTargets if n_observed < size else InCoordinates
    return side.of(training, weights, factor, alpha, free_intercept)
