"""Wrong parameters: found by resolve, never by the constructor, and explained."""

import numpy as np
import pytest

from okl.kernels import Constant, Gaussian, Laplacian, Linear, Matern, Polynomial

X = np.random.default_rng(0).normal(size=(6, 3))
GAMMA_KERNELS = [Gaussian, Laplacian, Polynomial]


@pytest.mark.parametrize("Kernel", GAMMA_KERNELS)
@pytest.mark.parametrize(
    "gamma",
    [
        0,
        -1.0,
        np.nan,
        np.inf,
        None,
        True,
        "auto",
        "0.5",
        1j,
        [0.1, -1.0, 2.0],
        [0.1, np.nan, 2.0],
        ["a", "b", "c"],
        [1, [2, 3]],
    ],
)
def test_gamma_that_is_not_positive_and_finite(Kernel, gamma):
    kernel = Kernel(gamma=gamma)
    message = f"gamma of {Kernel.__name__} must be finite and > 0, .* one number per"
    with pytest.raises(ValueError, match=message):
        kernel.resolve(X)
    with pytest.raises(ValueError, match=message):
        kernel(X)


@pytest.mark.parametrize("Kernel", GAMMA_KERNELS)
@pytest.mark.parametrize("gamma", [[1.0, 2.0], [1.0], np.ones((3, 1)), np.ones((1, 3))])
def test_gamma_of_another_shape(Kernel, gamma):
    message = rf"gamma of {Kernel.__name__} must .* shape \(3,\), .* got shape"
    with pytest.raises(ValueError, match=message):
        Kernel(gamma=gamma).resolve(X)


@pytest.mark.parametrize("Kernel", GAMMA_KERNELS)
def test_unresolved_scale_is_not_called(Kernel):
    message = rf"gamma='scale' of {Kernel.__name__} depends on .*call resolve\(X\)"
    with pytest.raises(ValueError, match=message):
        Kernel()(X)
    with pytest.raises(ValueError, match=message):
        Kernel()(X, X[:2])


@pytest.mark.parametrize(
    "limits",
    [[-1.0, 1.0], [[1.0] * 3, [0.0] * 3], [[np.nan] * 3, [1.0] * 3], "no", [[0], [1]]],
)
def test_limits_that_are_none(limits):
    with pytest.raises(ValueError, match="limits of Linear must be None, or a lowest"):
        Linear(limits=limits).resolve(X)


def test_unresolved_scale_of_a_length_is_not_called():
    message = r"length_scale='scale' of Matern depends on .*call resolve\(X\)"
    with pytest.raises(ValueError, match=message):
        Matern("scale")(X)


@pytest.mark.parametrize("length_scale", [0, -1.0, np.inf, None, "1", [1, 2, -3]])
def test_length_scale_that_is_not_positive(length_scale):
    message = "length_scale of Matern must be finite and > 0"
    with pytest.raises(ValueError, match=message):
        Matern(length_scale).resolve(X)


def test_length_scale_of_another_length():
    with pytest.raises(ValueError, match=r"must .* shape \(3,\), .* got shape \(2,\)"):
        Matern([1.0, 2.0]).resolve(X)


@pytest.mark.parametrize("nu", [1.0, np.inf, "1.5", None])
def test_nu(nu):
    kernel = Matern(nu=nu)
    with pytest.raises(ValueError, match=r"nu of Matern must be 0.5, 1.5 or 2.5, got"):
        kernel.resolve(X)


@pytest.mark.parametrize("degree", [0, -2, 2.5, 2.0, "3", True, None])
def test_degree(degree):
    with pytest.raises(ValueError, match="degree of Polynomial must be a whole number"):
        Polynomial(degree).resolve(X)


@pytest.mark.parametrize("value", [-1, np.nan, np.inf, "1", None, True, [1.0]])
def test_numbers_that_must_not_be_negative(value):
    with pytest.raises(ValueError, match="coef0 of Polynomial must be a finite number"):
        Polynomial(coef0=value).resolve(X)
    with pytest.raises(ValueError, match="value of Constant must be a finite number"):
        Constant(value).resolve(X)


def test_numpy_numbers_are_numbers():
    kernel = Polynomial(np.int64(2), np.float32(0.5), np.float32(1)).resolve(X)
    assert kernel.get_params() == {"degree": 2, "gamma": 0.5, "coef0": 1.0}
    assert Constant(np.int64(0)).resolve(X).value == 0.0


@pytest.mark.parametrize("Kernel", [*GAMMA_KERNELS, Matern])
def test_resolved_parameters_are_plain_numbers(Kernel):
    for value in Kernel().resolve(X).get_params().values():
        assert type(value) in {int, float}


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("Kernel", [*GAMMA_KERNELS, Matern])
def test_rows_must_be_finite(Kernel, bad):
    rows = X.copy()
    rows[0, 0] = bad
    with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
        Kernel().resolve(rows)
    with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
        Kernel().resolve(X)(rows)


@pytest.mark.parametrize("Kernel", [*GAMMA_KERNELS, Matern])
def test_rows_must_have_the_same_features(Kernel):
    with pytest.raises(ValueError, match="Incompatible dimension"):
        Kernel().resolve(X)(X, X[:, :2])
