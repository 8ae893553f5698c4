"""A problem of several terms as it is solved, and the way back to the one asked for.

Each term is a kernel with its own L. What is solved may be the problem itself, the same
in the coordinates in which all kernels are diagonal, or the target matrix that data in
long form stand for, with its only kernel as the only term. Models are certified for the
problem asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from okl.certificates.terms import StructureTerms
from okl.numerics.arrays import Array
from okl.operators import OperatorTerms
from okl.output_kernels import OutputKernel, OutputKernelTerms
from okl.problems import Problem, TargetColumn, TermMatrix, unit_kernel
from okl.solvers.predictor.approximation import Approximation
from okl.structures import Structure


class Back(NamedTuple):
    """Maps from what is solved to the problem asked for; the identity by default."""

    dual: Callable[[Array], Array] = lambda dual: dual
    kernel: Callable[[OutputKernelTerms], OutputKernel] = lambda kernels: kernels
    structure: Callable[[Any], Structure] = lambda terms: terms


class PreparedTerms(NamedTuple):
    """A problem of several terms."""

    problem: Problem  # the one asked for
    inside: Problem  # what is solved
    approximation: Approximation  # a few columns of each K_q of it
    back: Back

    @classmethod
    def of(
        cls, problem: Problem, inside: Problem, columns: int, back: Back
    ) -> PreparedTerms:
        """Choose ``columns`` columns of each K_q."""
        operator: Any = inside.operator
        any_kernel = OutputKernelTerms((unit_kernel(inside),) * len(operator.terms))
        joint = inside.entries.joint(any_kernel)
        return cls(problem, inside, Approximation(inside, joint, columns), back)

    @property
    def shows_dual(self) -> bool:
        """Whether the certificate can recover C from a model, also where L is singular.

        Models of tasks keep C, one number for each row. In Theta = C L a part of C is
        lost; minus the gradient of the loss replaces it if no target has a weight.
        """
        long = isinstance(self.problem.entries, TargetColumn)
        return long or self.problem.weights is None

    def under(self, terms: Structure) -> PreparedTerms:
        """Return the same problem with other penalties, one for each term."""
        return self._replace(
            problem=replace(self.problem, structure=self.back.structure(terms)),
            inside=replace(self.inside, structure=terms),
        )


def as_one_term(problem: Problem) -> Problem:
    """Return a problem of one kernel as that of a sum with one term."""
    operator: Any = problem.operator
    return replace(
        problem,
        entries=TermMatrix(OperatorTerms((operator,))),
        structure=StructureTerms((problem.structure,)),
    )
