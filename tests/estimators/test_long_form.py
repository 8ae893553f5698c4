"""Data in long form: one task, and one target, a row."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.metrics import r2_score as sklearn_r2_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from okl import (
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
    certify,
    output_kernel_path,
)
from okl.kernels import Gaussian, Polynomial
from okl.losses import Huber
from okl.metrics import r2_score
from okl.operators import Dense, Features
from okl.structures import (
    Cluster,
    Diagonal,
    Fixed,
    LowRank,
    Mean,
    Sparse,
    TraceBall,
    as_structure,
)
from tests.covering import later
from tests.samples import psd

STRUCTURES = [
    "identity",
    "mean",
    Fixed(psd(4, seed=3)),
    "frobenius",
    "low_rank",
    "trace_ball",
    TraceBall(1e-2),
    Cluster(2),
    Sparse(0.5, 1e-2),
]
each = pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
KERNELS = pytest.mark.parametrize("kernel", ["linear", Gaussian(0.2)], ids=repr)
NAMES = np.array(["d", "b", "a", "c"])
N = 40  # rows


def sample(n=N, seed=0):
    """Return X, y and the ids of four related tasks, in no order."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    codes = rng.integers(0, 4, n)
    y = X[:, 0] + 0.3 * codes * X[:, 1] + 0.5 * codes + 0.2 * rng.normal(size=n)
    return X, y, NAMES[codes]


def pivoted(y, ids):
    """Return the target matrix, NaN where a row is not of the task."""
    names = np.unique(ids)
    return np.where(ids[:, None] == names, y[:, None], np.nan)


@each
@KERNELS
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.each_value
def test_it_is_the_fit_to_the_target_matrix(structure, kernel, intercept):
    X, y, ids = sample()
    known = "known" in as_structure(structure).capabilities
    tol = 1e-10 if known else 1e-6
    options = {"fit_intercept": intercept, "tol": tol}
    long = OutputKernelRegressor(kernel, structure, 0.5, **options)
    long.fit(X, y, task=ids)
    wide = OutputKernelRegressor(kernel, structure, 0.5, **options)
    wide.fit(X, pivoted(y, ids))
    assert long.certificate_.status == "optimal"
    primal = wide.certificate_.primal
    assert_allclose(long.certificate_.primal, primal, rtol=2 * tol)
    # half the squared distance of the predictions is at most the gap, where observed
    near = 4 * (tol * primal) ** 0.5
    assert_allclose(long.predict(X), wide.predict(X), atol=near)
    assert long.dual_coef_.shape == wide.dual_coef_.shape == (N, 4)
    assert_array_equal(long.output_names_, ["a", "b", "c", "d"])
    own = np.searchsorted(long.output_names_, ids)
    # one sum in two orders: predictions near zero are differences of larger numbers
    assert_allclose(
        long.predict(X, task=ids),
        long.predict(X)[np.arange(N), own],
        rtol=1e-12,
        atol=1e-13,
    )


@each
@pytest.mark.parametrize(
    "loss", ["squared", Huber(0.3), "logistic", "squared_hinge"], ids=repr
)
def test_the_certificate_is_that_of_the_target_matrix(structure, loss):
    X, y, ids = sample(40)
    K = X @ X.T
    if isinstance(loss, str) and loss in {"logistic", "squared_hinge"}:
        y = np.where(y > 0.7, 1, -1)
        model = OutputKernelClassifier("precomputed", structure, 0.5, loss=loss)
    else:
        model = OutputKernelRegressor(
            "precomputed", structure, 0.5, loss=loss, normalize_y=False
        )
    # the fit is certified by its own c, which is not known from Theta if L is singular:
    # closer, the gradient of the loss is as good
    model.set_params(tol=1e-8 if loss == "squared" else 1e-4).fit(K, y, task=ids)
    wide = pivoted(np.asarray(y, dtype=float), ids)
    learned = "known" not in model.structure_.capabilities
    again = certify(
        K,
        np.nan_to_num(wide),
        model.dual_coef_,
        alpha=0.5,
        structure=structure,
        loss=loss,
        weights=(~np.isnan(wide)).astype(float),
        intercept=model.intercept_,
        output_kernel=model.output_kernel_ if learned else None,
    )
    assert_allclose(again.primal, model.certificate_.primal, rtol=1e-7)
    # `certify` tries one more dual point for the squared loss
    assert again.dual >= model.certificate_.dual - 1e-6 * abs(again.dual)
    if loss != "squared":
        assert_allclose(again.dual, model.certificate_.dual, rtol=1e-6)
    # one product on the way differs in rounding, where L is nearly singular
    assert again.gap >= -1e-9 * again.primal


