r"""An approximate inverse of alpha I + V' (K (x) L) V, from a few columns of K.

With K ~ R R' by the Nystroem method and L = B B' the matrix is nearly alpha I + Z Z',
Z = V' (R (x) B), which `woodbury` inverts. A free intercept is one more column of R.
Where that costs too much, or is not needed, `form_of` chooses another form.

Without columns the preconditioner is the diagonal, as in Seeger (2006), appendix A. For
a loss that couples the outputs there is none then: the softmax loss has W = D - p p',
and where the model is sure D is near one, but W is nearly zero.
"""

from __future__ import annotations

from collections.abc import Callable

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, definite_solver, namespace
from okl.operators import JointOperator, JointSum, NystroemFactor
from okl.solvers.predictor.apart_preconditioner import apart_preconditioner
from okl.solvers.predictor.entries_preconditioner import entries_preconditioner
from okl.solvers.predictor.preconditioner_form import form_of
from okl.solvers.predictor.term_preconditioner import sum_preconditioner
from okl.solvers.predictor.tree_preconditioner import nodes_of, tree_preconditioner
from okl.solvers.predictor.woodbury import woodbury

_OF_ENTRIES = {"entries": entries_preconditioner, "apart": apart_preconditioner}


def preconditioner(
    joint: JointOperator,
    columns: NystroemFactor | None,
    curvature: Curvature,
    alpha: float,
    *,
    centered: bool = False,
) -> Callable[[Array], Array]:
    """Return the approximate inverse as a map of arrays (n_samples, n_outputs).

    Without columns R it is a diagonal, or nothing; ``centered`` if there is a free
    intercept.
    """
    weights, kernel = curvature.diagonal, joint.output_kernel
    several = isinstance(joint, JointSum)
    if columns is None or not (several or (columns.rank and kernel.rank)):
        scale = 1 / alpha
        if curvature.separable:
            scale = 1 / (alpha + weights * joint.diagonal)
        return lambda right: scale * right
    rank = max((factor.shape[1] for factor in columns.factors), default=0)
    form = form_of(joint, rank, curvature, alpha)
    if form.name in _OF_ENTRIES:
        return _OF_ENTRIES[form.name](joint, curvature, alpha, centered=centered)
    if isinstance(joint, JointSum) and form.name == "sum":
        return sum_preconditioner(joint, columns, form.rank, curvature, alpha)
    columns, terms = columns.leading(form.rank), []
    if form.name == "tree":
        return tree_preconditioner(columns, curvature, nodes_of(kernel), alpha)
    if form.name == "separate":
        return _separate(columns, weights * kernel.diagonal(), alpha)
    if form.name == "joint":
        few = kernel.rank <= weights.shape[1]
        terms = _terms(columns, (kernel if few else kernel.spectral()).factor())
    return woodbury(terms, curvature, alpha + 0.0 * weights[:, :1])


def _terms(columns: NystroemFactor, factor: Array) -> list[tuple[Array, Array]]:
    """Return each R with the columns of a factor B of L that belong to its outputs."""
    if columns.outputs is None:
        return [(columns.factors[0], factor)]
    xp, terms = namespace(factor), []
    for number, R in enumerate(columns.factors):
        # outputs with kernels of their own are not coupled by L
        scales = [s if which == number else 0.0 for which, s in columns.outputs]
        own = xp.asarray([j for j, scale in enumerate(scales) if scale])
        B = xp.take(factor, own, axis=1)
        terms.append((R, B * xp.asarray(scales, dtype=factor.dtype)[:, None]))
    return terms


def _separate(
    columns: NystroemFactor, weights: Array, alpha: float
) -> Callable[[Array], Array]:
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
