"""The objective and its dual in plain loops, from the formulas and not from `okl`.

P = sum_i |y_i - f_i|^2 / 2 + alpha (sum_st (L^+)_st <theta_s, K theta_t> / 2 + R(L))
D = sum_i (alpha <c_i, y_i> - alpha^2 |c_i|^2 / 2) - alpha R*(C'KC / 2)
"""

import cvxpy as cp
import numpy as np
import scipy.linalg
from scipy.optimize import bisect

from okl.losses import Hinge, Huber, Logistic, Quantile, Softmax, Squared, SquaredHinge
from okl.structures import (
    Cluster,
    Diagonal,
    Fixed,
    Frobenius,
    Graph,
    Identity,
    LowRank,
    Mean,
    Mixing,
    Scaled,
    Sparse,
    TraceBall,
    Tree,
    TreeTerm,
)
from tests.samples import psd


def fixed_kernel(structure, m):  # noqa: C901, PLR0911 - one per structure
    """Return the L that a structure fixes, or None."""
    if isinstance(structure, Identity):
        return np.eye(m)
    if isinstance(structure, Fixed):
        return np.asarray(structure.output_kernel, dtype=float)
    if isinstance(structure, Diagonal):
        return np.diag(structure.variances).astype(float)
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
    if isinstance(structure, Mixing):
        return sum(np.outer(column, column) for column in structure.mixing.T)
    if isinstance(structure, Scaled):
        inside = fixed_kernel(structure.structure, m)
        return None if inside is None else inside * pairs(structure)
    is_tree = isinstance(structure, Tree | TreeTerm)
    return tree_kernel(structure) if is_tree else None


def tree_kernel(structure):
    """Return L from the nodes that any two leaves have above them."""
    tree, variances, paths = structure.class_tree, structure.variances, []
    if isinstance(structure, Tree):  # by depth
        variances = np.array([structure.root, *variances])[tree.depths]
    for node in tree.leaves:
        path = [node]
        while path[-1] > 0:
            path.append(tree.parents[path[-1]])
        paths.append(set(path))
    return np.array([[sum(variances[p] for p in a & b) for b in paths] for a in paths])


def pairs(structure):
    """Return the products of two scales of a scaled structure (m, m)."""
    return np.outer(structure.scales, structure.scales)


def admissible(structure, m, seed):
    """Draw an L that the structure allows."""
    known = fixed_kernel(structure, m)
    if known is not None:
        return known
    if isinstance(structure, Scaled):
        return admissible(structure.structure, m, seed) * pairs(structure)
    L = psd(m, seed, structure.max_rank(m))
    if isinstance(structure, TraceBall):
        return L / (1.1 * np.trace(L))
    if isinstance(structure, Cluster):
        # between the bounds, and half of what the budget leaves to share
        J = np.ones((m, m)) / m
        inside = (np.eye(m) - J) @ L @ (np.eye(m) - J)
        low, high = 1 / structure.within, 1 / structure.between
        room = (structure.n_clusters - 1) * (high - low)
        scale = max(np.linalg.eigvalsh(inside)[-1], 1e-300)
        grown = min(high - low, room / 2) * inside / max(scale, np.trace(inside))
        return J / structure.mean + low * (np.eye(m) - J) + grown
    return L


def penalty(structure, L):
    """Return R(L) by loops over its entries, for an L that is allowed."""
    m = len(L)
    if isinstance(structure, Scaled):
        return penalty(structure.structure, L / pairs(structure))
    if isinstance(structure, Frobenius):
        return sum(L[s, t] ** 2 for s in range(m) for t in range(m)) / 2
    trace = sum(L[s, s] for s in range(m))
    if isinstance(structure, LowRank):
        return trace / 2
    if isinstance(structure, TraceBall):
        assert trace <= 1 + 1e-9
        inverse = np.linalg.inv(L) if structure.eps else np.zeros((m, m))
        return structure.eps * sum(inverse[s, s] for s in range(m)) / 2
    if isinstance(structure, Sparse):
        inverse = np.linalg.inv(L)
        total = 0.0
        for s in range(m):
            total += structure.eps * inverse[s, s] + structure.mu * L[s, s]
            total += (1 - structure.mu) * sum(abs(L[s, t]) for t in range(m))
        return total / 2
    assert isinstance(structure, Cluster) or fixed_kernel(structure, m) is not None
    return 0.0