def test_certify_proves_no_less_than_the_fit():
    # L is singular: of the many C with C L = Theta, only one has an entry a row
    X = np.array([-0.18, -0.97, 0.13, -1.6, 0.87])[:, None]
    labels = np.repeat([[0], [1], [0], [1], [0]], 4, axis=1)
    labels[[2, 3, 4], 2] = [1, 0, 1]
    rows, ids = np.nonzero(labels >= 0)
    model = OutputKernelClassifier(Polynomial(2, gamma=1.35), alpha=0.0143)
    model.fit(X[rows], labels[rows, ids], task=ids)
    assert model.rank_ < 4
    again = certify(model, X[rows], labels[rows, ids], task=ids)
    assert_allclose(again.dual, model.certificate_.dual, rtol=1e-12)
    assert again.status == model.certificate_.status == "optimal"


def test_certify_proves_no_less_of_a_task_without_variance():
    # its coefficients are zero, and tell nothing of its dual variables
    X, y, ids = sample()
    structure = Diagonal([1.0, 0.0, 2.0, 1.0])
    model = OutputKernelRegressor(Gaussian(0.2), structure, alpha=1e-3, tol=1e-8)
    model.fit(X, y, task=ids)
    again = certify(model, X, y, task=ids)
    assert_allclose(again.dual, model.certificate_.dual, rtol=1e-10)


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_independent_tasks_are_fitted_one_by_one(intercept):
    X, y, ids = sample()
    model = OutputKernelRegressor(
        "linear", "identity", 0.3, fit_intercept=intercept, tol=1e-12
    ).fit(X, y, task=ids)
    labels = np.where(y > 0.7, 1, 0)
    classifier = OutputKernelClassifier(
        "linear", "identity", 0.5, loss="logistic", fit_intercept=intercept, tol=1e-10
    ).fit(X, labels, task=ids)
    for name in NAMES:
        rows = ids == name
        alone = Ridge(0.3, fit_intercept=intercept).fit(X[rows], y[rows])
        predictions = model.predict(X, task=np.full(N, name))
        assert_allclose(predictions, alone.predict(X), atol=1e-5)
        logistic = LogisticRegression(C=2.0, fit_intercept=intercept, tol=1e-10)
        logistic.fit(X[rows], labels[rows])
        scores = classifier.decision_function(X, task=np.full(N, name))
        assert_allclose(scores, logistic.decision_function(X), atol=1e-3)


def test_the_intercept_of_a_task_is_the_mean_of_its_residuals():
    X, y, ids = sample()
    weights = np.random.default_rng(0).uniform(0.2, 2, N)
    model = OutputKernelRegressor("linear", "frobenius", 0.3)
    model.fit(X, y, sample_weight=weights, task=ids)
    residual = y - model.predict(X, task=ids)
    for name in NAMES:
        rows = ids == name
        assert_allclose(np.average(residual[rows], weights=weights[rows]), 0, atol=1e-9)
    dual = np.linalg.solve(model.output_kernel_, model.dual_coef_.T).T
    assert_allclose(dual.sum(axis=0), 0, atol=1e-6)


