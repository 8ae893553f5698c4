"""From covariances to correlations, where zeros stay zeros."""

from __future__ import annotations

import numpy as np


def without_rounding(covariance: np.ndarray) -> np.ndarray:
    """Set entries to zero that are round-off relative to the largest variance.

    A matrix computed from its eigenvectors has entries of 1e-17 instead of zeros.

    Parameters
    ----------
    covariance : array (m, m)
    """
    eps = np.finfo(covariance.dtype).eps
    round_off = len(covariance) * eps * np.diag(covariance).max()
    return np.where(np.abs(covariance) > round_off, covariance, 0)


def correlation(covariance: np.ndarray) -> np.ndarray:
    """Return L_ij / sqrt(L_ii L_jj), zero where L_ij is round-off.

    An output of variance zero has correlation zero, even with itself.

    Parameters
    ----------
    covariance : array (m, m)
        L, symmetric positive semi-definite.
    """
    L = without_rounding(covariance)
    variances = np.diag(L)
    varies = variances > 0
    scale = np.zeros_like(variances)
    scale[varies] = 1 / np.sqrt(variances[varies])
    # One factor at a time: their product overflows for tiny variances.
    found = np.clip(L * scale[:, np.newaxis] * scale, -1, 1)
    np.fill_diagonal(found, varies)  # one, without rounding
    return found
