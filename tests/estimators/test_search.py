"""Kernels, folds and stages of a search."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import KFold, LeaveOneOut, cross_val_predict

from okl import (
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
)
from okl.estimators.search import stages
from okl.kernels import Columns, Gaussian, Linear, Matern, PerOutput
from okl.metrics import accuracy_score, r2_score
from okl.structures import Mean
from tests.samples import draw

ALPHAS = [3.0, 0.3, 0.03]
SHORT = OutputKernelRegressorCV(structures="identity", kernels="short_list")
KERNELS = [Gaussian(0.5), "linear", Gaussian(5.0), Matern(2.0, 2.5)]


def quiet(search, *data, **params):
    """Fit without the warning that a short grid is short."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The alpha chosen")
        return search.fit(*data, **params)


@pytest.mark.parametrize("structure", ["identity", Mean()], ids=str)
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_rows_are_left_out_one_by_one_where_that_is_exact(structure, intercept):
    X, Y, _ = draw(20, 3)
    # the units of the search are those of all rows
    options = {"fit_intercept": intercept, "normalize_y": structure == "identity"}
    model = OutputKernelRegressorCV(Gaussian(0.5), structure, alphas=ALPHAS, **options)
    model = quiet(model, X, Y)
    assert model.scores_.shape == (1, 3, 1)
    for alpha, score in zip(ALPHAS, model.scores_[0, :, 0], strict=True):
        single = OutputKernelRegressor(Gaussian(0.5), structure, alpha, **options)
        predictions = cross_val_predict(single, X, Y, cv=LeaveOneOut())
        assert score == pytest.approx(r2_score(Y, predictions), rel=1e-6, abs=1e-8)
    assert model.best_score_ == model.scores_.max()


def test_labels_are_left_out_one_by_one():
    X, Y, _ = draw(24, 3)
    y = np.array(["x", "a", "m"])[np.argmax(Y - Y.mean(axis=0), axis=1)]
    model = OutputKernelClassifierCV(
        Gaussian(0.5), "identity", alphas=ALPHAS, loss="squared"
    )
    model = quiet(model, X, y)
    for alpha, score in zip(ALPHAS, model.scores_[0, :, 0], strict=True):
        single = OutputKernelClassifier(Gaussian(0.5), "identity", alpha)
        predictions = cross_val_predict(single, X, y, cv=LeaveOneOut())
        assert score == accuracy_score(y, predictions)


def test_leaving_out_does_not_see_the_order_of_rows():
    X, Y, _ = draw(30, 2)
    order = np.argsort(X[:, 0])
    search = OutputKernelRegressorCV(
        structures="identity", kernels="short_list", alphas=5
    )
    one = quiet(clone(search), X, Y)
    two = quiet(search, X[order], Y[order])
    assert repr(one.kernel_)[:6] == repr(two.kernel_)[:6]
    assert_allclose(two.alpha_, one.alpha_, rtol=1e-9)
    assert_allclose(two.scores_, one.scores_, rtol=1e-6)


def test_weights_are_repeated_rows_that_are_held_out_together():
    X, Y, _ = draw(12, 2)
    counts = 1 + np.arange(12) % 3
    index = np.repeat(np.arange(12), counts)
    folds = [(np.arange(12) % 3 != k, np.arange(12) % 3 == k) for k in range(3)]
    repeated = [tuple(part[index] for part in fold) for fold in folds]

    def search(folds):
        numbers = [tuple(map(np.flatnonzero, fold)) for fold in folds]
        how = {"kernels": "short_list", "alphas": ALPHAS, "cv": numbers}
        return OutputKernelRegressorCV(structures="identity", **how)

    many = quiet(search(repeated), X[index], Y[index])
    few = quiet(search(folds), X, Y, sample_weight=counts)
    assert_allclose(few.scores_, many.scores_, rtol=1e-6)
    assert_allclose(
        few.cv_results_["mean_test_score"],
        many.cv_results_["mean_test_score"],
        rtol=1e-6,
    )
    assert_allclose(few.predict(X), many.predict(X), atol=1e-8)


def test_a_learned_structure_makes_all_share_folds():
    X, Y, _ = draw(25, 3)
    model = OutputKernelRegressorCV("rbf", ["identity", "frobenius"], alphas=ALPHAS)
    assert quiet(model, X, Y).scores_.shape == (2, 3, 5)


