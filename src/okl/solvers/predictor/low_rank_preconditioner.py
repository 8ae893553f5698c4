r"""What is nearly the inverse of alpha I + V' (K (x) L) V, from a few columns of K.

With K ~ R R' by the Nystroem method and L = B B' the matrix is alpha I + Z Z',
Z = V' (R (x) B), and its inverse, by Woodbury's identity, that of the small matrix
alpha I + Z'Z, of as many rows as R has columns for each direction of L. Its blocks are

.. math:: R' \operatorname{diag}_i\, (B' W_i B)_{ab}\, R,

W_i = V_i V_i' the second derivative of the loss in row i: the coupling of the classes
by the softmax loss is in it. A free intercept is one more column of R, constant.

Where nothing couples the outputs, there is a small matrix for each of them. Where the
one for all would be more work than it saves, what couples them is replaced: where L
does, the weights of a row by their mean; a loss by its diagonal, if kernels differ.

Where L is that of a tree, its nodes are eliminated one by one
(`okl.solvers.predictor.tree_preconditioner`); so are classes that the softmax loss
alone couples, if they are too many for one matrix: side by side below a root, all at
once and in fewer columns, where one matrix after another would take longer.

With no columns it is the diagonal, the preconditioner of Seeger (2006), appendix A.
"""

from __future__ import annotations

from collections.abc import Callable

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, definite_solver, eigh, namespace
from okl.operators import JointOperator, JointSum, NystroemFactor
from okl.output_kernels import OutputKernel
from okl.solvers.predictor.term_preconditioner import sum_preconditioner
from okl.solvers.predictor.tree_preconditioner import (
    side_by_side,
    tree_preconditioner,
)

# The work of the small matrix may be that of so many products with K, which as
# products of large matrices are much faster; fewer columns than this are too few.
_PRODUCTS, _FEWEST = 12, 10
# The work of the small matrices of a tree's leaves, in the same unit.
_OF_A_TREE = 2
# Small matrices up to this size cost less than the steps that they save.
_SMALL = 500

Approximate = Callable[[Array], Array]


def preconditioner(
    joint: JointOperator,
    columns: NystroemFactor | None,
    curvature: Curvature,
    alpha: float,
) -> Approximate:
    """Return the approximate inverse as a map of arrays (n_samples, n_outputs).

    Parameters
    ----------
    joint : JointOperator
        K and L.
    columns : NystroemFactor or None
        R; None for a diagonal.
    curvature : Curvature
        W, at the current scores.
    alpha : float
        Strength of the regularisation.
    """
    weights, kernel = curvature.diagonal, joint.output_kernel
    xp = namespace(weights)
    if columns is not None and isinstance(joint, JointSum):
        return sum_preconditioner(joint, columns, curvature, alpha)
    if columns is None or columns.rank == 0 or kernel.rank == 0:
        scale = 1 / (alpha + weights * joint.diagonal)
        return lambda right: scale * right
    nodes = kernel.nodes if kernel.couples else None
    if nodes is None and (kernel.couples or not curvature.separable):
        rank = min(columns.rank, _affordable(joint.work, weights.shape[0], kernel.rank))
        if rank >= min(_FEWEST, columns.rank):
            return _joint(columns.leading(rank), curvature, kernel, alpha)
        if not kernel.couples and columns.outputs is None:
            nodes = side_by_side(kernel.diagonal())
    if nodes is not None:
        forming = (_OF_A_TREE * joint.work / weights.shape[0]) ** 0.5
        rank = min(columns.rank, int(max(forming, _FEWEST)))
        return tree_preconditioner(columns.leading(rank), curvature, nodes, alpha)
    if not kernel.couples:
        return _separate(columns, weights * kernel.diagonal(), alpha)
    return _coupled(columns.factors[0], xp.mean(weights, axis=1), kernel, alpha)


