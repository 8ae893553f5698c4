"""Tables of choice: which solver for which problem.

A row describes problems by their loss and by which targets are observed, and lists the
solvers that take these problems where L is given and where it is learned, the preferred
first. A table is walked from its first row, the most special, and the first solver is
taken whose needs are met. Rows further down take the problems that those above do not,
for example where there is no memory for a decomposition. A solver that is built on
others chooses from a table of these alone, so that no circle closes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from okl.problems import Problem
from okl.solvers.base import Solver


class Choice(NamedTuple):
    """Solvers of one kind of problem.

    Attributes
    ----------
    judged : str
        How targets are judged, and which are observed.
    given, learned : tuple of Solver classes
        Where L is given, and where it is learned, in order of preference.
    """

    judged: str
    given: tuple[type[Solver], ...]
    learned: tuple[type[Solver], ...]


def first_that_fits(
    table: Sequence[Choice], problem: Problem, *, n_alphas: int
) -> Solver | None:
    """Return the first solver that takes a problem, None if there is none."""
    for cls in candidates(table, problem):
        candidate = cls.along(n_alphas)
        if candidate.fits_in_memory(problem):
            return candidate
    return None


def candidates(table: Sequence[Choice], problem: Problem) -> list[type[Solver]]:
    """Return the solvers that take a problem, if there is memory, in order."""
    given = "known" in problem.structure.capabilities
    solvers = (cls for row in table for cls in (row.given if given else row.learned))
    return [cls for cls in solvers if not cls().missing(problem)]
