"""Turns of a factor B, which leave L = B B' as it is."""

from __future__ import annotations

from okl.numerics.arrays import Array, namespace


def without_turns(change: Array, factor: Array) -> Array:
    """Return a change of B without what turns B alone, L the same.

    The columns of B are orthogonal.
    """
    xp = namespace(factor)
    turn, squares = factor.T @ change, xp.sum(factor * factor, axis=0)
    return change - factor @ ((turn - turn.T) / (squares[:, None] + squares))
