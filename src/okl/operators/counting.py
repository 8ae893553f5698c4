"""How many products with kernel matrices some work takes.

Iterative solvers spend most of their time on products, whose number, unlike seconds,
hardly depends on the machine. An operator does not know for what it is used, so that
whoever wants the number for some work counts all products of its own context meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Products:
    """A count.

    Attributes
    ----------
    total : int
        Products with a matrix of any number of columns.
    """

    def __init__(self) -> None:
        self.total = 0


_counts: ContextVar[tuple[Products, ...]] = ContextVar("products", default=())


@contextmanager
def counted_products() -> Iterator[Products]:
    """Count products with kernels, stored or of sparse rows, in this context."""
    count = Products()
    token = _counts.set((*_counts.get(), count))
    try:
        yield count
    finally:
        _counts.reset(token)


def count_product() -> None:
    """Add one to all counts of this context."""
    for count in _counts.get():
        count.total += 1