def test_missing_targets_take_folds():
    X, Y, _ = draw(25, 3)
    Y[::4, 0] = np.nan
    model = OutputKernelRegressorCV("rbf", "identity", alphas=ALPHAS)
    assert quiet(model, X, Y).scores_.shape == (1, 3, 5)


def test_two_stages():
    X, Y, _ = draw(40, 3)
    structures = ["identity", "frobenius"]
    model = OutputKernelRegressorCV(
        structures=structures, kernels=KERNELS, alphas=ALPHAS
    )
    model = quiet(model, X, Y)
    table = model.cv_results_
    first = table["stage"] == 1
    assert first.sum() == 4 * 3
    assert (~first).sum() == 2 * 2 * 3
    assert all(repr(s) == "Identity()" for s in table["param_structure"][first])
    # the two best of the first stage, and no others, are in the second
    best = {}
    for kernel, score in zip(
        table["param_kernel"][first], table["mean_test_score"][first], strict=True
    ):
        best[repr(kernel)] = max(score, best.get(repr(kernel), -np.inf))
    finalists = set(sorted(best, key=best.get)[-2:])
    assert {repr(kernel) for kernel in table["param_kernel"][~first]} == finalists
    winner = np.flatnonzero(~first & (table["rank_test_score"] == 1))[0]
    assert isinstance(model.kernel_, type(table["param_kernel"][winner]))
    assert repr(model.structure_) == repr(table["param_structure"][winner])
    assert model.alpha_ == table["param_alpha"][winner]
    assert model.best_score_ == table["mean_test_score"].max(where=~first, initial=-9)
    # of each kernel and structure the best alpha
    of_each = table["mean_test_score"].reshape(-1, 3)
    best = np.arange(3) == of_each.argmax(axis=1)[:, None]
    assert_array_equal(table["chosen_alpha"], best.ravel())
    assert table["params"][winner]["alpha"] == model.alpha_
    single = OutputKernelRegressor(model.kernel_, model.structure_, model.alpha_)
    assert_allclose(model.predict(X), single.fit(X, Y).predict(X), atol=1e-5)


def test_all_kernels_in_full():
    X, Y, _ = draw(24, 2)
    full = OutputKernelRegressorCV(
        structures="frobenius", kernels=KERNELS, alphas=ALPHAS, search="full"
    )
    full = quiet(full, X, Y)
    assert np.all(full.cv_results_["stage"] == 2)
    assert len(full.cv_results_["stage"]) == 4 * 3
    # of each kernel it says what a search with that kernel says
    for number, kernel in enumerate(KERNELS):
        alone = quiet(OutputKernelRegressorCV(kernel, alphas=ALPHAS), X, Y)
        assert_allclose(
            full.cv_results_["mean_test_score"][3 * number : 3 * number + 3],
            alone.scores_[0].mean(axis=-1),
            rtol=1e-9,
        )


def test_the_short_list():
    X, Y, _ = draw(30, 2)
    search = OutputKernelRegressorCV(
        alphas=ALPHAS, structures="identity", kernels="short_list"
    )
    model = quiet(search, X, Y)
    tried = {repr(k): k for k in model.cv_results_["param_kernel"]}
    gammas = sorted(k.gamma for k in tried.values() if isinstance(k, Gaussian))
    lengths = sorted(k.length_scale for k in tried.values() if isinstance(k, Matern))
    assert sum(isinstance(k, Linear) for k in tried.values()) == 1
    gamma, length = 1 / (3 * X.var()), np.sqrt(3 * X.var(axis=0).mean())
    for found, least in ((gammas, [0.25, 1, 4]), (lengths, [0.5, 1, 2])):
        unit = gamma if found is gammas else length
        assert np.all(np.isclose(np.divide.outer(least, found), 1 / unit).any(axis=1))
    assert all(k.nu == 2.5 for k in tried.values() if isinstance(k, Matern))
    rows = sp.csr_matrix(X)
    sparse = quiet(clone(search), rows, Y)
    assert isinstance(sparse.kernel_, Linear)


