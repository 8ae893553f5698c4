"""Data in long form, written out as a target matrix with one entry in each row.

Losses of labels, and the envelopes of losses with kinks, bend sharply. Where L is
learned from a target matrix, Newton's methods find it under such losses in a few steps.
In long form there are only models of some columns of K (`okl.solvers.smooth.rounds`),
which then take many rounds, or stall. Where tasks are few the matrix is therefore
written out: its other entries have no weight. Its L is that of the long form, and so
are the multipliers, one for each row; f is found for L again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from okl.losses.separable import weighted
from okl.numerics.arrays import namespace
from okl.problems import Problem, TargetColumn, TargetMatrix

# How many times more K must fit into memory, as Newton's methods ask.
_MATRICES = 2


class WrittenOut(NamedTuple):
    """What a solver has prepared for a problem in long form, and for its matrix."""

    column: Any
    matrix: Any


def is_written_out(problem: Problem, *, most: int) -> bool:
    """Tell whether a problem is written out, given the most tasks it may have."""
    return (
        isinstance(problem.entries, TargetColumn)
        and "known" not in problem.structure.capabilities
        and problem.n_outputs <= most
        and problem.operator.workspace >= _MATRICES
    )


def written_out(problem: Problem) -> Problem:
    """Return the problem with the target matrix: itself, if it is not in long form."""
    entries, targets = problem.entries, problem.targets
    if not isinstance(entries, TargetColumn):
        return problem
    weights = weighted(namespace(targets).ones_like(targets), problem.weights)
    return replace(
        problem,
        targets=entries.tasks.scatter(targets),
        entries=TargetMatrix(entries.operator),
        weights=entries.tasks.scatter(weights),
    )