@pytest.mark.parametrize("structure", ["mean", "frobenius", *later("low_rank")])
@pytest.mark.parametrize("loss", ["squared", Huber(0.5)], ids=repr)
def test_weight_two_is_the_row_twice_and_weight_zero_is_no_row(structure, loss):
    X, y, ids = sample()
    weights = np.random.default_rng(1).integers(0, 3, N)
    rows = np.repeat(np.arange(N), weights)
    options = {"kernel": Gaussian(0.2), "structure": structure, "alpha": 0.5}
    model = OutputKernelRegressor(**options, loss=loss, tol=1e-9)
    weighted = model.fit(X, y, sample_weight=weights, task=ids).predict(X)
    primal = model.certificate_.primal
    repeated = model.fit(X[rows], y[rows], task=ids[rows]).predict(X)
    assert_allclose(primal, model.certificate_.primal, rtol=2e-9)
    assert_allclose(weighted, repeated, atol=1e-3)
    y = y.copy()
    y[weights == 0] = np.nan  # not observed
    missing = model.fit(X, y, sample_weight=weights, task=ids).predict(X)
    assert_allclose(weighted, missing, atol=1e-3)


@each
def test_the_order_of_rows_and_the_names_of_tasks_do_not_matter(structure):
    X, y, ids = sample()
    model = OutputKernelRegressor(Gaussian(0.2), structure, 0.5)
    first = model.fit(X, y, task=ids).predict(X, task=ids)
    primal = model.certificate_.primal
    order = np.random.default_rng(2).permutation(N)
    fixed = isinstance(structure, Fixed)  # its rows are in the order of the names
    numbers = np.array([-2, 3, 7, 100] if fixed else [7, -2, 100, 3])
    renamed = numbers[np.searchsorted(np.sort(NAMES), ids)]
    moved = model.fit(X[order], y[order], task=renamed[order]).predict(X, task=renamed)
    assert_array_equal(model.output_names_, [-2, 3, 7, 100])
    assert_allclose(model.certificate_.primal, primal, rtol=2e-6)
    assert_allclose(moved, first, atol=2e-2)


@each
def test_a_task_with_a_single_row(structure):
    X, y, ids = sample()
    rows = (ids != "b") | (np.arange(N) == np.flatnonzero(ids == "b")[0])
    X, y, ids = X[rows], y[rows], ids[rows]
    model = OutputKernelRegressor(Gaussian(0.2), structure, 0.5, tol=1e-4)
    model.fit(X, y, task=ids)
    assert model.certificate_.status == "optimal"
    single = ids == "b"
    # the intercept takes it all
    assert_allclose(model.predict(X[single], task=ids[single]), y[single], rtol=1e-6)


def test_one_task_is_one_output():
    X, y, _ = sample()
    long = OutputKernelRegressor("linear", "frobenius", 0.5, tol=1e-10)
    long.fit(X, y, task=np.zeros(N, dtype=int))
    short = OutputKernelRegressor("linear", "frobenius", 0.5, tol=1e-10).fit(X, y)
    assert long.predict(X).shape == (N, 1)
    assert_allclose(long.predict(X)[:, 0], short.predict(X), atol=1e-5)


def test_a_bound_on_the_rank():
    X, y, ids = sample()
    model = OutputKernelRegressor("linear", LowRank(1), 0.1).fit(X, y, task=ids)
    assert model.rank_ == 1
    assert model.certificate_.status == "rank_limited"
    wide = OutputKernelRegressor("linear", LowRank(1), 0.1).fit(X, pivoted(y, ids))
    assert_allclose(model.certificate_.primal, wide.certificate_.primal, rtol=1e-5)


def test_sparse_rows_and_rows_of_a_data_frame():
    pandas = pytest.importorskip("pandas")
    _, y, ids = sample()
    for n_columns in (12, 100):
        X = scipy.sparse.random_array(
            (N, n_columns), density=0.2, rng=np.random.default_rng(0), format="csr"
        )
        # other products, other steps: equal as far as both are certified
        model = OutputKernelRegressor("linear", "frobenius", 0.5, tol=1e-12)
        sparse = model.fit(X, y, task=ids).predict(X, task=ids)
        dense = model.fit(X.toarray(), y, task=ids).predict(X.toarray(), task=ids)
        assert_allclose(sparse, dense, atol=1e-5)
    X, y, ids = sample()
    frame = pandas.DataFrame(X, columns=list("pqrst"))
    model.fit(frame, pandas.Series(y), task=pandas.Series(ids))
    assert_allclose(model.predict(frame, task=pandas.Series(ids)).shape, (N,))


