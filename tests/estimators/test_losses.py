"""Losses in the estimators: probabilities, class weights, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score

from okl import (
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelRegressor,
)
from okl.losses import Huber
from tests.samples import draw

X, Y = load_iris(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
BINARY = X[50:], Y[50:]
LIKELY = ["logistic", "softmax"]


@pytest.mark.parametrize("loss", LIKELY)
@pytest.mark.parametrize("structure", ["identity", "frobenius"])
@pytest.mark.parametrize("data", [(X, Y), BINARY], ids=["three", "two"])
def test_probabilities_agree_with_decisions(loss, structure, data):
    rows, labels = data
    model = OutputKernelClassifier(structure=structure, loss=loss, alpha=0.5)
    model.fit(rows, labels)
    assert model.certificate_.status == "optimal"
    p = model.predict_proba(rows)
    assert p.shape == (len(rows), len(model.classes_))
    assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    assert_array_equal(model.classes_[np.argmax(p, axis=1)], model.predict(rows))
    assert_allclose(np.exp(model.predict_log_proba(rows)), p)
    scores = model.decision_function(rows)
    if len(model.classes_) == 2:
        assert scores.shape == (len(rows),)
        assert_allclose(p[:, 1], 1 / (1 + np.exp(-scores)), rtol=1e-9)
    else:
        assert scores.shape == p.shape
    assert log_loss(labels, p) < 0.5


@pytest.mark.parametrize("data", [(X, Y), BINARY], ids=["three", "two"])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("class_weight", [None, "balanced", {1: 3.0, 2: 0.5}])
def test_linear_softmax_is_logistic_regression(data, C, class_weight):
    rows, labels = data[0][:-20], data[1][:-20]  # classes of different sizes
    ours = OutputKernelClassifier(
        "linear",
        "identity",
        1 / C,
        loss="softmax",
        class_weight=class_weight,
        tol=1e-11,
    ).fit(rows, labels)
    theirs = LogisticRegression(
        C=C, class_weight=class_weight, tol=1e-10, max_iter=10_000
    ).fit(rows, labels)
    if len(data[0]) == 150:  # two classes: theirs has one output of half the penalty
        p = theirs.predict_proba(rows)
        assert_allclose(ours.predict_proba(rows), p, atol=1e-5)
    else:
        half = OutputKernelClassifier(
            "linear",
            "identity",
            1 / C,
            loss="logistic",
            class_weight=class_weight,
            tol=1e-11,
        ).fit(rows, labels)
        p = theirs.predict_proba(rows)
        assert_allclose(half.predict_proba(rows), p, atol=1e-5)
        assert_allclose(
            half.decision_function(rows), theirs.decision_function(rows), atol=1e-4
        )


def test_multilabel_probabilities():
    rows, labels = make_multilabel_classification(60, 5, n_classes=3, random_state=0)
    model = OutputKernelClassifier(loss="logistic", alpha=0.3).fit(rows, labels)
    p = model.predict_proba(rows)
    assert isinstance(p, np.ndarray)
    assert p.shape == (60, 3)
    assert_array_equal(p > 0.5, model.predict(rows))
    with pytest.raises(ValueError, match=r"one class per row.*loss='logistic'"):
        OutputKernelClassifier(loss="softmax").fit(rows, labels)
    with pytest.raises(ValueError, match="class_weight is for one class per row"):
        OutputKernelClassifier(class_weight="balanced").fit(rows, labels)


@pytest.mark.parametrize("loss", ["squared", "hinge", "squared_hinge"])
def test_no_probabilities(loss):
    model = OutputKernelClassifier(loss=loss).fit(X, Y)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(OutputKernelClassifierCV(loss=loss), "predict_log_proba")
    advice = (
        "^OutputKernelClassifier has predict_proba with loss='logistic' or "
        f"loss='softmax' only; loss='{loss}' has no probabilities.$"
    )
    with pytest.raises(AttributeError, match=advice):
        model.predict_proba(X)


def test_probabilities_of_what_is_no_loss():
    model = OutputKernelClassifier(loss="logit")
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba needs a loss: Unknown"):
        model.predict_proba(X)
    assert OutputKernelClassifier.predict_proba.__name__ == "predict_proba"


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (
            OutputKernelRegressor(loss="logistic"),
            "'logistic' is not for regression; use",
        ),
        (OutputKernelRegressor(loss=Huber(-1.0)), "delta must be a finite number > 0"),
        (
            OutputKernelClassifier(loss="huber"),
            "'huber' is not for classification; use",
        ),
    ],
    ids=repr,
)
def test_a_loss_for_another_task(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, Y)
    assert not hasattr(estimator, "dual_coef_")


def test_class_weights_count_rows():
    labels = np.r_[Y, Y[Y == 1]]
    rows = np.r_[X, X[Y == 1]]
    options = {"kernel": "linear", "structure": "identity", "loss": "softmax"}
    twice = OutputKernelClassifier(**options, tol=1e-10).fit(rows, labels)
    weighted = OutputKernelClassifier(**options, tol=1e-10, class_weight={1: 2.0})
    weighted.fit(X, Y)
    assert_allclose(weighted.predict_proba(X), twice.predict_proba(X), atol=1e-5)


def test_search_with_a_scorer_of_probabilities():
    search = OutputKernelClassifierCV(
        "rbf",
        structures="identity",
        loss="softmax",
        alphas=[10.0, 1.0, 0.1],
        cv=3,
        scoring="neg_log_loss",
        tol=1e-9,
        temperature=1.0,
    ).fit(X, Y)
    assert search.best_score_ > -0.3
    assert search.predict_proba(X).shape == (150, 3)
    by_hand = GridSearchCV(
        OutputKernelClassifier(search.kernel_, "identity", loss="softmax", tol=1e-9),
        {"alpha": [10.0, 1.0, 0.1]},
        cv=3,
        scoring="neg_log_loss",
    ).fit(X, Y)
    assert by_hand.best_params_["alpha"] == search.alpha_
    assert_allclose(by_hand.best_score_, search.best_score_, rtol=1e-4)


def test_huber_shrugs_off_a_wild_target():
    rows, targets, _ = draw(40, 3)
    wild = targets.copy()
    wild[3, 1] += 1e4
    errors = []
    for loss in ("squared", Huber(1.0)):
        model = OutputKernelRegressor(loss=loss, alpha=0.1).fit(rows, wild)
        assert model.certificate_.status == "optimal"
        keep = np.arange(40) != 3
        errors.append(np.mean((model.predict(rows)[keep] - targets[keep]) ** 2))
    assert errors[1] < 0.1 * errors[0]
    assert np.isfinite(cross_val_score(model, rows, targets, cv=3)).all()
