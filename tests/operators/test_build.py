"""From a kernel and rows to an operator, in blocks and within memory."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose, assert_array_equal

from okl.kernels import CallableKernel, Gaussian, Linear
from okl.operators import (
    Dense,
    Features,
    RowBlocks,
    SparseFeatures,
    multiply_rows,
    operator_of,
)


def rows(n, p, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))


@pytest.mark.parametrize(
    ("kernel", "shape", "kind"),
    [
        (Linear(), (9, 3), Features),
        (Linear(), (3, 3), Dense),
        (Linear(), (3, 9), Dense),
        (Gaussian(0.5), (9, 3), Dense),
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_features_where_they_are_fewer_than_the_rows(kernel, shape, kind, sparse):
    X = rows(*shape)
    operator = operator_of(kernel, sp.csr_matrix(X) if sparse else X)
    assert type(operator) is (SparseFeatures if sparse and kind is Features else kind)
    assert_allclose(operator @ np.eye(len(X)), kernel(X), atol=1e-13)


def test_rows_so_sparse_that_products_with_them_are_cheaper_than_with_their_matrix():
    n, d = 400, 1000
    X = sp.random_array((n, d), density=2 / d, random_state=0, format="csr")
    operator = operator_of(Linear(), X, budget=2.5 * 8 * n**2)
    assert type(operator) is SparseFeatures
    assert operator.work < n**2
    assert operator.workspace == 1.5  # it may form the matrix, and a factor of it
    assert_allclose(operator @ np.eye(n), (X @ X.T).toarray(), atol=1e-13)
    denser = sp.random_array((n, d), density=0.1, random_state=0, format="csr")
    assert type(operator_of(Linear(), denser)) is Dense


@pytest.mark.parametrize(("share", "fits"), [(0.99, False), (1.01, True)])
def test_fewer_sparse_features_than_rows_are_decomposed_if_that_fits(share, fits):
    n, d = 500, 300
    X = sp.random_array((n, d), density=0.1, random_state=0, format="csr")
    budget = share * 8 * (3 * d**2 + n * d)
    operator = operator_of(Linear(), X, budget=budget)
    assert type(operator) is SparseFeatures
    centred, _ = operator.centered()
    assert (centred.workspace >= 2) is fits
    # the spectrum takes no more than that, small arrays aside
    tracemalloc.start()
    assert len(operator.spectrum.eigenvalues) == d
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.1 * 8 * (3 * d**2 + n * d)


def test_a_function_of_the_user_is_verified():
    X = rows(6, 2)
    trusted = operator_of(CallableKernel(lambda X, Z: X @ Z.T), X).verified()
    assert_allclose(trusted @ np.eye(6), X @ X.T, atol=1e-12)
    indefinite = operator_of(CallableKernel(lambda X, Z: -(X @ Z.T)), X)
    with pytest.raises(ValueError, match="most negative eigenvalue is -"):
        indefinite.verified()


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Linear()])
@pytest.mark.parametrize("megabytes", [1e-4, 2e-3, 1024])
@pytest.mark.parametrize("sparse", [False, True])
def test_blocks_of_rows_change_nothing(kernel, megabytes, sparse):
    X, training, coef = rows(37, 3), rows(8, 3, seed=1), rows(8, 2, seed=2)
    expected = kernel(X, training) @ coef
    if sparse:
        X, training = sp.csr_matrix(X), sp.csr_matrix(training)
    with sklearn.config_context(working_memory=megabytes):
        found = multiply_rows(kernel, X, training, coef)
    assert_allclose(found, expected, atol=1e-13)


def test_blocks_are_as_large_as_the_working_memory_allows():
    sizes = []

    def function(X, Z):
        sizes.append(len(X) * len(Z) * 8)
        return X @ Z.T

    X, training = rows(100, 3), rows(50, 3, seed=1)
    with sklearn.config_context(working_memory=4000 / 2**20):
        multiply_rows(CallableKernel(function), X, training, rows(50, 2))
    assert max(sizes) <= 4000
    assert len(sizes) == 10


def test_blocks_do_not_hold_the_whole_cross_matrix():
    import tracemalloc

    X, training, coef = rows(2000, 2), rows(500, 2, seed=1), rows(500, 2)
    tracemalloc.start()
    try:
        with sklearn.config_context(working_memory=0.1):
            multiply_rows(Gaussian(0.5), X, training, coef)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * 2000 * 500 / 8


def test_what_does_not_fit_is_evaluated_in_blocks():
    X = rows(20, 30)
    size = 8 * 20**2
    assert type(operator_of(Gaussian(0.5), X, size - 1)) is RowBlocks
    stored = operator_of(Gaussian(0.5), X, 2 * size)
    assert type(stored) is Dense
    assert stored.workspace == 1
    assert type(operator_of(Linear(), rows(20, 3), 1.0)) is Features
    with pytest.raises(
        MemoryError, match=r"20 samples.*only be checked on the whole matrix"
    ):
        operator_of(CallableKernel(lambda X, Z: X @ Z.T), X, size - 1)


def test_the_training_rows_are_not_written_to():
    X = rows(9, 3)
    X.flags.writeable = False
    before = X.copy()
    operator = operator_of(Linear(), X)
    operator.centered()[0].solve(np.ones((9, 1)), 1.0)
    assert_array_equal(X, before)


def test_many_features_are_there_once():
    X = np.random.default_rng(0).normal(size=(30, 4000))
    tracemalloc.start()
    operator_of(Linear(X.mean(axis=0)), X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * X.nbytes
