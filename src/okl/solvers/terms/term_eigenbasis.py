r"""A kernel and the term of a row, complete targets: both diagonal in one basis.

With K = U diag(d) U' the identity of the rows' own term stays the identity in the
coordinates U'Y, and what U misses of Y, orthogonal to it, is a few rows with d = 0. A
product costs one multiplication an entry there, after one decomposition for all alphas.
"""

from __future__ import annotations

from dataclasses import replace

from okl.numerics.arrays import namespace
from okl.operators import DiagonalOperator, OperatorTerms, RowOperator
from okl.problems import Problem, Rotated, TargetMatrix, TermMatrix


def in_eigenbasis(problem: Problem) -> tuple[Problem, Rotated] | None:
    """Return a problem of diag(d) and the identity, and the way back.

    None if it is not one of these, or there is no memory.
    """
    operator = problem.operator
    if not isinstance(operator, OperatorTerms) or len(operator.terms) != 2:
        return None
    K, other = operator.terms
    quadratic = "quadratic" in problem.loss.capabilities
    if not quadratic or problem.weights is not None or K.clipped:
        return None
    if not isinstance(other, RowOperator) or K.workspace < 2:
        return None
    rotated = Rotated.of(replace(problem, entries=TargetMatrix(K)))
    d = rotated.eigenvalues[:, 0]
    terms = DiagonalOperator(d), DiagonalOperator(namespace(d).ones_like(d))
    entries = TermMatrix(OperatorTerms(terms))
    return replace(rotated.as_problem(), entries=entries), rotated
