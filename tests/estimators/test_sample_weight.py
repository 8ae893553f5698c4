"""Weights given to fit: rows and targets that count more, or not at all."""

import warnings

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import GridSearchCV, KFold

from okl import (
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
    certify,
    output_kernel_path,
)
from okl.kernels import Gaussian
from okl.metrics import r2_score
from okl.structures import Cluster, Sparse, TraceBall
from tests.samples import draw

N, M = 18, 3
COUNTS = np.array([1, 0, 3, 1, 2, 1, 1, 2, 0, 1, 4, 1, 1, 2, 1, 1, 3, 1])
ROWS = np.repeat(np.arange(N), COUNTS)
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
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])


@each
@intercepts
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.each_value
def test_integer_weights_are_repeated_rows(structure, intercept, kernel):
    X, Y, _ = draw(N, M)
    model = OutputKernelRegressor(
        kernel, structure, 0.3, fit_intercept=intercept, tol=1e-9
    )
    weighted = sklearn.clone(model).fit(X, Y, sample_weight=COUNTS)
    repeated = sklearn.clone(model).fit(X[ROWS], Y[ROWS])
    assert weighted.certificate_.status == "optimal"
    assert_allclose(
        weighted.certificate_.primal, repeated.certificate_.primal, rtol=1e-8
    )
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-4)
    assert_allclose(weighted.output_kernel_, repeated.output_kernel_, atol=1e-3)
    assert_array_equal(weighted.dual_coef_[COUNTS == 0], 0.0)
    if intercept:
        assert_allclose(weighted.dual_coef_.sum(axis=0), 0.0, atol=1e-12)


@each
@intercepts
def test_the_certificate_is_that_of_the_weighted_problem(structure, intercept):
    X, Y, _ = draw(N, M)
    weights = np.random.default_rng(0).uniform(0.1, 5.0, size=N)
    model = OutputKernelRegressor(
        Gaussian(0.3), structure, 0.3, fit_intercept=intercept, normalize_y=False
    ).fit(X, Y, sample_weight=weights)
    learned = structure not in ("identity", "mean")
    again = certify(
        Gaussian(0.3)(X),
        Y,
        model.dual_coef_,
        alpha=0.3,
        structure=structure,
        output_kernel=model.output_kernel_ if learned else None,
        intercept=model.intercept_ if intercept else None,
        weights=weights,
    )
    assert again.status == "optimal"
    assert_allclose(again.primal, model.certificate_.primal, rtol=1e-10)
    assert_allclose(again.dual, model.certificate_.dual, rtol=1e-6)


def test_weighted_kernel_ridge():
    X, Y, _ = draw(N, M)
    weights = np.random.default_rng(0).uniform(0.1, 5.0, size=N)
    ours = OutputKernelRegressor(
        Gaussian(0.3), "identity", 0.2, fit_intercept=False
    ).fit(X, Y, sample_weight=weights)
    theirs = KernelRidge(alpha=0.2, kernel="rbf", gamma=0.3)
    theirs.fit(X, Y, sample_weight=weights)
    assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-9, atol=1e-12)
    assert ours.n_iter_ == 1  # the closed form


def test_weights_of_targets_that_are_zero_are_missing_targets():
    X, Y, _ = draw(N, M)
    observed = np.random.default_rng(0).random((N, M)) < 0.7
    model = OutputKernelRegressor(alpha=0.3)
    one = sklearn.clone(model).fit(X, Y, sample_weight=observed.astype(float))
    two = sklearn.clone(model).fit(X, np.where(observed, Y, np.nan))
    assert one.kernel_.gamma == two.kernel_.gamma
    assert_array_equal(one.predict(X), two.predict(X))


def test_weights_of_targets_that_agree_are_weights_of_rows():
    X, Y, _ = draw(N, M)
    rows = np.random.default_rng(0).uniform(0.1, 5.0, size=N)
    model = OutputKernelRegressor(alpha=0.3)
    one = sklearn.clone(model).fit(X, Y, sample_weight=rows)
    two = sklearn.clone(model).fit(X, Y, sample_weight=np.outer(rows, np.ones(M)))
    assert_array_equal(one.predict(X), two.predict(X))
    ones = sklearn.clone(model).fit(X, Y, sample_weight=np.ones(N))
    assert_array_equal(ones.predict(X), model.fit(X, Y).predict(X))


