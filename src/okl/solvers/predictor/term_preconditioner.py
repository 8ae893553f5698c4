r"""An approximate inverse of the system of a Newton step with several kernels.

The system is alpha I + V'(sum_q K_q (x) L_q) V, with V V' the second derivative of the
loss. Few equations are solved as they are: all of them, where there are few, or those
of the entries that have a weight at all. Of more, each K_q is replaced by a few of its
columns, K_q ~ R_q R_q', and what is done then depends on the weights.

Where all outputs of a row weigh about the same, as those of a squared loss do, each row
is given the mean d_i of its weights, and each K_q a number besides, K_q ~ R_q R_q' +
r_q I; no columns if it is diagonal, as that of the term of a row. The numbers join
alpha I in

.. math:: N = \alpha I + \sum_q \bar d r_q L_q.

A congruence T with T'NT = I turns the L_q into T'L_qT. In the directions
of their sum they are nearly diagonal, and exactly so if there is only one: then each
direction j is a small system I + sum_q l_qj R_q'DR_q of its own.

Where the weights of a row differ, as those of probabilities and of missing targets do,
their mean would be worse than nothing. With
L_q = B_q B_q' the system is nearly D + Z Z', Z = V'(R_1 (x) B_1, R_2 (x) B_2, ...), D
diagonal, whose inverse is that of the matrix I + Z'D^-1 Z by Woodbury's identity.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, definite_solver, eigh, namespace, symmetric
from okl.operators import DiagonalOperator, JointSum, NystroemFactor, OperatorTerms
from okl.solvers.predictor.tree_preconditioner import weighted_grams

# Entries up to this number are solved for directly.
_DIRECT = 1000
# The least weight of a row that its mean stands for, as a part of the largest.
_EVEN = 0.5
# Rows of Z that are multiplied at once.
_ROWS = 1024
# The entries of all small matrices.
_ENTRIES = 2**25

Approximate = Callable[[Array], Array]


def largest_rank(operator: OperatorTerms, n_outputs: int) -> int:
    """Return how many columns of each K_q leave room for a matrix for each output."""
    alone = [isinstance(term, DiagonalOperator) for term in operator.terms]
    n_factors = max(len(alone) - sum(alone), 1)
    return max(int((_ENTRIES / n_outputs) ** 0.5) // n_factors, 1)


def weighs_evenly(curvature: Curvature) -> bool:
    """Tell whether the mean of its weights stands for each row, or all are solved."""
    weights = curvature.diagonal
    if math.prod(weights.shape) <= _DIRECT:
        return True
    xp = namespace(weights)
    least, most = xp.min(weights, axis=1), xp.max(weights, axis=1)
    return curvature.separable and bool(xp.all(least >= _EVEN * most))


def n_directions(joint: JointSum) -> int:
    """Return how many directions the L_q of kernels that have columns have in all."""
    pairs = zip(joint.operator.terms, joint.output_kernel.terms, strict=True)
    ranks = [L.rank for K, L in pairs if not isinstance(K, DiagonalOperator)]
    return max(sum(ranks), 1)


def sum_preconditioner(
    joint: JointSum,
    columns: NystroemFactor,
    curvature: Curvature,
    alpha: float,
) -> Approximate:
    """Return the approximate inverse as a map of arrays (n_samples, n_outputs).

    Parameters
    ----------
    joint : JointSum
        K_q and L_q.
    columns : NystroemFactor
        R_q; not used where all K_q are diagonal.
    curvature : Curvature
        V V', at the current scores.
    alpha : float
        Strength of the regularisation.
    """
    xp = namespace(curvature.diagonal)
    rows, outputs = xp.nonzero(curvature.diagonal > 0)
    if rows.shape[0] <= _DIRECT and curvature.separable:
        return _of_entries(joint, curvature, rows, outputs, alpha)
    if math.prod(curvature.diagonal.shape) <= _DIRECT:
        return _of_all(joint, curvature, alpha)
    mean = xp.mean(curvature.diagonal, axis=1)
    matrices = [kernel.matrix() for kernel in joint.output_kernel.terms]
    alone = [isinstance(term, DiagonalOperator) for term in joint.operator.terms]
    n_outputs = curvature.diagonal.shape[1]
    noise = alpha * xp.eye(n_outputs, dtype=mean.dtype)
    if all(alone):
        return _of_diagonals(joint, mean, matrices, noise)
    coupled = []
    for q, matrix in enumerate(matrices):
        rest = joint.operator.terms[q].diagonal()
        if not alone[q]:
            coupled.append(q)
            rest = xp.clip(rest - xp.sum(columns.factors[q] ** 2, axis=1), 0.0, None)
        noise = noise + xp.mean(mean * rest) * matrix
    factors = [columns.factors[q] * xp.sqrt(mean)[:, None] for q in coupled]
    axes, lengths = _directions([matrices[q] for q in coupled], noise)
    factor = xp.concat(factors, axis=1)
    gram = factor.T @ factor
    # a row for each column of the factor, a column for each direction
    pairs = zip(factors, lengths, strict=True)
    scaling = xp.concat(
        [0.0 * part[0, :, None] + xp.sqrt(length) for part, length in pairs], axis=0
    )
    identity = xp.eye(gram.shape[0], dtype=gram.dtype)
    solvers = [
        definite_solver(gram * scaling[:, j, None] * scaling[:, j] + identity)
        for j in range(n_outputs)
    ]

    def apply(right: Array) -> Array:
        rows = right @ axes
        inside = scaling * (factor.T @ rows)
        solved = [solve(inside[:, j : j + 1]) for j, solve in enumerate(solvers)]
        back = factor @ (scaling * xp.concat(solved, axis=1))
        return (rows - back) @ axes.T

    return apply


def columns_preconditioner(
    joint: JointSum,
    columns: NystroemFactor,
    rank: int,
    curvature: Curvature,
    alpha: float,
) -> Approximate:
    """Return the inverse of D + Z Z' with some columns of each kernel.

    D is alpha, the diagonal of kernels without columns and, where the loss does not
    couple the outputs, what the columns of the others miss of theirs. Of a loss that
    does, D has one number a row: of what is missed, most of it that of classes without
    weight, the mean took more products than nothing.
    """
    xp = namespace(curvature.diagonal)
    noise, terms = alpha + 0.0 * curvature.diagonal, []
    for K, L, factor in zip(
        joint.operator.terms, joint.output_kernel.terms, columns.factors, strict=True
    ):
        R, B = factor[:, :rank], L.factor()
        if curvature.separable or not R.shape[1]:
            missed = xp.clip(K.diagonal() - xp.sum(R * R, axis=1), 0.0, None)
            noise += curvature.entries * missed[:, None] * L.diagonal()
        if R.shape[1] and B.shape[1]:
            terms.append((R, B))
    if not curvature.separable:
        noise = xp.mean(noise, axis=1)[:, None]
    if not terms:
        return lambda right: right / noise
    matrix = _gram_of_columns(terms, curvature, noise)
    matrix += xp.eye(matrix.shape[0], dtype=matrix.dtype)
    solve = definite_solver(matrix)

    def apply(right: Array) -> Array:
        rows = curvature.factor(right / noise)
        inside = [xp.reshape((R.T @ rows @ B).T, (-1, 1)) for R, B in terms]
        solved, first, back = solve(xp.concat(inside, axis=0)), 0, 0.0 * right
        for part, (R, B) in zip(inside, terms, strict=True):
            last = first + part.shape[0]
            some = xp.reshape(solved[first:last], (B.shape[1], -1))
            back, first = back + R @ (some.T @ B.T), last
        return (right - curvature.adjoint(back)) / noise

    return apply


def _gram_of_columns(
    terms: list[tuple[Array, Array]], curvature: Curvature, noise: Array
) -> Array:
    """Return Z'D^-1 Z, for each R_q (n, k_q) and B_q (m, p_q) p_q blocks of k_q."""
    weights = curvature.diagonal / noise
    xp, (n, m) = namespace(weights), weights.shape
    sample = xp.concat([R for R, _ in terms], axis=1)
    grams = xp.reshape(weighted_grams(sample, weights).T, (m, sample.shape[1], -1))
    lines, top = [], 0
    for R, B in terms:
        line, left = [], 0
        for other, C in terms:
            part = grams[:, top : top + R.shape[1], left : left + other.shape[1]]
            pairs = xp.reshape(B[:, :, None] * C[:, None, :], (m, -1))
            block = xp.reshape(
                pairs.T @ xp.reshape(part, (m, -1)),
                (B.shape[1], C.shape[1], R.shape[1], other.shape[1]),
            )
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


