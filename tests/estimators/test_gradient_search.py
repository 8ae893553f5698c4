"""A search over continuous hyperparameters by the gradient of a criterion."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.metrics.pairwise import linear_kernel
from sklearn.model_selection import GroupKFold, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from okl import (
    OutputKernelClassifier,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
    certify,
)
from okl.kernels import Columns, Gaussian, Linear, PerOutput, as_kernel
from okl.model_selection import GradientSearchCV
from okl.parameters import Learn, Tied
from okl.structures import Mean, Sparse
from tests.estimators.test_callbacks import Counting
from tests.samples import draw, draw_classes

X, Y, _ = draw(40, 2)
ROWS, LABELS, _ = draw_classes(30, 3)
ISOTROPIC = OutputKernelRegressor("rbf", "identity")
ARD = OutputKernelRegressor(Gaussian(np.full(3, 0.4)), "identity")


def cut(estimator, **options):
    """Return a search of few iterations, which is enough to see what it does."""
    return GradientSearchCV(estimator, max_iter=3, **options)


def quiet(search, *args, **kwargs):
    told = r"ended early: [^.A-Z]*\. (Raise it|Start), .*The largest entry"
    with pytest.warns(ConvergenceWarning, match=told):
        return search.fit(*args, **kwargs)


def test_the_best_estimator_is_a_certified_fit_with_the_best_parameters():
    search = GradientSearchCV(OutputKernelRegressor("rbf", "mean")).fit(X, Y)
    assert set(search.best_params_) == {"kernel__gamma", "alpha", "structure__gamma"}
    again = OutputKernelRegressor("rbf", "mean").set_params(**search.best_params_)
    again.fit(X, Y)
    assert_allclose(search.predict(X), again.predict(X), rtol=1e-12)
    assert search.best_estimator_.certificate_.status == "optimal"
    assert certify(search.best_estimator_, X, Y).status == "optimal"
    assert search.score(X, Y) == again.score(X, Y)
    assert search.n_features_in_ == 3
    # what was given stays as it was
    assert search.estimator.kernel == "rbf"


def test_the_results_are_the_trace():
    search = GradientSearchCV(ARD, n_restarts=2).fit(X, Y)
    table = pd.DataFrame(search.cv_results_)
    assert set(table["start"]) == {0, 1, 2}
    last = table.groupby("start").last()
    assert last["value"].idxmin() == search.best_start_
    best = last.loc[search.best_start_]
    # in closed form nothing is warm
    assert_allclose(search.best_score_, -best["criterion"], rtol=1e-12)
    assert best["gradient_norm"] < 0.01
    assert search.n_iter_ == best["iteration"]
    # a start from a draw of the priors ends where the first one did, or lower
    assert last["value"].min() <= last["value"][0]
    assert np.ptp(table[table["iteration"] == 0]["value"]) > 0


def test_products_are_counted():
    closed = GradientSearchCV(ISOTROPIC, ["alpha"]).fit(X, Y).cv_results_
    assert_array_equal(closed["products"], closed["evaluations"])
    assert closed["products"].dtype.kind == "i"
    results = {}
    for cv in (2, 4):
        search = cut(ISOTROPIC, criterion="folds_likelihood", cv=cv, parameters="alpha")
        results[cv] = quiet(search, X, Y).cv_results_
        # at least the fitted values of each fold
        assert np.all(results[cv]["products"] >= cv * results[cv]["evaluations"])
        assert np.all(np.diff(results[cv]["products"]) > 0)
    assert results[4]["products"][0] > results[2]["products"][0]


def test_the_sparsity_of_a_learned_output_kernel():
    model = OutputKernelRegressor("rbf", Sparse(mu=0.4))
    search = GradientSearchCV(model, ["alpha", "structure__mu"], cv=2, max_iter=2)
    search = quiet(search, X, Y)
    assert set(search.best_params_) == {"alpha", "structure__mu"}
    assert search.best_params_["structure__mu"] == search.best_estimator_.structure.mu
    assert search.best_estimator_.certificate_.status == "optimal"
    assert search.cv_results_["value"][-1] < search.cv_results_["value"][0]


def test_restarts_in_parallel_are_the_same():
    one = GradientSearchCV(ISOTROPIC, n_restarts=2).fit(X, Y)
    with parallel_config(backend="threading"):
        other = GradientSearchCV(ISOTROPIC, n_restarts=2, n_jobs=2).fit(X, Y)
    assert_allclose(other.cv_results_["value"], one.cv_results_["value"], rtol=1e-10)
    drawn = GradientSearchCV(ISOTROPIC, n_restarts=2, random_state=1).fit(X, Y)
    assert drawn.cv_results_["value"][-1] != one.cv_results_["value"][-1]


def test_an_isotropic_process_is_that_of_scikit_learn():
    # a noisy smooth function, without intercept: the profile likelihood is the same
    y = Y[:, 0] - Y[:, 0].mean()
    estimator = OutputKernelRegressor("rbf", "identity", fit_intercept=False)
    search = GradientSearchCV(
        estimator, criterion="restricted_likelihood", priors=False
    ).fit(X, y)
    kernel = ConstantKernel(y.var()) * RBF(1.0) + WhiteKernel(0.1 * y.var())
    process = GaussianProcessRegressor(kernel, alpha=0.0, n_restarts_optimizer=1)
    process.fit(X, y)
    _, width, _ = np.exp(process.kernel_.theta)
    assert_allclose(search.best_params_["kernel__gamma"], 0.5 / width**2, rtol=5e-3)
    scale = np.abs(y).max()
    assert_allclose(search.predict(X), process.predict(X), atol=1e-3 * scale)


@pytest.mark.parametrize("near", [False, True])
def test_a_plateau_in_a_corner_of_the_bounds_is_not_the_end(near):
    # BUG: a line search came back from it by a step too small to go on, with a slope of
    # 12 and a criterion of 131 that counted as found
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(50, 3))
    targets = np.tanh(rows @ rng.normal(size=(3, 3))) + 0.2 * rng.normal(size=(50, 3))
    model = OutputKernelRegressor("rbf", "identity", normalize_y=False)
    if near:
        model.set_params(kernel=Gaussian(0.2), alpha=0.07)
    search = GradientSearchCV(model, priors=False).fit(rows, targets)
    assert search.cv_results_["gradient_norm"][-1] <= 0.1
    assert_allclose(search.best_score_, 166.476, atol=0.01)
    assert_allclose(search.best_params_["kernel__gamma"], 0.195, rtol=0.02)


def test_scores_of_structures_that_are_alike_differ_by_the_noise_alone():
    """Independent outputs have a variance of the noise each, all others have one."""
    scores = []
    for structure in ("identity", Mean(1e-9)):
        model = OutputKernelRegressor(Gaussian(0.5), structure, 0.1)
        held = {"kernel__gamma": "fixed"}
        if structure != "identity":
            held["structure__gamma"] = "fixed"
        search = GradientSearchCV(model, held, priors=False).fit(X, Y)
        scores.append(search.best_score_)
    assert 0 <= scores[0] - scores[1] < 0.1 * Y.size


def test_permuted_features_permute_the_parameters():
    order = [2, 0, 1]
    one = GradientSearchCV(ARD).fit(X, Y).best_params_["kernel__gamma"]
    other = GradientSearchCV(ARD).fit(X[:, order], Y).best_params_["kernel__gamma"]
    assert_allclose(other, one[order], rtol=2e-2)


def test_units_of_targets_do_not_matter():
    one = GradientSearchCV(ISOTROPIC).fit(X, Y)
    other = GradientSearchCV(ISOTROPIC).fit(X, 1000 * Y + 5)
    assert_allclose(other.best_score_, one.best_score_, rtol=1e-8)
    assert_allclose(
        other.best_params_["kernel__gamma"],
        one.best_params_["kernel__gamma"],
        rtol=1e-5,
    )


def test_what_is_learned_and_how():
    kernel = 1.0 * Gaussian(np.full(3, 0.4)) + Linear(scales=0.5)
    estimator = OutputKernelRegressor(kernel, "identity", alpha=0.3)
    parameters = {
        "kernel__left__left__value": (0.9, 1.1),
        "kernel__left__right__gamma": Learn(tied=True),
        "kernel__right__scales": "fixed",
        "alpha": Tied("kernel__left__left__value"),
    }
    found = GradientSearchCV(estimator, parameters).fit(X, Y)
    values = found.best_params_
    assert set(values) == set(parameters) - {"kernel__right__scales"}
    assert 0.9 <= values["kernel__left__left__value"] == values["alpha"] <= 1.1
    assert np.ptp(values["kernel__left__right__gamma"]) == 0
    assert found.best_estimator_.kernel_.right.scales == 0.5
    only = GradientSearchCV(estimator, ["kernel__right__scales"]).fit(X, Y)
    assert set(only.best_params_) == {"kernel__right__scales"}
    assert only.best_estimator_.alpha == 0.3


def test_classes_with_probabilities():
    estimator = OutputKernelClassifier("rbf", "identity", loss="softmax")
    search = quiet(cut(estimator, cv=3), ROWS, np.array(["a", "b", "c"])[LABELS])
    assert search.criterion_ == "FoldsLikelihood"
    assert_array_equal(search.classes_, ["a", "b", "c"])
    assert search.predict_proba(ROWS).shape == (30, 3)
    assert_allclose(
        search.predict_log_proba(ROWS), np.log(search.predict_proba(ROWS)), atol=1e-12
    )
    assert search.score(ROWS, np.array(["a", "b", "c"])[LABELS]) > 0.7
    assert search.cv_results_["value"][-1] < search.cv_results_["value"][0]
    assert is_classifier(search)
    assert is_regressor(GradientSearchCV(ISOTROPIC))


def test_methods_are_those_of_the_estimator():
    squared = GradientSearchCV(OutputKernelClassifier())
    assert hasattr(squared, "decision_function")
    assert not hasattr(squared, "predict_proba")
    assert hasattr(
        GradientSearchCV(OutputKernelClassifier(loss="softmax")), "predict_proba"
    )
    assert not hasattr(GradientSearchCV(ISOTROPIC), "decision_function")
    with pytest.raises(NotFittedError):
        GradientSearchCV(ISOTROPIC).predict(X)
    search = GradientSearchCV(ISOTROPIC).fit(X, Y)
    mean, std = search.predict(X, return_std=True)
    assert mean.shape == std.shape
    found = search.predict_interval(X, 0.8)
    assert_array_equal(found, search.best_estimator_.predict_interval(X, 0.8))
    assert not hasattr(squared, "predict_interval")


def test_a_data_frame_with_missing_targets_and_weights():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    targets = pd.DataFrame(Y, columns=["u", "v"])
    targets.iloc[::5, 0] = np.nan
    kernel = Columns(Gaussian(), ["a", "c"])
    weights = np.linspace(0.5, 2.0, len(X))
    search = GradientSearchCV(OutputKernelRegressor(kernel, "identity"))
    search.fit(frame, targets, sample_weight=weights)
    assert set(search.best_params_) == {"kernel__kernel__gamma", "alpha"}
    assert_array_equal(search.feature_names_in_, ["a", "b", "c"])
    assert_array_equal(search.output_names_, ["u", "v"])
    # weights count: as a row that is left out does not
    weights[:10] = 0
    search.fit(frame, targets, sample_weight=weights)
    other = clone(search).fit(frame[10:], targets[10:], sample_weight=weights[10:])
    assert_allclose(search.best_score_, other.best_score_, rtol=1e-6)


@pytest.mark.parametrize(
    ("estimator", "criterion"),
    [
        (OutputKernelRegressor("linear", "identity"), "auto"),
        (OutputKernelRegressor("linear", "identity"), "folds_error"),
        (OutputKernelClassifier("linear", "identity", loss="softmax"), "auto"),
    ],
)
def test_rows_of_weight_zero_are_not_there(estimator, criterion):
    """Neither in the folds, nor in the priors, nor in what is to be five rows."""
    classes = is_classifier(estimator)
    rows, targets = (ROWS, LABELS) if classes else (X[:16], Y[:16])
    there = np.arange(len(rows)) % 3 > 0
    rows = np.where(there[:, None], rows, 10.0 * rows)
    search = GradientSearchCV(estimator, criterion=criterion)
    weighted = clone(search).fit(rows, targets, sample_weight=there.astype(float))
    dropped = search.fit(rows[there], targets[there])
    assert weighted.criterion_ == dropped.criterion_
    found, alpha = weighted.best_params_["alpha"], dropped.best_params_["alpha"]
    assert_allclose(found, alpha, rtol=1e-4)
    few = np.arange(len(rows)) < 4
    with pytest.raises(ValueError, match="weight above zero, got n_samples = 4"):
        search.fit(rows, targets, sample_weight=few.astype(float))
    folds = [(np.flatnonzero(there), np.flatnonzero(~there))]
    by_folds = criterion if criterion != "auto" else "folds_likelihood"
    search.set_params(cv=folds, criterion=by_folds)
    with pytest.raises(ValueError, match=r"Fold 0 .* with a target and a weight"):
        search.fit(rows, targets, sample_weight=there.astype(float))


def test_one_hyperparameter_search_in_a_pipeline_copies_and_pickles():
    search = GradientSearchCV(ISOTROPIC, ["alpha"])
    pipeline = make_pipeline(StandardScaler(), search).fit(X, Y)
    assert_array_equal(
        pickle.loads(pickle.dumps(pipeline)).predict(X), pipeline.predict(X)
    )
    assert np.mean(cross_val_score(pipeline, X, Y, cv=KFold(3))) > 0.2
    assert clone(search).estimator is not ISOTROPIC
    nested = clone(search).set_params(estimator__kernel__gamma=0.123)
    assert nested.estimator.kernel.gamma == 0.123


def test_folds_of_groups():
    groups = np.arange(len(X)) % 4
    search = GradientSearchCV(ISOTROPIC, criterion="folds_error", cv=GroupKFold(4))
    search.fit(X, Y, groups=groups)
    splits = list(GroupKFold(4).split(X, Y, groups))
    other = clone(search).set_params(cv=splits).fit(X, Y)
    assert search.best_score_ == other.best_score_


def test_metadata_reach_the_splitter_and_the_fit():
    groups, weights = np.arange(len(X)) % 4, np.linspace(0.5, 2.0, len(X))
    search = GradientSearchCV(ISOTROPIC, criterion="folds_error", cv=GroupKFold(4))
    with config_context(enable_metadata_routing=True):
        search.set_fit_request(sample_weight=True)
        routed = make_pipeline(search).fit(X, Y, sample_weight=weights, groups=groups)
    direct = clone(search).fit(X, Y, sample_weight=weights, groups=groups)
    assert routed[-1].best_score_ == direct.best_score_
    assert direct.best_score_ != clone(search).fit(X, Y, groups=groups).best_score_


def test_callbacks_see_the_iterations():
    callback = Counting()
    search = GradientSearchCV(ISOTROPIC, n_restarts=1).set_callbacks(callback)
    search.fit(X, Y)
    names = [c.removeprefix("begin ") for c in callback.calls if c.startswith("begin ")]
    n = np.sum(search.cv_results_["start"] == 0)
    assert names[1:] == ["search", *["iteration"] * n, "restart", "refit"]


def test_without_restarts_no_worker_is_started(recwarn):
    GradientSearchCV(ISOTROPIC, max_iter=3, n_jobs=2).fit(X, Y)
    assert not [one for one in recwarn if "workers" in str(one.message)]


def test_time_runs_out():
    search = GradientSearchCV(ARD, n_restarts=3, max_time=1e-6)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        search.fit(X, Y)
    assert_array_equal(search.cv_results_["evaluations"], [1])
    assert search.best_estimator_.certificate_.status == "optimal"


@pytest.mark.parametrize(
    ("search", "error", "match"),
    [
        (
            GradientSearchCV(OutputKernelRegressorCV()),
            TypeError,
            "OutputKernelRegressor",
        ),
        (GradientSearchCV(ISOTROPIC, criterion="loo"), ValueError, "'loo'"),
        (GradientSearchCV(ISOTROPIC, n_restarts=-1), ValueError, "n_restarts"),
        (GradientSearchCV(ISOTROPIC, max_iter=0), ValueError, "max_iter"),
        (GradientSearchCV(ISOTROPIC, max_time=0), ValueError, "max_time"),
        (GradientSearchCV(ISOTROPIC, n_jobs=0), ValueError, "n_jobs must be None"),
        (GradientSearchCV(ISOTROPIC, n_jobs=2**70), ValueError, "no number above 2"),
        (GradientSearchCV(ISOTROPIC, [[1, 2], [3]]), ValueError, r"has \[1, 2\]"),
        (GradientSearchCV(ISOTROPIC, priors=2), ValueError, "priors"),
        (GradientSearchCV(ISOTROPIC, ["gamma"]), ValueError, "kernel__gamma"),
        (GradientSearchCV(ISOTROPIC, {"alpha": "x"}), TypeError, "alpha"),
        (GradientSearchCV(ISOTROPIC, []), ValueError, "nothing to learn"),
        (
            GradientSearchCV(
                OutputKernelRegressor(Gaussian(np.ones(3)), Sparse()),
                {"structure__mu": (0.5, 2.0)},
            ),
            ValueError,
            "mu must be a number",
        ),
        (
            GradientSearchCV(
                OutputKernelRegressor(loss="huber"), criterion="leave_one_out_error"
            ),
            ValueError,
            "squared loss",
        ),
        (
            GradientSearchCV(
                OutputKernelRegressor(PerOutput([Gaussian(), Linear()]), "identity"),
                criterion="leave_one_out_error",
            ),
            ValueError,
            "'leave_one_out_error' needs one kernel for all outputs",
        ),
        (
            GradientSearchCV(
                OutputKernelRegressor(PerOutput([Gaussian()] * 3), "identity")
            ),
            ValueError,
            "the number of kernels is 3, of outputs 2",
        ),
        (
            GradientSearchCV(OutputKernelRegressor(alpha=0.1, max_memory=1e-3)),
            MemoryError,
            "max_memory",
        ),
    ],
)
def test_errors_name_what_came(search, error, match):
    with pytest.raises(error, match=match):
        search.fit(X, Y)


def test_each_output_finds_a_kernel_of_its_own():
    # one output moves slowly with the rows, the other fast
    rows = np.random.default_rng(0).uniform(-2.0, 2.0, (60, 1))
    targets = np.column_stack([np.sin(rows[:, 0]), np.sin(8.0 * rows[:, 0])])
    kernel = PerOutput([Gaussian(1.0), Gaussian(1.0)])
    model = OutputKernelRegressor(kernel, "identity", alpha=1e-2)
    names = ["kernel__kernels__0__gamma", "kernel__kernels__1__gamma"]
    search = GradientSearchCV(model, names, cv=3, max_iter=8).fit(rows, targets)
    slow, fast = (search.best_params_[name] for name in names)
    assert fast > 4.0 * slow
    assert search.criterion_ == "FoldsLikelihood"
    assert search.cv_results_["value"][-1] < search.cv_results_["value"][0]


def test_errors_of_data():
    with pytest.raises(ValueError, match="precomputed"):
        GradientSearchCV(OutputKernelRegressor("precomputed")).fit(X @ X.T, Y)
    with pytest.raises(ValueError, match="at least 5 rows"):
        GradientSearchCV(ISOTROPIC).fit(X[:4], Y[:4])
    learned = OutputKernelRegressor("rbf", "frobenius")
    with pytest.raises(ValueError, match="does not support data in long form"):
        GradientSearchCV(learned).fit(X, Y[:, 0], task=np.arange(len(X)) % 2)
    constant = np.column_stack([X, np.full(len(X), 3.0)])
    wide = OutputKernelRegressor(Gaussian(np.ones(4)), "identity")
    with pytest.raises(ValueError, match=r"kernel__gamma\[3\].*constant"):
        GradientSearchCV(wide).fit(constant, Y)
    frame = pd.DataFrame(constant, columns=["a", "b", "c", "same"])
    with pytest.raises(ValueError, match=r"gamma\[3\], of the column 'same', has no"):
        GradientSearchCV(wide).fit(frame, Y)
    with pytest.raises(ValueError, match="unexpected metadata"):
        GradientSearchCV(ISOTROPIC).fit(X, Y, other=1)


def test_one_output_has_no_relation_to_learn():
    search = GradientSearchCV(OutputKernelRegressor("rbf", Mean())).fit(X, Y[:, 0])
    assert set(search.best_params_) == {"kernel__gamma", "alpha"}
    assert search.predict(X).shape == (len(X),)


def noisy(n=60):
    """Return rows, and outputs whose noise is small, larger and large."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    F = np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 1]), np.sin(X.sum(axis=1))])
    return X, F + np.array([0.03, 0.2, 0.9]) * rng.normal(size=F.shape)