def conjugate(structure, S):  # noqa: PLR0911 - one per structure
    """Return R*(S), the bound on the rank aside."""
    m = len(S)
    s = np.linalg.eigvalsh(S)
    if isinstance(structure, Scaled):
        return conjugate(structure.structure, S * pairs(structure))
    if isinstance(structure, Frobenius):
        return sum(S[s, t] ** 2 for s in range(m) for t in range(m)) / 2
    if isinstance(structure, LowRank):
        return 0.0 if 2 * s[-1] <= 1 + 1e-12 else np.inf
    if isinstance(structure, TraceBall):
        eps = structure.eps
        if eps == 0:
            return max(s[-1], 0.0)
        # l_i = sqrt(eps / (2 (nu - s_i))) sums to one
        low, high = s[-1] + eps / 2, s[-1] + eps * m**2 / 2
        if m > 1:
            low = bisect(
                lambda nu: np.sum(np.sqrt(eps / (2 * (nu - s)))) - 1,
                low,
                high,
                xtol=1e-15 * high,
            )
        weights = np.sqrt(eps / (2 * (low - s)))
        return s @ weights - np.sum(eps / (2 * weights))
    if isinstance(structure, Cluster):
        J = np.ones((m, m)) / m
        rest = np.eye(m) - J
        inside = np.linalg.eigvalsh(rest @ S @ rest)[::-1]
        largest = sum(max(inside[i], 0.0) for i in range(structure.n_clusters - 1))
        low, high = 1 / structure.within, 1 / structure.between
        return (
            np.vdot(S, J) / structure.mean
            + np.vdot(S, rest) * low
            + (high - low) * largest
        )
    if isinstance(structure, Sparse):
        return _sparse_conjugate(structure, S)
    L = fixed_kernel(structure, m)
    return sum(S[s, t] * L[s, t] for s in range(m) for t in range(m))


def _sparse_conjugate(structure, S):
    """Maximise <S, L> - R(L) with a conic solver, or in closed form for mu = 1."""
    m = len(S)
    if structure.mu == 1:
        values = 1 - 2 * np.linalg.eigvalsh(S)
        if values[0] < 0:
            return np.inf
        return -np.sqrt(structure.eps) * np.sum(np.sqrt(values))
    L = cp.Variable((m, m), PSD=True)
    value = cp.trace(S @ L) - sparse_penalty(structure, L)
    problem = cp.Problem(cp.Maximize(value))
    problem.solve(solver=cp.CLARABEL)
    return problem.value


def sparse_penalty(structure, L):
    """Return R(L) of the sparse structure as an expression of a conic solver."""
    return (
        structure.eps * cp.tr_inv(L)
        + structure.mu * cp.trace(L)
        + (1 - structure.mu) * cp.sum(cp.abs(L))
    ) / 2


def conic_penalty(structure, L):
    """Return R(L) and its constraints for a PSD variable of a conic solver."""
    m = L.shape[0]
    if isinstance(structure, Scaled):
        D = np.diag(1 / np.asarray(structure.scales))
        return conic_penalty(structure.structure, D @ L @ D)
    if isinstance(structure, Frobenius):
        return cp.sum_squares(L) / 2, []
    if isinstance(structure, LowRank):
        return cp.trace(L) / 2, []
    if isinstance(structure, Sparse):
        return sparse_penalty(structure, L), []
    if isinstance(structure, TraceBall):
        inverse = cp.tr_inv(L) * structure.eps / 2 if structure.eps else 0.0
        return inverse, [cp.trace(L) <= 1]
    assert isinstance(structure, Cluster)
    J = np.ones((m, m)) / m
    rest = np.eye(m) - J
    low, high = 1 / structure.within, 1 / structure.between
    S = L - J / structure.mean
    r = structure.n_clusters
    return 0.0, [
        S @ np.ones(m) == 0,
        S - low * rest >> 0,
        high * rest - S >> 0,
        cp.trace(S) <= (r - 1) * high + (m - r) * low,
    ]


