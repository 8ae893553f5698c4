"""The softmax model by exact Newton steps, block by block: Seeger (2006), appendix B.

Written from the paper, with inverses of the (n, n) blocks, to check the solver that
knows only products: it shares no code with the library.
"""

import numpy as np


def fit(kernels, Y, alpha, max_iter=100):
    """Return C and the objective for a kernel matrix per class, no intercept.

    Minimises the negative log likelihood at F_c = K_c C_c plus
    alpha sum_c C_c' K_c C_c / 2, by the system (10) of the paper in alpha C.
    """
    kernels = [K / alpha for K in kernels]
    n, m = Y.shape

    def at(C):
        F = np.column_stack([K @ c for K, c in zip(kernels, C.T, strict=True)])
        shifted = F - F.max(axis=1, keepdims=True)
        log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        return F, np.exp(log_p), -np.sum(Y * log_p) + np.sum(C * F) / 2

    C = np.zeros((n, m))
    F, P, value = at(C)
    for _ in range(max_iter):
        right = P * (F - np.sum(P * F, axis=1, keepdims=True)) + Y - P
        roots = np.sqrt(P)
        inverses = [
            np.linalg.inv(np.eye(n) + d[:, None] * K * d)
            for K, d in zip(kernels, roots.T, strict=True)
        ]

        def times(X, inverses=inverses):  # A^-1, block diagonal
            return np.column_stack([A @ x for A, x in zip(inverses, X.T, strict=True)])

        scaled = right / roots
        solved = times(scaled)
        middle = sum(d[:, None] * A * d for A, d in zip(inverses, roots.T, strict=True))
        shared = np.linalg.solve(middle, np.sum(roots * (scaled - solved), axis=1))
        new = roots * (solved + times(roots * shared[:, None]))
        if np.abs(new - C).max() <= 1e-12:
            break
        step = 1.0
        while True:
            trial = C + step * (new - C)
            moved = at(trial)
            if moved[2] <= value + 1e-14 * abs(value) or step < 1e-8:
                break
            step /= 2
        C, (F, P, value) = trial, moved
    return C / alpha, value