def test_no_matrix_of_all_rows_is_formed(monkeypatch):
    # features serve from fit to prediction; K never gets as many columns as tasks,
    # by rounds, which more rows take than these
    X, y, ids = sample()
    widest = []

    def wide(self, right):
        widest.append(right.shape[1])
        return original(self, right)

    original = Features.__matmul__
    monkeypatch.setattr(Features, "__matmul__", wide)
    monkeypatch.setattr(Dense, "__init__", small_only(Dense.__init__))
    model = OutputKernelRegressor("linear", "frobenius", 0.5, solver="majorization")
    model.fit(X, y, task=ids).predict(X, task=ids)
    assert not widest


def small_only(initialise):
    """Refuse matrices of all rows."""

    def refuse(self, matrix, **options):
        assert matrix.shape[0] < N
        initialise(self, matrix, **options)

    return refuse


def test_classes():
    X, y, ids = sample()
    labels = np.where(y > 0.7, "yes", "no")
    own = np.searchsorted(np.sort(NAMES), ids)
    for loss in ("squared", "logistic", "squared_hinge", "hinge"):
        model = OutputKernelClassifier("linear", alpha=0.5, loss=loss)
        model.fit(X, labels, task=ids)
        wide = OutputKernelRegressor("linear", alpha=0.5, normalize_y=False)
        assert_array_equal(model.classes_, ["no", "yes"])
        scores = model.decision_function(X)
        assert scores.shape == model.predict(X).shape == (N, 4)
        assert_array_equal(model.predict(X), np.where(scores > 0, "yes", "no"))
        assert_allclose(model.decision_function(X, task=ids), scores[np.arange(N), own])
        predictions = model.predict(X, task=ids)
        assert_array_equal(predictions, model.predict(X)[np.arange(N), own])
        assert model.score(X, labels, task=ids) == accuracy_score(labels, predictions)
        if loss == "squared":
            wide.fit(X, pivoted(np.where(labels == "yes", 1.0, -1.0), ids))
            # half the squared distance from the optimum is at most the gap of each
            near = 2 * (2 * wide.tol * wide.certificate_.primal) ** 0.5
            observed = np.arange(N), own
            assert_allclose(scores[observed], wide.predict(X)[observed], atol=near)
        if loss == "logistic":
            both = model.predict_proba(X, task=ids)
            assert_allclose(both.sum(axis=1), 1)
            assert_allclose(both[:, 1], model.predict_proba(X)[np.arange(N), own])
            assert_allclose(np.log(both), model.predict_log_proba(X, task=ids))


@pytest.mark.parametrize(
    "structure", ["mean", Cluster(2), *later("low_rank")], ids=repr
)
def test_a_loss_with_kinks(structure):
    X, y, ids = sample()
    labels = np.where(y > 0.7, 1.0, -1.0)
    options = {"loss": "hinge", "tol": 1e-5}
    model = OutputKernelClassifier("precomputed", structure, 0.5, **options)
    model.fit(X @ X.T, labels, task=ids)
    assert model.certificate_.status == "optimal"
    assert np.any(model.dual_point_ == 0)  # support vectors are not all rows
    wide = pivoted((labels + 1) / 2, ids)
    other = OutputKernelClassifier("precomputed", structure, 0.5, **options)
    other.fit(X @ X.T, wide)
    assert_allclose(model.certificate_.primal, other.certificate_.primal, rtol=2e-5)
    own = np.where(np.isnan(wide), 0.0, model.dual_point_[:, None])
    learned = "known" not in model.structure_.capabilities
    again = certify(
        X @ X.T,
        np.where(wide == 1, 1.0, -1.0),
        model.dual_coef_,
        alpha=0.5,
        structure=structure,
        loss="hinge",
        weights=(~np.isnan(wide)).astype(float),
        intercept=model.intercept_,
        output_kernel=model.output_kernel_ if learned else None,
        dual_point=own,
    )
    assert_allclose(again.primal, model.certificate_.primal, rtol=1e-7)
    assert_allclose(again.dual, model.certificate_.dual, rtol=1e-6)


