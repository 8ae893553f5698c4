"""The searches against scikit-learn's own loops."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeCV
from sklearn.metrics import accuracy_score, make_scorer, mean_absolute_error
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.utils.class_weight import compute_sample_weight

from okl import (
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
    certify,
    output_kernel_path,
)
from okl.estimators.search.candidates import given_structures
from okl.kernels import Gaussian
from okl.losses import Huber, Logistic, Squared
from okl.structures import Fixed, LowRank
from tests.samples import draw, gaussian, psd

ALPHAS = [0.01, 0.3, 5.0]
STRUCTURES = ["identity", "frobenius", "low_rank", LowRank(1), Fixed(psd(3, 2))]


def expected_scores(estimator, structures, X, y, cv, scoring=None):
    """Score clones one by one."""
    return np.array(
        [
            [
                cross_val_score(
                    clone(estimator).set_params(structure=structure, alpha=alpha),
                    X,
                    y,
                    cv=cv,
                    scoring=scoring,
                )
                for alpha in sorted(ALPHAS, reverse=True)
            ]
            for structure in structures
        ]
    )


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize("kernel", [Gaussian(0.5), "linear", "precomputed"], ids=str)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("one_dimensional", [False, True], ids=["2d", "1d"])
@pytest.mark.each_value
def test_scores_are_those_of_clones(intercept, kernel, sparse, one_dimensional):
    X, Y, _ = draw(24, 3)
    X = X + np.array([3.0, 0.0, -1.0])
    structures = STRUCTURES[:4] if one_dimensional else STRUCTURES
    Y = Y[:, 0] if one_dimensional else Y
    if kernel == "precomputed":
        if sparse:
            pytest.skip("a precomputed kernel is dense")
        X = gaussian(X)
    X = sp.csr_matrix(X) if sparse else X
    options = {"fit_intercept": intercept, "tol": 1e-9}
    model = OutputKernelRegressorCV(
        kernel, structures, alphas=ALPHAS, cv=KFold(2), **options, normalize_y=False
    ).fit(X, Y)
    single = OutputKernelRegressor(kernel, **options, normalize_y=False)
    expected = expected_scores(single, structures, X, Y, KFold(2))
    assert model.scores_.shape == (len(structures), 3, 2)
    assert_allclose(model.scores_, expected, rtol=1e-3, atol=1e-4)


def test_the_best_is_refitted():
    X, Y, _ = draw(24, 3)
    model = OutputKernelRegressorCV(
        Gaussian(0.5), STRUCTURES, alphas=ALPHAS, cv=3, tol=1e-9
    ).fit(X, Y)
    means = model.scores_.mean(axis=-1)
    row, column = np.unravel_index(np.argmax(means), means.shape)
    assert model.best_score_ == means.max()
    assert model.alpha_ == model.alphas_[row, column]
    assert repr(model.structure_) == repr(
        LowRank(1) if row == 3 else given_structures(STRUCTURES)[row]
    )
    assert_array_equal(model.alphas_, np.tile([5.0, 0.3, 0.01], (5, 1)))
    single = OutputKernelRegressor(
        Gaussian(0.5), model.structure_, model.alpha_, tol=1e-9
    ).fit(X, Y)
    assert_allclose(model.predict(X), single.predict(X), atol=1e-9)
    assert_allclose(model.dual_coef_, single.dual_coef_, atol=1e-7)
    assert_allclose(model.output_kernel_, single.output_kernel_, atol=1e-9)
    assert model.certificate_.primal == pytest.approx(single.certificate_.primal)
    assert model.score(X, Y) == pytest.approx(single.score(X, Y))


def test_grids_are_those_of_paths():
    X, Y, _ = draw(24, 3)
    structures = ["identity", "low_rank"]
    model = OutputKernelRegressorCV("rbf", structures, alphas=4, eps=1e-3, cv=3).fit(
        X, Y
    )
    for grid, structure in zip(model.alphas_, structures, strict=True):
        path = output_kernel_path(X, Y, structure=structure, alphas=4, eps=1e-3)
        assert_allclose(grid, path.alphas, rtol=1e-12)
    # the scale of the kernel comes from all rows, not from each fold
    gamma = 1 / (3 * X.var())
    assert model.kernel_.gamma == pytest.approx(gamma)


@pytest.mark.parametrize(
    "scoring",
    [
        "neg_mean_squared_error",
        "r2",
        make_scorer(mean_absolute_error, greater_is_better=False),
        lambda model, rows, y: -np.abs(model.predict(rows) - y).max(),
    ],
    ids=["mse", "r2", "mae", "function"],
)
@pytest.mark.parametrize("one_dimensional", [False, True], ids=["2d", "1d"])
def test_scoring(scoring, one_dimensional):
    X, Y, _ = draw(24, 3)
    Y = Y[:, 0] if one_dimensional else Y
    model = OutputKernelRegressorCV(
        Gaussian(0.5),
        "low_rank",
        alphas=ALPHAS,
        cv=3,
        scoring=scoring,
        tol=1e-9,
        normalize_y=False,
    ).fit(X, Y)
    single = OutputKernelRegressor(Gaussian(0.5), tol=1e-9, normalize_y=False)
    expected = expected_scores(single, ["low_rank"], X, Y, 3, scoring)
    assert_allclose(model.scores_, expected, rtol=1e-3)


@pytest.mark.parametrize(
    ("kind", "scoring"),
    [
        ("binary", None),
        ("binary", "roc_auc"),
        ("binary", "f1"),
        ("multiclass", None),
        ("multiclass", "balanced_accuracy"),
        ("strings", "f1_macro"),
        ("multilabel", None),
        ("multilabel", "f1_micro"),
        ("multilabel", "roc_auc"),
    ],
)
def test_classification(kind, scoring):
    X, Y, _ = draw(36, 3)
    y = np.argmax(Y - Y.mean(axis=0), axis=1)
    if kind == "binary":
        y = (Y[:, 0] > np.median(Y[:, 0])).astype(int)
    elif kind == "strings":
        y = np.array(["x", "a", "m"])[y]
    elif kind == "multilabel":
        y = (np.median(Y, axis=0) < Y).astype(int)
    model = OutputKernelClassifierCV(
        Gaussian(0.5),
        ["identity", "frobenius"],
        loss="squared",
        alphas=ALPHAS,
        cv=2,
        scoring=scoring,
    ).fit(X, y)
    single = OutputKernelClassifier(Gaussian(0.5))
    expected = expected_scores(single, ["identity", "frobenius"], X, y, 2, scoring)
    assert_allclose(model.scores_, expected, atol=1e-12)
    assert_array_equal(model.classes_, clone(single).fit(X, y).classes_)
    assert model.predict(X).shape == y.shape
    assert model.predict(X).dtype.kind == y.dtype.kind


@pytest.mark.parametrize(
    "cv",
    [
        2,
        KFold(3, shuffle=True, random_state=0),
        ShuffleSplit(2, test_size=6, random_state=0),
    ],
)
def test_splitters(cv):
    X, Y, _ = draw(20, 2)
    model = OutputKernelRegressorCV(Gaussian(0.5), "identity", alphas=ALPHAS, cv=cv)
    model.fit(X, Y)
    single = OutputKernelRegressor(Gaussian(0.5))
    assert_allclose(
        model.scores_, expected_scores(single, ["identity"], X, Y, cv), rtol=1e-8
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_folds_of_few_rows_are_scored_by_the_variance_in_all_rows(weighted):
    """That of their own targets is near zero where these happen to be alike."""
    X, Y, _ = draw(12, 2)
    Y[[0, 4], 1] = 1.0, 1.0 + 1e-6  # of one fold
    weights = np.ones(12)
    if weighted:
        weights[[2, 7]] = 0.0
        X[[2, 7]] *= 9.0
        Y[[2, 7]] *= 9.0
    seen = weights > 0
    model = OutputKernelRegressorCV(
        "linear", "identity", alphas=[0.1], cv=PredefinedSplit(np.arange(12) % 4)
    )
    model.fit(X, Y, sample_weight=weights)
    single = OutputKernelRegressor(model.kernel_, alpha=0.1, normalize_y=False)
    Z = (Y - model.y_mean_) / model.y_scale_
    for fold, score in enumerate(model.scores_[0, 0]):
        test = np.arange(12) % 4 == fold
        train, test = seen & ~test, seen & test
        single.set_params(structure="identity").fit(X[train], Z[train])
        errors = np.mean((Z[test] - single.predict(X[test])) ** 2, axis=0)
        expected = 1 - np.mean(errors / Z[seen].var(axis=0))
        assert_allclose(score, expected, rtol=1e-6)
    assert np.min(model.scores_) > -10


def test_default_folds_are_shuffled():
    X, Y, _ = draw(30, 2)
    regressor = OutputKernelRegressorCV("linear", "frobenius", alphas=ALPHAS)
    folds = KFold(5, shuffle=True, random_state=0)
    expected = clone(regressor).set_params(cv=folds).fit(X, Y).scores_
    assert_array_equal(clone(regressor).fit(X, Y).scores_, expected)
    other = clone(regressor).set_params(random_state=1).fit(X, Y).scores_
    assert not np.array_equal(other, expected)
    y = np.sort(np.arange(30) % 3)
    classifier = OutputKernelClassifierCV("linear", "frobenius", alphas=ALPHAS)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    expected = clone(classifier).set_params(cv=folds).fit(X, y).scores_
    assert_array_equal(clone(classifier).fit(X, y).scores_, expected)


def test_given_folds_and_a_generator_of_them():
    X, Y, _ = draw(20, 2)
    folds = list(KFold(4).split(X))
    model = OutputKernelRegressorCV("linear", "identity", alphas=ALPHAS)
    expected = clone(model).set_params(cv=KFold(4)).fit(X, Y).scores_
    assert_array_equal(clone(model).set_params(cv=folds).fit(X, Y).scores_, expected)
    lazy = model.set_params(cv=KFold(4).split(X))
    assert_array_equal(lazy.fit(X, Y).scores_, expected)


@pytest.mark.parametrize("part", ["train on", "test"])
@pytest.mark.parametrize("lacking", ["targets", "weights", "rows"])
def test_a_fold_without_rows_that_count_is_named(part, lacking):
    X, Y, _ = draw(15, 2)
    some, others, weights = np.arange(5), np.arange(5, 15), np.ones(15)
    if lacking == "targets":
        Y[some] = np.nan
    elif lacking == "weights":
        weights[some] = 0.0
    else:
        some = some[:0]
    fold = (some, others) if part == "train on" else (others, some)
    cv = [(np.arange(3, 15, 2), np.arange(4, 15, 2)), fold]
    search = OutputKernelRegressorCV("linear", "identity", cv=cv)
    with pytest.raises(ValueError, match=f"Fold 1 of cv has no row to {part} with"):
        search.fit(X, Y, sample_weight=weights)


def test_leaving_one_out_with_a_score_that_allows_it():
    X, Y, _ = draw(10, 2)
    model = OutputKernelRegressorCV(
        Gaussian(0.5),
        ["identity", "frobenius"],
        alphas=ALPHAS,
        cv=LeaveOneOut(),
        scoring="neg_mean_squared_error",
    ).fit(X, Y)
    assert model.scores_.shape == (2, 3, 10)
    left_out = [
        OutputKernelRegressor(Gaussian(0.5), "identity", 0.3)
        .fit(np.delete(X, i, 0), np.delete(Y, i, 0))
        .predict(X[[i]])
        for i in range(10)
    ]
    errors = ((np.vstack(left_out) - Y) ** 2).mean(axis=1)
    assert_allclose(-model.scores_[0, 1], errors, rtol=1e-9)


def test_routing_with_the_default_score():
    # the passthrough scorer of check_scoring(self, None) asks this estimator for its
    # routing, which must not ask the scorer in turn
    X, Y, _ = draw(24, 3)
    model = OutputKernelRegressorCV(
        Gaussian(0.5), "identity", alphas=ALPHAS, cv=GroupKFold(4)
    )
    groups = np.arange(24) % 4
    expected = clone(model).fit(X, Y, groups=groups).scores_
    with sklearn.config_context(enable_metadata_routing=True):
        found = clone(model).fit(X, Y, groups=groups).scores_
        clone(model).get_metadata_routing()
    assert_array_equal(found, expected)


def test_groups():
    X, Y, _ = draw(24, 3)
    groups = np.arange(24) % 4
    model = OutputKernelRegressorCV(
        Gaussian(0.5), "identity", alphas=ALPHAS, cv=GroupKFold(4), scoring="r2"
    )
    plain = clone(model).fit(X, Y, groups=groups)
    expected = [
        OutputKernelRegressor(Gaussian(0.5), "identity", 0.3)
        .fit(X[train], Y[train])
        .score(X[test], Y[test])
        for train, test in GroupKFold(4).split(X, Y, groups)
    ]
    assert_allclose(plain.scores_[0, 1], expected, rtol=1e-9)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(model).fit(X, Y, groups=groups)
        assert_array_equal(routed.scores_, plain.scores_)
        with pytest.raises(TypeError, match="colour"):
            clone(model).fit(X, Y, colour=groups)
    with pytest.raises(ValueError, match="groups"):
        clone(model).fit(X, Y)


class Masks(KFold):
    """Folds as masks of the rows, or as tuples of row numbers."""

    def split(self, X, y=None, groups=None):
        for train, test in super().split(X):
            if self.random_state == 0:
                yield tuple(train), tuple(test)
            else:
                yield (
                    np.isin(np.arange(len(X)), train),
                    np.isin(np.arange(len(X)), test),
                )


def test_folds_may_be_masks():
    X, Y, _ = draw(24, 3)
    options = {"alphas": ALPHAS, "search": "full"}
    for seed in (0, 1):
        cv = Masks(3, shuffle=True, random_state=seed)
        expected = OutputKernelRegressorCV(
            Gaussian(0.5), cv=KFold(3, shuffle=True, random_state=seed), **options
        ).fit(X, Y)
        for folds in (cv, list(cv.split(X))):
            model = OutputKernelRegressorCV(Gaussian(0.5), cv=folds, **options)
            assert_array_equal(model.fit(X, Y).scores_, expected.scores_)


def test_weights_of_classes_reach_a_scorer_that_asks_for_them():
    X, _, _ = draw(24, 3)
    y = (np.arange(24) % 3 > 0).astype(int)
    scorer = make_scorer(accuracy_score)
    model = OutputKernelClassifierCV(
        Gaussian(0.5), alphas=ALPHAS, cv=KFold(3), scoring=scorer, search="full"
    ).set_params(class_weight="balanced")
    weights = compute_sample_weight("balanced", y)
    plain = clone(model).fit(X, y).scores_
    given = clone(model).set_params(class_weight=None)
    weighted = given.fit(X, y, sample_weight=weights).scores_
    with sklearn.config_context(enable_metadata_routing=True):
        assert_array_equal(clone(model).fit(X, y).scores_, plain)
        asking = scorer.set_score_request(sample_weight=True)
        asked = clone(model).set_params(scoring=asking).fit(X, y).scores_
    assert_allclose(asked, weighted)
    assert not np.array_equal(plain, weighted)


def test_weights_reach_the_scorer():
    X, Y, _ = draw(24, 3)
    weights = np.random.default_rng(0).uniform(size=24)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(
            mean_absolute_error, greater_is_better=False
        ).set_score_request(sample_weight=True)
        model = OutputKernelRegressorCV(
            Gaussian(0.5), "identity", alphas=ALPHAS, cv=KFold(3), scoring=scorer
        ).fit(X, Y, sample_weight=weights)
    for fold, (train, test) in enumerate(KFold(3).split(X)):
        single = OutputKernelRegressor(Gaussian(0.5), "identity", 0.3)
        single.fit(X[train], Y[train], sample_weight=weights[train])
        predictions = single.predict(X[test])
        expected = -mean_absolute_error(
            Y[test], predictions, sample_weight=weights[test]
        )
        assert model.scores_[0, 1, fold] == pytest.approx(expected)


def test_fits_of_the_folds_that_are_not_certified_are_reported():
    X, Y, _ = draw(24, 3)
    model = OutputKernelRegressorCV("rbf", alphas=[1e-3], cv=2, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="fits of the cross-validation ended"):
        model.fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(max_iter=100, alphas=[1e-1]).fit(X, Y)
    bounded = model.set_params(structures=LowRank(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bounded.fit(X, Y)
    assert bounded.certificate_.status == "rank_limited"


def test_a_class_that_a_fold_has_not_seen():
    X, _, _ = draw(12, 1)
    y = np.array([0] * 6 + [1] * 5 + [2])
    options = {"alphas": ALPHAS, "cv": KFold(3), "search": "full"}
    model = OutputKernelClassifierCV("rbf", **options).fit(X, y)
    assert np.all(np.isfinite(model.scores_))
    assert_array_equal(model.classes_, [0, 1, 2])


def test_search_inside_cross_validation_and_with_many_outputs():
    X, Y, _ = draw(18, 30)
    model = OutputKernelRegressorCV("rbf", ["frobenius", "low_rank"], alphas=3, cv=2)
    scores = cross_val_score(model, X, Y, cv=2)
    assert np.all(np.isfinite(scores))


def with_noise():
    """Return rows, and outputs whose noise is small, larger and large."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    F = np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 1]), np.sin(X.sum(axis=1))])
    return X, F + np.array([0.03, 0.3, 1.5]) * rng.normal(size=F.shape)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
