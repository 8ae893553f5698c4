"""The output kernel as a similarity between outputs.

The output kernel L is, up to a factor, a prior covariance of the outputs. Its
correlation, L_ij / sqrt(L_ii L_jj), compares outputs whatever their scale. Displays
show it unless the covariance is asked for.

Two outputs whose entry of L is zero are not related, and an output that L sets to zero
is related to nothing: its correlations are zero, its own included. "Zero" means zero up
to round-off (`okl.numerics.correlation`): otherwise round-off would be an edge of a
graph, and division by a variance of round-off would give correlations of one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from okl.numerics.correlation import correlation, without_rounding
from okl.numerics.validation import check_choice

ASYMMETRY = 1e-5  # largest asymmetry by rounding, relative to the largest entry
KINDS = ("correlation", "covariance")


def check_output_kernel(output_kernel: Any) -> np.ndarray:
    """Return the output kernel as a floating-point array, after checking it.

    Parameters
    ----------
    output_kernel : array-like of shape (n_outputs, n_outputs)
        A symmetric matrix of finite numbers.

    Returns
    -------
    ndarray of shape (n_outputs, n_outputs)
        The same matrix.
    """
    L = np.asarray(output_kernel)
    L = L if L.dtype.kind == "f" else L.astype(float)
    if L.ndim != 2 or L.shape[0] != L.shape[1] or L.shape[0] == 0:
        raise ValueError(
            f"output_kernel has shape {L.shape}; expected (n_outputs, n_outputs), "
            "such as the output_kernel_ of a fitted estimator."
        )
    if not np.isfinite(L).all():
        raise ValueError(
            "output_kernel holds NaN or infinity; expected finite numbers: check that "
            "the fit converged."
        )
    asymmetry, scale = np.abs(L - L.T).max(), np.abs(L).max()
    if asymmetry > ASYMMETRY * scale:
        raise ValueError(
            f"output_kernel differs from its transpose by {asymmetry:.3g}; expected a "
            "symmetric matrix: pass (L + L.T) / 2 if that is what you mean."
        )
    variance = np.diagonal(L).min()
    if variance < -ASYMMETRY * scale:
        raise ValueError(
            f"output_kernel has the negative variance {variance:.3g} on its diagonal; "
            "expected a covariance of the outputs, whose diagonal is not negative."
        )
    return L


def similarity(L: np.ndarray, kind: str) -> np.ndarray:
    """Return the similarity of each pair of outputs.

    Parameters
    ----------
    L : ndarray of shape (n_outputs, n_outputs)
        The output kernel.
    kind : {"correlation", "covariance"}
        L_ij / sqrt(L_ii L_jj), or L_ij; zero where L_ij is round-off.

    Returns
    -------
    ndarray of shape (n_outputs, n_outputs)
        The similarities.
    """
    check_choice(kind, "kind", KINDS)
    return correlation(L) if kind == "correlation" else without_rounding(L)
