"""Products with new rows: in long form for each row its own task only."""

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context

from okl.coding.tasks import LongCoefficients, Tasks
from okl.kernels import Gaussian, Linear
from okl.operators import multiply_own, multiply_rows
from okl.output_kernels import SpectralKernel
from tests.samples import psd

N, N_NEW, P = 40, 25, 6


def sample(n_tasks, seed=0, scale=None):
    """Return training rows, new rows, their tasks, and coefficients."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((N, P)) < 0.5, 0.0, rng.normal(size=(N, P)))
    Z = np.where(rng.random((N_NEW, P)) < 0.5, 0.0, rng.normal(size=(N_NEW, P)))
    tasks = Tasks(rng.integers(0, n_tasks, N), n_tasks)
    asked = Tasks(rng.integers(0, n_tasks, N_NEW), n_tasks)
    L = SpectralKernel.from_matrix(psd(n_tasks, seed=1))
    theta = LongCoefficients(rng.normal(size=(N, 1)), tasks, L, scale)
    return X, Z, asked, theta


@pytest.mark.parametrize("scale", [None, np.array([1.0, 2.0, 0.5, 3.0])])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(0.3)], ids=repr)
def test_the_products_of_own_tasks_are_some_of_all(kernel, sparse, scale):
    X, Z, asked, theta = sample(4, scale=scale)
    if sparse:
        X, Z = scipy.sparse.csr_array(X), scipy.sparse.csr_array(Z)
    every = multiply_rows(kernel, Z, X, theta)
    own = multiply_own(kernel, Z, X, theta, asked)
    assert own.shape == (N_NEW, 1)
    assert_allclose(own[:, 0], every[np.arange(N_NEW), asked.codes], atol=1e-12)
    matrix = kernel(Z, X)
    given = multiply_own("precomputed", matrix, None, theta, asked)
    assert_allclose(given, own, atol=1e-12)
    with config_context(working_memory=1e-3):  # blocks of three rows
        again = multiply_own(kernel, Z, X, theta, asked)
    assert_allclose(again, own, atol=1e-12)


class Counting(np.ndarray):
    """An array that counts the multiplications that it takes part in."""

    total = 0

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        plain = [np.asarray(array) for array in inputs]
        result = getattr(ufunc, method)(*plain, **options)
        if method == "__call__" and ufunc is np.multiply:
            Counting.total += result.size
        elif ufunc is np.matmul:
            Counting.total += plain[0].size * plain[1].shape[-1]
        return result.view(Counting) if isinstance(result, np.ndarray) else result


class Features:
    """The linear kernel, that counts what is done with the features of new rows."""

    def features(self, X):
        return X.view(Counting) if X.shape[0] == N_NEW else X


@pytest.mark.parametrize("n_tasks", [1, 3, 30])
def test_features_cost_one_output_however_many_tasks(n_tasks):
    X, Z, asked, theta = sample(n_tasks)
    Counting.total = 0
    own = multiply_own(Features(), Z, X, theta, asked)
    assert Counting.total == N_NEW * P
    assert_allclose(own, multiply_own(Linear(), Z, X, theta, asked), atol=1e-12)


class OnlyRows:
    """An output kernel of which nothing is known but its rows."""

    def __init__(self, kernel):
        self.kernel, self.asked = kernel, None

    def rows(self, numbers):
        self.asked = numbers
        return self.kernel.rows(numbers)


def test_of_the_output_kernel_only_the_tasks_asked_for_are_read():
    X, Z, _, theta = sample(5)
    only = OnlyRows(theta.output_kernel)
    asked = Tasks(np.where(np.arange(N_NEW) < 7, 4, 1), 5)
    read = LongCoefficients(theta.column, theta.tasks, only)
    for kernel in (Linear(), Gaussian(0.3)):
        own = multiply_own(kernel, Z, X, read, asked)
        assert_array_equal(only.asked, [1, 4])
        assert_allclose(own, multiply_own(kernel, Z, X, theta, asked), atol=1e-12)
