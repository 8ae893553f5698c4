"""Targets that were not observed."""

from copy import copy

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn import metrics as sklearn_metrics
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold

import okl.metrics
from okl import (
    OutputKernelImputer,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
    certify,
    output_kernel_path,
)
from okl.kernels import Gaussian
from okl.metrics import mean_squared_error, r2_score
from okl.structures import Cluster, Sparse, TraceBall
from tests.samples import draw

STRUCTURES = [
    "identity",
    "mean",
    "frobenius",
    "low_rank",
    "trace_ball",
    TraceBall(1e-2),
    Cluster(2),
    Sparse(0.5, 1e-2),
]
each = pytest.mark.parametrize("structure", STRUCTURES, ids=repr)


def holes(Y, part=0.3, seed=0):
    """Return a copy with some entries missing, none of the first row."""
    missing = np.random.default_rng(seed).random(Y.shape) < part
    missing[0] = False
    return np.where(missing, np.nan, Y)


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_independent_outputs_are_fitted_on_their_own_rows(intercept):
    X, Y, _ = draw(30, 3)
    Y = holes(Y)
    kernel = Gaussian(0.3)
    # alpha ||f - f*||^2 / 2 is at most the gap: predictions may differ by 3e-6
    model = OutputKernelRegressor(
        kernel, "identity", 0.2, fit_intercept=intercept, tol=1e-13
    ).fit(X, Y)
    assert model.certificate_.status == "optimal"
    for j in range(3):
        rows = ~np.isnan(Y[:, j])
        alone = OutputKernelRegressor(
            kernel, "identity", 0.2, fit_intercept=intercept
        ).fit(X[rows], Y[rows, j])
        assert_allclose(model.predict(X)[:, j], alone.predict(X), atol=1e-5)
    if not intercept:
        rows = ~np.isnan(Y[:, 0])
        ridge = KernelRidge(alpha=0.2, kernel="rbf", gamma=0.3)
        ridge.fit(X[rows], Y[rows, 0])
        assert_allclose(model.predict(X)[:, 0], ridge.predict(X), atol=1e-5)


@each
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_every_structure_certifies(structure, intercept):
    X, Y, _ = draw(25, 4)
    model = OutputKernelRegressor(
        structure=structure, alpha=0.3, fit_intercept=intercept
    ).fit(X, holes(Y))
    assert model.certificate_.status == "optimal"
    assert np.all(np.isfinite(model.predict(X)))
    missing = np.isnan(holes(Y))
    assert_allclose(np.asarray(model.dual_coef_).shape, missing.shape)


@each
def test_a_target_fully_predicted_by_the_model_changes_nothing(structure):
    # what the model itself says of a missing entry may as well have been observed,
    # with L and f unchanged, only if its loss is zero: the optimum is the same
    X, Y, _ = draw(25, 4)
    holed = holes(Y)
    options = {"structure": structure, "alpha": 0.3, "tol": 1e-9, "max_iter": 5000}
    options["kernel"] = Gaussian(0.3)  # what is missing has no say in its scale
    model = OutputKernelRegressor(**options, normalize_y=False).fit(X, holed)
    filled = np.where(np.isnan(holed), model.predict(X), holed)
    again = OutputKernelRegressor(**options, normalize_y=False).fit(X, filled)
    assert_allclose(again.certificate_.primal, model.certificate_.primal, rtol=1e-6)
    assert_allclose(again.predict(X), model.predict(X), atol=2e-3)


@each
def test_a_path_and_a_search(structure):
    X, Y, _ = draw(25, 3)
    Y = holes(Y)
    options = {"alphas": 2, "eps": 1e-2, "tol": 1e-4}
    path = output_kernel_path(X, Y, structure=structure, **options)
    assert all(c.status == "optimal" for c in path.certificates)
    search = OutputKernelRegressorCV("rbf", [structure], cv=2, **options).fit(X, Y)
    assert np.all(np.isfinite(search.scores_))
    assert np.isfinite(search.score(X, Y))


def test_grid_search():
    X, Y, _ = draw(30, 3)
    search = GridSearchCV(
        OutputKernelRegressor(structure="identity"), {"alpha": [0.1, 1.0]}, cv=3
    ).fit(X, holes(Y))
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


