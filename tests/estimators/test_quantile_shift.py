"""Quantiles moved so that held-out targets are below them as often as they say."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import okl
from okl import OutputKernelRegressor, OutputKernelRegressorCV
from okl.inspection.held import with_hyperparameters_held
from okl.kernels import Gaussian, Linear, PerOutput
from okl.losses import Quantile
from okl.metrics import d2_pinball_score
from tests.covering import later

N, M = 80, 2
SEARCH = {"kernel": Gaussian(0.3), "alphas": 5, "loss": Quantile(0.9)}


def drawn(n=N, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] * X[:, 2]])
    return X, Y + noise * rng.normal(size=(n, M))


X, Y = drawn()
IDS = np.arange(N) % 4


@pytest.fixture(scope="module")
def search():
    return OutputKernelRegressorCV(**SEARCH).fit(X, Y)


@pytest.mark.parametrize("quantile", [0.9, *later(0.1)])
def test_new_targets_are_below_as_often_as_the_quantile_says(quantile):
    rows, targets = drawn(100, noise=0.1)
    X_new, Y_new = drawn(4000, seed=1, noise=0.1)
    options = {**SEARCH, "kernel": "auto", "loss": Quantile(quantile)}
    model = OutputKernelRegressorCV(**options).fit(rows, targets)
    fixed = OutputKernelRegressorCV(**options, shift=0.0).fit(rows, targets)
    off, off_fixed = (
        np.abs(np.mean(Y_new <= one.predict(X_new)) - quantile)
        for one in (model, fixed)
    )
    assert off < 0.06
    assert off_fixed > 0.12
    assert model.score(X_new, Y_new) > fixed.score(X_new, Y_new)


def test_it_is_added_to_predictions_and_to_nothing_else(search):
    fit = OutputKernelRegressor(
        search.kernel_, search.structure_, search.alpha_, loss=search.loss_
    ).fit(X, Y)
    assert_allclose(search.predict(X), fit.predict(X) + search.shift_, atol=1e-5)
    assert_array_equal(fit.shift_, np.zeros(M))
    given = fit.set_params(shift=search.shift_).fit(X, Y)
    assert_allclose(search.predict(X), given.predict(X), atol=1e-5)
    assert_array_equal(given.shift_, search.shift_)
    assert search.certificate_.status == "optimal"
    assert okl.certify(search, X, Y).status == "optimal"
    fitted = search.kernel_(X, search.X_fit_) @ search.dual_coef_ + search.intercept_
    assert_allclose(search.predict(X), fitted + search.shift_)


def test_scores_are_those_of_shifted_predictions():
    folds = [(np.arange(N)[k::2], np.arange(N)[1 - k :: 2]) for k in range(2)]
    options = {**SEARCH, "alphas": [1.0, 0.1], "cv": folds, "search": "full"}
    search = OutputKernelRegressorCV(**options, structures="identity").fit(X, Y)
    for place, alpha in enumerate(search.cv_results_["param_alpha"]):
        found = np.empty_like(Y)
        for train, test in folds:
            one = OutputKernelRegressor(Gaussian(0.3), "identity", alpha)
            one.set_params(loss=Quantile(0.9), normalize_y=False)
            one.fit(X[train], (Y[train] - search.y_mean_) / search.y_scale_)
            found[test] = one.predict(X[test]) * search.y_scale_ + search.y_mean_
        shift = search.cv_results_["shift"][place]
        # fits to folds are certified to 1e-4
        below = np.mean(found + shift >= Y, axis=0)
        assert_allclose(below, 0.9, atol=0.03)
        expected = [
            d2_pinball_score(Y[test], found[test] + shift, alpha=0.9)
            for _, test in folds
        ]
        scores = search.scores_[0, place]
        assert_allclose(scores, expected, atol=5e-3)


def test_it_is_in_the_units_of_the_targets(search):
    other = OutputKernelRegressorCV(**SEARCH).fit(X, 8.0 * Y + 3.0)
    assert_allclose(other.shift_, 8.0 * search.shift_, rtol=1e-3)


def test_one_output_has_a_number():
    model = OutputKernelRegressorCV(**SEARCH).fit(X, Y[:, 0])
    assert isinstance(model.shift_, float)
    assert model.predict(X).shape == (N,)
    assert model.cv_results_["shift"].dtype == float
    assert model.shift_ in model.cv_results_["shift"]


def test_a_constant_output_of_few_targets_is_predicted():
    some = np.column_stack([1e-6 * Y[:, 0], np.full(N, 5e-6)])
    some[5:, 1] = np.nan
    model = OutputKernelRegressorCV(**SEARCH).fit(X, some)
    assert_allclose(model.predict(X)[:, 1], 5e-6)
    assert model.shift_[1] == 0.0 < model.shift_[0] < 1e-5


def test_kernels_that_are_left_out_have_no_shift():
    rows, targets = drawn(300)
    options = {**SEARCH, "kernel": None, "alphas": [0.1, 0.03]}
    search = OutputKernelRegressorCV(
        **options, kernels=[Gaussian(0.3), Gaussian(1e3)], structures="identity"
    ).fit(rows, targets)
    table = search.cv_results_
    assert all(np.shape(one) == (M,) for one in table["shift"])
    left_out = np.isnan(table["mean_test_score"])
    assert np.array_equal([np.isnan(one).all() for one in table["shift"]], left_out)


@pytest.mark.parametrize("weights", ["rows", "targets"])
def test_weights_are_copies_of_rows(weights):
    counts = np.random.default_rng(0).integers(3, size=N)
    given = counts if weights == "rows" else np.tile(counts[:, None], M)
    copies = np.repeat(np.arange(N), counts)
    parts = [(np.arange(N) % 2 == k).nonzero()[0] for k in range(2)]
    of_copies = [np.isin(copies, part).nonzero()[0] for part in parts]
    options = {**SEARCH, "alphas": [0.1], "structures": "identity", "search": "full"}
    one = OutputKernelRegressorCV(**options, cv=[parts, parts[::-1]])
    two = OutputKernelRegressorCV(**options, cv=[of_copies, of_copies[::-1]])
    one.fit(X, Y, sample_weight=given)
    two.fit(X[copies], Y[copies])
    # fits to folds are certified to 1e-4
    assert_allclose(one.shift_, two.shift_, atol=0.02)


def test_tasks_have_one_in_units_of_their_scales():
    model = OutputKernelRegressorCV(**SEARCH).fit(X, Y[:, 0], task=IDS)
    units = model.shift_ / model.y_scale_
    assert_allclose(units, units[0])
    every = model.predict(X)
    assert_allclose(model.predict(X, task=IDS), every[np.arange(N), IDS])
    unmoved = OutputKernelRegressor(
        model.kernel_, model.structure_, model.alpha_, loss=model.loss_
    ).fit(X, Y[:, 0], task=IDS)
    assert_allclose(every, unmoved.predict(X) + model.shift_, atol=1e-5)
    assert model.score(X, Y[:, 0], task=IDS) > 0


@pytest.mark.parametrize(
    "case",
    [
        (PerOutput([Gaussian(0.3), Linear()]), "identity"),
        *later(([Gaussian(0.3), Linear()], [["identity", "frobenius"]])),
    ],
    ids=["of outputs", "several"],
)
def test_so_it_is_with_other_kernels(case):
    kernel, structures = case
    options = {**SEARCH, "kernel": kernel, "alphas": 3}
    model = OutputKernelRegressorCV(**options, structures=structures).fit(X, Y)
    held, _ = with_hyperparameters_held(model, X)
    assert_allclose(model.predict(X), held.fit(X, Y).predict(X), atol=1e-5)
    unmoved = held.set_params(shift=0.0).fit(X, Y).predict(X)
    assert_allclose(model.predict(X), unmoved + model.shift_, atol=1e-5)


def test_other_losses_have_none(search):
    model = OutputKernelRegressorCV(**{**SEARCH, "loss": "huber"}).fit(X, Y)
    assert not hasattr(model, "shift_")
    assert "shift" not in model.cv_results_
    again = OutputKernelRegressorCV(**SEARCH).fit(X, Y)
    assert not hasattr(again.set_params(loss="squared").fit(X, Y), "shift_")


def test_it_may_be_given(search):
    given = OutputKernelRegressorCV(**SEARCH, shift=[0.0, 20.0]).fit(X, Y)
    assert_array_equal(given.shift_, [0.0, 20.0])
    assert "shift" not in given.cv_results_
    other = OutputKernelRegressorCV(**SEARCH, shift=0.0).fit(X, Y)
    assert other.best_score_ > given.best_score_ + 1.0


def test_it_is_held_with_the_other_hyperparameters(search):
    held, _ = with_hyperparameters_held(search, X)
    assert_array_equal(held.shift, search.shift_)
    squared = OutputKernelRegressorCV(Gaussian(0.3), alphas=3).fit(X, Y)
    held, _ = with_hyperparameters_held(squared, X)
    assert held.fit(X, Y).shift == 0.0


@pytest.mark.parametrize(
    ("shift", "loss", "error", "said"),
    [
        ("automatic", "quantile", ValueError, "'auto', a number.*got 'automatic'"),
        (None, "quantile", ValueError, "'auto', a number.*got None"),
        (True, "quantile", ValueError, "'auto', a number.*got True"),
        ([1.0], "quantile", ValueError, r"shape \(1,\); expected.*each of the 2 out"),
        (np.nan, "quantile", ValueError, "shift"),
        (pd.Series([1.0, 2.0]), "quantile", TypeError, "shift"),
        (1.0, "squared", ValueError, "loss=.* predicts none; leave shift out"),
    ],
)
def test_what_cannot_be_added_is_refused(shift, loss, error, said):
    with pytest.raises(error, match=said):
        OutputKernelRegressorCV(**{**SEARCH, "loss": loss}, shift=shift).fit(X, Y)


def test_a_single_fit_finds_none():
    with pytest.raises(ValueError, match="shift must be a number"):
        OutputKernelRegressor(loss="quantile", shift="auto").fit(X, Y)
