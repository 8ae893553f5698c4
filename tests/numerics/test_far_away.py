"""Numbers far away from all others."""

import numpy as np
from numpy.testing import assert_array_equal

from okl.numerics.far_away import brought_near

NORMAL = np.random.default_rng(0).normal(size=(2000, 2))


def test_normal_numbers_stay_where_they_are():
    assert brought_near(NORMAL) is NORMAL


def test_a_tenth_may_be_anywhere():
    far = NORMAL.copy()
    far[:90, 0], far[90:180, 0] = 1e9, -1e9
    near = brought_near(far)
    assert_array_equal(near[180:], far[180:])
    assert_array_equal(near[:, 1], far[:, 1])
    largest = near[0, 0]
    assert np.abs(NORMAL).max() < largest < 100
    assert_array_equal(near[:180, 0], np.repeat([largest, -largest], 90))
    assert_array_equal(near, brought_near(np.where(far == 1e9, 1e6, far)))


def test_of_numbers_that_are_mostly_zero_none_is_far_away():
    idle = np.zeros((50, 1))
    idle[:3, 0] = 1.0, 5.0, 1e6
    assert brought_near(idle) is idle


def test_weight_two_is_the_number_twice():
    far = NORMAL[:101].copy()
    far[:3] = 1e6
    weights = 1.0 + (np.arange(101) % 3 == 0)[:, None]
    twice = np.repeat(far, weights[:, 0].astype(int), axis=0)
    near = np.repeat(brought_near(far, weights), weights[:, 0].astype(int), axis=0)
    assert_array_equal(near, brought_near(twice))
