"""One thread for linear algebra: the problems here are small.

NumPy and SciPy bring a pool of threads each, and on a few cores the two wait for
each other; so do the workers of pytest-xdist.
"""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    with threadpool_limits(limits=1):
        yield
