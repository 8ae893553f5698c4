"""Conjugate gradients for A x + B y = r, where x = M y with M symmetric and PSD.

The unknowns come in pairs, and so does what the preconditioner returns: neither M nor
its inverse is applied to make one of a pair out of the other. As a map of x the left
side is symmetric and positive definite, and each iteration lowers its quadratic model
<x, A y + B x> / 2 - <x, r>: wherever they are stopped, x descends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from okl.numerics.arrays import Array, inner


class Pair(NamedTuple):
    """Where iterations are, and what they have left."""

    inside: Array  # y
    image: Array  # x
    residual: Array
    left: float  # <x, r> of the preconditioned residual, relative to the first


def conjugate_pairs(
    product: Callable[[Array, Array], Array],
    precondition: Callable[[Array], tuple[Array, Array]],
    start: tuple[Array, Array, Array],
    along: tuple[Array, Array],
) -> Iterator[Pair]:
    """Yield pairs, each with a lower model than the one before.

    Parameters
    ----------
    product : callable
        ``product(y, x)`` returns the left side.
    precondition : callable
        ``precondition(residual)`` returns a pair (y, x), x a symmetric positive
        definite map of the residual.
    start : tuple of arrays
        y and x to start from, and the residual there.
    along : tuple of arrays
        What the preconditioner returns for that residual.
    """
    inside, image, residual = start
    along_inside, along_image = along
    size = first = inner(residual, along_image)
    while size > 0:
        curved = product(along_inside, along_image)
        length = size / inner(along_image, curved)
        inside = inside + length * along_inside
        image = image + length * along_image
        residual = residual - length * curved
        scaled = precondition(residual)
        previous, size = size, inner(residual, scaled[1])
        yield Pair(inside, image, residual, size / first)
        along_inside = scaled[0] + (size / previous) * along_inside
        along_image = scaled[1] + (size / previous) * along_image
