"""A problem with L held fixed, and what is known of K without products.

Conjugate gradients are preconditioned with some columns of K. Choosing them costs
something, and many a fit does without: each part is made when it is first asked for,
and serves all alphas.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from okl.numerics.arrays import Array, eigh, epsilon, namespace
from okl.operators import JointOperator, JointSum, NystroemFactor
from okl.output_kernels import OutputKernel
from okl.problems import Problem


class Prepared(NamedTuple):
    """A problem with an L that is held fixed.

    Attributes
    ----------
    problem : Problem
    kernel : OutputKernel
        L.
    joint : JointOperator
        What maps dual variables to predictions.
    approximation : Approximation
        What preconditions.
    """

    problem: Problem
    kernel: OutputKernel
    joint: JointOperator
    approximation: Approximation

    @classmethod
    def of(cls, problem: Problem, kernel: OutputKernel, rank: int) -> Prepared:
        """Prepare for an L, with so many columns of K for the preconditioner."""
        joint = problem.entries.joint(kernel)
        approximation = Approximation(joint, rank, problem.centered)
        return cls(problem, kernel, joint, approximation)

    def under(self, problem: Problem, kernel: OutputKernel) -> Prepared:
        """Return the same K with another L.

        Columns of K are chosen once. In long form L is a part of what is approximated.
        """
        joint, approximation = problem.entries.joint(kernel), self.approximation
        if not problem.entries.every_output:
            approximation = replace(approximation, joint=joint)
        return Prepared(problem, kernel, joint, approximation)


@dataclass(frozen=True)
class Approximation:
    """What is known of K without products, made when it is needed.

    Attributes
    ----------
    joint : JointOperator
        K with any L.
    rank : int
        Of the approximation of K.
    centered : bool
        Whether there is a free intercept.
    """

    joint: JointOperator
    rank: int
    centered: bool

    @cached_property
    def columns(self) -> NystroemFactor:
        """R with K ~ R R', and a constant column for a free intercept.

        Not for several kernels: with one for each of them, conjugate gradients took 1.3
        to 1.7 times the products.
        """
        columns = self.joint.low_rank(self.rank)
        if not self.centered or isinstance(self.joint, JointSum):
            return columns
        largest = _largest(self.joint.output_kernel.diagonal()) or 1.0
        height = _largest(self.joint.diagonal) / largest
        return columns.with_constant(height**0.5)

    @cached_property
    def features(self) -> tuple[Array, Array] | None:
        """R with K = R R', and the diagonal of R'R, which has nothing beside it.

        R has fewer columns than rows; None where K is not kept as dense features.
        """
        features = self.joint.features
        if features is None or not 0 < features.shape[1] <= features.shape[0]:
            return None
        xp = namespace(features)
        squares, axes = eigh(features.T @ features)
        rounding = epsilon(squares) * squares.shape[0] * xp.max(squares)
        first = int(xp.sum(xp.astype(squares <= rounding, xp.int64)))
        return features @ axes[:, first:], squares[first:]


def _largest(values: Array) -> float:
    return float(namespace(values).max(values))