def test_an_alpha_for_each_output():
    X, Y = noisy()
    model = OutputKernelRegressor("rbf", "identity")
    several = GradientSearchCV(model, alpha_per_output=True).fit(X, Y)
    alphas = several.best_params_["alpha"]
    assert several.criterion_ == "RestrictedLikelihood"
    assert alphas.shape == (3,)
    assert alphas[0] < alphas[1] < alphas[2]
    assert_array_equal(several.best_estimator_.alpha, alphas)
    assert certify(several.best_estimator_, X, Y).status == "optimal"
    one = GradientSearchCV(model).fit(X, Y)
    assert several.best_score_ > one.best_score_ + 1
    # an estimator with several keeps several
    own = clone(model).set_params(alpha=[1.0, 1.0, 1.0])
    again = GradientSearchCV(own).fit(X, Y)
    assert_allclose(again.best_params_["alpha"], alphas, rtol=1e-6)


def test_an_alpha_for_each_label_or_related_output():
    X, Y = noisy(40)
    classifier = OutputKernelClassifier("rbf", "identity", loss="logistic")
    search = quiet(cut(classifier, alpha_per_output=True), X, (Y > 0).astype(int))
    assert search.criterion_ == "FoldsLikelihood"
    assert np.ptp(search.best_params_["alpha"]) > 0
    related = GradientSearchCV(
        OutputKernelRegressor("rbf", "frobenius"), alpha_per_output=True, max_iter=1
    )
    assert quiet(related, X, Y).criterion_ == "FoldsLikelihood"