@pytest.mark.parametrize("loss", ["squared", "logistic", "softmax", "squared_hinge"])
@pytest.mark.parametrize("structure", ["identity", "frobenius"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.each_value
def test_classifiers(loss, structure, n_classes):
    X, _, _ = draw(N, M)
    y = np.arange(N) % n_classes
    model = OutputKernelClassifier("rbf", structure, 0.3, loss=loss, tol=1e-12)
    weighted = sklearn.clone(model).fit(X, y, sample_weight=COUNTS)
    repeated = sklearn.clone(model).fit(X[ROWS], y[ROWS])
    ours, theirs = weighted.decision_function(X), repeated.decision_function(X)
    assert_allclose(ours, theirs, atol=1e-4)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge"])
@pytest.mark.parametrize("tol", [1e-2, 1e-6])
def test_weights_are_repeated_rows_as_far_as_the_certificates_say(loss, tol):
    # the objective is strongly convex in f, with the modulus alpha: with L = I and
    # k(x, x) = 1 no prediction is further from the optimal one than (2 gap / alpha)^1/2
    X, _, _ = draw(N, M)
    y, alpha = np.arange(N) % 2, 0.3
    model = OutputKernelClassifier(
        Gaussian(0.3), "identity", alpha, loss=loss, fit_intercept=False, tol=tol
    )
    weighted = sklearn.clone(model).fit(X, y, sample_weight=COUNTS)
    repeated = sklearn.clone(model).fit(X[ROWS], y[ROWS])
    gaps = [abs(fit.certificate_.gap) for fit in (weighted, repeated)]
    far = weighted.decision_function(X) - repeated.decision_function(X)
    assert np.abs(far).max() <= np.sqrt(2 * np.array(gaps) / alpha).sum() + 1e-9
    exact = sklearn.clone(model).set_params(tol=1e-12).fit(X, y, sample_weight=COUNTS)
    far = weighted.decision_function(X) - exact.decision_function(X)
    close = np.sqrt(2 * abs(exact.certificate_.gap) / alpha)
    assert np.abs(far).max() <= np.sqrt(2 * gaps[0] / alpha) + close + 1e-9


def test_a_class_without_weight_is_not_there():
    X, _, _ = draw(N, M)
    y = np.arange(N) % 3
    weights = np.where(y == 1, 0.0, 1.0)
    one = OutputKernelClassifier().fit(X, y, sample_weight=weights)
    two = OutputKernelClassifier().fit(X[y != 1], y[y != 1])
    assert_array_equal(one.classes_, [0, 2])
    assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-9)
    with pytest.raises(ValueError, match="one class only where sample_weight"):
        OutputKernelClassifier().fit(X, y, sample_weight=np.where(y == 1, 1.0, 0.0))


@pytest.mark.parametrize("cv", [None, 3])
def test_a_class_without_weight_is_not_missed_in_folds(cv):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 3
    model = OutputKernelClassifierCV("linear", "identity", alphas=[1.0], cv=cv)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y, sample_weight=(y < 2) * 1.0)
    assert model.classes_.tolist() == [0, 1]


def test_balanced_classes_count_rows_by_their_weight():
    X, _, _ = draw(N, M)
    y = np.arange(N) % 3
    model = OutputKernelClassifier(class_weight="balanced")
    weighted = sklearn.clone(model).fit(X, y, sample_weight=COUNTS)
    repeated = sklearn.clone(model).fit(X[ROWS], y[ROWS])
    assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-6
    )


@each
def test_grids_and_held_out_scores(structure):
    X, Y, _ = draw(N, M)
    # the same rows in the same folds, as often as they weigh
    folds = list(KFold(2).split(X))
    places = [np.flatnonzero(np.isin(ROWS, test)) for _, test in folds]
    repeated_folds = [
        (np.setdiff1d(np.arange(len(ROWS)), test), test) for test in places
    ]
    options = {
        "structures": [structure],
        "kernels": "short_list",
        "alphas": 2,
        "eps": 1e-2,
        "tol": 1e-9,
    }
    one = OutputKernelRegressorCV(cv=folds, **options)
    one.fit(X, Y, sample_weight=COUNTS)
    two = OutputKernelRegressorCV(cv=repeated_folds, **options)
    two.fit(X[ROWS], Y[ROWS])
    assert_allclose(one.alphas_, two.alphas_, rtol=1e-9)
    assert_allclose(one.scores_, two.scores_, atol=1e-4)
    assert one.alpha_ == pytest.approx(two.alpha_)


@pytest.mark.parametrize("loss", ["squared", "logistic", "softmax"])
@pytest.mark.parametrize("structure", ["identity", "frobenius"])
def test_grids_and_held_out_scores_of_classifiers(loss, structure):
    X, _, _ = draw(N, M)
    y = np.arange(N) % 3
    folds = [(np.arange(12), np.arange(12, N)), (np.arange(6, N), np.arange(6))]
    repeated_folds = [
        tuple(np.flatnonzero(np.isin(ROWS, part)) for part in fold) for fold in folds
    ]
    options = {
        "structures": structure,
        "kernels": ["rbf", "laplacian"],  # the short list: above
        "alphas": 2,
        "eps": 1e-2,
        "loss": loss,
    }
    one = OutputKernelClassifierCV(cv=folds, tol=1e-9, **options)
    one.fit(X, y, sample_weight=COUNTS)
    two = OutputKernelClassifierCV(cv=repeated_folds, tol=1e-9, **options)
    two.fit(X[ROWS], y[ROWS])
    assert_allclose(one.alphas_, two.alphas_, rtol=1e-7)
    assert_allclose(one.scores_, two.scores_, atol=1e-4)