def _of_entries(
    joint: JointSum, curvature: Curvature, rows: Array, outputs: Array, alpha: float
) -> Approximate:
    """Solve for the entries that are curved, few enough for one matrix."""
    xp = namespace(curvature.diagonal)
    roots = xp.sqrt(curvature.diagonal[rows, outputs])
    matrix = roots[:, None] * joint.block(rows, outputs) * roots
    solve = definite_solver(matrix + alpha * xp.eye(rows.shape[0], dtype=matrix.dtype))

    def apply(right: Array) -> Array:
        result = right / alpha
        result[rows, outputs] = solve(right[rows, outputs][:, None])[:, 0]
        return result

    return apply


def _of_all(joint: JointSum, curvature: Curvature, alpha: float) -> Approximate:
    """Solve for all entries, which the loss couples within their rows."""
    weights = curvature.diagonal
    xp = namespace(weights)
    n, m = weights.shape
    rows = xp.repeat(xp.arange(n), m)
    outputs = xp.tile(xp.arange(m), (n,))
    unit = xp.eye(m, dtype=weights.dtype)
    # V' of each row, one image of a unit vector a line
    adjoint = xp.stack(
        [curvature.factor(xp.zeros_like(weights) + unit[j]) for j in range(m)], axis=1
    )
    matrix = joint.block(rows, outputs)
    for _ in range(2):
        image = adjoint @ xp.reshape(matrix.T, (n, m, n * m))
        matrix = xp.reshape(image, (n * m, n * m))
    matrix = symmetric(matrix) + alpha * xp.eye(n * m, dtype=weights.dtype)
    solve = definite_solver(matrix)
    return lambda right: xp.reshape(solve(xp.reshape(right, (n * m, 1))), (n, m))