def test_class_weights_are_weights_of_rows():
    X, y, ids = sample()
    labels = np.where(y > 1.2, 1, 0)
    balanced = OutputKernelClassifier(loss="logistic", class_weight="balanced")
    given = OutputKernelClassifier(loss="logistic")
    weights = N / (2 * np.bincount(labels))[labels]
    balanced.fit(X, labels, task=ids)
    # not sample_weight: that has its say in gamma="scale"
    given.set_params(kernel=balanced.kernel_)
    given.fit(X, labels, sample_weight=weights, task=ids)
    assert_allclose(
        balanced.decision_function(X), given.decision_function(X), atol=1e-3
    )


def test_the_score_counts_every_row_alike():
    X, y, ids = sample()
    model = OutputKernelRegressor().fit(X, y, task=ids)
    predictions = model.predict(X, task=ids)
    weights = np.random.default_rng(0).uniform(size=N)
    assert_allclose(model.score(X, y, task=ids), sklearn_r2_score(y, predictions))
    assert_allclose(
        model.score(X, y, sample_weight=weights, task=ids),
        sklearn_r2_score(y, predictions, sample_weight=weights),
    )
    # the mean over tasks is that of the target matrix
    assert_allclose(
        r2_score(y, predictions, task=ids),
        r2_score(pivoted(y, ids), model.predict(X)),
    )
    assert_allclose(
        r2_score(y, predictions, task=ids, multioutput="raw_values"),
        r2_score(pivoted(y, ids), model.predict(X), multioutput="raw_values"),
    )


def test_a_path():
    X, y, ids = sample()
    path = output_kernel_path(X, y, task=ids, alphas=2, eps=1e-2, structure="low_rank")
    wide = output_kernel_path(
        X, pivoted(y, ids), alphas=path.alphas, structure="low_rank"
    )
    for long, other in zip(path, wide, strict=True):
        assert long.certificate_.status == "optimal"
        assert_allclose(long.certificate_.primal, other.certificate_.primal, rtol=2e-6)
        assert_allclose(long.predict(X), other.predict(X), atol=5e-3)
    assert_array_equal(path[1].output_names_, np.sort(NAMES))


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_a_search(kernel):
    X, y, ids = sample(48)
    rows = X @ X.T if kernel == "precomputed" else X
    search = OutputKernelRegressorCV(
        kernel,
        ["identity", "frobenius"],
        alphas=3,
        eps=1e-2,
        cv=3,
        tol=1e-8,
        normalize_y=False,
    ).fit(rows, y, task=ids)
    # each score is that of a fit to the training rows of the fold
    train = np.arange(48) >= 16
    gram = kernel == "precomputed"
    alone = OutputKernelRegressor(
        search.kernel_, "frobenius", search.alphas_[1, 1], tol=1e-8, normalize_y=False
    ).fit(rows[train][:, train] if gram else rows[train], y[train], task=ids[train])
    held_out = rows[~train][:, train] if gram else rows[~train]
    score = alone.score(held_out, y[~train], task=ids[~train])
    assert_allclose(search.scores_[1, 1, 0], score, rtol=1e-3)
    assert search.score(rows, y, task=ids) > 0.5


def test_a_search_of_classes():
    X, y, ids = sample(80)
    labels = np.where(y > 0.7, "yes", "no")
    search = OutputKernelClassifierCV(
        "linear", loss="logistic", alphas=3, eps=1e-2, cv=3, scoring="roc_auc"
    ).fit(X, labels, task=ids)
    assert np.all(search.scores_ > 0.5)
    assert search.predict(X, task=ids).shape == (80,)