def test_a_path():
    X, Y, _ = draw(N, M)
    one = output_kernel_path(X, Y, sample_weight=COUNTS, alphas=3, eps=1e-2, tol=1e-9)
    two = output_kernel_path(X[ROWS], Y[ROWS], alphas=3, eps=1e-2, tol=1e-9)
    assert_allclose(one.alphas, two.alphas)
    for ours, theirs in zip(one, two, strict=True):
        assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)


def test_scores_weigh_rows_or_targets():
    X, Y, _ = draw(N, M)
    model = OutputKernelRegressor().fit(X, Y)
    repeated = model.score(X[ROWS], Y[ROWS])
    assert model.score(X, Y, sample_weight=COUNTS) == pytest.approx(repeated)
    each_target = np.outer(COUNTS, np.ones(M))
    assert model.score(X, Y, sample_weight=each_target) == pytest.approx(repeated)
    holed = np.where(COUNTS[:, None] > 0, Y, np.nan)
    weights = np.where(COUNTS > 0, 1.0, 0.0)
    F = model.predict(X)
    assert r2_score(Y, F, sample_weight=weights) == pytest.approx(r2_score(holed, F))
    with pytest.raises(ValueError, match="sample_weight must have the shape"):
        r2_score(Y, F, sample_weight=np.ones((N, M + 1)))


def test_routing():
    X, Y, _ = draw(N, M)
    with sklearn.config_context(enable_metadata_routing=True):
        model = OutputKernelRegressor()
        model.set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"alpha": [0.1, 1.0]}, cv=KFold(3))
        search.fit(X, Y, sample_weight=COUNTS)
    for fold, (train, test) in enumerate(KFold(3).split(X)):
        alone = OutputKernelRegressor(alpha=0.1)
        alone.fit(X[train], Y[train], sample_weight=COUNTS[train])
        expected = alone.score(X[test], Y[test], sample_weight=COUNTS[test])
        found = search.cv_results_[f"split{fold}_test_score"][0]
        assert found == pytest.approx(expected)


def test_a_given_score_takes_the_weights_of_the_rows():
    X, Y, _ = draw(N, M)

    def plain(estimator, X, y):
        return -np.mean((y - estimator.predict(X)) ** 2)

    for scoring in ("neg_mean_squared_error", plain):
        search = OutputKernelRegressorCV(
            Gaussian(gamma=0.3), alphas=[0.1], cv=3, scoring=scoring, normalize_y=False
        ).fit(X, Y, sample_weight=COUNTS)
        for fold, (train, test) in enumerate(KFold(3).split(X)):
            single = OutputKernelRegressor(
                Gaussian(gamma=0.3), alpha=0.1, normalize_y=False
            )
            single.fit(X[train], Y[train], sample_weight=COUNTS[train])
            # a function of our own does not say that it takes weights
            weights = COUNTS[test] if scoring != plain else None
            expected = -mean_squared_error(
                Y[test], single.predict(X[test]), sample_weight=weights
            )
            assert search.scores_[0, 0, fold] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(N - 1), "must have the shape"),
        (np.ones((N, M + 1)), "must have the shape"),
        (-np.ones(N), "negative"),
        (np.full(N, np.nan), "NaN"),
        (np.full(N, np.inf), "infinity"),
        (np.zeros(N), "zero everywhere"),
        (np.outer(np.ones(N), [1.0, 0.0, 1.0]), "output number 1"),
    ],
)
@pytest.mark.parametrize("model", [OutputKernelRegressor(), OutputKernelRegressorCV()])
def test_weights_that_cannot_be_used(weights, message, model):
    X, Y, _ = draw(N, M)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y, sample_weight=weights)


def test_classes_take_weights_of_rows_only():
    X, _, _ = draw(N, M)
    with pytest.raises(ValueError, match="must have the shape"):
        OutputKernelClassifier().fit(X, np.arange(N) % 3, sample_weight=np.ones((N, 3)))
    labels = np.random.default_rng(0).integers(0, 2, size=(N, M))
    weights = np.random.default_rng(1).uniform(size=(N, M))
    model = OutputKernelClassifier().fit(X, labels, sample_weight=weights)
    assert model.certificate_.status == "optimal"
