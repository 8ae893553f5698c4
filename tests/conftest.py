"""Which cases of a product are fast, and one thread for linear algebra.

The problems here are small, NumPy and SciPy bring a pool of threads each, and on a few
cores the two wait for each other; so do the workers of pytest-xdist. `make test-cpus`
asks for two threads, with which sums are added up in another order.
"""

import os
from collections import defaultdict

import pytest
from threadpoolctl import threadpool_limits

from tests.covering import MARKER, covering


def pytest_collection_modifyitems(items):
    """Mark the cases that `make test` leaves out; see `tests.covering`."""
    products = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec"):
            products[item.nodeid.partition("[")[0]].append(item)
    for cases in products.values():
        # a value is the same object in all cases that have it
        kept = covering([[*map(id, item.callspec.params.values())] for item in cases])
        for number, item in enumerate(cases):
            if number not in kept:
                item.add_marker(MARKER)


@pytest.fixture(autouse=True, scope="session")
def _few_threads():
    with threadpool_limits(limits=int(os.environ.get("OKL_TEST_THREADS", "1"))):
        yield