def test_one_dimensional_targets():
    X, Y, _ = draw(20, 1)
    y = Y[:, 0].copy()
    y[[3, 7]] = np.nan
    rows = ~np.isnan(y)
    kernel = Gaussian(0.3)
    model = OutputKernelRegressor(kernel, "identity", tol=1e-10).fit(X, y)
    alone = OutputKernelRegressor(kernel, "identity").fit(X[rows], y[rows])
    assert model.predict(X).shape == (20,)
    assert_allclose(model.predict(X), alone.predict(X), atol=1e-5)


def test_an_output_that_is_nowhere_observed():
    X, Y, _ = draw(10, 3)
    Y[:, 1] = np.nan
    message = "contains NaN in every row of 1 of 3 outputs, the first is number 1"
    for estimator in (OutputKernelRegressor(), OutputKernelRegressorCV(cv=2)):
        with pytest.raises(ValueError, match=message):
            estimator.fit(X, Y)
        with pytest.raises(ValueError, match="the first is number 1, 'size'; leave"):
            estimator.fit(X, pd.DataFrame(Y, columns=["age", "size", "sex"]))
    with pytest.raises(ValueError, match="infinity"):
        OutputKernelRegressor().fit(X, np.full((10, 2), np.inf))


def test_certify_takes_weights():
    _, Y, K = draw(15, 3)
    holed = holes(Y)
    model = OutputKernelRegressor("precomputed", alpha=0.3, normalize_y=False).fit(
        K, holed
    )
    again = certify(
        K,
        np.nan_to_num(holed),
        model.dual_coef_,
        weights=(~np.isnan(holed)).astype(float),
        alpha=0.3,
        structure="frobenius",
        output_kernel=model.output_kernel_,
        intercept=model.intercept_,
    )
    assert_allclose(again.primal, model.certificate_.primal, rtol=1e-9)
    assert_allclose(again.dual, model.certificate_.dual, rtol=1e-6)


@pytest.mark.parametrize("multioutput", [None, "raw_values"])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_without_holes_are_those_of_scikit_learn(multioutput, weighted):
    _, Y, _ = draw(20, 3)
    predictions = Y + np.random.default_rng(0).normal(size=Y.shape)
    options = {"multioutput": multioutput or "uniform_average"}
    if weighted:
        options["sample_weight"] = np.random.default_rng(1).random(20)
    for ours, theirs in (
        (r2_score, sklearn_metrics.r2_score),
        (mean_squared_error, sklearn_metrics.mean_squared_error),
    ):
        assert_allclose(
            ours(Y, predictions, **options), theirs(Y, predictions, **options)
        )


def test_scores_leave_holes_out():
    _, Y, _ = draw(20, 3)
    predictions = Y + np.random.default_rng(0).normal(size=Y.shape)
    holed = holes(Y)
    holed[1:, 2] = np.nan
    found = r2_score(holed, predictions, multioutput="raw_values")
    rows = ~np.isnan(holed[:, 0])
    assert_allclose(
        found[0], sklearn_metrics.r2_score(Y[rows, 0], predictions[rows, 0])
    )
    assert np.isnan(found[2])
    assert_allclose(r2_score(holed, predictions), found[:2].mean())
    with pytest.raises(ValueError, match="No output has 2 observed targets"):
        r2_score(np.full((5, 1), np.nan), np.zeros((5, 1)))
    with pytest.raises(ValueError, match="same shape"):
        r2_score(Y, predictions[:, :2])
    with pytest.raises(ValueError, match="multioutput must be"):
        r2_score(Y, predictions, multioutput="variance_weighted")


@pytest.mark.parametrize("structure", ["mean", "frobenius"])
@pytest.mark.parametrize("solver", ["auto", "majorization"])
def test_means_that_dwarf_what_is_to_be_learned(structure, solver):
    X, Y, _ = draw(25, 4)
    Y = holes(Y)
    options = {"structure": structure, "alpha": 0.3, "solver": solver}
    if structure == "mean" and solver != "auto":
        pytest.skip("not for a known output kernel")
    here = OutputKernelRegressor(**options).fit(X, Y)
    there = OutputKernelRegressor(**options).fit(X, Y + 1e7)
    assert there.certificate_.status == "optimal"
    assert_allclose(there.certificate_.primal, here.certificate_.primal, rtol=1e-6)
    assert_allclose(there.predict(X) - 1e7, here.predict(X), atol=1e-3)


