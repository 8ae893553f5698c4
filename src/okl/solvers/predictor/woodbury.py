r"""The inverse of D + Z Z' from that of a small matrix, Z = V'(R_1 (x) B_1, ...).

D is diagonal and V V' = W the second derivative of the loss. By Woodbury's identity

.. math:: (D + Z Z')^{-1} = D^{-1} - D^{-1} Z (I + Z' D^{-1} Z)^{-1} Z' D^{-1},

and the small matrix has a row for each pair of a column of R_q and one of B_q. Where D
has one number d_i for each row, the blocks of Z'D^-1 Z are

.. math:: R_q' \operatorname{diag}_i \bigl((B_q' W_i B_r)_{ab} / d_i\bigr) R_r,

W_i the second derivative in row i, with the coupling of classes by the softmax loss.
"""

from __future__ import annotations

from collections.abc import Callable

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, definite_solver, namespace
from okl.solvers.predictor.tree_preconditioner import weighted_grams

# Rows of Z that are multiplied at once.
_ROWS = 1024


def woodbury(
    terms: list[tuple[Array, Array]], curvature: Curvature, noise: Array
) -> Callable[[Array], Array]:
    """Return the inverse as a map of arrays (n_samples, n_outputs).

    Terms are pairs of R_q (n_samples, k_q) and B_q (n_outputs, p_q), and the noise is
    D, one number for each row where the loss couples the outputs. Without terms D alone
    is inverted.
    """
    if not terms:
        return lambda right: right / noise
    xp, solve = namespace(noise), small_solver(terms, curvature, noise)

    def apply(right: Array) -> Array:
        rows = curvature.factor(right / noise)
        inside = [xp.reshape((R.T @ rows @ B).T, (-1, 1)) for R, B in terms]
        solved, first, back = solve(xp.concat(inside, axis=0)), 0, 0.0 * right
        for part, (R, B) in zip(inside, terms, strict=True):
            last = first + part.shape[0]
            some = xp.reshape(solved[first:last, :], (B.shape[1], -1))
            back, first = back + R @ (some.T @ B.T), last
        return (right - curvature.adjoint(back)) / noise

    return apply


def small_solver(
    terms: list[tuple[Array, Array]], curvature: Curvature, noise: Array
) -> Callable[[Array], Array]:
    """Return what solves with I + Z'D^-1 Z, given as for `woodbury`."""
    matrix = _gram(terms, curvature, noise)
    identity = namespace(matrix).eye(matrix.shape[0], dtype=matrix.dtype)
    return definite_solver(matrix + identity)


def through_few(
    weights: Array,
    image: Callable[[Array], Array],
    adjoint: Callable[[Array], Array],
    small: Callable[[Array], Array],
    *,
    refined: bool,
) -> Callable[[Array], Array]:
    """Return what solves with D + Phi Phi' for arrays (k, p), D^-1 the weights (k, 1).

    ``image`` and ``adjoint`` multiply by Phi and Phi', and ``small`` solves with
    I + Phi' D^-1 Phi. Solutions are ``refined`` by one more where D is so small that
    of a right side nearly in the range of Phi the difference loses digits.
    """

    def once(right: Array) -> Array:
        right = weights * right
        return right - weights * image(small(adjoint(right)))

    def solve(right: Array) -> Array:
        found = once(right)
        if refined:
            found = found + once(right - image(adjoint(found)) - found / weights)
        return found

    return solve


def _gram(
    terms: list[tuple[Array, Array]], curvature: Curvature, noise: Array
) -> Array:
    """Return Z'D^-1 Z, which has p_q blocks of k_q rows for each R_q and B_q.

    The part of the diagonal of W comes from one matrix R'D_cR for each output c or, if
    there is one B only, for each pair of its columns where these are fewer. What the
    outputs of a row share in W, a product of a matrix with itself, is subtracted.
    """
    weights = curvature.diagonal / noise
    xp, (n, n_outputs) = namespace(weights), weights.shape
    sample = xp.concat([R for R, _ in terms], axis=1)
    few = len(terms) == 1 and terms[0][1].shape[1] ** 2 < n_outputs
    if few:
        weights = weights @ _pairs(terms[0][1], terms[0][1])
    n_grams, k = weights.shape[1], sample.shape[1]
    grams = xp.reshape(weighted_grams(sample, weights).T, (n_grams, k, k))
    lines, top = [], 0
    for R, B in terms:
        line, left = [], 0
        for other, C in terms:
            part = grams[:, top : top + R.shape[1], left : left + other.shape[1]]
            part = xp.reshape(part, (n_grams, -1))
            shape = B.shape[1], C.shape[1], R.shape[1], other.shape[1]
            block = xp.reshape(part if few else _pairs(B, C).T @ part, shape)
            block = xp.permute_dims(block, (0, 2, 1, 3))
            line.append(xp.reshape(block, (B.shape[1] * R.shape[1], -1)))
            left += other.shape[1]
        lines.append(xp.concat(line, axis=1))
        top += R.shape[1]
    gram = xp.concat(lines, axis=0)
    if curvature.shared is not None:
        shared = curvature.shared / xp.sqrt(noise)
        for first in range(0, n, _ROWS):
            some = slice(first, min(first + _ROWS, n))
            rows = [(shared[some, :] @ B, R[some, :]) for R, B in terms]
            parts = [u[:, :, None] * R[:, None, :] for u, R in rows]
            S = xp.concat([xp.reshape(x, (x.shape[0], -1)) for x in parts], axis=1)
            gram -= S.T @ S
    return gram


def _pairs(B: Array, C: Array) -> Array:
    """Return the products of each column of B with each of C, as columns."""
    xp = namespace(B)
    return xp.reshape(B[:, :, None] * C[:, None, :], (B.shape[0], -1))
