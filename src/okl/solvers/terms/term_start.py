"""A start made from the C and L_q of another alpha, or of other penalties.

The functions of C and these L_q are a good model of the new problem too. The best L_q
for C at the new alpha may be far larger, and alpha C a poor dual point: but a part of
it is a good one. To find which of alpha C / 2^k has the highest dual value takes no
more than matrices (n_outputs, n_outputs).
"""

from __future__ import annotations

from typing import NamedTuple

from okl.numerics.arrays import Array
from okl.problems import Problem
from okl.solvers.terms.term_point import TermPoint

# How often C is halved at most.
_HALVINGS = 60


class TermStart(NamedTuple):
    """Dual variables and output kernels of a neighbouring problem."""

    dual: Array  # C (n_samples, n_outputs), in the coordinates of the rounds
    matrices: Array  # the L_q (n_terms, n_outputs, n_outputs)


def best_part(problem: Problem, alpha: float, dual: Array) -> TermPoint:
    """Return the point of C / 2^k with the highest dual value.

    alpha C is within the bounds of the loss if it has any.
    """
    whole = TermPoint.at(problem, dual)
    best, highest = whole, _value(problem, alpha, whole)
    for halvings in range(1, _HALVINGS):
        part = 0.5**halvings
        products = tuple(part * product for product in whole.products)
        point = TermPoint.at(problem, part * dual, products)
        value = _value(problem, alpha, point)
        if value < highest:
            break
        best, highest = point, value
    return best


def _value(problem: Problem, alpha: float, point: TermPoint) -> float:
    return problem.dual_loss(alpha * point.dual) - alpha * point.response.value
