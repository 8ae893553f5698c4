"""Sums and products: the operators, their identities, their parameters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF

from okl.kernels import (
    Columns,
    Constant,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Product,
    Sum,
)

rng = np.random.default_rng(5)
X = rng.normal(size=(8, 3))
Z = rng.normal(size=(4, 3))

leaves = st.one_of(
    st.builds(Gaussian, st.floats(0.01, 5)),
    st.builds(Laplacian, st.floats(0.01, 5)),
    st.builds(Matern, st.floats(0.1, 5), st.sampled_from([0.5, 1.5, 2.5])),
    st.builds(Polynomial, st.integers(1, 3), st.floats(0.1, 1), st.floats(0, 2)),
    st.builds(Constant, st.sampled_from([0, 0.01, 1, 3])),
    st.just(Linear()),
    st.builds(Columns, st.just(Linear()), st.sampled_from([0, [1, 2], slice(2)])),
)
kernels = st.recursive(
    leaves,
    lambda inner: st.builds(Sum, inner, inner) | st.builds(Product, inner, inner),
    max_leaves=4,
)


@given(kernels, kernels)
def test_operators_commute_with_matrices(a, b):
    assert_array_equal((a + b)(X, Z), a(X, Z) + b(X, Z))
    assert_array_equal((a * b)(X, Z), a(X, Z) * b(X, Z))
    assert_array_equal((a + b).diagonal(X), a.diagonal(X) + b.diagonal(X))
    assert_array_equal((a * b).diagonal(X), a.diagonal(X) * b.diagonal(X))


@given(kernels, kernels, kernels)
def test_algebra_of_kernels(a, b, c):
    assert_array_equal((a + b)(X), (b + a)(X))
    size = (abs(a(X)) * (abs(b(X)) + abs(c(X)))).max()
    assert_allclose((a * (b + c))(X), (a * b + a * c)(X), atol=1e-12 * size)


@given(kernels)
def test_composites_stay_positive_semi_definite(kernel):
    K = kernel.resolve(X)(X)
    eigenvalues = np.linalg.eigvalsh(K)
    assert_array_equal(K, K.T)
    assert eigenvalues[0] >= -1e-10 * abs(K).max()


@given(kernels, st.floats(0, 100))
def test_numbers_are_constants(kernel, number):
    K = kernel(X, Z)
    for scaled in (number * kernel, kernel * number, np.float64(number) * kernel):
        assert isinstance(scaled, Product)
        assert_array_equal(scaled(X, Z), number * K)
    for shifted in (number + kernel, kernel + number, kernel + np.float64(number)):
        assert isinstance(shifted, Sum)
        assert_array_equal(shifted(X, Z), number + K)


def test_operands_keep_their_places():
    left, right = Gaussian(1.0), Linear()
    assert (left + right).left is left
    assert (left * right).right is right
    assert isinstance((2 * left).left, Constant)
    assert isinstance((left + 2).right, Constant)


def test_python_sum():
    total = sum([Gaussian(1.0), Linear()])
    assert_array_equal(total(X), Gaussian(1.0)(X) + Linear()(X))


def test_nested_parameters():
    kernel = 30 * Gaussian() + Columns(Gaussian(), [0, 1])
    kernel.set_params(
        left__left__value=5, left__right__gamma=0.5, right__kernel__gamma=2.0
    )
    K = kernel.resolve(X)(X, Z)
    expected = 5 * Gaussian(0.5)(X, Z) + Gaussian(2.0)(X[:, :2], Z[:, :2])
    assert_allclose(K, expected)


def test_resolve_reaches_both_operands():
    kernel = (Gaussian() + Laplacian()).resolve(X)
    assert kernel.left.gamma == kernel.right.gamma == Gaussian().resolve(X).gamma
    with pytest.raises(ValueError, match="gamma of Laplacian must be finite"):
        (Gaussian() * Laplacian(-1)).resolve(X)


@pytest.mark.parametrize("other", ["rbf", None, True, RBF(), [1.0], 1j, Gaussian])
def test_operators_reject_what_is_no_kernel(other):
    message = "added to or multiplied with a kernel must be an object of okl.kernels"
    for combine in (
        lambda: Gaussian() + other,
        lambda: Gaussian() * other,
        lambda: Gaussian().__radd__(other),
        lambda: Gaussian().__rmul__(other),
    ):
        with pytest.raises(TypeError, match=message):
            combine()


def test_operators_reject_arrays_as_a_whole():
    # NumPy would otherwise make an array of two kernels.
    for combine in (np.multiply, np.add, lambda array, kernel: array * kernel):
        with pytest.raises(TypeError):
            combine(np.ones(2), Gaussian())


@pytest.mark.parametrize("Pair", [Sum, Product])
def test_operands_are_checked_in_resolve(Pair):
    with pytest.raises(TypeError, match=f"left of {Pair.__name__} must be an object"):
        Pair("rbf", Linear()).resolve(X)
    with pytest.raises(TypeError, match=f"right of {Pair.__name__} must be an object"):
        Pair(Linear(), 3).resolve(X)


def test_a_negative_factor_is_no_kernel():
    with pytest.raises(ValueError, match="value of Constant must be a finite number"):
        (-1 * Linear()).resolve(X)


def test_the_base_class_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Kernel()
