"""Kernel matrices that are filled block by block."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from okl.kernels import (
    Average,
    CallableKernel,
    Columns,
    Constant,
    Gaussian,
    Gram,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    entries_at_peak,
    square_matrix,
)

N, D = 700, 3  # several blocks, and a last one that is smaller
X = np.random.default_rng(0).normal(size=(N, D))
X[7] = X[600]
ALONE = [
    Gaussian(0.3),
    Laplacian([0.1, 0.3, 1.0]),
    Linear([0.5, 0.0, 1.0], 0.3),
    Matern([1.0, 2.0, 3.0], 0.5),
    Matern(2.0, 2.5),
    Periodic(1.0, 3.0),
    Polynomial(3, 0.1),
    RationalQuadratic(2.0, 0.7),
]
COMBINED = [
    0.5 * Linear() + 2.0 * Matern(2.0, 2.5),
    0.5 * Linear() + 2.0 * Average([Matern(2.0), Laplacian(0.3)]),
    Gaussian(0.3) * (Linear() + (Matern(2.0) + (Gaussian(1.0) + Constant(2.0)))),
    Average([Columns(Gaussian(0.3), [0, 2]), Linear() * Laplacian(0.1)], [2, 1]),
]


def names(kernels):
    return [" ".join(repr(kernel).split())[:50] for kernel in kernels]


@pytest.mark.parametrize("kernel", ALONE + COMBINED, ids=names(ALONE + COMBINED))
def test_it_is_the_matrix_and_exactly_symmetric(kernel):
    K = square_matrix(kernel, X)
    assert_array_equal(K, K.T)
    assert_allclose(K, kernel(X), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_rows(form):
    kernel = 0.5 * Linear() + Gaussian(0.3)
    few = np.where(np.abs(X) < 1, 0, X)
    K = square_matrix(kernel, form(few))
    assert type(K) is np.ndarray
    assert_array_equal(K, K.T)
    assert_allclose(K, kernel(few), rtol=1e-10, atol=1e-10)


def test_a_function_that_tells_rows_apart_sees_all_of_them():
    def white(A, B):
        return np.eye(len(A)) if A is B else np.zeros((len(A), len(B)))

    kernel = Linear() + CallableKernel(white)
    assert_allclose(square_matrix(kernel, X), X @ X.T + np.eye(N), atol=1e-10)


def peak(function, *given):
    """Return the most floats that exist at once while a function runs."""
    function(*given)  # what is imported and cached at the first call
    tracemalloc.start()
    try:
        function(*given)
        return tracemalloc.get_traced_memory()[1] / 8
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kernel", COMBINED, ids=names(COMBINED))
def test_the_memory_of_a_combination_is_that_of_one_matrix_and_of_blocks(kernel):
    rows = np.random.default_rng(0).normal(size=(2000, D))
    assert peak(square_matrix, kernel, rows) < 1.7 * 2000**2


@pytest.mark.parametrize("n", [200, N, 1500])
@pytest.mark.parametrize("kernel", ALONE + COMBINED, ids=names(ALONE + COMBINED))
def test_the_peak_is_known_beforehand(kernel, n):
    rows = np.random.default_rng(0).normal(size=(n, D))
    used, said = peak(square_matrix, kernel, rows), entries_at_peak(kernel, n)
    assert used <= said + 20 * rows.size  # copies of X
    assert said <= 2.1 * used  # a kernel that needs no distances takes half


def test_the_peak_of_a_whole_matrix_is_known_beforehand():
    known = Gram(X @ X.T)
    rows = np.arange(N, dtype=float)[:, None]
    kernel = known + 2.0 * known
    used, said = peak(square_matrix, kernel, rows), entries_at_peak(kernel, N)
    assert used <= said + 20 * N
    assert said <= 1.5 * used