def test_alphas_of_outputs_are_in_the_ratios_of_rows_left_out(weighted):
    X, Y = with_noise()
    grid = np.geomspace(1e-3, 1e3, 13)
    weights = np.linspace(0.2, 1.0, len(X)) if weighted else None
    model = OutputKernelRegressorCV(
        "linear", "identity", alphas=grid, alpha_per_output=True, normalize_y=False
    ).fit(X, Y, sample_weight=weights)
    ridge = RidgeCV(grid, alpha_per_target=True).fit(X, Y, sample_weight=weights)
    ratios = model.alpha_ / ridge.alpha_
    assert np.ptp(ridge.alpha_) > 0
    assert_allclose(ratios, ratios[0], rtol=1e-9)
    one = OutputKernelRegressorCV(
        "linear", "identity", alphas=grid, alpha_per_output=False, normalize_y=False
    ).fit(X, Y, sample_weight=weights)
    assert model.best_score_ > one.best_score_
    assert certify(model, X, Y, sample_weight=weights).status == "optimal"


def test_alphas_of_related_outputs_keep_their_ratios():
    X, Y = with_noise()
    options = {"alphas": 13, "alpha_per_output": True}
    model = OutputKernelRegressorCV("rbf", ["identity", "frobenius"], **options)
    model.fit(X, Y)
    assert model.alpha_[0] < model.alpha_[1] < model.alpha_[2]
    again = OutputKernelRegressor(model.kernel_, model.structure_, model.alpha_)
    assert_allclose(again.fit(X, Y).predict(X), model.predict(X), atol=1e-6)
    table = model.cv_results_
    best = table["param_alpha"][np.argmin(table["rank_test_score"])]
    assert_array_equal(best, model.alpha_)
    both = np.stack(list(table["param_alpha"]))
    assert_allclose(both / both[:, :1], np.tile(best / best[0], (len(both), 1)))


