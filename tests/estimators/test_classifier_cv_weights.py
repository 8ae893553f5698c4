"""A label whose weight is zero was not observed: in fits, scores and temperatures."""

import numpy as np
import pytest

from okl import OutputKernelClassifier, OutputKernelClassifierCV
from okl.metrics import log_loss


def sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    labels = X @ rng.normal(size=(3, 3)) + rng.normal(size=(90, 3)) > 0
    return X, labels.astype(float), rng.random((90, 3)) < 0.3


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared"])
@pytest.mark.parametrize("search", ["full", "staged"])
def test_labels_without_weight_are_not_scored(loss, search):
    X, labels, gone = sample()
    options = {"alphas": [10.0, 1.0, 0.1], "cv": 3, "loss": loss, "search": search}
    missing, wrong = (
        OutputKernelClassifierCV("rbf", "identity", **options) for _ in "ab"
    )
    missing.fit(X, np.where(gone, np.nan, labels))
    wrong.fit(X, np.where(gone, 1 - labels, labels), sample_weight=1.0 - gone)
    assert wrong.alpha_ == missing.alpha_
    np.testing.assert_allclose(wrong.scores_, missing.scores_, rtol=1e-3)
    if loss == "logistic":
        np.testing.assert_allclose(wrong.temperature_, missing.temperature_, rtol=1e-3)


def test_labels_have_their_weights_in_log_losses():
    X, labels, _ = sample()
    weights = np.random.default_rng(1).uniform(0.2, 3.0, size=labels.shape)
    rows = np.arange(90)
    folds = [(rows[rows % 3 != k], rows[rows % 3 == k]) for k in range(3)]
    options = {"alphas": [1.0], "cv": folds, "tol": 1e-8, "temperature": 1.0}
    search = OutputKernelClassifierCV("rbf", "identity", **options)
    search.fit(X, labels, sample_weight=weights)
    for k, (train, test) in enumerate(folds):
        model = OutputKernelClassifier(search.kernel_, "identity", loss="logistic")
        model.fit(X[train], labels[train], sample_weight=weights[train])
        chances = model.predict_proba(X[test])
        expected = -log_loss(labels[test], chances, sample_weight=weights[test])
        assert search.scores_[0, 0, k] == pytest.approx(expected, rel=1e-4)
