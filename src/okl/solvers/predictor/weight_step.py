r"""A Newton step in the weights of features, where they are few.

With K = R R', R (n_samples, k) of few columns, and Z = R'C, the functions of a model
are R Z L. With W the second derivative of the loss and r = a - alpha C, a the negative
gradient of the loss, the step X of Z solves

.. math:: \alpha X + R' W (R X L) = R' r

in arrays that are as small as Z. The unknowns are X and X L, as a pair: L is multiplied
by, never divided by (`okl.optimization.conjugate_pairs`). A free intercept is a further
feature, constant and without a penalty, and R next to it has columns of mean zero.
`okl.solvers.predictor.weight_preconditioner` has the preconditioner.

The change of C is E = (r - W (R X L)) / alpha, which leaves none to entries without a
weight. As conjugate gradients end early R'E differs from X, and Q (Q'Q)^{-1} times the
difference is added. Here Q is R with zeros in the rows without a weight and, where an
intercept is free, without the mean of the other rows, so that what is added is
zero in the former and sums to zero. So does E, once its mean is taken from those rows.
Sparse R are not turned to axes along which Q'Q is diagonal; it is factorised
(`okl.solvers.predictor.sparse_weights`).
"""

from __future__ import annotations

from itertools import islice

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, column_sums, namespace
from okl.optimization.conjugate_pairs import conjugate_pairs
from okl.output_kernels import OutputKernel
from okl.solvers.predictor.approximation import Prepared
from okl.solvers.predictor.weight_preconditioner import weight_preconditioner

# The most iterations.
_ITERATIONS = 500
# The most features for each row under a tree of more than so many leaves.
_OF_TREE, _LEAVES = 0.5, 100


def has_few_features(prepared: Prepared) -> bool:
    """Tell whether the unknowns of a step are weights of features.

    They are not with the L of a tree that is singular, of which the range is not known;
    nor with that of a large tree where features are many: products take less time.
    """
    kernel, features = prepared.kernel, prepared.approximation.features
    if kernel.rank == 0 or features is None:
        return False
    if kernel.nodes is None:
        return True
    levels, variances = kernel.nodes
    few = features.n_features <= _OF_TREE * prepared.problem.operator.n_samples
    if levels.n_leaves > _LEAVES and not few:
        return False
    xp = namespace(variances)
    return bool(xp.all(xp.take(variances, xp.asarray(levels.leaves)) > 0))


def weight_step(
    prepared: Prepared,
    curvature: Curvature,
    residual: Array,
    alpha: float,
    rtol: float,
) -> tuple[Array, Array]:
    """Return the change of C and that of its predictions.

    The preconditioned residual is to fall by the factor ``rtol``.
    """
    features, kernel = prepared.approximation.features, prepared.kernel
    assert features is not None
    if kernel.nodes is None:
        kernel = kernel.spectral().on_range()
    xp, centered = namespace(residual), prepared.problem.centered

    def adjoint(right: Array) -> Array:
        """Return R' times an array, and its sums below where an intercept is free."""
        inside = features.adjoint(right)
        if not centered:
            return inside
        sums = column_sums(right)[None, :]
        return xp.concat([inside - features.mean.T @ sums, sums], axis=0)

    def curved(image: Array) -> Array:
        """Return W times the change of scores by that of X L."""
        if not centered:
            return curvature.product(features.forward(image))
        ahead = features.forward(image[:-1, :])
        ahead += image[-1:, :] - features.mean @ image[:-1, :]
        return curvature.product(ahead)

    def product(inside: Array, image: Array) -> Array:
        return alpha * inside + adjoint(curved(image))

    right = adjoint(residual)
    precondition = weight_preconditioner(features, kernel, curvature, alpha, centered)
    zero = xp.zeros_like(right)
    inside = image = zero
    steps = conjugate_pairs(
        product, precondition, (zero, zero, right), precondition(right)
    )
    for step in islice(steps, _ITERATIONS):
        inside, image = step.inside, step.image
        if step.left <= rtol**2:
            break
    change = (residual - curved(image)) / alpha
    return _with_weights(prepared, kernel, change, inside[: features.n_features, :])


def _with_weights(
    prepared: Prepared, kernel: OutputKernel, change: Array, inside: Array
) -> tuple[Array, Array]:
    """Return E with R'E = X, near a given one, and its predictions."""
    features = prepared.approximation.features
    assert features is not None
    if prepared.problem.centered:
        counted = features.counted
        total = namespace(counted).sum(counted)
        change = change - counted * (column_sums(change) / total)
    there = features.adjoint(change)
    missing = inside - there
    if kernel.rank < kernel.n_outputs:  # what is off the range of L does not count
        missing = kernel.solve(kernel.multiply(missing), 0.0 * missing)
    # dual variables cannot change weights along which Q is zero
    dual, more = features.dual_of(missing)
    return change + dual, features.forward(kernel.multiply(there + more))