@pytest.mark.parametrize("loss", [Huber(1.0), Squared(), Logistic()], ids=str)
def test_alphas_of_outputs_by_folds_are_those_of_each_output_alone(loss):
    X, Y = with_noise()
    grid, folds = np.geomspace(10, 1e-2, 4), KFold(2)
    if loss.name == "logistic":
        search, single = OutputKernelClassifierCV, OutputKernelClassifier
        Z, scores, units = (Y > 0.3).astype(float), "decision_function", {}
    else:
        search, single = OutputKernelRegressorCV, OutputKernelRegressor
        Z, scores, units = Y.copy(), "predict", {"normalize_y": False}
    Z[::4, 0] = np.nan
    options = {"alphas": grid, "cv": folds, "alpha_per_output": True, "loss": loss}
    model = search("rbf", "identity", **options, **units).fit(X, Z)

    def held_out_loss(alpha, j):
        total, seen = 0.0, ~np.isnan(Z[:, j])
        alone = single("rbf", "identity", alpha, loss=loss, **units)
        for train, test in folds.split(X):
            a, b = train[seen[train]], test[seen[test]]
            targets = Z[b, j] if units else 2 * Z[b, j] - 1
            fitted = alone.fit(X[a], Z[a, j])
            total += loss.value(targets, getattr(fitted, scores)(X[b]))
        return total

    losses = [[held_out_loss(alpha, j) for j in range(3)] for alpha in grid]
    best = grid[np.argmin(losses, axis=0)]
    assert np.ptp(best) > 0
    assert_allclose(model.alpha_ / model.alpha_[0], best / best[0])
    assert model.certificate_.status == "optimal"