@each
def test_constant_outputs_leave_nothing_to_learn(structure):
    X, Y, _ = draw(25, 4)
    Y = holes(np.where(np.arange(4) < 4, 0.1, Y))
    model = OutputKernelRegressor(structure=structure).fit(X, Y)
    assert model.certificate_.status == "optimal"
    assert_allclose(model.predict(X), 0.1)


@pytest.mark.parametrize("alpha", [1e-6, 1e-10])
def test_rows_that_contradict_each_other_at_tiny_alpha(alpha):
    X, Y, _ = draw(12, 3)
    X, Y = np.repeat(X, 2, axis=0), holes(np.repeat(Y, 2, axis=0))
    Y[::2] += 1.0
    model = OutputKernelRegressor(structure="mean", alpha=alpha).fit(X, Y)
    assert model.certificate_.status == "optimal"
    # twins are fitted by the mean of those that were observed
    twins = Y.reshape(12, 2, 3)
    with np.errstate(invalid="ignore"), pytest.warns(RuntimeWarning, match="empty"):
        means = np.repeat(np.nanmean(twins, axis=1), 2, axis=0)
    seen = ~np.isnan(means)
    assert_allclose(model.predict(X)[seen], means[seen], atol=1e-2)


@pytest.mark.filterwarnings("ignore:The alpha chosen", "ignore:The training part")
@pytest.mark.parametrize("structures", ["identity", "frobenius"])
def test_outputs_of_one_or_two_targets_share_what_the_others_tell(structures):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(20, 1))
    Y = np.full((20, 3), np.nan)
    Y[:7, 0] = np.sin(X[:7, 0])
    Y[7:9, 1], Y[9, 2] = np.sin(X[7:9, 0]), 5.0
    options = {"structures": structures, "alphas": [1.0, 0.1]}
    model = OutputKernelRegressorCV(kernel="rbf", **options).fit(X, Y)
    assert model.certificate_.status == "optimal"
    assert model.best_score_ <= 1.0
    # an output of one target is that everywhere: it varies with nothing
    assert_allclose(model.predict(X)[:, 2], 5.0)
    filled = OutputKernelImputer(model).fit_transform(Y, X=X)
    assert np.isfinite(filled).all()


def test_folds_without_r2_are_scored_by_the_variance_in_all_rows():
    X, Y, _ = draw(30, 2)
    Y[4:, 0] = np.nan
    Y[:26, 1] = np.nan
    folds = [(np.arange(30) != i, np.arange(30) == i) for i in (0, 1, 27)]
    folds = [(np.flatnonzero(a), np.flatnonzero(b)) for a, b in folds]
    model = OutputKernelRegressorCV("rbf", "identity", alphas=[0.1], cv=folds)
    model.fit(X, Y)
    options = {"alpha": 0.1, "normalize_y": False}
    alone = OutputKernelRegressor(model.kernel_, "identity", **options)
    for (train, (i,)), score in zip(folds, model.scores_[0, 0], strict=True):
        j = 0 if i < 4 else 1
        Z = (Y - model.y_mean_) / model.y_scale_
        error = (alone.fit(X[train], Z[train]).predict(X[[i]])[0, j] - Z[i, j]) ** 2
        spread = np.nanvar(Z[:, j])
        assert_allclose(score, 1 - error / spread, rtol=1e-6)


@pytest.mark.parametrize("routed", [False, True])
@pytest.mark.parametrize("score", ["r2", "neg_mean_absolute_error"])
def test_a_target_without_weight_is_not_scored(score, routed):
    # our scores take a weight for each target, and got the means of rows
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    Y, W = X + 0.3 * rng.normal(size=(40, 2)), np.ones((40, 2))
    missing = np.where([[False, True]] * 20 + [[False, False]] * 20, np.nan, Y)
    W[:20, 1], Y[:20, 1] = 0.0, 1e3
    scorer = getattr(okl.metrics, f"{score}_scorer")
    folds = KFold(4, shuffle=True, random_state=0)
    found = []
    with sklearn.config_context(enable_metadata_routing=routed):
        if routed:
            scorer = copy(scorer).set_score_request(sample_weight=True)
        for y, weights in ((Y, {"sample_weight": W}), (missing, {})):
            search = OutputKernelRegressorCV(
                "rbf", "identity", alphas=[10.0, 0.1], cv=folds, scoring=scorer
            )
            found.append(search.fit(X, y, **weights).cv_results_["mean_test_score"])
    assert_allclose(*found, rtol=1e-8)