@pytest.mark.parametrize(
    ("estimator", "options", "message"),
    [
        (
            OutputKernelClassifier("rbf", loss="softmax"),
            {"alpha_per_output": True},
            "'softmax' couples all outputs",
        ),
        (OutputKernelClassifier("rbf", alpha=[1.0, 2.0]), {}, "alpha has 2 entries"),
        (ISOTROPIC, {"alpha_per_output": 1}, "alpha_per_output must be True or False"),
    ],
)
def test_alphas_that_cannot_be_learned(estimator, options, message):
    y = LABELS if is_classifier(estimator) else ROWS
    with pytest.raises(ValueError, match=message):
        GradientSearchCV(estimator, **options).fit(ROWS, y)


def test_features_of_a_given_kernel_need_no_matrix():
    rng = np.random.default_rng(0)
    labels = np.arange(420) % 3
    words = scipy.sparse.random_array((420, 3000), density=0.002, rng=rng).tocsr()
    rows = scipy.sparse.csr_array((np.ones(420), (np.arange(420), labels)), words.shape)
    words += rows
    model = OutputKernelClassifier(
        "linear", "identity", loss="softmax", alpha=0.1, fit_intercept=False, tol=1e-3
    )
    search = GradientSearchCV(model, ["alpha"], cv=2)
    full = clone(search).set_params(estimator__kernel=linear_kernel)
    # a matrix of 420 x 420 takes 1.3 MiB
    search.set_params(estimator__max_memory=1.0).fit(words, labels)
    found = search.best_params_["alpha"]
    assert_allclose(found, full.fit(words, labels).best_params_["alpha"], rtol=0.02)
    with pytest.raises(MemoryError, match="more than max_memory"):
        full.set_params(estimator__max_memory=1.0).fit(words, labels)