def test_alphas_of_outputs_of_tasks_in_long_form():
    X, Y = with_noise()
    options = {"alphas": np.geomspace(1e-2, 1e2, 5), "alpha_per_output": True}
    labels, tasks = (Y > 0.3).astype(int), np.repeat(["a", "b", "c"], len(X))
    rows = np.tile(np.arange(len(X)), 3)
    held_out = [rows % 3 == k for k in range(3)]
    folds = [(np.flatnonzero(~out), np.flatnonzero(out)) for out in held_out]
    long = OutputKernelClassifierCV("rbf", "identity", cv=folds, **options)
    long.fit(np.tile(X, (3, 1)), labels.T.ravel(), task=tasks)
    folds = [(a[a < len(X)], b[b < len(X)]) for a, b in folds]
    wide = OutputKernelClassifierCV("rbf", "identity", cv=folds, **options)
    wide.fit(X, labels)
    assert np.ptp(wide.alpha_) > 0
    ratios = [model.alpha_ / model.alpha_[0] for model in (long, wide)]
    assert_allclose(*ratios)


def test_alphas_of_outputs_that_cannot_be():
    X, Y = with_noise()
    with pytest.raises(ValueError, match="'softmax' couples all outputs"):
        OutputKernelClassifierCV(alpha_per_output=True).fit(X, np.arange(60) % 3)
    with pytest.raises(ValueError, match="alpha_per_output must be True, False or"):
        OutputKernelRegressorCV(alpha_per_output=1).fit(X, Y)
