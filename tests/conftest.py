"""One thread for linear algebra: the problems here are small.

NumPy and SciPy bring a pool of threads each, and on a few cores the two wait for
each other; so do the workers of pytest-xdist. `make test-cpus` asks for two threads,
with which sums are added up in another order.
"""

import os

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def _few_threads():
    with threadpool_limits(limits=int(os.environ.get("OKL_TEST_THREADS", "1"))):
        yield
