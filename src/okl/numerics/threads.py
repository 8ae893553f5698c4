"""One BLAS thread for small problems.

For matrices of a few hundred rows a second thread gains nothing; on a machine whose
cores are busy, to wait for it can cost a factor of ten.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

# comes with scikit-learn, which needs it for the same purpose
from threadpoolctl import ThreadpoolController

# With fewer multiplications in the largest product threads do not pay.
_SMALL = 1e8


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def _one_already() -> bool:
    """Tell whether BLAS has one thread; that is much cheaper than to set a limit."""
    libraries = _controller().lib_controllers
    return all(
        library.num_threads == 1 for library in libraries if library.user_api == "blas"
    )


@contextmanager
def threads_for(multiplications: float) -> Iterator[None]:
    """Limit BLAS to one thread if the largest product of the work is small."""
    if multiplications >= _SMALL or _one_already():
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield
