"""Dinuzzo & Fukumizu (2011), algorithm 1, with its stopping line the right way round.

Alternates between A and B of L = BB', warm-started from large alpha. As published it
stops on the change of B; here on the duality gap, or after so many iterations. A look
at the gap costs more than an iteration.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh


def solve_path(d, rotated_targets, alphas, rank, tol, max_iter, look_every=10):
    """Return the iterations at each alpha, and the final relative gaps."""
    m = rotated_targets.shape[1]
    B = np.eye(m, rank)
    iterations, gaps = [], []
    for alpha in alphas:
        for n_iter in range(1, max_iter + 1):
            values, U = eigh(B.T @ B)
            V = (rotated_targets @ (B @ U)) / (
                d[:, None] * np.clip(values, 0, None) + alpha
            )
            if (n_iter - 1) % look_every == 0 or n_iter == max_iter:
                gap = _relative_gap(d, rotated_targets, B @ U, V, alpha)
                if gap <= tol:
                    break
            E = d[:, None] * V
            gram = E.T @ E
            gram[np.diag_indices_from(gram)] += alpha
            B = cho_solve(cho_factor(gram), E.T @ rotated_targets).T @ U.T
        iterations.append(n_iter)
        gaps.append(gap)
    return iterations, gaps


def _relative_gap(d, targets, B, A, alpha):
    """Return the gap of the model L = BB', F = KAB' (A is best for B)."""
    residual = targets - d[:, None] * (A @ B.T)
    primal = 0.5 * np.sum(residual**2) + alpha / 2 * (
        np.sum(d[:, None] * A * A) + np.sum(B * B)
    )
    s, W = eigh(residual.T @ (d[:, None] * residual) / alpha**2)
    R, Y = residual @ W, targets @ W
    squares = np.maximum(np.sum(R * R, axis=0), 1e-300)
    t = np.minimum(np.sum(R * Y, axis=0) / squares, 1 / np.sqrt(np.maximum(s, 1e-300)))
    t = np.maximum(t, 0)
    dual = np.sum(t * np.sum(R * Y, axis=0)) - np.sum(t**2 * squares) / 2
    return (primal - dual) / primal