def test_a_search_with_a_kernel_matrix_that_does_not_fit():
    X, y, ids = sample()
    options = {"structures": ["identity", "frobenius"], "alphas": [1.0], "cv": 2}
    stored = OutputKernelRegressorCV(Gaussian(0.2), tol=1e-8, **options)
    blocks = clone(stored).set_params(max_memory=8 * N**2 / 2**21)
    stored.fit(X, y, task=ids)
    blocks.fit(X, y, task=ids)
    assert_allclose(blocks.scores_, stored.scores_, atol=1e-3)


def test_a_task_without_training_rows_in_a_fold():
    X, y, ids = sample()
    order = np.argsort(ids)  # folds are blocks of rows: whole tasks
    search = OutputKernelRegressorCV("rbf", alphas=3, eps=1e-2, cv=3)
    search.fit(X[order], y[order], task=ids[order])
    assert np.all(np.isfinite(search.scores_))


def test_routing():
    X, y, ids = sample(60)
    groups = np.arange(60) % 5
    with sklearn.config_context(enable_metadata_routing=True):
        model = OutputKernelRegressor(alpha=0.1, tol=1e-4)
        model.set_fit_request(task=True)
        model.set_score_request(task=True).set_predict_request(task=True)
        scores = cross_val_score(model, X, y, cv=3, params={"task": ids})
        assert np.all(scores > 0.3)
        grid = {"alpha": [0.01, 100.0]}
        search = GridSearchCV(model, grid, cv=2).fit(X, y, task=ids)
        assert search.best_params_ == {"alpha": 0.01}
        chain = make_pipeline(StandardScaler(), model)
        chain.fit(X, y, task=ids)
        own = chain.predict(X, task=ids)
        assert own.shape == (60,)
        assert chain.score(X, y, task=ids) == sklearn_r2_score(y, own)
        classifier = OutputKernelClassifier().set_fit_request(task=True)
        classifier.set_score_request(task=True)
        labels = (y > 0.7).astype(int)
        scores = cross_val_score(classifier, X, labels, cv=3, params={"task": ids})
        assert np.mean(scores) > 0.6
        scorer = make_scorer(r2_score).set_score_request(task=True)
        raw = {"normalize_y": False}  # a fold's own mean and scale are others
        chosen = OutputKernelRegressorCV(
            "rbf", alphas=[0.1], cv=GroupKFold(5), scoring=scorer, **raw
        ).fit(X, y, task=ids, groups=groups)
        fold = np.isin(np.arange(60), next(GroupKFold(5).split(X, y, groups))[1])
        alone = OutputKernelRegressor(chosen.kernel_, alpha=0.1, **raw)
        alone.fit(X[~fold], y[~fold], task=ids[~fold])
        mean = r2_score(y[fold], alone.predict(X[fold], task=ids[fold]), task=ids[fold])
        assert_allclose(chosen.scores_[0, 0, 0], mean, rtol=1e-3)
        outer = OutputKernelRegressorCV("rbf", alphas=[0.1], cv=2)
        outer.set_fit_request(task=True)
        outer.set_score_request(task=True)
        assert np.all(cross_val_score(outer, X, y, cv=2, params={"task": ids}) > 0.3)


