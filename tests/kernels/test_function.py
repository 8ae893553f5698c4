"""Functions as kernels, Gaussian-process kernels among them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, DotProduct, WhiteKernel
from sklearn.gaussian_process.kernels import Matern as MaternOfAnyOrder
from sklearn.metrics.pairwise import cosine_similarity

from okl.kernels import CallableKernel, Gaussian

rng = np.random.default_rng(13)
X = rng.normal(size=(300, 3))
Z = rng.normal(size=(5, 3))


def test_function_gets_both_arguments():
    calls = []

    def function(A, B):
        calls.append((A, B))
        return A @ B.T

    kernel = CallableKernel(function)
    kernel(X)
    kernel(X, Z)
    assert calls[0] == (X, X)
    assert calls[1][1] is Z


def test_diagonal_forms_small_blocks_only():
    largest = []

    def function(A, B):
        largest.append(len(A))
        return cosine_similarity(A, B)

    assert_allclose(CallableKernel(function).diagonal(X), np.ones(300))
    assert sum(largest) == 300
    assert max(largest) < 300


def test_the_result_is_a_copy():
    stored = np.eye(5)
    K = CallableKernel(lambda A, B: stored)(Z)
    K[...] = 7
    assert_array_equal(stored, np.eye(5))


def test_gaussian_process_kernel():
    gp = 2.0 * RBF([0.5, 1.0, 2.0]) + DotProduct()
    kernel = CallableKernel(gp).resolve(X)
    assert_array_equal(kernel(X), gp(X))
    assert_array_equal(kernel(X, Z), gp(X, Z))
    assert_array_equal(kernel.diagonal(X), gp.diag(X))


def test_white_noise_is_added_to_the_square_matrix_only():
    kernel = CallableKernel(RBF() + WhiteKernel(0.5))
    assert_allclose(np.diagonal(kernel(Z)), 1.5)
    assert_allclose(np.diagonal(kernel(Z, Z)), 1.0)
    assert_allclose(kernel.diagonal(Z), 1.5)


def test_white_noise_is_refused_by_fits():
    CallableKernel(MaternOfAnyOrder(nu=0.25)).resolve(X)  # equal but for rounding
    for gp in (RBF() + WhiteKernel(0.5), 2.0 * WhiteKernel(1e-9) * DotProduct(0.0)):
        with pytest.raises(
            ValueError, match=r"has white noise.* alpha accounts for noise"
        ):
            CallableKernel(gp).resolve(X)


def test_gaussian_process_parameters_are_nested():
    kernel = CallableKernel(RBF(1.0))
    copy = clone(kernel).set_params(function__length_scale=0.5)
    assert_allclose(copy(X, Z), Gaussian(1 / (2 * 0.5**2))(X, Z))
    assert kernel.function.length_scale == 1.0


def test_gaussian_process_kernel_needs_dense_rows():
    kernel = CallableKernel(RBF())
    for call in (kernel, kernel.diagonal):
        with pytest.raises(TypeError, match=r"takes dense X only.*pass X.toarray\(\)"):
            call(sparse.csr_array(Z))


@pytest.mark.parametrize("result", [np.ones((5, 4)), np.ones(5), 1.0])
def test_shape_is_checked(result):
    kernel = CallableKernel(lambda A, B: result)
    with pytest.raises(ValueError, match=r"must return shape \(5, 5\).*, got \("):
        kernel(Z)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_are_checked(value):
    kernel = CallableKernel(lambda A, B: np.full((len(A), len(B)), value))
    with pytest.raises(ValueError, match="returned values that are not finite"):
        kernel(X, Z)
    with pytest.raises(ValueError, match="returned values that are not finite"):
        kernel.diagonal(X)


@pytest.mark.parametrize("function", ["rbf", None, np.eye(3), RBF])
def test_function_must_be_callable(function):
    kernel = CallableKernel(function)
    with pytest.raises(TypeError, match=r"function of CallableKernel must take \(X, Z"):
        kernel.resolve(X)
