r"""The equations of a Newton step in the weights of features.

With Phi the features, L given and weights W = U L, the objective is V(Phi W) + alpha
<U, W> / 2, and a Newton step D = E L of W solves

.. math:: \alpha E + \Phi' H (\Phi D) = \Phi' a - \alpha U,

H the second derivative of the loss and a minus its gradient. Conjugate gradients solve
for D, which is what the left side is symmetric in, and keep E with it: so L is
multiplied by, never divided by. A constant feature, the intercept, has no penalty and
no row of E.

*The preconditioner* takes features for uncorrelated: of Phi' H Phi it keeps one number
for each feature and output, so that the equations of a feature are those of L alone.
Under a tree these are solved from the leaves to the root and back
(`okl.solvers.predictor.tree_preconditioner` does the same with matrices in the place of
numbers; classes that share nothing stand side by side below a root), under any other L
in its eigenbasis, with the mean of the numbers over the outputs. The softmax loss does
not see what all classes have in common: as there, this gets a variance that is as good
as infinite, at the root.

Dense features are turned to axes in which they are uncorrelated
(`DenseRows.uncorrelated`), which takes fewer iterations.

*Products* are in single precision, in half of the time, where conjugate gradients end
early: what is rounded is far below the residual that is left, and no more than the
direction of a step depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from okl.losses.base import Curvature
from okl.numerics.arrays import add_scaled, inner, row_sums
from okl.solvers.predictor.feature_point import FeatureProblem
from okl.solvers.predictor.tree_preconditioner import FREE, nodes_of
from okl.trees import Levels

# Numbers of a few features: a quarter of a megabyte.
_AT_ONCE = 2**15
# Most steps of conjugate gradients.
_MAX_ITER = 500

# From a right-hand side to D and E.
Precondition = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


class FeatureStep(NamedTuple):
    """Where conjugate gradients are.

    Attributes
    ----------
    inside : array (n_features, n_outputs)
        E, which later steps overwrite, as they do the next one.
    intercept : array (n_outputs,) or None
        The row of D of the constant feature, if there is one.
    slope : float
        The inner product of the right-hand side with D.
    left : float
        The preconditioned residual, relative to that at the start.
    """

    inside: np.ndarray
    intercept: np.ndarray | None
    slope: float
    left: float


class FeatureEquations:
    """The equations at some scores.

    Parameters
    ----------
    of : FeatureProblem
        With Phi and L.
    curvature : Curvature
        H.
    alpha : float
    single : bool
        Whether products with Phi and H are taken in single precision.
    """

    def __init__(
        self, of: FeatureProblem, curvature: Curvature, alpha: float, *, single: bool
    ) -> None:
        self._of, self._rows = of, of.rows
        self._curvature, self._alpha = curvature, alpha
        self._multiplied = of.rows.single if single else of.rows
        with np.errstate(over="ignore"):  # weights of rows may be beyond its range
            seen = curvature.single() if single else curvature
        self._some = [seen.rows(some) for some in of.rows.slices]
        self._dtype = np.float32 if single else np.float64

    def product(self, change: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """Return the left side at D and E."""
        with np.errstate(over="ignore", invalid="ignore"):  # in single precision
            curved = self._multiplied.mapped(
                change.astype(self._dtype, copy=False),
                lambda number, product: self._some[number].product(product),
            )
            image = self._multiplied.adjoint(curved).astype(float, copy=False)
        add_scaled(image, self._alpha, inside)
        return image

    @cached_property
    def precondition(self) -> Precondition:
        """What gives nearly the solution of a right-hand side."""
        weights = self._rows.adjoint_of_squares(self._curvature.entries)
        if not self._rows.constant:
            return self._of_features(weights)
        solve = self._of_features(weights[:-1])

        def precondition(right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            change, inside = np.empty_like(right), np.zeros_like(right)
            change[:-1], inside[:-1] = solve(right[:-1])
            change[-1] = self._curvature.solve_total(right[-1])
            return change, inside

        return precondition

    def steps(self, right: np.ndarray) -> Iterator[FeatureStep]:
        """Yield the steps of conjugate gradients."""
        residual, inside, slope = right.copy(), np.zeros_like(right), 0.0
        intercept = np.zeros_like(right[-1]) if self._rows.constant else None
        along, along_inside = self.precondition(residual)
        size = first = inner(residual, along)
        for _ in range(_MAX_ITER):
            if size <= 0:
                return
            image = self.product(along, along_inside)
            curvature = inner(along, image)
            if not curvature > 0:  # nor where a number was too large
                return
            length = size / curvature
            slope += length * size
            add_scaled(inside, length, along_inside)
            if intercept is not None:
                intercept += length * along[-1]
            add_scaled(residual, -length, image)
            scaled, scaled_inside = self.precondition(residual)
            previous, size = size, inner(residual, scaled)
            left = (max(size, 0.0) / first) ** 0.5
            yield FeatureStep(inside, intercept, slope, left)
            add_scaled(scaled, size / previous, along)
            add_scaled(scaled_inside, size / previous, along_inside)
            along, along_inside = scaled, scaled_inside

    def _of_features(self, weights: np.ndarray) -> Precondition:
        kernel, alpha = self._of.kernel, self._alpha
        free = not self._curvature.separable
        if not kernel.couples or kernel.nodes is not None:
            return _of_trees(nodes_of(kernel), weights, alpha, free=free)
        axes, mean = self._of.axes, np.mean(weights, axis=1, keepdims=True)
        shrunk = alpha + mean * axes.eigenvalues

        def coupled(right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            along = axes.coordinates(right)
            change = axes.from_coordinates(along * (axes.eigenvalues / shrunk))
            # D has no part outside of the range of L, E has
            inside = right / alpha - axes.from_coordinates(
                along * (1 / alpha - 1 / shrunk)
            )
            if free:  # no row of the right side has a sum
                inside -= np.mean(inside, axis=1, keepdims=True)
                change = kernel.multiply(inside)
            return change, inside

        return coupled


def _of_trees(
    nodes: tuple[Levels, np.ndarray], weights: np.ndarray, alpha: float, *, free: bool
) -> Precondition:
    """Return what solves with a tree for each feature, for a few that stay in cache."""
    n, step = weights.shape[0], max(1, _AT_ONCE // weights.shape[1])
    slices = [slice(first, min(first + step, n)) for first in range(0, n, step)]
    solvers = [_of_tree(nodes, weights[some], alpha, free=free) for some in slices]

    def precondition(right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        change, inside = np.empty_like(right), np.empty_like(right)
        for some, solve in zip(slices, solvers, strict=True):
            change[some], inside[some] = solve(right[some])
        return change, inside

    return precondition


def _of_tree(
    nodes: tuple[Levels, np.ndarray], weights: np.ndarray, alpha: float, *, free: bool
) -> Precondition:
    """Return what solves alpha E + weights D = right, D = E L, for the L of a tree."""
    levels, variances = nodes
    added = FREE * float(np.max(variances)) if free else 0.0
    variances = np.concatenate([variances[:1] + added, variances[1:]])
    scales = [d / alpha for d in levels.by_depth(variances[None, :])]
    inverses: dict[int, np.ndarray] = {}

    def eliminated(depth: int, below: np.ndarray) -> np.ndarray:
        inverses[depth] = 1 / (1 + scales[depth] * below)
        return inverses[depth] * below

    def solved(depth: int, sums: np.ndarray) -> np.ndarray:
        return inverses[depth] * sums

    levels.sums(weights, eliminated)

    def precondition(right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sums = levels.sums(right, solved)
        terms = [scale * one for scale, one in zip(scales, sums, strict=True)]
        change = levels.path_sums(terms, solved)
        inside = weights * change
        np.subtract(right, inside, out=inside)
        inside *= 1 / alpha
        if added:  # what the root has too much of, all outputs have in common
            change -= added * row_sums(inside)
        return change, inside

    return precondition
