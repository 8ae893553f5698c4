"""A problem with L held fixed, and the low-rank factors of K that its solvers use.

Conjugate gradients are preconditioned with some columns of K. Choosing them takes time,
and many fits need none. Each factor is therefore computed when it is first asked for,
and then serves all alphas.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from okl.numerics.arrays import Array, eigh, epsilon, namespace
from okl.operators import JointOperator, JointSum, NystroemFactor
from okl.output_kernels import OutputKernel
from okl.problems import Problem
from okl.solvers.predictor.sparse_weights import SparseWeights, takes_weights


class FeatureAxes(NamedTuple):
    """R with K = R R', and the part P of R that has the properties of dual variables.

    Like dual variables, P is zero in rows without a weight, and its columns sum to zero
    where an intercept is free. R is rotated so that the columns of P are orthogonal.
    """

    rows: Array  # R (n_samples, k)
    counted: Array  # (n_samples, 1): one for a row with a weight, else zero
    mean: Array  # (1, k): of rows with a weight, zero where no intercept is free
    inverses: Array  # (k, 1): of squared norms of columns of P, zero where rounding

    @property
    def n_features(self) -> int:
        """The number of features k."""
        return self.rows.shape[1]

    def forward(self, weights: Array) -> Array:
        """Return R times an array (k, n_outputs)."""
        return self.rows @ weights

    def adjoint(self, right: Array) -> Array:
        """Return R' times an array (n_samples, n_outputs)."""
        return self.rows.T @ right

    def adjoint_of_squares(self, right: Array) -> Array:
        """Return (R o R)' times an array (n_samples, n_outputs)."""
        return (self.rows * self.rows).T @ right

    def dual_of(self, inside: Array) -> tuple[Array, Array]:
        """Return the C in the range of P with nearly this R'C, and R'C itself.

        They differ along the axes along which P is zero.
        """
        xp, there = namespace(inside), self.inverses * inside
        dual = self.counted * (self.rows @ there - self.mean @ there)
        return dual, xp.where(self.inverses > 0, inside, 0.0)


class Prepared(NamedTuple):
    """A problem with an L that is held fixed, and J."""

    problem: Problem
    kernel: OutputKernel
    joint: JointOperator
    approximation: Approximation

    @classmethod
    def of(cls, problem: Problem, kernel: OutputKernel, rank: int) -> Prepared:
        """Prepare for an L, with so many columns of K for the preconditioner."""
        joint = problem.entries.joint(kernel)
        return cls(problem, kernel, joint, Approximation(problem, joint, rank))

    def under(self, problem: Problem, kernel: OutputKernel) -> Prepared:
        """Return the same K with another L.

        Columns of K are chosen only once; but in long form L is a part of what is
        approximated, and they are chosen for each L.
        """
        joint, approximation = problem.entries.joint(kernel), self.approximation
        if not problem.entries.every_output:
            approximation = replace(approximation, joint=joint)
        return Prepared(problem, kernel, joint, approximation)


@dataclass(frozen=True)
class Approximation:
    """The low-rank factors of K, each computed when it is first needed."""

    problem: Problem  # whatever its loss and structure
    joint: JointOperator  # K with any L
    rank: int  # of the approximation of K

    @cached_property
    def columns(self) -> NystroemFactor:
        """R with K ~ R R', and a constant column for a free intercept.

        Several kernels have no constant column: with one for each of them, conjugate
        gradients took 1.3 to 1.7 times the products.
        """
        columns = self.joint.low_rank(self.rank)
        if not self.problem.centered or isinstance(self.joint, JointSum):
            return columns
        largest = _largest(self.joint.output_kernel.diagonal()) or 1.0
        height = _largest(self.joint.diagonal) / largest
        return columns.with_constant(height**0.5)

    @cached_property
    def features(self) -> FeatureAxes | SparseWeights | None:
        """R with K = R R', None where K is not kept as features, or as too many."""
        sparse = self.joint.sparse_rows
        if sparse is not None and takes_weights(sparse, self.problem.targets.shape[1]):
            return SparseWeights.of(sparse, self.problem)
        features = self.joint.features
        if features is None or not 0 < features.shape[1] <= features.shape[0]:
            return None
        xp, weights = namespace(features), self.problem.weights
        counted = xp.ones_like(features[:, :1])
        if weights is not None:
            seen = xp.any(weights > 0, axis=1, keepdims=True)
            counted = xp.astype(seen, features.dtype)
        mean = counted.T @ features / xp.sum(counted)
        mean = mean if self.problem.centered else 0.0 * mean
        part = counted * (features - mean)
        squares, axes = eigh(part.T @ part)
        rounding = epsilon(squares) * squares.shape[0] * xp.max(squares)
        seen = squares > rounding
        inverses = xp.where(seen, 1 / xp.where(seen, squares, 1.0), 0.0)
        return FeatureAxes(features @ axes, counted, mean @ axes, inverses[:, None])


def _largest(values: Array) -> float:
    return float(namespace(values).max(values))
