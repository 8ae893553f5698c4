"""Small decompositions take one BLAS thread, large ones what there is."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from okl.numerics.arrays import eigh
from okl.operators import Dense


def blas_threads():
    return [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]


@pytest.mark.parametrize(("n", "expected"), [(100, 1), (465, 2)])
def test_the_threads_of_a_decomposition(n, expected, monkeypatch):
    seen = []

    def spied(matrix, **options):
        seen.extend(blas_threads())
        return eigh(matrix, **options)

    monkeypatch.setattr("okl.operators.dense.eigh", spied)
    with threadpool_limits(2, user_api="blas"):
        if set(blas_threads()) != {2}:
            pytest.skip("BLAS was built for one thread")
        assert Dense(np.eye(n)).spectrum.norm == pytest.approx(1.0)
        assert set(seen) == {expected}
        assert set(blas_threads()) == {2}
