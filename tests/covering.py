"""A part of each product of parameters that has every pair of their values.

A test over three structures, four alphas and two ways with the intercept has 24 cases.
Most mistakes show at one value of one parameter or at a pair of values of two, so that
`make test` runs as many cases as it takes to have every pair (of two parameters: every
value of both), and `make test-all` runs all of them. Of a single parameter all values
are run, but for those that a test gives by `later`: more seeds, larger data.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import settings

# The marker of what `make test` leaves out.
MARKER = "product"


def later(*values: Any) -> list[Any]:
    """Return values of a parameter that `make test` leaves out."""
    return [pytest.param(value, marks=getattr(pytest.mark, MARKER)) for value in values]


def examples(number: int, **options: Any) -> settings:
    """Return the settings of a test with so many random examples, a quarter at first.

    A quarter is what `make test` draws.
    """
    part = settings().max_examples / settings.get_profile("full").max_examples
    return settings(max_examples=math.ceil(part * number), deadline=None, **options)


def covering(cases: Sequence[Sequence[Hashable]]) -> set[int]:
    """Return the numbers of cases that have all pairs of values which occur.

    Of one parameter these are all cases; of two, enough to have each value of both.

    Parameters
    ----------
    cases : sequence of sequences
        The value of every parameter in each case.
    """
    axes = _distinct(list(zip(*cases, strict=True)))
    if len(axes) < 2:
        return set(range(len(cases)))
    strength = min(2, len(axes) - 1)
    wanted = [
        {
            (some, tuple(axes[axis][number] for axis in some))
            for some in combinations(range(len(axes)), strength)
        }
        for number in range(len(cases))
    ]
    missing = set().union(*wanted)
    chosen: set[int] = set()
    while missing:
        best = max(range(len(cases)), key=lambda number: len(wanted[number] & missing))
        chosen.add(best)
        missing -= wanted[best]
    return chosen


def _distinct(axes: list[tuple[Hashable, ...]]) -> list[tuple[Hashable, ...]]:
    """Leave out the parameters that change with another one, or never."""
    found: dict[tuple[int, ...], tuple[Hashable, ...]] = {}
    for axis in axes:
        first = {value: number for number, value in reversed(list(enumerate(axis)))}
        if len(first) > 1:
            found.setdefault(tuple(first[value] for value in axis), axis)
    return list(found.values())