def test_the_width_is_found():
    x = np.linspace(0, 1, 120)[:, None]
    Y = np.hstack([np.sin(40 * x), np.cos(40 * x)])
    model = quiet(SHORT, x, Y)
    assert not isinstance(model.kernel_, Linear)
    alone = quiet(OutputKernelRegressorCV("rbf", "identity"), x, Y)
    assert model.best_score_ > alone.best_score_


@pytest.mark.parametrize("frequency", [0.3, 2.0, 60.0])
def test_widths_beyond_the_listed_ones_are_tried_while_they_win(frequency):
    x = np.linspace(0, 1, 100)[:, None]
    Y = np.hstack([np.sin(frequency * x), np.cos(frequency * x)])
    model = quiet(SHORT, x, Y)
    results = model.cv_results_
    first = results["stage"] == 1
    scores = {}
    for kernel, score in zip(
        results["param_kernel"][first], results["mean_test_score"][first], strict=True
    ):
        scores[repr(kernel)] = max(score, scores.get(repr(kernel), -np.inf))
    assert 7 <= len(scores) <= 10
    best = max(scores, key=scores.get)
    kernels = {repr(k): k for k in results["param_kernel"][first]}
    family = [k for k in kernels.values() if type(k) is type(kernels[best])]
    name = "gamma" if isinstance(kernels[best], Gaussian) else "length_scale"
    widths = sorted(getattr(k, name) for k in family)
    # inside its family, or as far out as the search goes
    ends = getattr(kernels[best], name) in (widths[0], widths[-1])
    assert len(scores) == 10 or isinstance(kernels[best], Linear) or not ends
    assert best in {repr(k) for k in results["param_kernel"][~first]}


def test_kernels_that_were_given_are_all_that_are_tried():
    x = np.linspace(0, 1, 60)[:, None]
    Y = np.sin(60 * x)
    given = [Gaussian(0.1), Gaussian(0.4), Gaussian(1.6)]
    model = quiet(OutputKernelRegressorCV(kernels=given, structures="identity"), x, Y)
    assert len({repr(k) for k in model.cv_results_["param_kernel"]}) == 3


def test_the_first_stage_looks_at_some_rows_only(monkeypatch):
    monkeypatch.setattr(stages, "FIRST_ROWS", 20)
    X, Y, _ = draw(60, 2)
    for cv in (None, KFold(3)):
        search = {"structures": "frobenius", "kernels": KERNELS, "alphas": ALPHAS}
        model = quiet(OutputKernelRegressorCV(**search, cv=cv), X, Y)
        again = quiet(OutputKernelRegressorCV(**search, cv=cv), X, Y)
        other = quiet(OutputKernelRegressorCV(**search, cv=cv, random_state=7), X, Y)
        first = model.cv_results_["stage"] == 1
        scores = model.cv_results_["mean_test_score"]
        assert_array_equal(again.cv_results_["mean_test_score"], scores)
        others = other.cv_results_["mean_test_score"]
        assert not np.array_equal(others[first], scores[first])
        assert np.all(np.isfinite(scores))


def test_the_first_stage_looks_at_rows_that_count(monkeypatch):
    X, Y, _ = draw(60, 2)
    search = {"structures": "identity", "kernels": KERNELS, "alphas": ALPHAS}
    Y[12:] = np.nan
    few = quiet(OutputKernelRegressorCV(**search), X[:12], Y[:12])
    monkeypatch.setattr(stages, "FIRST_ROWS", 20)
    model = quiet(OutputKernelRegressorCV(**search, cv=None), X, Y)
    assert model.kernel_.get_params() == few.kernel_.get_params()
    first = model.cv_results_["stage"] == 1
    scores = model.cv_results_["mean_test_score"]
    assert_allclose(scores[first], few.cv_results_["mean_test_score"][first])


def test_the_first_stage_keeps_all_rows_where_it_would_hold_none_out(monkeypatch):
    monkeypatch.setattr(stages, "FIRST_ROWS", 20)
    X, Y, _ = draw(60, 2)
    rows = np.arange(60)
    search = OutputKernelRegressorCV(
        structures="frobenius",
        kernels=KERNELS,
        alphas=ALPHAS,
        cv=[(rows[:-2], rows[-2:])],
        scoring="neg_mean_squared_error",
    )
    for seed in range(5):
        quiet(search.set_params(random_state=seed), X, Y)
        assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


