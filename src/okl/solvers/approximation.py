"""A problem with L held fixed, and what is known of K without products.

Conjugate gradients are preconditioned with some columns of K. Choosing them costs
something, and many a fit does without: each part is made when it is first asked for,
and serves all alphas.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from okl._array import Array, namespace
from okl._output_kernel import OutputKernel
from okl.operators import LowRank
from okl.problems import Problem


class Prepared(NamedTuple):
    """A problem, the L that is held fixed, and what preconditions."""

    problem: Problem
    known: OutputKernel
    approximation: Approximation


@dataclass(frozen=True)
class Approximation:
    """What is known of K without products, each part made when it is needed.

    Attributes
    ----------
    problem : Problem
    rank : int
        Of the approximation of K.
    """

    problem: Problem
    rank: int

    @property
    def cost(self) -> float:
        """What a preconditioner made of it costs, in products with K.

        A product costs two multiplications for each row and feature: so many features
        bound the rank.
        """
        operator = self.problem.operator
        work = max(operator.work / operator.n_samples, 1.0)
        return min(self.rank, work / 2) ** 2 / work

    @cached_property
    def diagonal(self) -> Array:
        """That of K, or those of all outputs' matrices."""
        return self.problem.operator.diagonal()

    @cached_property
    def columns(self) -> LowRank:
        """R with K ~ R R', and a constant column for a free intercept."""
        columns = self.problem.operator.low_rank(self.rank)
        if not self.problem.centered:
            return columns
        xp = namespace(self.diagonal)
        return columns.with_constant(float(xp.max(self.diagonal)) ** 0.5)
