"""Which cases are fast, and one thread for linear algebra.

The problems here are small, NumPy and SciPy bring a pool of threads each, and on a few
cores the two wait for each other; so do the workers of pytest-xdist. `make test-cpus`
asks for two threads, with which sums are added up in another order.

Python looks through all objects for cycles to free each time that many more are alive.
While modules and cases are collected there are none to free, and it takes a third of
that time. Afterwards it looks each time that some thousand more are alive, not some
hundred.

What distributes the tests to workers reads this file as well, and starts them once it
has: it imports nothing that takes long.
"""

import gc
import os
from collections import defaultdict
from contextlib import suppress

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

from tests.covering import MARKER, VALUES, covering

# How many examples hypothesis draws in `make test` and in all others, where a test does
# not say it. No deadline, as a busy processor takes any time.
settings.register_profile("fast", max_examples=25, deadline=None)
settings.register_profile("full", max_examples=100, deadline=None)

gc.disable()


def pytest_configure(config):
    """Choose how many examples hypothesis draws."""
    fast = f"not {MARKER}" in config.option.markexpr
    settings.load_profile("fast" if fast else "full")


def pytest_collection_modifyitems(items):
    """Mark the cases that `make test` leaves out; see `tests.covering`.

    Those that a test marks itself, values that are for `make test-all` only, cover no
    pair for `make test`.
    """
    products = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec") and not item.get_closest_marker(MARKER):
            products[item.nodeid.partition("[")[0]].append(item)
    for cases in products.values():
        most = 1 if cases[0].get_closest_marker(VALUES) else 2
        # a value is the same object in all cases that have it
        values = [[*map(id, item.callspec.params.values())] for item in cases]
        kept = covering(values, most)
        for number, item in enumerate(cases):
            if number not in kept:
                item.add_marker(MARKER)


def pytest_collection_finish():
    """Look for cycles again, but not among what was collected, which stays."""
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()


@pytest.fixture(autouse=True, scope="session")
def _few_threads():
    with threadpool_limits(limits=int(os.environ.get("OKL_TEST_THREADS", "1"))):
        yield


@pytest.fixture
def briefly(monkeypatch):
    """Have kernels be learned in a few steps, where not what is found is looked at."""
    from okl.selection import kernel_of_folds, likeliest_kernel

    for name, number in (("_ITERATIONS", 8), ("_FIRST", 3)):
        monkeypatch.setattr(likeliest_kernel, name, number)
    for name, number in (("_ITERATIONS", 1), ("_TRIED", 1), ("_TOL", 1e-3)):
        monkeypatch.setattr(kernel_of_folds, name, number)
    # the Matern kernel alone
    monkeypatch.setattr(kernel_of_folds, "MOST_DISTANCES", 0)


@pytest.fixture(autouse=True, scope="session")
def _dtypes_in_sets():
    """Have array-api-strict look for a dtype in a set, where it compares it with each.

    It does so for each array, and that takes a fifth of the tests that fit with it. A
    version that has these under other names works as it is.
    """
    import array_api_strict

    with suppress(AttributeError):
        dtypes = array_api_strict._dtypes
        array_api_strict._array_object._all_dtypes = frozenset(dtypes._all_dtypes)
        for category, some in dtypes._dtype_categories.items():
            dtypes._dtype_categories[category] = dict.fromkeys(some)


@pytest.fixture
def free_memory(monkeypatch):
    """Return a function that sets how many bytes are free, and has each asked for."""
    from okl.numerics import memory

    monkeypatch.setattr(memory, "UNQUESTIONED", 0)
    return lambda n: monkeypatch.setattr(memory, "available_memory", lambda: n)
