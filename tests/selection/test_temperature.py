"""The temperature at which held-out rows are likeliest."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, log_softmax

from okl.losses import Logistic, Softmax
from okl.problems import Observed
from okl.selection.temperature import best_temperature, temperature_of_each

N, M, DEVIATION = 40, 3, 0.25


def classes(seed=0, size=2.0):
    """Draw scores, and classes that are mostly those of the largest one."""
    rng = np.random.default_rng(seed)
    scores = size * rng.normal(size=(N, M))
    labels = np.argmax(scores + size * rng.gumbel(size=(N, M)), axis=1)
    return scores, np.eye(M)[labels]


def penalised(logarithm, log_likelihoods):
    """Return minus the log of what is to be largest, of the temperature's log."""
    return logarithm**2 / (2 * DEVIATION**2) - np.sum(log_likelihoods)


@pytest.mark.parametrize("size", [0.3, 2.0, 20.0])
def test_it_is_likeliest_of_all(size):
    scores, targets = classes(size=size)
    weights = 0.5 + np.arange(N)[:, None] % 3
    found = best_temperature(Observed(targets, Softmax(), weights), scores)

    def value(logarithm):
        likely = log_softmax(scores / np.exp(logarithm), axis=1)
        return penalised(logarithm, weights * targets * likely)

    best, step = np.log(found), 1e-4
    slope = (value(best + step) - value(best - step)) / (2 * step)
    assert abs(slope) < 1e-5 * abs(value(best))
    others = [value(logarithm) for logarithm in np.linspace(-4, 4, 201)]
    assert value(best) <= min(others)


def test_labels_that_were_not_observed_do_not_count():
    rng = np.random.default_rng(1)
    scores = 5 * rng.normal(size=(N, M))
    targets = np.sign(scores + 5 * rng.normal(size=(N, M)))
    weights = (rng.random((N, M)) < 0.7).astype(float)
    found = np.log(best_temperature(Observed(targets, Logistic(), weights), scores))

    def value(logarithm):
        likely = np.log(expit(targets * scores / np.exp(logarithm)))
        return penalised(logarithm, likely[weights > 0])

    others = [value(logarithm) for logarithm in np.linspace(-3, 3, 101)]
    assert value(found) <= min(others)
    targets = np.where(weights > 0, targets, -targets)
    again = best_temperature(Observed(targets, Logistic(), weights), scores)
    assert again == pytest.approx(np.exp(found), rel=1e-12)


def test_weights_are_repeated_rows():
    scores, targets = classes()
    counts = np.arange(N) % 3
    rows = np.repeat(np.arange(N), counts)
    weighted = Observed(targets, Softmax(), counts[:, None].astype(float))
    repeated = Observed(targets[rows], Softmax())
    assert_allclose(
        best_temperature(weighted, scores),
        best_temperature(repeated, scores[rows]),
        rtol=1e-6,
    )


def test_scores_without_an_error_make_nothing_certain():
    scores, _ = classes()
    right = np.eye(M)[np.argmax(scores, axis=1)]
    # without a prior the temperature would be zero
    assert 0.1 < best_temperature(Observed(right, Softmax()), scores) < 1.0


def test_scores_that_say_nothing_keep_theirs():
    _, targets = classes()
    assert best_temperature(Observed(targets, Softmax()), np.zeros((N, M))) == 1.0
    bad = np.full((N, M), np.nan)
    assert best_temperature(Observed(targets, Softmax()), bad) == 1.0


def test_it_is_looked_for_near_to_one_first():
    class Counted(Softmax):
        calls = 0

        def negative_gradient(self, *given):
            Counted.calls += 1
            return super().negative_gradient(*given)

    scores, targets = classes()
    best_temperature(Observed(targets, Counted()), scores)
    assert Counted.calls <= 10


def test_each_label_has_its_own_near_to_that_of_all():
    rng = np.random.default_rng(2)
    scores = 4 * rng.normal(size=(N, M))
    noise = [0.5, 5.0, 20.0]  # the last one the scores do not tell
    targets = np.sign(scores + noise * rng.logistic(size=(N, M)))
    weights = (rng.random((N, M)) < 0.8).astype(float)
    observed = Observed(targets, Logistic(), weights)
    found = temperature_of_each(observed, scores)
    shared = best_temperature(observed, scores)
    assert found[0] < shared < found[2]
    for label, best in enumerate(found):

        def value(logarithm, label=label):
            likely = np.log(
                expit(targets[:, label] * scores[:, label] / np.exp(logarithm))
            )
            seen = weights[:, label] > 0
            return penalised(logarithm - np.log(shared), likely[seen])

        others = [value(logarithm) for logarithm in np.linspace(-3, 4, 201)]
        assert value(np.log(best)) <= min(others) + 1e-6
