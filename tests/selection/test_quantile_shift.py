"""What is added to predictions of a quantile, by rows that were held out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from okl.coding.tasks import Tasks
from okl.losses import Quantile
from okl.problems import Observed
from okl.selection.quantile_shift import quantile_shift

RNG = np.random.default_rng(0)
TARGETS, SCORES = RNG.normal(size=(2, 40, 3))
QUANTILES = [0.1, 0.5, 0.9]


def shift_of(targets, scores, quantile, weights=None, tasks=None):
    loss = Quantile(quantile)
    observed = Observed(targets, loss, weights, tasks)
    none = np.zeros(observed.n_outputs, dtype=bool)
    return quantile_shift(observed, scores, quantile, none)


@pytest.mark.parametrize("quantile", QUANTILES)
def test_no_other_shift_has_a_smaller_loss(quantile):
    loss = Quantile(quantile)

    def losses(shift):
        return loss.entries(TARGETS, SCORES + shift).sum(axis=0)

    found = shift_of(TARGETS, SCORES, quantile)
    for other in np.linspace(-3, 3, 61):
        assert np.all(losses(found) <= losses(other) + 1e-12)


@pytest.mark.parametrize("quantile", QUANTILES)
def test_the_share_of_targets_below_is_the_quantile(quantile):
    moved = SCORES + shift_of(TARGETS, SCORES, quantile)
    assert_allclose(np.mean(moved > TARGETS, axis=0), quantile, atol=1e-12)


def test_weights_are_copies_of_rows():
    weights = RNG.integers(3, size=(40, 1))
    copies = np.repeat(np.arange(40), weights[:, 0])
    one = shift_of(TARGETS, SCORES, 0.8, weights.astype(float))
    assert_allclose(one, shift_of(TARGETS[copies], SCORES[copies], 0.8))


def test_targets_that_are_missing_do_not_count():
    weights = np.ones((40, 3))
    weights[10:, 1] = 0.0
    targets = np.where(weights > 0, TARGETS, 1e6)
    found = shift_of(targets, SCORES, 0.8, weights)
    assert_allclose(found[1], shift_of(TARGETS[:10], SCORES[:10], 0.8)[1])
    assert_allclose(found[[0, 2]], shift_of(TARGETS, SCORES, 0.8)[[0, 2]])


@pytest.mark.parametrize("n_observed", [0, 1, 9])
def test_too_few_targets_have_the_shift_of_all(n_observed):
    weights = np.ones((40, 3))
    weights[n_observed:, 1] = 0.0
    found = shift_of(TARGETS, SCORES, 0.9, weights)
    seen = weights > 0
    every = shift_of(TARGETS[seen][:, None], SCORES[seen][:, None], 0.9)
    assert_allclose(found[1], every[0])


@pytest.mark.parametrize("quantile", [0.1, 0.2, 0.8, 0.9])
@pytest.mark.parametrize("n_observed", [5, 9, 10])
def test_the_mirrored_quantile_has_the_mirrored_shift(quantile, n_observed):
    weights = np.ones((40, 3))
    weights[n_observed:, 1] = 0.0
    one = shift_of(TARGETS, SCORES, quantile, weights)
    assert_allclose(-one, shift_of(-TARGETS, -SCORES, 1 - quantile, weights))


def test_ten_targets_are_enough_for_nine_tenths():
    weights = np.ones((40, 3))
    weights[10:, 1] = 0.0
    found = shift_of(TARGETS, SCORES, 0.9, weights)
    assert_allclose(found[1], shift_of(TARGETS[:10], SCORES[:10], 0.9)[1])


def test_constant_outputs_have_none_and_say_nothing_of_others():
    weights = np.ones((40, 3))
    weights[5:, 2] = 0.0
    observed = Observed(TARGETS, Quantile(0.9), weights)
    constant = np.array([True, True, False])
    found = quantile_shift(observed, SCORES, 0.9, constant)
    assert_array_equal(found[:2], [0.0, 0.0])
    assert_allclose(found[2], shift_of(TARGETS[:5, 2:], SCORES[:5, 2:], 0.9)[0])
    every = np.ones(3, dtype=bool)
    assert_array_equal(quantile_shift(observed, SCORES, 0.9, every), np.zeros(3))


def test_tasks_have_one_in_common():
    tasks = Tasks(np.arange(40) % 4, 4)
    found = shift_of(TARGETS[:, :1], SCORES[:, :1], 0.9, tasks=tasks)
    assert_allclose(found, shift_of(TARGETS[:, :1], SCORES[:, :1], 0.9))


def test_a_fit_that_failed_is_left_alone():
    scores = np.where(TARGETS > 2, np.nan, SCORES)
    assert_array_equal(shift_of(TARGETS, scores, 0.9), np.zeros(3))
