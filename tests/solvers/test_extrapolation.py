"""Extrapolation of a fixed-point iteration."""

import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from okl.solvers.output_kernel.extrapolation import Extrapolation
from tests.samples import psd


def test_one_image_says_nothing():
    seen = Extrapolation(4)
    assert seen.guess() is None
    seen.add(np.zeros((2, 2)), np.ones((2, 2)))
    assert seen.guess() is None


@pytest.mark.parametrize("xp", [np, array_api_strict])
def test_a_linear_iteration_is_solved_in_as_many_steps_as_it_has_dimensions(xp):
    # x <- M x + c with eigenvalues of M up to 0.99, which takes thousands of steps
    M, c = psd(4, seed=1), np.arange(4.0)
    M *= 0.99 / np.linalg.eigvalsh(M)[-1]
    x, seen = np.zeros(4), Extrapolation(9)
    for _ in range(5):
        image = M @ x + c
        seen.add(xp.asarray(x[:, None]), xp.asarray(image[:, None]))
        x = image
    expected = np.linalg.solve(np.eye(4) - M, c)
    assert not np.allclose(x, expected, rtol=1e-2)
    assert_allclose(np.asarray(seen.guess())[:, 0], expected, rtol=1e-6)


def test_it_forgets():
    rng = np.random.default_rng(0)
    long, short = Extrapolation(3), Extrapolation(3)
    pairs = rng.normal(size=(6, 2, 3, 3))
    for k, (iterate, image) in enumerate(pairs):
        long.add(iterate, image)
        if k >= 3:
            short.add(iterate, image)
    assert_array_equal(long.guess(), short.guess())


def test_a_fixed_point_stays():
    seen = Extrapolation(3)
    for _ in range(3):
        seen.add(np.eye(2), np.eye(2))
    assert_array_equal(seen.guess(), np.eye(2))
