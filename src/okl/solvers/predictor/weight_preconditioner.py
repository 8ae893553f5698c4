r"""A preconditioner of the equations of weights of features.

With weights X L of features, these are alpha X + R' W (R X L) = right
(`okl.solvers.predictor.weight_step`). Features are taken for uncorrelated, which they
nearly are along the axes of R: of R' W R one number is kept for each feature and
output. What is left are equations alpha X + G o (X L) = right, apart for each row of X.

*A tree*, or classes that nothing couples: those of a row are solved from the leaves to
the root and back, as in `okl.solvers.predictor.tree_preconditioner` with numbers in the
place of matrices. The softmax loss does not see what all classes have in common, X L
with equal columns. As there the root gets a variance that is as good as infinite, which
takes it out of X L. Of a right-hand side it is the part whose rows are multiples of the
sums of L^-1, and the penalty alone acts on it.

*Any other L*: in its eigenbasis, with the mean of the numbers over the outputs.
"""

from __future__ import annotations

from collections.abc import Callable

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, column_sums, namespace, row_sums
from okl.output_kernels import OutputKernel, SpectralKernel
from okl.solvers.predictor.approximation import FeatureAxes
from okl.solvers.predictor.sparse_weights import SparseWeights
from okl.solvers.predictor.tree_preconditioner import FREE, nodes_of
from okl.trees import Levels

# From a right-hand side to X and X L.
Inverse = Callable[[Array], tuple[Array, Array]]


def weight_preconditioner(
    features: FeatureAxes | SparseWeights,
    kernel: OutputKernel,
    curvature: Curvature,
    alpha: float,
    centered: bool,
) -> Inverse:
    """Return what nearly solves the equations, those of the intercept included."""
    xp, entries, means = namespace(features.mean), curvature.entries, features.mean.T
    weights = features.adjoint_of_squares(entries)
    if centered:
        weights = weights - 2 * means * features.adjoint(entries)
        weights = weights + means**2 * column_sums(entries)
        weights = xp.clip(weights, 0.0, None)
    if kernel.couples and kernel.nodes is None:
        inverse = _of_eigenbasis(kernel.spectral(), weights, alpha)
    else:
        inverse = _of_tree(kernel, weights, alpha, free=not curvature.separable)
    if not centered:
        return inverse

    def with_intercept(right: Array) -> tuple[Array, Array]:
        inside, image = inverse(right[:-1, :])
        intercept = curvature.solve_total(right[-1, :])[None, :]
        zero = xp.zeros_like(intercept)
        return xp.concat([inside, zero], axis=0), xp.concat([image, intercept], axis=0)

    return with_intercept


def _of_eigenbasis(axes: SpectralKernel, weights: Array, alpha: float) -> Inverse:
    mean = namespace(weights).mean(weights, axis=1, keepdims=True)
    shrunk = 1 / (alpha + mean * axes.eigenvalues)

    def inverse(right: Array) -> tuple[Array, Array]:
        inside = shrunk * axes.coordinates(right)
        image = axes.from_coordinates(inside * axes.eigenvalues)
        return axes.from_coordinates(inside), image

    return inverse


def _of_tree(
    kernel: OutputKernel, weights: Array, alpha: float, *, free: bool
) -> Inverse:
    """Return what solves alpha X + weights o (X L) = right for the L of a tree."""
    levels, variances = nodes_of(kernel)
    if not free:
        return _eliminated(levels, variances, weights, alpha)
    xp = namespace(weights)
    added = FREE * float(xp.max(variances))
    with_root = xp.concat([variances[:1] + added, variances[1:]])
    solve = _eliminated(levels, with_root, weights, alpha)
    ones = xp.ones_like(weights[:1, :])
    shared = kernel.solve(ones, 0.0 * ones)
    total = row_sums(shared)
    shared = shared / total

    def inverse(right: Array) -> tuple[Array, Array]:
        common = row_sums(right) * shared
        inside, image = solve(right - common)
        # the root has too much of what all have in common
        image = image - added * row_sums(inside)
        return inside + common / alpha, image + row_sums(right) / (alpha * total)

    return inverse


def _eliminated(
    levels: Levels, variances: Array, weights: Array, alpha: float
) -> Inverse:
    scales = [d / alpha for d in levels.by_depth(variances[None, :])]
    inverses: dict[int, Array] = {}

    def upward(depth: int, below: Array) -> Array:
        inverses[depth] = 1 / (1 + scales[depth] * below)
        return inverses[depth] * below

    def solved(depth: int, sums: Array) -> Array:
        return inverses[depth] * sums

    levels.sums(weights, upward)

    def solve(right: Array) -> tuple[Array, Array]:
        sums = levels.sums(right, solved)
        terms = [scale * one for scale, one in zip(scales, sums, strict=True)]
        image = levels.path_sums(terms, solved)
        return (right - weights * image) / alpha, image

    return solve
