"""The objective and its dual in plain loops, from the formulas and not from `okl`.

P = sum_i |y_i - f_i|^2 / 2 + alpha (sum_st (L^+)_st <theta_s, K theta_t> / 2 + R(L))
D = sum_i (alpha <c_i, y_i> - alpha^2 |c_i|^2 / 2) - alpha R*(C'KC / 2)
"""

import numpy as np

from okl.structures import Fixed, Frobenius, Graph, Identity, LowRank, Mean


def fixed_kernel(structure, m):
    """Return the L that a structure fixes, or None."""
    if isinstance(structure, Identity):
        return np.eye(m)
    if isinstance(structure, Fixed):
        return np.asarray(structure.output_kernel, dtype=float)
    if isinstance(structure, Mean):
        spread = np.eye(m) - np.full((m, m), 1 / m)
        return np.linalg.inv(np.eye(m) + structure.gamma * spread)
    if isinstance(structure, Graph):
        A = np.asarray(structure.adjacency, dtype=float)
        laplacian = np.zeros((m, m))
        for s in range(m):
            for t in range(m):
                if s != t:
                    laplacian[s, s] += A[s, t]
                    laplacian[s, t] -= A[s, t]
        return np.linalg.inv(laplacian + structure.gamma * np.eye(m))
    return None


def penalty(structure, L):
    """Return R(L) by loops over its entries."""
    m = len(L)
    if isinstance(structure, Frobenius):
        return sum(L[s, t] ** 2 for s in range(m) for t in range(m)) / 2
    if isinstance(structure, LowRank):
        return sum(L[s, s] for s in range(m)) / 2
    assert fixed_kernel(structure, m) is not None
    return 0.0


def conjugate(structure, S):
    """Return R*(S), the bound on the rank aside."""
    m = len(S)
    if isinstance(structure, Frobenius):
        return sum(S[s, t] ** 2 for s in range(m) for t in range(m)) / 2
    if isinstance(structure, LowRank):
        return 0.0 if 2 * np.linalg.eigvalsh(S)[-1] <= 1 + 1e-12 else np.inf
    L = fixed_kernel(structure, m)
    return sum(S[s, t] * L[s, t] for s in range(m) for t in range(m))


def predictions(K, dual_coef, intercept=None):
    """Return K Theta + b, entry by entry."""
    n, m = dual_coef.shape
    F = np.zeros((n, m))
    for i in range(n):
        for t in range(m):
            F[i, t] = sum(K[i, j] * dual_coef[j, t] for j in range(n))
            F[i, t] += 0.0 if intercept is None else intercept[t]
    return F


def primal(K, Y, dual_coef, L, alpha, structure, intercept=None):
    """Return P of a model whose coefficients lie in the range of L."""
    n, m = Y.shape
    F = predictions(K, dual_coef, intercept)
    loss = sum((Y[i, t] - F[i, t]) ** 2 for i in range(n) for t in range(m)) / 2
    inverse = np.linalg.pinv(L, rcond=1e-12, hermitian=True)
    norm = 0.0
    for s in range(m):
        for t in range(m):
            norm += inverse[s, t] * (dual_coef[:, s] @ K @ dual_coef[:, t])
    return loss + alpha * (norm / 2 + penalty(structure, L))


def dual(K, Y, C, alpha, structure):
    """Return D(C); with a free intercept C must have columns that sum to zero."""
    n, m = Y.shape
    value = 0.0
    for i in range(n):
        for t in range(m):
            value += alpha * C[i, t] * Y[i, t] - alpha**2 * C[i, t] ** 2 / 2
    return value - alpha * conjugate(structure, C.T @ K @ C / 2)


def implied_dual_variables(K, Y, dual_coef, L, alpha, structure, intercept=None):
    """Return the two C that a model implies, made feasible: the larger dual counts.

    The residuals over alpha, and Theta L^+ on the range of L with the residuals
    elsewhere.
    """
    residual = (Y - predictions(K, dual_coef, intercept)) / alpha
    values, vectors = np.linalg.eigh(L)
    V = vectors[:, values > 1e-12 * values[-1]]
    own = dual_coef @ np.linalg.pinv(L, rcond=1e-12, hermitian=True)
    own = own + residual - residual @ V @ V.T
    return [feasible(K, Y, C, alpha, structure, intercept) for C in (residual, own)]


def feasible(K, Y, C, alpha, structure, intercept=None):
    """Centre C if the intercept is free, and scale it into the domain of R*."""
    if intercept is not None:
        C = C - C.mean(axis=0)
    if isinstance(structure, LowRank):
        s, W = np.linalg.eigh(C.T @ K @ C)
        scaled = np.zeros_like(C)
        for j in range(len(s)):
            c, y = C @ W[:, j], Y @ W[:, j]
            if c @ c <= 1e-24 * np.vdot(C, C):  # rounding, not a direction of C
                continue
            best = (c @ y) / (alpha * c @ c)
            longest = max(s[j], 1e-300) ** -0.5
            scaled += np.outer(c * max(min(best, longest), 0.0), W[:, j])
        C = scaled
    return C
