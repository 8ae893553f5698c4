"""A part of each product of parameters that has every pair of their values.

A test over three structures, four alphas and two ways with the intercept has 24 cases.
Most mistakes show at one value of one parameter or at a pair of values of two, so that
`make test` runs as many cases as it takes to have every pair (of two parameters: every
value of both), and `make test-all` runs all of them. Of a test whose cases are slow, or
very many, and which is marked `each_value`, it runs as many as have each value of every
parameter. Of a single parameter all values are run, but for those that a test gives by
`later`: more seeds, larger data.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import settings

# The marker of what `make test` leaves out, and that of a test of which it has each
# value of every parameter, not each pair.
MARKER, VALUES = "product", "each_value"


def later(*values: Any) -> list[Any]:
    """Return values of a parameter that `make test` leaves out."""
    return [pytest.param(value, marks=getattr(pytest.mark, MARKER)) for value in values]


def examples(number: int, **options: Any) -> settings:
    """Return the settings of a test with so many random examples, a quarter at first.

    A quarter is what `make test` draws.
    """
    part = settings().max_examples / settings.get_profile("full").max_examples
    return settings(max_examples=math.ceil(part * number), deadline=None, **options)


def covering(cases: Sequence[Sequence[Hashable]], most: int = 2) -> set[int]:
    """Return the numbers of cases that have all pairs of values which occur.

    Of one parameter these are all cases; of two, enough to have each value of both. Of
    cases that add as many one is taken whose values and pairs were taken least.

    Parameters
    ----------
    cases : sequence of sequences
        The value of every parameter in each case.
    most : int
        Of how many parameters values are combined: with one, each value is enough.
    """
    axes = _distinct(list(zip(*cases, strict=True)))
    if len(axes) < 2:
        return set(range(len(cases)))
    strength = min(most, len(axes) - 1)
    wanted = _combined(axes, strength)
    parts = [
        one | two
        for one, two in zip(_combined(axes, 1), _combined(axes, 2), strict=True)
    ]
    missing, used = set().union(*wanted), Counter[Any]()
    chosen: set[int] = set()
    while missing:
        new = [len(some & missing) for some in wanted]
        largest = max(new)
        best = min(
            (number for number in range(len(cases)) if new[number] == largest),
            key=lambda number: sum(used[part] for part in parts[number]),
        )
        chosen.add(best)
        missing -= wanted[best]
        used.update(parts[best])
    return chosen


def _combined(axes: list[tuple[Hashable, ...]], strength: int) -> list[set[Any]]:
    """Return what each case has of the combinations of so many values."""
    return [
        {
            (some, *(case[axis] for axis in some))
            for some in combinations(range(len(axes)), strength)
        }
        for case in zip(*axes, strict=True)
    ]


def _distinct(axes: list[tuple[Hashable, ...]]) -> list[tuple[Hashable, ...]]:
    """Leave out the parameters that change with another one, or never."""
    found: dict[tuple[int, ...], tuple[Hashable, ...]] = {}
    for axis in axes:
        first = {value: number for number, value in reversed(list(enumerate(axis)))}
        if len(first) > 1:
            found.setdefault(tuple(first[value] for value in axis), axis)
    return list(found.values())