def root_of(K):
    """Return A with AA' = K, of as many columns as K has rank."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-10 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def conic_loss(loss, Y, F, weights=None):
    """Return the sum of w V(y, f) as an expression of a conic solver."""
    if isinstance(loss, Softmax):
        w = np.ones((len(Y), 1)) if weights is None else weights
        rows = cp.log_sum_exp(F, axis=1) - cp.sum(cp.multiply(Y, F), axis=1)
        return cp.sum(cp.multiply(w[:, 0], rows))
    w = np.ones_like(Y) if weights is None else weights + np.zeros_like(Y)
    if isinstance(loss, Squared):
        entries = cp.square(Y - F) / 2
    elif isinstance(loss, Huber):
        entries = cp.huber(Y - F, 1.35 if loss.delta is None else loss.delta) / 2
    elif isinstance(loss, Quantile):
        entries = cp.pos(Y - F) - (1 - loss.quantile) * (Y - F)
    elif isinstance(loss, Logistic):
        entries = cp.logistic(-cp.multiply(Y, F))
    elif isinstance(loss, Hinge):
        entries = cp.pos(1 - cp.multiply(Y, F))
    else:
        assert isinstance(loss, SquaredHinge)
        entries = cp.square(cp.pos(1 - cp.multiply(Y, F))) / 2
    return cp.sum(cp.multiply(w, entries))


def conic_optimum(K, Y, alpha, structure, intercept, loss=None, weights=None):
    """Solve (P) and return its value and its predictions.

    With K = AA' and F = AZ the norm is tr(L^-1 Z'Z): jointly convex in (Z, L). Where L
    comes out singular the solver is more exact without it: the least of the norm plus
    tr L is twice the nuclear norm of Z, and in the ball the least norm is its square.
    """
    A = root_of(K)
    (n, m), k = Y.shape, A.shape[1]
    Z = cp.Variable((k, m))
    b = cp.Variable((1, m)) if intercept else np.zeros((1, m))
    constraints = []
    F = A @ Z + np.ones((n, 1)) @ b
    known = fixed_kernel(structure, m)
    if known is not None:
        # Z = W B', L = BB': the norm is ||W||^2
        B = root_of(known)
        W = cp.Variable((k, B.shape[1]))
        F = A @ W @ B.T + np.ones((n, 1)) @ b
        regulariser = cp.sum_squares(W) / 2
    elif isinstance(structure, LowRank):
        regulariser = cp.normNuc(Z)
    elif isinstance(structure, TraceBall) and structure.eps == 0:
        regulariser = cp.square(cp.normNuc(Z)) / 2
    else:
        L = cp.Variable((m, m), PSD=True)
        penalty, constraints = conic_penalty(structure, L)
        regulariser = cp.matrix_frac(Z.T, L) / 2 + penalty
    value = conic_loss(loss or Squared(), Y, F, weights) + alpha * regulariser
    problem = cp.Problem(cp.Minimize(value), constraints)
    problem.solve(solver=cp.CLARABEL)
    assert problem.status == "optimal"
    return problem.value, F.value


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


def dual(K, Y, C, alpha, structure, conjugate_value=None):
    """Return D(C); with a free intercept C must have columns that sum to zero."""
    n, m = Y.shape
    value = 0.0
    for i in range(n):
        for t in range(m):
            value += alpha * C[i, t] * Y[i, t] - alpha**2 * C[i, t] ** 2 / 2
    if conjugate_value is None:
        conjugate_value = conjugate(structure, C.T @ K @ C / 2)
    return value - alpha * conjugate_value


def best_implied_dual(K, Y, dual_coef, L, alpha, structure, intercept=None):
    """Return the largest D of the two C that a model implies, made feasible.

    The residuals over alpha, and Theta L^+ on the range of L with the residuals
    elsewhere. Or that of C = 0, which no model implies, where both are negative.
    """
    residual = (Y - predictions(K, dual_coef, intercept)) / alpha
    values, vectors = np.linalg.eigh(L)
    V = vectors[:, values > 1e-12 * values[-1]]
    own = dual_coef @ np.linalg.pinv(L, rcond=1e-12, hermitian=True)
    own = own + residual - residual @ V @ V.T
    found = []
    for implied in (residual, own):
        mean = 0.0 if intercept is None else implied.mean(axis=0)
        for C, bound in feasible(K, Y, implied - mean, L, alpha, structure):
            found.append(dual(K, Y, C, alpha, structure, bound))
    if max(found) < 0:
        found.append(dual(K, Y, np.zeros_like(Y), alpha, structure))
    return max(found)


def feasible(K, Y, C, L, alpha, structure):
    """Yield C made such that R* is finite, with an upper bound of R* there."""
    S = C.T @ K @ C / 2
    if isinstance(structure, LowRank):
        yield scaled_below(K, Y, C, alpha, 0.5), 0.0
    elif isinstance(structure, TraceBall) and structure.eps == 0:
        bound = np.vdot(S, L)
        yield scaled_below(K, Y, C, alpha, bound), bound
    elif isinstance(structure, Sparse):
        m = len(S)
        N = np.eye(m) - 2 * S
        inverse = np.linalg.inv(L)
        for s in range(m):
            for t in range(m):
                if s != t:
                    entry = structure.eps * (inverse @ inverse)[s, t] + 2 * S[s, t]
                    N[s, t] += np.clip(entry, structure.mu - 1, 1 - structure.mu)
        below = max(-np.linalg.eigvalsh(N)[0], 0.0)
        mixed = (N + below * np.eye(m)) / (1 + below)
        roots = np.sqrt(np.clip(np.linalg.eigvalsh(mixed), 0, None))
        yield C / np.sqrt(1 + below), -np.sqrt(structure.eps) * np.sum(roots)
        A = N + 2 * S
        if below > 0 and np.linalg.eigvalsh(A)[0] > 0:
            # 2 S v = s A v: directions with s > 1 are shortened until s = 1
            s, V = scipy.linalg.eigh(2 * S, A)
            mixing = V @ np.diag(1 / np.sqrt(np.maximum(s, 1))) @ np.linalg.inv(V)
            N = A - 2 * mixing.T @ S @ mixing
            roots = np.sqrt(np.clip(np.linalg.eigvalsh(N), 0, None))
            yield C @ mixing, -np.sqrt(structure.eps) * np.sum(roots)
    else:
        yield C, conjugate(structure, S)


def scaled_below(K, Y, C, alpha, bound):
    """Scale C so that no eigenvalue of C'KC / 2 is above a bound."""
    s, W = np.linalg.eigh(C.T @ K @ C / 2)
    scaled = np.zeros_like(C)
    for j in range(len(s)):
        c, y = C @ W[:, j], Y @ W[:, j]
        if c @ c <= 1e-24 * np.vdot(C, C):  # rounding, not a direction of C
            continue
        best = (c @ y) / (alpha * c @ c)
        longest = (max(s[j], 1e-300) / bound) ** -0.5
        scaled += np.outer(c * max(min(best, longest), 0.0), W[:, j])
    return scaled
