"""Scores of what was observed, and scorers made of them."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn import metrics as theirs
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

import okl.metrics as ours
from okl import (
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = X @ rng.normal(size=(3, 4)) + 0.5 * rng.normal(size=(60, 4))
MISSING = rng.random(Y.shape) < 0.3
SEEN = np.where(MISSING, np.nan, Y)
LABELS = (Y > 0).astype(float)
SEEN_LABELS = np.where(MISSING, np.nan, LABELS)
CHANCES = 1 / (1 + np.exp(-Y - rng.normal(size=Y.shape)))
WEIGHTS = rng.integers(3, size=60).astype(float)


def entropy(y, p):
    return -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_mean_absolute_error(weights):
    predictions = Y + rng.normal(size=Y.shape)
    found = ours.mean_absolute_error(Y, predictions, sample_weight=weights)
    expected = theirs.mean_absolute_error(Y, predictions, sample_weight=weights)
    assert_allclose(found, expected)
    errors = np.abs(SEEN - predictions)
    assert_allclose(
        ours.mean_absolute_error(SEEN, predictions, multioutput="raw_values"),
        np.nanmean(errors, axis=0),
    )
    task = rng.permuted(np.repeat(["a", "b"], 30))
    assert_allclose(
        ours.mean_absolute_error(Y[:, 0], predictions[:, 0], task=task),
        np.mean([np.abs(Y - predictions)[task == name, 0].mean() for name in "ab"]),
    )


@pytest.mark.parametrize(
    "name", ["r2_score", "mean_squared_error", "mean_absolute_error"]
)
@pytest.mark.parametrize("weights", [None, WEIGHTS, 1 - rng.random(Y.shape)])
@pytest.mark.parametrize("targets", [Y, SEEN])
def test_outputs_are_scored_on_their_observed_rows(name, weights, targets):
    predictions = Y + rng.normal(size=Y.shape)
    expected = []
    for j, column in enumerate(targets.T):
        seen = ~np.isnan(column)
        own = weights if weights is None or weights.ndim == 1 else weights[:, j]
        expected.append(
            getattr(theirs, name)(
                column[seen],
                predictions[seen, j],
                sample_weight=None if own is None else own[seen],
            )
        )
    score = partial(getattr(ours, name), targets, predictions, sample_weight=weights)
    assert_allclose(score(multioutput="raw_values"), expected)
    assert_allclose(score(), np.mean(expected))


def test_an_output_that_is_not_observed_has_no_score():
    targets = SEEN.copy()
    targets[:, 1], targets[1:, 2] = np.nan, np.nan
    targets[0, 2] = 3.0
    errors = ours.mean_squared_error(targets, Y, multioutput="raw_values")
    assert np.isnan(errors[1])
    assert_allclose(errors[2], (3.0 - Y[0, 2]) ** 2)
    scores = ours.r2_score(targets, Y, multioutput="raw_values")
    assert np.isnan(scores[1:3]).all()
    assert_allclose(scores[[0, 3]], 1.0)
    assert ours.r2_score(targets, Y) == 1.0


def test_a_column_is_one_output_with_or_without_its_dimension():
    predictions = Y[:, 0] + 0.1
    expected = theirs.r2_score(Y[:, 0], predictions)
    for y_true in (Y[:, 0], Y[:, :1], pd.DataFrame(Y[:, :1])):
        assert_allclose(ours.r2_score(y_true, predictions), expected)
        assert_allclose(ours.r2_score(y_true, predictions[:, None]), expected)
    for fitted, scored in [(Y[:, 0], Y[:, :1]), (Y[:, :1], Y[:, 0])]:
        model = OutputKernelRegressor().fit(X, fitted)
        assert model.score(X, scored) == model.score(X, fitted)
    with pytest.raises(ValueError, match=r"same shape; got \(60, 2\) and \(60,\)"):
        ours.r2_score(Y[:, :2], predictions)
    with pytest.raises(ValueError, match=r"same shape; got \(60,\) and \(59, 1\)"):
        ours.r2_score(Y[:, 0], predictions[:-1, None])


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_areas_of_labels_are_those_of_their_observed_rows(weights):
    found = ours.roc_auc_score(
        SEEN_LABELS, CHANCES, sample_weight=weights, multioutput="raw_values"
    )
    for j in range(4):
        rows = ~MISSING[:, j]
        chosen = None if weights is None else weights[rows]
        expected = theirs.roc_auc_score(
            LABELS[rows, j], CHANCES[rows, j], sample_weight=chosen
        )
        assert_allclose(found[j], expected)
    mean = ours.roc_auc_score(SEEN_LABELS, CHANCES, sample_weight=weights)
    assert_allclose(mean, found.mean())
    assert_allclose(
        ours.roc_auc_score(LABELS, CHANCES, sample_weight=weights),
        theirs.roc_auc_score(LABELS, CHANCES, sample_weight=weights),
    )


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_equal_scores_count_a_half(weights):
    scores = np.round(CHANCES, 1)
    expected = [
        theirs.roc_auc_score(LABELS[:, j], scores[:, j], sample_weight=weights)
        for j in range(4)
    ]
    found = ours.roc_auc_score(
        LABELS, scores, sample_weight=weights, multioutput="raw_values"
    )
    assert_allclose(found, expected)
    constant = ours.roc_auc_score(LABELS, np.zeros(LABELS.shape))
    assert_allclose(constant, 0.5)


def test_a_label_in_one_state_has_no_area():
    labels = SEEN_LABELS.copy()
    labels[:, 1] = np.where(MISSING[:, 1], np.nan, 1.0)
    found = ours.roc_auc_score(labels, CHANCES, multioutput="raw_values")
    assert np.isnan(found[1])
    kept = [0, 2, 3]
    assert_allclose(
        ours.roc_auc_score(labels, CHANCES),
        ours.roc_auc_score(labels[:, kept], CHANCES[:, kept]),
    )
    with pytest.raises(ValueError, match="has 2 observed labels that differ"):
        ours.roc_auc_score(labels[:, [1, 1]], CHANCES[:, :2])


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_log_loss_of_labels(weights):
    found = ours.log_loss(
        SEEN_LABELS, CHANCES, sample_weight=weights, multioutput="raw_values"
    )
    counts = np.ones(60, dtype=int) if weights is None else weights.astype(int)
    rows = np.repeat(np.arange(60), counts)
    for j in range(4):
        some = rows[~MISSING[rows, j]]
        assert_allclose(found[j], entropy(LABELS[some, j], CHANCES[some, j]))
    mean = ours.log_loss(SEEN_LABELS, CHANCES, sample_weight=weights)
    assert_allclose(mean, found.mean())


def test_classes_are_scored_by_scikit_learn():
    names = np.array(["no", "yes"])[LABELS[:, 0].astype(int)]
    chances = CHANCES[:, 0]
    for one, other in [
        (ours.roc_auc_score, theirs.roc_auc_score),
        (ours.log_loss, theirs.log_loss),
    ]:
        assert one(names, chances) == other(names, chances)
        found = one(names, chances, sample_weight=WEIGHTS)
        assert found == other(names, chances, sample_weight=WEIGHTS)
    of_three = np.full((60, 3), 1 / 3)
    found = ours.log_loss(names, of_three, labels=["maybe", "no", "yes"])
    assert_allclose(found, np.log(3))
    with pytest.raises(ValueError, match=r"scores of 3 classes.*'roc_auc_ovr'"):
        ours.roc_auc_score(rng.integers(3, size=60), of_three)


REGRESSION = {
    "r2": "r2_scorer",
    "neg_mean_squared_error": "neg_mean_squared_error_scorer",
    "neg_mean_absolute_error": "neg_mean_absolute_error_scorer",
}
CLASSIFICATION = {
    "accuracy": "accuracy_scorer",
    "roc_auc": "roc_auc_scorer",
    "neg_log_loss": "neg_log_loss_scorer",
}


@pytest.mark.parametrize(("name", "scorer"), REGRESSION.items())
def test_scorers_of_regressors(name, scorer):
    scorer = pickle.loads(pickle.dumps(getattr(ours, scorer)))
    model = OutputKernelRegressor(alpha=0.3)
    assert_allclose(
        cross_val_score(model, X, Y, scoring=scorer, cv=3),
        cross_val_score(model, X, Y, scoring=name, cv=3),
    )
    search = GridSearchCV(model, {"alpha": [10.0, 0.1]}, scoring=scorer, cv=KFold(3))
    search.fit(X, SEEN)
    ours_too = OutputKernelRegressorCV(
        search.best_estimator_.kernel_, alphas=[10.0, 0.1], scoring=scorer, cv=KFold(3)
    ).fit(X, SEEN)
    assert ours_too.alpha_ == search.best_params_["alpha"]
    with pytest.raises(
        ValueError,
        match=rf"scoring='{name}' is a score of scikit-learn, which does not "
        rf"support missing targets, and {MISSING.sum()} entries of y are NaN. .*"
        rf"scoring=okl.metrics.{REGRESSION[name]}\.",
    ):
        OutputKernelRegressorCV(scoring=name).fit(X, SEEN)


@pytest.mark.parametrize(("name", "scorer"), CLASSIFICATION.items())
def test_scorers_of_classifiers(name, scorer):
    scorer = pickle.loads(pickle.dumps(getattr(ours, scorer)))
    model = OutputKernelClassifier(loss="logistic", alpha=0.3)
    classes = LABELS[:, 0]
    assert_allclose(
        cross_val_score(model, X, classes, scoring=scorer, cv=3),
        cross_val_score(model, X, classes, scoring=name, cv=3),
    )
    scores = cross_val_score(model, X, SEEN_LABELS, scoring=scorer, cv=KFold(3))
    assert np.isfinite(scores).all()
    search = OutputKernelClassifierCV(
        "rbf",
        "identity",
        loss="logistic",
        alphas=[10.0, 0.1],
        scoring=scorer,
        cv=KFold(3),
    ).fit(X, SEEN_LABELS)
    assert np.isfinite(search.best_score_)
    with pytest.raises(
        ValueError, match=rf"scoring=okl.metrics.{CLASSIFICATION[name]}"
    ):
        OutputKernelClassifierCV(loss="logistic", scoring=name).fit(X, SEEN_LABELS)


def test_scorers_of_two_labels():
    model = OutputKernelClassifier(loss="logistic").fit(X, SEEN_LABELS[:, :2])
    expected = ours.roc_auc_score(SEEN_LABELS[:, :2], model.decision_function(X))
    assert ours.roc_auc_scorer(model, X, SEEN_LABELS[:, :2]) == expected
    with pytest.raises(ValueError, match="scikit-learn's scorers treat two labels as"):
        ours.neg_log_loss_scorer(model, X, SEEN_LABELS[:, :2])
    search = OutputKernelClassifierCV(scoring=ours.neg_log_loss_scorer)
    for y in (SEEN_LABELS[:, :2], np.nan_to_num(SEEN_LABELS[:, :2])):
        with pytest.raises(ValueError, match=r"second only\).*such as.*'roc_auc'\.$"):
            search.fit(X, y)
    search.set_params(scoring="f1_macro")
    with pytest.raises(ValueError, match=r"okl.metrics.roc_auc_scorer\.$"):
        search.fit(X, SEEN_LABELS[:, :2])


def test_searches_name_what_they_cannot_score():
    every = "r2_scorer or okl.metrics.neg_mean_squared_error_scorer or"
    with pytest.raises(ValueError, match=f"okl.metrics.{every}"):
        OutputKernelRegressorCV(scoring="neg_max_error").fit(X, SEEN)
    for scoring in ("neg_log_loss", ours.neg_log_loss_scorer):
        with pytest.raises(ValueError, match=r"needs predict_proba: .*loss='logistic'"):
            OutputKernelClassifierCV(loss="squared", scoring=scoring).fit(
                X, LABELS[:, 0]
            )
    with pytest.raises(ValueError, match="scoring must be one score, got"):
        OutputKernelRegressorCV(scoring=["r2"]).fit(X, Y)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, bool])
def test_integers_and_truth_values_are_numbers(dtype):
    # differences of small integers wrap around
    rng = np.random.default_rng(0)
    y, p = (rng.integers(0, 2 if dtype is bool else 120, (40, 2)) for _ in "yp")
    expected = theirs.r2_score(y, p, multioutput="raw_values")
    found = ours.r2_score(y.astype(dtype), p.astype(dtype), multioutput="raw_values")
    assert_allclose(found, expected, rtol=1e-12)
    certain = np.array([[0, 1], [1, 1]])
    assert_allclose(ours.log_loss(certain, certain), 0.0, atol=1e-12)


def test_labels_of_pandas_may_be_complete():
    y = pd.DataFrame({"a": [True, False, True], "b": [True, True, False]})
    p = y.to_numpy().astype(int)
    p[0] = 0
    for dtype in ("boolean", "Int64"):
        assert ours.accuracy_score(y.astype(dtype), p) == pytest.approx(2 / 3)