def _affordable(work: float, n_samples: int, n_directions: int) -> int:
    """Return for how many columns the small matrix costs no more than it may."""
    allowed = _PRODUCTS * work
    forming = (2 * allowed / (n_samples * n_directions)) ** 0.5
    factoring = (allowed / n_directions**2) ** (1 / 3)
    return int(max(min(forming, factoring), _SMALL / n_directions))


def _joint(
    columns: NystroemFactor, curvature: Curvature, kernel: OutputKernel, alpha: float
) -> Approximate:
    """Invert alpha I + Z Z' for all outputs at once."""
    k, q = columns.rank, kernel.rank
    sample = columns.factors[0]
    xp = namespace(sample)
    blocks = [[sample[:0, :0]] * q for _ in range(q)]
    for b in range(q):
        weights = _directional(curvature, kernel, b)
        for a in range(b + 1):
            block = _gram(columns, a, b, weights[:, a])
            if a == b:
                block = block + alpha * xp.eye(k, dtype=block.dtype)
            blocks[a][b], blocks[b][a] = block, block.T
    small = xp.concat([xp.concat(row, axis=1) for row in blocks], axis=0)
    solve = definite_solver(small)

    def apply(right: Array) -> Array:
        rows = kernel.adjoint(curvature.factor(right))
        inside = xp.reshape(columns.adjoint(rows).T, (q * k, 1))
        solved = xp.reshape(solve(inside), (q, k)).T
        back = kernel.forward(columns.forward(solved))
        return (right - curvature.adjoint(back)) / alpha

    return apply


def _directional(curvature: Curvature, kernel: OutputKernel, direction: int) -> Array:
    """Return (B' W_i B)[:, direction] for every row i (n_samples, q), L = B B'."""
    like = curvature.diagonal
    xp = namespace(like)
    unit = xp.astype(xp.arange(kernel.rank) == direction, like.dtype)
    column = kernel.forward(unit[None, :])
    applied = curvature.factor(curvature.adjoint(xp.zeros_like(like) + column))
    return kernel.adjoint(applied)


def _gram(columns: NystroemFactor, a: int, b: int, weights: Array) -> Array:
    """Return R_a' diag(w) R_b."""
    (left, first), (right, second) = columns.factor(a), columns.factor(b)
    return (left * (first * second * weights)[:, None]).T @ right


def _separate(columns: NystroemFactor, weights: Array, alpha: float) -> Approximate:
    """Invert alpha I + D_j^(1/2) R_j R_j' D_j^(1/2) for each output j."""
    xp = namespace(weights)
    roots = xp.sqrt(weights)
    identity = alpha * xp.eye(columns.rank, dtype=weights.dtype)
    solvers = []
    for j in range(weights.shape[1]):
        factor, scale = columns.factor(j)
        weighted = factor * (scale * roots[:, j])[:, None]
        solvers.append(definite_solver(weighted.T @ weighted + identity))

    def apply(right: Array) -> Array:
        inside = columns.adjoint(roots * right)
        solved = [solve(inside[:, j : j + 1]) for j, solve in enumerate(solvers)]
        back = columns.forward(xp.concat(solved, axis=1))
        return (right - roots * back) / alpha

    return apply


def _coupled(
    columns: Array, mean: Array, kernel: OutputKernel, alpha: float
) -> Approximate:
    """Invert alpha I + (d^(1/2) R R' d^(1/2)) (x) L for one weight d a row."""
    weighted = columns * namespace(mean).sqrt(mean)[:, None]
    values, vectors = eigh(weighted.T @ weighted)
    axes = kernel.spectral()
    basis = weighted @ vectors  # its columns have the squared norms ``values``
    lengths = axes.eigenvalues
    divisor = values[:, None] * lengths + alpha

    def apply(right: Array) -> Array:
        inside = basis.T @ axes.coordinates(right)
        solved = basis @ (inside * (lengths / divisor))
        return (right - axes.from_coordinates(solved)) / alpha

    return apply
