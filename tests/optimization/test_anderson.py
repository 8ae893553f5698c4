"""Anderson acceleration: how soon fixed points are reached, and what leads astray."""

import numpy as np
import pytest

from okl.optimization.anderson import Anderson


def steps(image, point, most, tol=1e-9):
    """Return the last point, and after how many steps its residual is small."""
    anderson = Anderson()
    for taken in range(most):
        then = image(point)
        if np.linalg.norm(then - point) < tol:
            return point, taken
        point, _ = anderson.next(point, then, None)
    return point, most


@pytest.mark.parametrize("shape", [(8,), (4, 2)])
def test_slow_linear_steps_end_soon(shape):
    rng = np.random.default_rng(0)
    vectors = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    slow = (vectors * np.linspace(0.9, 0.999, 8)) @ vectors.T
    fixed = rng.normal(size=8)

    def image(point):
        return (fixed + slow @ (point.ravel() - fixed)).reshape(shape)

    found, taken = steps(image, np.zeros(shape), 10_000)
    assert taken <= 300  # 20 000 without; the ridge of the equations takes most
    np.testing.assert_allclose(found.ravel(), fixed, atol=1e-5)


def test_steps_that_are_not_linear_reach_their_fixed_point():
    # of a contraction with a kink at the fixed point
    matrix = np.array([[0.0, 0.9], [-0.9, 0.0]])
    found, taken = steps(lambda point: matrix @ np.abs(point) * 1.05, np.ones(2), 5000)
    assert taken < 5000
    np.testing.assert_allclose(found, 0, atol=1e-7)


@pytest.mark.parametrize("worse", [10.0, np.nan, np.inf])
def test_a_point_of_a_larger_residual_is_taken_back(worse):
    anderson, point = Anderson(), np.zeros(2)
    for number in range(9):
        point, _ = anderson.next(point, point + 0.9**number, number)
    image = point + 0.9**9
    combined, state = anderson.next(point, image, 9)
    assert not np.array_equal(combined, image)
    assert state == 9
    found, state = anderson.next(combined, combined + worse, 10)
    np.testing.assert_array_equal(found, image)
    assert state == 9
    # what was learned is forgotten: the next steps are plain
    found, state = anderson.next(image, image + 1.0, 11)
    np.testing.assert_array_equal(found, image + 1.0)
    assert state == 11


def test_steps_that_all_have_one_residual_are_plain():
    anderson, point = Anderson(), np.zeros(3)
    for _ in range(25):
        then, _ = anderson.next(point, point + 1.0, None)
        np.testing.assert_array_equal(then, point + 1.0)
        point = then


@pytest.mark.parametrize(("dtype", "size"), [("float32", 1.0), ("float64", 1e160)])
def test_what_rounding_or_overflow_hides_is_left_to_plain_steps(dtype, size):
    point = size * np.ones(6, dtype=dtype)
    rates = np.linspace(0.9, 0.99, 6, dtype=dtype)
    anderson = Anderson()
    for _ in range(60):
        with np.errstate(over="ignore"):
            point, _ = anderson.next(point, rates * point, None)
        assert np.all(np.isfinite(point))
    assert np.abs(point).max() < 0.6 * size  # as plain steps do, or sooner


def test_other_libraries_of_arrays():
    xp = pytest.importorskip("array_api_strict")
    anderson, point = Anderson(), xp.ones((3, 2))
    for _ in range(60):
        point, _ = anderson.next(point, 0.99 * point + 1.0, None)
    np.testing.assert_allclose(np.asarray(point), 100.0, rtol=1e-6)