def _of_diagonals(
    joint: JointSum, mean: Array, matrices: list[Array], noise: Array
) -> Approximate:
    """Divide in the directions of all terms: exact for two, one of them the identity.

    The one that varies least from row to row joins the noise.
    """
    xp = namespace(mean)
    entries = [mean * term.diagonal() for term in joint.operator.terms]
    spreads = [
        float(xp.max(d) - xp.min(d)) / (float(xp.max(d)) or 1.0) for d in entries
    ]
    flat = spreads.index(min(spreads))
    noise = noise + xp.mean(entries[flat]) * matrices[flat]
    others = [q for q in range(len(matrices)) if q != flat]
    divisor = xp.ones((mean.shape[0], noise.shape[0]), dtype=mean.dtype)
    axes, lengths = _directions([matrices[q] for q in others], noise)
    for q, length in zip(others, lengths, strict=True):
        divisor = divisor + entries[q][:, None] * length
    return lambda right: ((right @ axes) / divisor) @ axes.T


def _directions(matrices: list[Array], noise: Array) -> tuple[Array, list[Array]]:
    """Return T with T'NT = I, and the diagonal of T'L_qT for each of the matrices."""
    xp = namespace(noise)
    values, vectors = eigh(noise)
    whitened = vectors / xp.sqrt(values)
    if not matrices:
        return whitened, []
    inside = [whitened.T @ matrix @ whitened for matrix in matrices]
    total = sum(inside)
    _, rotation = eigh(symmetric(total))
    axes = whitened @ rotation
    lengths = [xp.sum(axes * (matrix @ axes), axis=0) for matrix in matrices]
    return axes, [xp.clip(length, 0.0, None) for length in lengths]
