r"""The mean of missing targets given all that were observed, in all rows.

Let targets have the covariance M = K (x) L + I (x) N: f that of the kernel and L, noise
the covariance N within a row. Complete targets Y have the density of
exp(-y' M^-1 y / 2), so that the missing ones, given the others, have their mean where
that is largest:

.. math:: (M^{-1} y)_u = 0,

a linear system in the entries u that are missing, symmetric and positive definite. With
K = U diag(d) U' and L v_q = w_q N v_q, V'NV = I, a product is

.. math:: M^{-1} Y = \Big( YV - U \Big[ \frac{d_i w_q}{1 + d_i w_q} (U'YV)_{iq} \Big]
          \Big) V'.

Conjugate gradients solve it, preconditioned row by row: Q is the mean of the blocks of
M^-1 that belong to one row, and Q_uu its block of what a row misses. That solves at
once for what the rest of the row tells, which is nearly all where outputs are closely
correlated.

A free intercept has a flat prior: K and Y are centred.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from okl.numerics.memory import require_memory
from okl.operators import Spectrum
from okl.optimization.conjugate_gradient import conjugate_gradient

# Tolerance of the preconditioned residual, and the most products.
_TOLERANCE, _MOST = 1e-6, 1000
# What is added to correlations of noise, so that outputs may repeat each other.
_JITTER = 1e-10


def expected_targets(
    spectrum: Spectrum,
    signal: np.ndarray,
    noise: np.ndarray,
    targets: np.ndarray,
    *,
    centered: bool,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Fill in missing targets with their mean given those that were observed.

    Parameters
    ----------
    spectrum : Spectrum
        Of K, or of HKH where the intercept is free.
    signal, noise : array (n_outputs, n_outputs)
        L and N. An output without noise is filled in with the mean of its targets.
    targets : array (n_samples, n_outputs)
        NaN where they are missing; some are observed of every output.
    centered : bool
        Whether the intercept is free.
    start : array (n_samples, n_outputs), optional
        What to begin with in the place of the means.

    Returns
    -------
    array (n_samples, n_outputs)

    Raises
    ------
    MemoryError
        If a matrix of outputs for each pattern of missing targets cannot fit.
    """
    missing = np.isnan(targets)
    first = np.nanmean(targets, axis=0) if start is None else start
    filled = np.where(missing, first, targets)
    own = np.diagonal(noise) > 0
    roots = np.sqrt(np.diagonal(noise)[own])
    L, N = (C[np.ix_(own, own)] / np.outer(roots, roots) for C in (signal, noise))
    N[np.diag_indices_from(N)] += _JITTER
    w, V = scipy.linalg.eigh(L, N)
    joint = spectrum.eigenvalues[:, None] * np.clip(w, 0.0, None)
    gain, U = joint / (1.0 + joint), spectrum.vectors
    unknown = missing[:, own]

    def product(rows: np.ndarray) -> np.ndarray:
        inside = rows @ V
        if centered:
            inside -= inside.mean(axis=0)
        inside -= U @ (gain * (U.T @ inside))
        return unknown * (inside @ V.T)

    of_row = (V * (1.0 - gain.sum(axis=0) / len(targets))) @ V.T
    blocks, which = _blocks(of_row, unknown)

    def precondition(rows: np.ndarray) -> np.ndarray:
        return np.einsum("ijk,ik->ij", blocks[which], rows)

    change = conjugate_gradient(
        product,
        -product(filled[:, own] / roots),
        precondition,
        rtol=_TOLERANCE,
        max_iter=_MOST,
    )
    filled[:, own] += roots * change
    return filled


def _blocks(Q: np.ndarray, unknown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Q_uu^-1 of each pattern, zero for what is observed, and that of rows."""
    patterns, which = np.unique(unknown, axis=0, return_inverse=True)
    m = len(Q)
    require_memory(
        8 * m**2 * (3 * len(patterns) + len(unknown)),
        f"What the rows tell of {m} outputs in {len(patterns)} patterns",
        "Set n_iter=0, or fit on fewer rows.",
    )
    both = patterns[:, :, None] & patterns[:, None]
    inside = np.where(both, Q, 0.0)
    inside[:, range(m), range(m)] += ~patterns
    return np.linalg.inv(inside) * both, which.ravel()