def test_what_cannot_be_used():
    X, y, ids = sample()
    labels = (y > 0.7).astype(int)
    regressor, classifier = OutputKernelRegressor(), OutputKernelClassifier()
    with pytest.raises(ValueError, match=r"one target a row.* got y with 2 columns"):
        regressor.fit(X, np.stack([y, y], axis=1), task=ids)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        regressor.fit(X, y, task=ids[1:])
    with pytest.raises(ValueError, match="task is missing in some rows"):
        regressor.fit(X, y, task=np.where(ids == "a", np.nan, 1.0))
    for one in (1, "a", {}, 1j * np.ones(N)):
        with pytest.raises(ValueError, match="task must have one id for each row"):
            regressor.fit(X, y, task=one)
    with pytest.raises(ValueError, match="mixes strings with other ids"):
        regressor.fit(X, y, task=np.array([1, "a"] * (N // 2), dtype=object))
    with pytest.raises(ValueError, match="has no observed target whose sample_weight"):
        regressor.fit(X, y, sample_weight=ids != "b", task=ids)
    with pytest.raises(ValueError, match="one of two classes; got multiclass y"):
        classifier.fit(X, np.arange(N) % 3, task=ids)
    with pytest.raises(ValueError, match="one of two classes; got multilabel y"):
        classifier.fit(X, np.stack([labels, 1 - labels], axis=1), task=ids)
    softmax = OutputKernelClassifier(loss="softmax")
    with pytest.raises(ValueError, match="'softmax' has several outputs for two"):
        softmax.fit(X, labels, task=ids)
    with pytest.raises(ValueError, match="a target matrix"):
        OutputKernelRegressor(solver="output_kernel_newton").fit(X, y, task=ids)
    regressor.fit(X, y, task=ids)
    with pytest.raises(ValueError, match="The fit had no rows of the task 'z', 'q'"):
        regressor.predict(X[:3], task=["z", "a", "q"])
    with pytest.raises(ValueError, match="score needs task as well"):
        regressor.score(X, y)
    with pytest.raises(ValueError, match="score needs task as well"):
        classifier.fit(X, labels, task=ids).score(X, labels)
    plain = OutputKernelRegressor().fit(X, y)
    with pytest.raises(ValueError, match="was fitted without task; leave task out"):
        plain.predict(X, task=ids)
    # an earlier fit in long form leaves nothing behind
    regressor.fit(X, y)
    assert not hasattr(regressor, "output_names_")
    assert regressor.predict(X).shape == (N,)


@pytest.mark.parametrize("n_features", [4, N])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("structure", ["identity", "frobenius", *later("low_rank")])
@pytest.mark.each_value
def test_sparse_rows_are_the_dense_ones(structure, intercept, n_features):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, n_features)) * (rng.random((N, n_features)) < 0.2)
    y, ids = X[:, 0] + 0.1 * rng.normal(size=N), np.arange(N) % 3
    search = OutputKernelRegressorCV(
        "linear", structure, alphas=[1.0], cv=2, fit_intercept=intercept, tol=1e-9
    )
    dense = clone(search).fit(X, y, task=ids)
    sparse = clone(search).fit(scipy.sparse.csr_array(X), y, task=ids)
    assert_allclose(sparse.scores_, dense.scores_, rtol=1e-3)
    assert_allclose(
        sparse.predict(scipy.sparse.csr_array(X)), dense.predict(X), atol=1e-3
    )


@pytest.mark.parametrize(
    "ids",
    [
        np.array(["NaT", "2020-01-01"] * 3, dtype="M8[D]"),
        pd.Series(["a", pd.NA] * 3, dtype="string"),
        np.array([1, pd.NA] * 3, dtype=object),
        np.array([pd.NaT, pd.Timestamp(0)] * 3, dtype=object),
        ["a", float("nan")] * 3,
    ],
    ids=["NaT", "string", "object", "pandas NaT", "list"],
)
def test_ids_that_pandas_and_numpy_take_for_missing(ids):
    with pytest.raises(ValueError, match="task is missing in some rows"):
        OutputKernelRegressor().fit(np.arange(6.0)[:, None], np.arange(6.0), task=ids)


def test_ids_of_several_parts_are_to_be_joined():
    ids = [("a", 2020), ("b", 2020)] * 3
    with pytest.raises(ValueError, match=r"one id for each row.*\(6, 2\).*Join"):
        OutputKernelRegressor().fit(np.eye(6), np.arange(6.0), task=ids)


@pytest.mark.parametrize("unit", ["D", "us", "ns"])
def test_dates_are_the_same_ids_whatever_their_unit(unit):
    X, y, ids = sample()
    days = np.where(
        ids == "a", np.datetime64("2020-01-01"), np.datetime64("2021-05-05")
    )
    model = OutputKernelRegressor().fit(X, y, task=days)
    wanted = model.predict(X, task=days)
    assert_array_equal(model.predict(X, task=days.astype(f"M8[{unit}]")), wanted)
    later_on = days.astype("M8[us]") + 1
    with pytest.raises(ValueError, match="The fit had no rows of the task"):
        model.predict(X, task=later_on)


def test_a_task_without_targets_is_named():
    ids, y = np.repeat(["left", "right"], 3), np.arange(6.0)
    weights = np.where(ids == "right", 0.0, 1.0)
    with pytest.raises(ValueError, match="task 'right' has no observed target"):
        OutputKernelRegressor().fit(y[:, None], y, sample_weight=weights, task=ids)


def test_a_held_out_row_of_a_task_without_others_is_not_predicted_by_itself():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), rng.normal(size=80)
    task = np.r_[np.arange(4).repeat(10), 10 + np.arange(40)]
    search = OutputKernelRegressorCV("rbf", structures=["identity", Mean(10.0)])
    with pytest.warns(UserWarning, match="their rows are left out of the scores there"):
        search.fit(X, y, task=task)
    # half of all targets, which are noise, would be predicted as they are
    assert search.best_score_ < 0.1