def test_other_losses_take_fewer_alphas_first():
    X, Y, _ = draw(24, 2)
    y = (Y[:, 0] > np.median(Y[:, 0])).astype(int)
    model = OutputKernelClassifierCV(
        structures="identity",
        kernels=KERNELS[:3],
        alphas=12,
        eps=1e-2,
        loss="logistic",
        cv=2,
        tol=1e-3,
    )
    table = quiet(model, X, y).cv_results_
    assert (table["stage"] == 1).sum() == 3 * 9
    assert (table["stage"] == 2).sum() == 2 * 12


def test_long_form():
    X, Y, _ = draw(40, 2)
    ids = np.arange(40) % 2
    y = np.take_along_axis(Y, ids[:, None], axis=1)[:, 0]
    model = OutputKernelRegressorCV(
        structures=["identity", "frobenius"], kernels=KERNELS[:3], alphas=ALPHAS, cv=2
    )
    model = quiet(model, X, y, task=ids)
    assert (model.cv_results_["stage"] == 1).sum() == 9
    assert model.predict(X, task=ids).shape == (40,)


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"kernel": "rbf", "kernels": ["rbf"]}, ValueError, "both given"),
        ({"kernels": []}, ValueError, "kernels is an empty list"),
        ({"kernels": "rbf"}, TypeError, r"list of kernels .* got 'rbf'"),
        ({"kernels": ["rbf", "round"]}, ValueError, r"kernels\[1\], 'round': Unknown"),
        ({"kernels": ["rbf", 3]}, TypeError, r"kernels\[1\], 3: "),
        ({"kernels": ["precomputed"]}, ValueError, r"kernels\[0\], 'precomputed'"),
        (
            {"kernels": ["rbf", Columns(Gaussian(), [5])]},
            ValueError,
            r"kernels\[1\], Columns.*: columns of Columns has the number 5",
        ),
        (
            {"kernels": [Gaussian([1.0, 2.0])]},
            ValueError,
            r"kernels\[0\], .*shape \(3,\)",
        ),
        (
            {"kernels": ["rbf", PerOutput([Gaussian(), Linear()])]},
            ValueError,
            "PerOutput gives each output",
        ),
        (
            {"search": "fast"},
            ValueError,
            "search must be one of 'staged', 'compare', 'full'; got",
        ),
    ],
)
def test_what_cannot_be_searched(given, kind, message):
    X, Y, _ = draw(12, 2)
    with pytest.raises(kind, match=message):
        OutputKernelRegressorCV(**given).fit(X, Y)


def test_an_alpha_at_the_edge_of_its_grid_is_noticed():
    X, Y, _ = draw(20, 2)
    search = OutputKernelRegressorCV(Gaussian(0.5), "identity")
    with pytest.warns(UserWarning, match="is the smallest of its grid"):
        search.set_params(alphas=[1e4, 1e3]).fit(X, Y)
    with pytest.warns(UserWarning, match="is the largest of its grid"):
        search.set_params(alphas=[1e-9, 1e-8]).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search.set_params(alphas=[1e4]).fit(X, Y)


def test_an_output_kernel_of_zero_is_noticed():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 2)), rng.normal(size=(40, 3))
    search = OutputKernelRegressorCV(Gaussian(50.0), "low_rank", alphas=[1e5, 1e4])
    with pytest.warns(UserWarning, match="output kernel that was chosen is zero"):
        search.fit(X, Y)


def test_a_fold_without_an_output_is_noticed():
    X, Y, _ = draw(20, 2)
    Y[5:, 1] = np.nan
    search = OutputKernelRegressorCV("linear", "identity", alphas=ALPHAS, cv=KFold(4))
    with pytest.warns(UserWarning, match=r"1 of 4 .* output 1 \(fold 0\)"):
        search.fit(X, Y)
    y = np.array([0] * 10 + [1] * 8 + [2] * 2)
    search = OutputKernelClassifierCV("linear", "identity", alphas=ALPHAS, cv=KFold(4))
    with pytest.warns(UserWarning, match=r"1 of 4 .* class 2 \(fold 3\)"):
        search.fit(X, y)
