"""Scores of predicted quantiles, beside scikit-learn's."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import metrics as theirs

import okl.metrics as ours

rng = np.random.default_rng(0)
Y = rng.normal(size=(60, 4)) ** 3
PREDICTED = Y + rng.normal(size=Y.shape)
SEEN = np.where(rng.random(Y.shape) < 0.3, np.nan, Y)
NAMES = ["d2_pinball_score", "mean_pinball_loss"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("alpha", [0.05, 0.5, 0.8])
@pytest.mark.parametrize(
    "weights",
    [None, rng.integers(3, size=60).astype(float), 1 - rng.random(Y.shape)],
    ids=["none", "rows", "targets"],
)
@pytest.mark.parametrize("targets", [Y, SEEN], ids=["complete", "missing"])
def test_outputs_are_scored_on_their_observed_rows(name, alpha, weights, targets):
    expected = []
    for j, column in enumerate(targets.T):
        seen = ~np.isnan(column)
        own = weights if weights is None or weights.ndim == 1 else weights[:, j]
        given = None if own is None else own[seen]
        score = partial(getattr(theirs, name), alpha=alpha, sample_weight=given)
        expected.append(score(column[seen], PREDICTED[seen, j]))
    options = {"alpha": alpha, "sample_weight": weights}
    score = partial(getattr(ours, name), targets, PREDICTED, **options)
    assert_allclose(score(multioutput="raw_values"), expected)
    assert_allclose(score(), np.mean(expected))


@pytest.mark.parametrize("name", NAMES)
def test_the_tasks_of_rows_are_outputs(name):
    task = rng.permuted(np.repeat(["a", "b"], 30))
    score = partial(getattr(ours, name), alpha=0.2)
    expected = [score(Y[task == t, 0], PREDICTED[task == t, 0]) for t in "ab"]
    found = score(Y[:, 0], PREDICTED[:, 0], task=task, multioutput="raw_values")
    assert_allclose(found, expected)


def test_the_best_constant_explains_nothing():
    best = np.quantile(Y, 0.3, axis=0, method="averaged_inverted_cdf")
    constant = np.broadcast_to(best, Y.shape)
    assert_allclose(ours.d2_pinball_score(Y, constant, alpha=0.3), 0, atol=1e-12)
    assert ours.d2_pinball_score(Y, constant + 0.1, alpha=0.3) < 0
    assert ours.d2_pinball_score(Y, Y, alpha=0.3) == 1
    same = np.ones((5, 1))
    assert ours.d2_pinball_score(same, same) == 1
    assert ours.d2_pinball_score(same, same + 1) == 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("alpha", [0, 1, -0.5, np.nan, "half"])
def test_quantiles_that_are_none(name, alpha):
    with pytest.raises(ValueError, match="quantile must be a number between 0 and 1"):
        getattr(ours, name)(Y, PREDICTED, alpha=alpha)