@pytest.mark.filterwarnings("ignore:The (alpha chosen|training part)")
def test_rows_of_tasks_without_training_rows_are_not_judged():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    task = np.r_[np.zeros(20), np.ones(20), 2 + np.arange(20)]
    train, test = np.arange(0, 60, 2), np.arange(1, 60, 2)
    searches = [
        OutputKernelRegressorCV("rbf", structures=["identity", Mean(10.0)], cv=[fold])
        for fold in [(train, test), (train, test[test < 40])]
    ]
    one, other = (search.fit(X, y, task=task).scores_ for search in searches)
    assert_array_equal(one, other)
    # a fold of nothing else is judged as it is, if there are other folds
    alone = (train, test[test >= 40])
    searches[0].set_params(cv=[alone, (train, test)]).fit(X, y, task=task)
    assert np.isfinite(searches[0].best_score_)
    with pytest.raises(ValueError, match="are of tasks without training rows there"):
        searches[0].set_params(cv=[alone]).fit(X, y, task=task)
    with pytest.raises(ValueError, match="without a search, if tasks have one row"):
        OutputKernelRegressorCV("rbf").fit(X, y, task=np.arange(60))


@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score"])
def test_probabilities_of_tasks_are_none_of_classes(scoring):
    # scikit-learn took the second column, of the second task, for the second class
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(40, 2)), np.arange(40) % 2
    y = (X[:, 0] * (2 * task - 1) > 0).astype(int)
    with sklearn.config_context(enable_metadata_routing=True):
        model = OutputKernelClassifier("rbf", "identity", 0.1, loss="logistic")
        model.set_fit_request(task=True).set_score_request(task=True)
        how = {"params": {"task": task}, "cv": 2, "error_score": "raise"}
        with pytest.raises(ValueError, match="takes the column of a task for that of"):
            cross_val_score(model, X, y, scoring=scoring, **how)
        nested = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), model))
        with pytest.raises(ValueError, match="takes the column of a task for that of"):
            cross_val_score(nested, X, y, scoring=scoring, **how)
        assert cross_val_score(model, X, y, **how).mean() > 0.7
        # who knows which column to take may ask
        own = _OwnColumn(model)
        scores = cross_val_score(own, np.c_[X, task], y, scoring=scoring, cv=2)
        assert np.all(scores > -0.5)
    model.fit(X, y, task=task)
    own = model.predict_proba(X, task=task)[:, 1]
    assert_allclose(model.predict_proba(X)[np.arange(40), task], own)


class _OwnColumn(ClassifierMixin, BaseEstimator):
    """A classifier whose last feature is the task."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        self.model_ = clone(self.model).fit(X[:, :-1], y, task=X[:, -1].astype(int))
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        tasks = X[:, -1].astype(int)
        own = self.model_.predict_proba(X[:, :-1])[np.arange(len(X)), tasks]
        return np.column_stack([1 - own, own])