def test_a_fold_without_a_class_or_an_output_names_it():
    X = np.random.default_rng(0).normal(size=(40, 3))
    labels = np.repeat(["a", "b", "c"], [20, 19, 1])
    model = OutputKernelClassifier("rbf", "identity", loss="softmax")
    with pytest.raises(ValueError, match="no training rows of class c"):
        GradientSearchCV(model).fit(X, labels)
    alone = model.set_params(fit_intercept=False)
    with pytest.warns(UserWarning, match=r"1 of 3 classes has a single row: 'c'"):
        GradientSearchCV(alone, ["alpha"]).fit(X, labels)
    Y = pd.DataFrame(X[:, :2].copy(), columns=["height", "weight"])
    Y.iloc[8:, 1] = np.nan
    folds = [(np.arange(8, 40), np.arange(8)), (np.arange(8), np.arange(8, 40))]
    for criterion in ("folds_error", "folds_likelihood"):
        search = GradientSearchCV(
            OutputKernelRegressor("rbf", "identity"), criterion=criterion, cv=folds
        )
        with pytest.raises(ValueError, match="a target of output weight"):
            search.fit(X, Y)


def test_parameters_of_scikit_learns_kernels_are_said_to_stay():
    X, y, _ = draw(20, 1)
    model = OutputKernelRegressor(2.0 * as_kernel(RBF(5.0)), "identity")
    with pytest.warns(UserWarning, match=r"parameters of RBF\(.* are not learned"):
        found = GradientSearchCV(model).fit(X, y)
    assert found.best_params_["kernel__left__value"] != 2.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        GradientSearchCV(model, ["alpha"]).fit(X, y)
        fixed = as_kernel(RBF(5.0, "fixed"))
        GradientSearchCV(model.set_params(kernel=fixed)).fit(X, y)
