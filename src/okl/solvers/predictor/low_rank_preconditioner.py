r"""An approximate inverse of alpha I + V' (K (x) L) V, from a few columns of K.

With K ~ R R' by the Nystroem method and L = B B' the matrix is nearly alpha I + Z Z',
Z = V' (R (x) B). By Woodbury's identity its inverse takes that of a small matrix,
alpha I + Z'Z, of as many rows as R has columns for each direction of L. The blocks of
Z'Z are

.. math:: R' \operatorname{diag}_i\, (B' W_i B)_{ab}\, R,

W_i = V_i V_i' the second derivative of the loss in row i: so the small matrix knows how
the softmax loss couples the classes. A free intercept is one more column of R.

What is made in its place where that costs too much, or is not needed, `form_of` says.

Without columns it is the diagonal, the preconditioner of Seeger (2006), appendix A, and
nothing for a loss that couples the outputs: of the softmax loss, W = D - p p', D is
near one where the model is sure and W is nearly zero.
"""

from __future__ import annotations

from collections.abc import Callable

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, definite_solver, namespace
from okl.operators import JointOperator, JointSum, NystroemFactor
from okl.output_kernels import OutputKernel
from okl.solvers.predictor.apart_preconditioner import apart_preconditioner
from okl.solvers.predictor.preconditioner_form import form_of
from okl.solvers.predictor.term_preconditioner import (
    columns_preconditioner,
    sum_preconditioner,
)
from okl.solvers.predictor.tree_preconditioner import (
    nodes_of,
    tree_preconditioner,
    weighted_grams,
)

# Rows of R that are multiplied at once.
_ROWS = 1024

Approximate = Callable[[Array], Array]


def preconditioner(
    joint: JointOperator,
    columns: NystroemFactor | None,
    curvature: Curvature,
    alpha: float,
    *,
    centered: bool = False,
) -> Approximate:
    """Return the approximate inverse as a map of arrays (n_samples, n_outputs).

    Parameters
    ----------
    joint : JointOperator
        K and L.
    columns : NystroemFactor or None
        R; None for a diagonal, or for nothing.
    curvature : Curvature
        W, at the current scores.
    alpha : float
        Strength of the regularisation.
    centered : bool, default=False
        Whether there is a free intercept.
    """
    if columns is not None and isinstance(joint, JointSum):
        return _from_columns_of_sum(joint, columns, curvature, alpha)
    if columns is None or columns.rank == 0 or joint.output_kernel.rank == 0:
        scale = 1 / alpha
        if curvature.separable:
            scale = 1 / (alpha + curvature.diagonal * joint.diagonal)
        return lambda right: scale * right
    return _from_columns(joint, columns, curvature, alpha, centered)


def _from_columns(
    joint: JointOperator,
    columns: NystroemFactor,
    curvature: Curvature,
    alpha: float,
    centered: bool,
) -> Approximate:
    """Return what the form says, in as many of the columns."""
    weights, kernel = curvature.diagonal, joint.output_kernel
    form = form_of(joint, columns.rank, curvature, alpha, columns, centered=centered)
    if form.name == "apart":
        return apart_preconditioner(joint, curvature, alpha, centered=centered)
    columns = columns.leading(form.rank)
    if form.name == "joint":
        few = kernel.rank <= weights.shape[1]
        return _joint(columns, curvature, kernel if few else kernel.spectral(), alpha)
    if form.name == "tree":
        return tree_preconditioner(columns, curvature, nodes_of(kernel), alpha)
    if form.name == "separate":
        return _separate(columns, weights * kernel.diagonal(), alpha)
    return lambda right: right / alpha


def _from_columns_of_sum(
    joint: JointSum, columns: NystroemFactor, curvature: Curvature, alpha: float
) -> Approximate:
    """Return the same for several kernels."""
    rank = max((factor.shape[1] for factor in columns.factors), default=0)
    form = form_of(joint, rank, curvature, alpha)
    if form.name == "columns":
        return columns_preconditioner(joint, columns, form.rank, curvature, alpha)
    if form.name == "sum":
        return sum_preconditioner(joint, columns, curvature, alpha)
    return lambda right: right / alpha


def _joint(
    columns: NystroemFactor, curvature: Curvature, kernel: OutputKernel, alpha: float
) -> Approximate:
    """Invert alpha I + Z Z' for all outputs at once.

    Z'Z is what D makes of L, one matrix R' D_c R for each output c, without what the
    outputs of a row share, a product of one matrix with itself.
    """
    k, q = columns.rank, kernel.rank
    xp = namespace(columns.factors[0])
    size = q * k
    grams = _grams(columns, curvature.diagonal)
    flat, factor = xp.reshape(grams, (-1, k * k)), kernel.factor()
    blocks = xp.empty((q, k, q, k), dtype=grams.dtype)
    for b in range(q):
        part = (factor * factor[:, b : b + 1]).T @ flat
        blocks[:, :, b, :] = xp.reshape(part, (q, k, k))
    matrix = xp.reshape(blocks, (size, size))
    if curvature.shared is not None:
        matrix -= _shared_gram(columns, kernel.adjoint(curvature.shared))
    matrix += alpha * xp.eye(size, dtype=matrix.dtype)
    solve = definite_solver(matrix)

    def apply(right: Array) -> Array:
        rows = kernel.adjoint(curvature.factor(right))
        inside = xp.reshape(columns.adjoint(rows).T, (size, 1))
        solved = xp.reshape(solve(inside), (q, k)).T
        back = kernel.forward(columns.forward(solved))
        return (right - curvature.adjoint(back)) / alpha

    return apply


def _grams(columns: NystroemFactor, weights: Array) -> Array:
    """Return R_c' diag(w_c) R_c for each column of the weights (m, k, k)."""
    xp, (k, m) = namespace(weights), (columns.rank, weights.shape[1])
    if columns.outputs is None:
        flat = weighted_grams(columns.factors[0], weights)
        return xp.reshape(flat.T, (m, k, k))
    grams = xp.empty((m, k, k), dtype=weights.dtype)
    for c in range(m):
        factor, scale = columns.factor(c)
        grams[c, :, :] = (factor * (scale**2 * weights[:, c : c + 1])).T @ factor
    return grams


def _shared_gram(columns: NystroemFactor, rows: Array) -> Array:
    """Return S'S, the columns of S those of R_a times the a-th column of some rows.

    From some rows of R at a time, that stay in the cache.
    """
    xp, (n, q), k = namespace(rows), rows.shape, columns.rank
    factors = [columns.factor(a) for a in range(q if columns.outputs else 1)]
    gram = xp.zeros((q * k, q * k), dtype=rows.dtype)
    for first in range(0, n, _ROWS):
        some = slice(first, min(first + _ROWS, n))
        each = xp.stack([scale * factor[some, :] for factor, scale in factors], axis=1)
        S = xp.reshape(rows[some, :, None] * each, (-1, q * k))
        gram += S.T @ S
    return gram


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
