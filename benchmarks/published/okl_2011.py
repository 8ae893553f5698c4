"""Block coordinate descent in (C, L): Dinuzzo et al. (2011), algorithm 1, corrected.

The printed update of L does not keep it symmetric; the symmetric minimiser for
fixed C solves the Lyapunov equation A L + L A + 2 alpha L = (A Lp + Lp A) + alpha
C'KC with A = E'E, E = KC. It need not be PSD, so negative eigenvalues are clipped.
Everything is done in the eigenbasis of K, on all outputs, warm-started.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh


def solve_path(d, rotated_targets, alphas, tol, max_iter):
    """Return the iterations at each alpha, and the final relative gaps."""
    m = rotated_targets.shape[1]
    L = np.zeros((m, m))
    iterations, gaps = [], []
    for alpha in alphas:
        for n_iter in range(1, max_iter + 1):
            values, V = eigh(L)
            values = np.clip(values, 0, None)
            L = (V * values) @ V.T
            C = ((rotated_targets @ V) / (d[:, None] * values + alpha)) @ V.T
            E = d[:, None] * C
            moment = C.T @ E
            # at the exact f for this L the gap is a distance
            gap = alpha / 2 * np.sum((L - moment / 2) ** 2)
            primal = alpha / 2 * (np.vdot(C, rotated_targets) + np.sum(L * L))
            if gap <= tol * primal or n_iter == max_iter:
                break
            a, W = eigh(E.T @ E)
            right = W.T @ L @ W
            right = (a[:, None] + a) * right + alpha * (W.T @ moment @ W)
            L = W @ (right / (a[:, None] + a + 2 * alpha)) @ W.T
        iterations.append(n_iter)
        gaps.append(gap / primal)
    return iterations, gaps
