"""kernel="auto": the kernel is learned, and nothing but the data moves it."""

import re
import warnings
from copy import deepcopy
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score
from sklearn.preprocessing import StandardScaler, normalize

from okl import (
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
    certify,
)
from okl.coding.tasks import Tasks
from okl.estimators.encoded_categories import are_categories
from okl.estimators.search import kernel_learning
from okl.estimators.search.candidates import beyond, short_list
from okl.estimators.search.learnable_targets import as_matrix
from okl.estimators.search.plan import planned
from okl.kernels import (
    Columns,
    Cosine,
    Gaussian,
    Laplacian,
    Learnable,
    Linear,
    Matern,
    as_kernel,
)
from okl.losses import Huber, Squared
from okl.metrics import log_loss
from okl.operators import Dense
from okl.problems import Observed
from okl.selection import likeliest_kernel
from okl.selection.criteria import LeaveOneOutError
from okl.selection.folds import splitter_of
from okl.selection.learned_kernel import learn_kernel
from okl.selection.sensitivity import shares_of_columns
from okl.structures import Identity
from tests.covering import later

AUTO = Learnable()  # what kernel="auto" stands for
RNG = np.random.default_rng(0)
N = 48
X = RNG.normal(size=(N, 3))
Y = np.stack([np.sin(2 * X[:, 0]) + X[:, 1], X[:, 0] ** 2 - X[:, 1]], axis=1)
Y += 0.1 * RNG.normal(size=Y.shape)
NEW = RNG.normal(size=(7, 3))
LABELS = np.where(Y[:, 0] > 0.5, "b", np.where(Y[:, 1] > 0.5, "c", "a"))
# A kernel of classes is learned by refits of folds. Most tests of it take half of the
# rows, and all of the rare class.
FEW = np.flatnonzero((LABELS == "a") | (np.arange(N) % 2 == 0))


def regressor(**parameters):
    given = {"kernel": "auto", "structures": "identity", "alphas": 4} | parameters
    return OutputKernelRegressorCV(**given)


def classifier(**parameters):
    given = {"kernel": "auto", "structures": "identity", "alphas": 3, "cv": 3}
    return OutputKernelClassifierCV(**given | parameters)


@cache
def fitted():
    """Fit what several tests look at."""
    return regressor().fit(X, Y)


def numbers(kernel):
    """Return all parameters of a kernel that are numbers, in one array."""
    values = kernel.get_params().values()
    found = [np.ravel(v) for v in values if np.size(v) and np.asarray(v).dtype == float]
    return np.concatenate(found)


def learning_of(model, X, y, **given):
    *_, search = planned(clone(model), X, y, None, given.get("task"), {})
    return search.learning


def test_units_of_the_columns_do_not_matter():
    factors, offsets = np.array([1000.0, 1e-3, 1.0]), np.array([1e3, 0.0, -5.0])
    model = regressor().fit(factors * X + offsets, Y)
    assert_allclose(
        model.predict(factors * NEW + offsets),
        fitted().predict(NEW),
        rtol=1e-4,
        atol=1e-4,
    )
    assert_allclose(model.feature_relevances_, fitted().feature_relevances_, atol=1e-4)


def test_units_of_the_targets_do_not_matter():
    factors = np.array([1e4, 1e-2])
    predictions = regressor().fit(X, Y * factors).predict(NEW) / factors
    assert_allclose(predictions, fitted().predict(NEW), rtol=1e-4, atol=1e-4)


def test_the_order_of_the_columns_does_not_matter():
    order = [2, 0, 1]
    model = regressor().fit(X[:, order], Y)
    assert_allclose(
        model.predict(NEW[:, order]), fitted().predict(NEW), rtol=1e-4, atol=1e-4
    )
    assert_allclose(
        model.feature_relevances_, fitted().feature_relevances_[order], atol=1e-4
    )


@pytest.mark.usefixtures("briefly")
def test_nor_do_order_and_signs_of_columns_where_folds_are_held_out():
    model, other = classifier(cv=2), classifier(cv=2)
    probabilities = model.fit(X, LABELS).predict_proba(NEW)
    other.fit(-X[:, [2, 0, 1]], LABELS)
    assert_allclose(
        other.predict_proba(-NEW[:, [2, 0, 1]]), probabilities, rtol=1e-4, atol=1e-4
    )


def test_a_column_that_does_nothing_counts_for_little():
    slopes = np.zeros((2, N, 3))  # those of the functions behind Y
    slopes[0, :, 0], slopes[0, :, 1] = 2 * np.cos(2 * X[:, 0]), 1.0
    slopes[1, :, 0], slopes[1, :, 1] = 2 * X[:, 0], -1.0
    slopes *= X.std(axis=0) / Y.std(axis=0)[:, None, None]
    shares = np.sum(slopes**2, axis=(0, 1))
    assert_allclose(fitted().feature_relevances_, shares / shares.sum(), atol=0.05)
    assert fitted().feature_relevances_[2] < 0.02


def test_steps_have_a_laplacian_kernel_and_smooth_functions_a_matern_kernel():
    assert isinstance(fitted().kernel_.right.right, Matern)
    model = regressor().fit(X, np.sign(X[:, :2]) + 0.1 * Y)
    kernel = model.kernel_.right.right
    assert isinstance(kernel, Laplacian)
    assert kernel.gamma.shape == (3,)
    again = OutputKernelRegressor(model.kernel_, "identity", model.alpha_)
    steps = again.fit(X, np.sign(X[:, :2]) + 0.1 * Y)
    assert_allclose(steps.predict(NEW), model.predict(NEW), rtol=1e-6)


def test_products_of_columns_have_a_gaussian_kernel(monkeypatch):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(560, 4)) * [1.0, 100.0, 0.01, 1.0]
    truth = rows[:, 0] * rows[:, 1] + 1e4 * rows[:, 2] * rows[:, 3]
    y = truth[:60] + 10.0 * rng.normal(size=60)

    def fit():
        model = regressor().fit(rows[:60], y)
        return model, np.mean((model.predict(rows[60:]) - truth[60:]) ** 2)

    model, error = fit()
    assert isinstance(model.kernel_.right.right, Gaussian)
    assert model.feature_relevances_.min() > 0.1
    monkeypatch.setattr(likeliest_kernel, "_CLEARLY", np.inf)
    other, without = fit()
    assert not isinstance(other.kernel_.right.right, Gaussian)
    assert error < 0.7 * without


def test_also_where_everything_is_linear():
    model = regressor().fit(X, X[:, :1] + 0.1 * RNG.normal(size=(N, 1)))
    assert model.feature_relevances_[0] > 0.95


def test_a_wrong_entry_does_not_make_a_prediction_as_wrong():
    y = X[:, :1] - 0.5 * X[:, 1:2] + 0.1 * RNG.normal(size=(N, 1))
    model = regressor().fit(X, y)
    far, wild = np.zeros((2, 3)), np.zeros((1, 3))
    lowest, highest = X[:, 0].min(), X[:, 0].max()
    far[:, 0] = [highest, 2 * highest - lowest]  # a trend goes on for as long
    wild[0, 0] = 1e6
    there, twice = model.predict(far)
    assert_allclose(twice[0] - there[0], highest - lowest, rtol=0.2)
    assert_allclose(model.predict(wild)[0], twice, rtol=0.05)


def test_it_predicts_better_than_the_short_list():
    fresh = np.random.default_rng(1).normal(size=(500, 3))
    truth = np.stack(
        [np.sin(2 * fresh[:, 0]) + fresh[:, 1], fresh[:, 0] ** 2 - fresh[:, 1]], axis=1
    )
    listed = regressor(kernel=None, kernels="short_list").fit(X, Y)
    errors = [np.mean((m.predict(fresh) - truth) ** 2) for m in (fitted(), listed)]
    assert errors[0] < 0.7 * errors[1]


def test_the_kernel_is_one_of_numbers_that_gives_the_same_model():
    assert np.all(np.isfinite(numbers(fitted().kernel_)))
    kernel, alpha = fitted().kernel_, fitted().alpha_
    model = OutputKernelRegressor(kernel, "identity", alpha).fit(X, Y)
    assert_allclose(model.predict(NEW), fitted().predict(NEW), rtol=1e-6)


def test_the_grid_reaches_below_the_noise():
    exact = np.sin(X[:, :1])  # alpha = 1 is far below the largest there
    model = regressor().fit(X, exact)
    learning = learning_of(regressor(), X, exact)
    learned = learn_kernel(learning.X, learning.observed, [], AUTO, fit_intercept=True)
    assert learned.smallest < 1e-5
    ratio = model.alphas_.min() / model.alphas_.max()
    assert_allclose(ratio, 0.1 * learned.smallest, rtol=1e-3)
    given = regressor(alphas=[0.5]).fit(X, exact)
    assert_array_equal(given.alphas_, [[0.5]])


@pytest.mark.usefixtures("briefly")
def test_the_grid_of_classes_reaches_no_further_unless_asked_to():
    few, labels = X[FEW], LABELS[FEW]
    # the grid is looked at, not its fits
    rough = {"temperature": 1.0, "alphas": 2, "tol": 1e-2}
    counted = np.where(np.arange(len(few)) % 7 == 0, 0.0, 1.0)
    model = classifier(**rough).fit(few, labels, sample_weight=counted)
    learned = learning_of(classifier(), few[counted > 0], labels[counted > 0]).run(AUTO)
    ratio = model.alphas_.min() / model.alphas_.max()
    assert ratio > 1e-4
    assert_allclose(ratio, 0.1 * learned.smallest, rtol=1e-3)
    asked = classifier(eps=1e-5, **rough).fit(few, labels)
    assert_allclose(asked.alphas_.min() / asked.alphas_.max(), 1e-5)


def test_a_constant_column_is_not_looked_at():
    constant = np.insert(X, 1, 3.0, axis=1)
    model = regressor().fit(constant, Y)
    assert isinstance(model.kernel_, Columns)
    assert model.feature_relevances_[1] == 0
    assert_allclose(
        model.predict(np.insert(NEW, 1, [8.0, -1, 0, 3, 3, 3, 3], axis=1)),
        fitted().predict(NEW),
        rtol=1e-4,
        atol=1e-4,
    )


@pytest.mark.usefixtures("briefly")
def test_without_an_intercept():
    model = regressor(fit_intercept=False).fit(X, Y)
    assert model.score(X, Y) > 0.9
    shown = regressor(fit_intercept=False).fit(X * 1000.0, Y)
    assert_allclose(shown.predict(NEW * 1000.0), model.predict(NEW), rtol=1e-4)


def test_one_kernel_of_several():
    model = regressor(kernel=None, kernels=["linear", "auto"]).fit(X, Y)
    assert_allclose(numbers(model.kernel_), numbers(fitted().kernel_))
    tried = model.cv_results_["param_kernel"]
    assert len({repr(kernel) for kernel in tried}) == 2
    line = regressor(kernel=None, kernels=["linear", "auto"]).fit(X, X @ np.eye(3, 2))
    if isinstance(line.kernel_, Linear):
        assert not hasattr(line, "feature_relevances_")


def test_relevances_of_an_earlier_fit_are_forgotten():
    model = deepcopy(fitted())
    model.set_params(kernel="linear").fit(X, Y)
    assert not hasattr(model, "feature_relevances_")


def test_missing_targets():
    missing = Y.copy()
    missing[::3, 0] = np.nan
    model = regressor(cv=3).fit(X, missing)
    assert model.feature_relevances_[2] < 0.05
    assert np.mean((model.predict(X) - Y) ** 2) < 0.1 * Y.var()


def test_outputs_with_too_few_targets_are_left_out():
    scarce = np.column_stack([Y, np.full(N, np.nan)])
    scarce[:3, 2] = [1.0, 2.0, 4.0]
    assert learning_of(regressor(), X, scarce).observed.targets.shape == (N, 2)


@pytest.mark.usefixtures("briefly")
def test_long_form_is_a_matrix_with_one_target_a_row():
    task = np.arange(N) % 2
    y = Y[np.arange(N), task]
    matrix = np.where(np.arange(2) == task[:, None], Y, np.nan)
    model = regressor(normalize_y=False)
    long = learning_of(model, X, y, task=task).run(AUTO)
    wide = learning_of(model, X, matrix).run(AUTO)
    assert_allclose(numbers(long.kernel), numbers(wide.kernel), rtol=1e-3)
    model = regressor(cv=3).fit(X, y, task=task)
    assert hasattr(model, "feature_relevances_")


def of_few_rows(n_tasks=20, n_rows=3):
    """Return rows, targets and tasks that share a function of the first column."""
    rng = np.random.default_rng(3)
    task = np.repeat(np.arange(n_tasks), n_rows)
    X = rng.normal(size=(len(task), 4))
    y = 3 * rng.normal(size=n_tasks)[task] + np.sin(3 * X[:, 0])
    return X, y + 0.1 * rng.normal(size=len(y)), task


def test_what_tasks_of_few_rows_share_is_learned():
    X, y, task = of_few_rows()
    model = OutputKernelRegressorCV().fit(X, y, task=task)
    assert np.argmax(model.feature_relevances_) == 0
    assert model.feature_relevances_[0] > 0.8
    # a level of each task tells nothing of the inputs, nor does a task of one row
    levels = np.random.default_rng(4).normal(size=20)
    more = np.vstack([X, np.ones((1, 4))]), np.append(y + levels[task], 9.0)
    model = regressor(normalize_y=False)
    one, other = (
        learning_of(model, rows, targets, task=ids).run(AUTO).kernel
        for rows, targets, ids in ((X, y, task), (*more, np.append(task, 20)))
    )
    assert_allclose(numbers(one), numbers(other), rtol=1e-3)


def test_deviations_of_tasks_of_few_rows():
    y, task = np.array([1.0, 3.0, 5.0, 5.0]), np.array([0, 0, 1, 1])
    found = as_matrix(Observed(y[:, None], Squared(), None, Tasks(task, 2)))
    # their mean square is the variance
    assert_allclose(found.targets[:, 0], [-(2**0.5), 2**0.5, 0.0, 0.0])
    # where most rows are of tasks that tell enough, tasks are outputs
    task = np.repeat([0, 1], [5, 4])
    found = as_matrix(Observed(np.ones((9, 1)), Squared(), None, Tasks(task, 2)))
    assert found.targets.shape == (9, 2)


@pytest.mark.usefixtures("briefly")
def test_rows_without_weight_are_as_good_as_absent():
    weights = np.ones(N)
    weights[::4] = 0.0
    some = regressor(cv=3).fit(X[weights > 0], Y[weights > 0])
    wild = np.where(weights[:, None] > 0, X, 50.0)
    model = regressor(cv=3).fit(wild, Y, sample_weight=weights)
    for name in ("right__left__value", "right__right__length_scale"):
        one, other = (m.kernel_.get_params()[name] for m in (model, some))
        assert_allclose(one, other, rtol=1e-3)


def words(size):
    """Draw counts of words of three classes, texts longer and longer by a size."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    of_class = rng.dirichlet(np.full(120, 0.1), size=3)
    lengths = np.round(20 * np.exp(size * rng.normal(size=60))).astype(int) + 2
    counts = [rng.multinomial(n, of_class[c]) for n, c in zip(lengths, y, strict=True)]
    return csr_array(np.array(counts, dtype=float)), lengths, y


def test_sparse_rows_have_the_kernel_that_predicts_better():
    counts, lengths, y = words(1.5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = classifier().fit(counts, y)
    assert not [one for one in caught if "No kernel was learned" in str(one.message)]
    assert isinstance(model.kernel_, Cosine)
    assert not hasattr(model, "feature_relevances_")
    model = regressor().fit(counts, lengths)
    assert isinstance(model.kernel_, Linear)
    assert len(set(map(repr, model.cv_results_["param_kernel"]))) == 2


@pytest.mark.usefixtures("briefly")
def test_sparse_rows_of_few_columns_are_as_dense_ones():
    # categories, not texts, whatever share of the numbers are zero
    rng = np.random.default_rng(0)
    levels = rng.integers(6, size=(60, 2))
    X = np.hstack([rng.normal(size=(60, 2)), *np.eye(6)[levels].transpose(1, 0, 2)])
    Y = np.column_stack([X[:, 0] * X[:, 1], X[:, 0] + levels[:, 1]])
    y = (Y[:, 0] > 0).astype(int)
    for model, targets in ((regressor(), Y), (classifier(), y)):
        dense = clone(model).fit(X, targets)
        few = model.fit(csr_array(X), targets)
        assert_array_equal(few.predict(csr_array(X)), dense.predict(X))
        assert_array_equal(few.predict(X), dense.predict(csr_array(X)))
        assert_array_equal(few.feature_relevances_, dense.feature_relevances_)
        assert certify(few, csr_array(X), targets).status == "optimal"
        assert certify(few, X, targets).status == "optimal"
        named = clone(model).set_params(kernel="linear").fit(csr_array(X), targets)
        assert issparse(named.X_fit_)


@pytest.mark.usefixtures("briefly")
def test_sparse_rows_of_many_categories_are_as_dense_ones():
    rng = np.random.default_rng(0)
    levels = np.append(np.arange(110), rng.integers(110, size=10))
    numbers = np.append(0.0, rng.normal(size=119))[:, None]
    X = np.hstack([np.eye(110)[levels], numbers])
    y = np.sin(2 * numbers[:, 0])
    model = OutputKernelRegressorCV(alphas=3).fit(csr_array(X), y)
    dense = clone(model).fit(X, y)
    assert_array_equal(model.predict(csr_array(X)), dense.predict(X))
    assert_array_equal(dense.predict(csr_array(X)), dense.predict(X))
    # of new rows the numbers of entries do not matter
    new = np.where(rng.random(X.shape) < 0.3, 1.0, 0.0)
    assert_array_equal(model.predict(csr_array(new)), model.predict(new))
    assert certify(model, csr_array(X), y).status == "optimal"
    # texts have more or fewer words
    texts = csr_array(rng.poisson(0.2, size=(120, 111)) * 1.0)
    model = OutputKernelClassifierCV(alphas=3).fit(texts, y > 0)
    assert isinstance(model.kernel_, Cosine | Linear)
    assert issparse(model.X_fit_)
    # as have rows whose first category is dropped, and tables too large to be dense
    signs = rng.integers(2, size=(120, 1))
    assert not are_categories(csr_array(np.hstack([np.eye(110)[levels], signs])))
    assert not are_categories(csr_array((10_001, 1000)))
    assert are_categories(csr_array((10_000, 1000)))
    stored = csr_array(np.hstack([np.eye(110)[levels], 1.0 + signs]))
    assert are_categories(stored)
    stored.data[stored.data == 1.0] = 0.0
    assert not are_categories(stored)


def test_sparse_rows_of_one_length_have_the_linear_kernel():
    counts, _, y = words(1.5)
    rows = normalize(counts)
    rows[:1] *= 0.0  # one without words
    rows[1:2] *= 5.0  # one that does not count
    weights = np.ones(len(y))
    weights[1] = 0.0
    model = classifier().fit(rows, y, sample_weight=weights)
    assert {type(k) for k in model.cv_results_["param_kernel"]} == {Linear}


@pytest.mark.usefixtures("briefly")
def test_copies_of_rows_are_weights():
    # neither says that there is no noise, whatever the order
    order = np.random.default_rng(2).permutation(2 * N)
    once = learning_of(regressor(), X, Y).run(AUTO)
    twice = learning_of(
        regressor(), np.tile(X, (2, 1))[order], np.tile(Y, (2, 1))[order]
    )
    assert len(twice.X) == N
    learned = twice.run(AUTO)
    assert_allclose(numbers(learned.kernel), numbers(once.kernel), rtol=1e-6)
    assert_allclose(learned.smallest, once.smallest, rtol=1e-6)


def test_only_ratios_of_weights_count():
    light = regressor().fit(X, Y, sample_weight=np.full(N, 0.01))
    assert_allclose(numbers(light.kernel_), numbers(fitted().kernel_), rtol=1e-6)
    assert_allclose(light.alpha_, 0.01 * fitted().alpha_, rtol=1e-6)


def test_the_kernel_is_learned_by_default():
    assert_allclose(
        numbers(regressor(kernel=None).fit(X, Y).kernel_), numbers(fitted().kernel_)
    )
    with pytest.warns(UserWarning, match="No kernel was learned: only 4 rows differ"):
        regressor(kernel=None).fit(X[:4], Y[:4])
    weights = (np.arange(N) < 4).astype(float)
    with pytest.warns(UserWarning, match="No kernel was learned: only 4 rows differ"):
        regressor(kernel=None, structures="frobenius").fit(X, Y, sample_weight=weights)


def test_constant_columns_are_named_though_classes_make_few_rows():
    classifier = OutputKernelClassifierCV(alphas=2, cv=2)
    with pytest.warns(UserWarning, match="No kernel was learned: all columns are con"):
        classifier.fit(np.ones((N, 3)), np.arange(N) % 3)


@pytest.mark.usefixtures("briefly")
def test_classifiers_have_probabilities_by_default():
    model = OutputKernelClassifierCV(alphas=2, cv=2, tol=1e-8, temperature=1.0)
    few, labels, second = X[FEW], LABELS[FEW], Y[FEW, 0] > 0
    for y, loss, structure in (
        (labels, "softmax", "identity"),
        (labels == "a", "logistic", "identity"),
        (
            np.stack([labels == "a", second], axis=1).astype(int),
            "logistic",
            "frobenius",
        ),
    ):
        model.fit(few, y)
        assert (model.loss_.name, model.structure_.name) == (loss, structure)
        shape = len(few), 3 if y is labels else 2
        assert model.predict_proba(few).shape == shape
        assert model.certificate_.status == "optimal"
        single = OutputKernelClassifier(
            model.kernel_, structure, model.alpha_, loss=loss, tol=1e-8
        )
        scores = cross_val_score(
            single,
            few,
            y,
            cv=splitter_of(2, y, stratify=y.ndim == 1, random_state=0),
            scoring=lambda m, rows, y: -log_loss(y, m.predict_proba(rows)),
        )
        assert_allclose(model.best_score_, scores.mean(), rtol=1e-3)


@pytest.mark.parametrize(
    ("X", "Y"),
    [(X[:4], Y[:4]), (X, np.ones((N, 2))), (np.ones_like(X), Y)],
    ids=["few rows", "constant targets", "constant columns"],
)
def test_where_nothing_can_be_learned_the_short_list_are_tried(X, Y):
    *_, search = planned(regressor(cv=2), X, Y, None, None, {})
    assert search.learning is None
    rows = StandardScaler().fit_transform(X)
    if np.ptp(X) == 0:
        expected = [kernel(X) for kernel in short_list(X)]
    else:
        expected = [kernel(rows) for kernel in short_list(rows)]
        # the mean that a linear kernel is centred at is for the fit to find
        expected[0] = (X / X.std(axis=0)) @ (X / X.std(axis=0)).T
    for kernel, matrix in zip(search.kernels, expected, strict=True):
        assert_allclose(kernel(X), matrix, rtol=1e-9)


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("weights", [None, np.arange(4) % 3 + 1.0])
def test_with_few_rows_units_make_no_difference(constant, weights):
    """Nor with a constant column, where the kernel is one of the others."""
    rows = X[:4].copy()
    if constant:
        rows[:, 1] = 2.0
    units = 10.0 ** np.arange(-3, rows.shape[1] - 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, other = (
            regressor(cv=2, alphas=5).fit(some, Y[:4], sample_weight=weights)
            for some in (rows, rows * units + 7.0)
        )
    assert_allclose(one.best_score_, other.best_score_, rtol=1e-5)
    found = one.predict(X), other.predict(X * units + 7.0)
    assert_allclose(*found, atol=1e-5 * np.abs(found[0]).max())
    assert isinstance(one.kernel_, Columns) == constant


def test_widths_for_each_column_go_on_in_proportion():
    lengths = np.array([1.0, 10.0])
    tried = [Matern(factor * lengths, 2.5) for factor in (0.5, 1.0, 2.0)]
    assert beyond(tried[1], tried) is None
    assert_allclose(beyond(tried[2], tried).length_scale, 4.0 * lengths)
    assert_allclose(beyond(tried[0], tried).length_scale, 0.25 * lengths)
    some = [Columns(Gaussian(factor * lengths), [0, 2]) for factor in (0.25, 1.0, 4.0)]
    further = beyond(some[0], [Linear(), *some])
    assert_allclose(further.kernel.gamma, lengths / 16)
    assert list(further.columns) == [0, 2]
    assert beyond(some[1], some) is None


FEW_OBSERVED = np.where(np.arange(N)[:, None] < 4, Y, np.nan)
FEW_OBSERVED[:, 1:] = 1.0
RARE_LABELS = np.repeat(np.arange(N)[:, None] == 3, 2, axis=1)


@pytest.mark.parametrize(
    ("model", "Y", "reason"),
    [
        (regressor(cv=2), np.ones((N, 2)), "all targets are constant"),
        (
            regressor(cv=2),
            FEW_OBSERVED,
            "no output that varies was observed in at least 5 rows",
        ),
        (OutputKernelClassifierCV(cv=2), RARE_LABELS, "no label has both values"),
    ],
    ids=["constant", "few observed", "rare labels"],
)
def test_the_warning_says_why_no_kernel_is_learned(model, Y, reason):
    *_, search = planned(clone(model), X, Y, None, None, {})
    assert re.match(reason, search.unlearned)


def test_copies_of_one_row_are_no_rows_to_learn_a_class_from():
    rows, labels = np.repeat(X[:8], 2, axis=0), np.repeat(np.arange(8), 2)
    *_, search = planned(OutputKernelClassifierCV(), rows, labels, None, None, {})
    assert re.match("no class has two rows that differ", search.unlearned)


@pytest.mark.parametrize(("n_rows", "n_folds"), [(2, 2), (3, 3), (4, 4), (7, 5)])
def test_classes_of_few_rows_have_as_many_folds(n_rows, n_folds):
    labels = np.tile(np.arange(4), n_rows)
    learning = learning_of(OutputKernelClassifierCV(), X[: len(labels)], labels)
    assert len(learning.folds) == n_folds


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("seeds", later(range(3)), ids=["three seeds"])
def test_of_two_rows_of_each_class_a_kernel_is_learned_that_pays(seeds):
    found = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        labels = np.tile(np.arange(12), 30)
        centres = 1.5 * rng.normal(size=(12, 3))
        rows = np.hstack([centres[labels], np.zeros((len(labels), 4))])
        rows += rng.normal(size=rows.shape)
        few = np.arange(len(labels)) < 24
        # else larger columns are those that tell classes apart
        rows = StandardScaler().fit(rows[few]).transform(rows)
        model = OutputKernelClassifierCV(structures="identity", alphas=5)
        for kernels in (None, "short_list"):
            model.set_params(kernels=kernels).fit(rows[few], labels[few])
            found.append(log_loss(labels[~few], model.predict_proba(rows[~few])))
    assert np.mean(found[::2]) < np.mean(found[1::2])


def test_many_rows_are_drawn_with_the_seed(monkeypatch):
    monkeypatch.setattr(kernel_learning, "MOST_ROWS", 30)
    first, again, other = (
        learning_of(regressor(random_state=seed), X, Y).X for seed in (0, 0, 1)
    )
    assert first.shape == (30, 3)
    assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert regressor().fit(X, Y).score(X, Y) > 0.9


def test_fewer_rows_where_outputs_have_rows_of_their_own(monkeypatch):
    monkeypatch.setattr(kernel_learning, "MOST_ROWS", 40)
    missing = np.tile(Y, 4)
    missing[np.arange(8), np.arange(8)] = np.nan
    # eight inversions of half the size take as long as one
    assert len(learning_of(regressor(), X, missing).X) == 20


def test_where_the_search_starts_does_not_matter(monkeypatch):
    expected = fitted().predict(NEW)
    monkeypatch.setattr(likeliest_kernel, "SOME_ROWS", 24)
    monkeypatch.setattr(likeliest_kernel, "_ITERATIONS", 100)
    monkeypatch.setattr(likeliest_kernel, "_LAST", 100)
    # a Gaussian kernel is clearly better on half of the rows, and not on all of them
    monkeypatch.setattr(likeliest_kernel, "_CLEARLY", np.inf)
    model = regressor().fit(X, Y)
    assert_allclose(model.predict(NEW), expected, rtol=1e-3, atol=1e-3)
    rare = np.zeros(N)
    rare[1] = 1.0  # is not among every second row
    assert np.all(np.isfinite(regressor().fit(X, rare).predict(NEW)))


def test_memory_bounds_the_rows():
    learning = learning_of(regressor(max_memory=0.1), X, Y)
    assert kernel_learning._ARRAYS * 8 * len(learning.X) ** 2 <= 0.1 * 2**20
    assert len(learning.X) < N


def test_one_width_for_many_columns(monkeypatch):
    monkeypatch.setattr(likeliest_kernel, "MOST_WIDTHS", 2)
    monkeypatch.setattr(likeliest_kernel, "MOST_DISTANCES", 0)
    kernel = learning_of(regressor(), X, Y).run(AUTO).kernel
    widths = relative_widths(kernel.right.right, X)
    assert_allclose(widths, widths[0])


@pytest.mark.parametrize("columns", [200, *later(600)])
def test_few_of_many_columns_are_found(columns):
    """One width for all columns has no part in what they say, and is no start."""
    generator = np.random.default_rng(1)
    wide = generator.normal(size=(180, columns))
    y = wide[:, 0] + wide[:, 1] + 0.1 * generator.normal(size=180)
    n = 60 if columns == 200 else 90
    model = regressor().fit(wide[:n], y[:n])
    assert model.score(wide[n:], y[n:]) > 0.9
    assert model.feature_relevances_[:2].sum() > 0.9


def relative_widths(kernel, X):
    """Return the widths of a kernel with some over standard deviations."""
    if isinstance(kernel, Gaussian):
        return 1 / np.sqrt(kernel.gamma) / X.std(axis=0)
    if isinstance(kernel, Laplacian):
        return 1 / (kernel.gamma * X.std(axis=0))
    return kernel.length_scale / X.std(axis=0)


def noise_of(learned, X):
    """Return the variance of the noise that goes with a learned kernel."""
    K = learned.kernel(X)
    K = K - K.mean(axis=0)
    K = K - K.mean(axis=1, keepdims=True)
    return learned.smallest * np.linalg.eigvalsh(K)[-1]


def test_with_few_rows_the_better_by_rows_left_out(monkeypatch):
    wide = RNG.normal(size=(20, 8))
    y = wide[:, :1] + 0.5 * RNG.normal(size=(20, 1))
    learning = learning_of(regressor(), wide, y)
    wide = learning.X

    def error(learned):
        criterion = LeaveOneOutError(learning.observed, fit_intercept=True)
        noise = noise_of(learned, wide)
        return criterion.evaluate(Dense(learned.kernel(wide)), noise, Identity()).value

    monkeypatch.setattr(likeliest_kernel, "_CLEARLY", 0.0)
    chosen, candidates = error(learning.run(AUTO)), likeliest_kernel._candidates
    others = []
    for one in range(4):  # one width, and widths of three kernels
        monkeypatch.setattr(
            likeliest_kernel, "_candidates", lambda rows, i=one: [candidates(rows)[i]]
        )
        others.append(error(learning.run(AUTO)))
    assert_allclose(chosen, min(others), rtol=1e-6)


@pytest.mark.parametrize("loss", ["softmax", "hinge", *later("squared", "logistic")])
@pytest.mark.usefixtures("briefly")
def test_classes(loss):
    options = {"alphas": 2, "cv": 2, "temperature": 1.0}
    few, labels = X[FEW], LABELS[FEW]
    model = classifier(loss=loss, **options).fit(few, labels)
    assert isinstance(model.kernel_.left, Linear)
    assert model.score(few, labels) > 0.7
    assert model.feature_relevances_.argmin() == 2
    again = OutputKernelClassifier(model.kernel_, "identity", model.alpha_, loss=loss)
    assert_array_equal(again.fit(few, labels).predict(NEW), model.predict(NEW))


def test_rare_classes_are_left_out_of_learning():
    labels = LABELS.copy()
    labels[0] = "rare"
    learning = learning_of(classifier(loss="softmax"), X, labels)
    assert learning.observed.targets.shape == (N - 1, 3)
    several = np.stack([LABELS == "a", LABELS == "b", np.arange(N) == 0], axis=1)
    learning = learning_of(classifier(loss="logistic"), X, several.astype(int))
    assert learning.observed.targets.shape == (N, 2)


@pytest.mark.usefixtures("briefly")
def test_other_losses_of_numbers():
    model = regressor(loss=Huber(1.0), alphas=2, cv=3).fit(X, Y[:, 0])
    assert isinstance(model.kernel_.left, Linear)
    assert model.feature_relevances_.argmin() == 2


WIDTHS = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "family",
    [Matern(WIDTHS, 2.5), Laplacian(1 / WIDTHS), Gaussian(1 / WIDTHS**2)],
    ids=repr,
)
def test_shares_are_those_of_finite_differences(family):
    kernel = Linear(scales=0.3) + 2.0 * family
    coefficients = RNG.normal(size=(N, 2))
    step, slopes = 1e-5, []
    for j in range(3):
        up, down = X.copy(), X.copy()
        up[:, j] += step
        down[:, j] -= step
        slopes.append((kernel(up, X) - kernel(down, X)) @ coefficients / (2 * step))
    expected = np.sum(np.square(slopes), axis=(1, 2))
    shares = shares_of_columns(kernel, X, coefficients)
    assert_allclose(shares, expected / expected.sum(), rtol=1e-6)
    # the same in fewer directions, where these hold all there is
    turned = coefficients @ RNG.normal(size=(2, 30))
    many = shares_of_columns(kernel, X, turned)
    slopes = np.einsum(
        "jnm,mk->jnk", slopes, np.linalg.lstsq(coefficients, turned, rcond=None)[0]
    )
    expected = np.sum(np.square(slopes), axis=(1, 2))
    assert_allclose(many, expected / expected.sum(), rtol=1e-6)


def test_a_forecast_learns_nothing(monkeypatch):
    def fail(self):
        raise AssertionError

    monkeypatch.setattr(kernel_learning.KernelLearning, "run", fail)
    said = regressor(cv=KFold(3)).forecast(X, Y)
    assert "learned from 48 rows" in said.plan
    assert said.memory >= kernel_learning._ARRAYS * 8 * N**2
    more = regressor(kernel=None, kernels=["auto", "rbf"]).forecast(X, Y)
    assert "one of them learned from 48 rows" in more.plan
    assert regressor(kernel="rbf", cv=KFold(3)).forecast(X, Y).seconds < said.seconds


def test_errors():
    with pytest.raises(ValueError, match="only the estimators that choose"):
        OutputKernelRegressor("auto").fit(X, Y)
    with pytest.raises(ValueError, match="only the estimators that choose"):
        as_kernel("auto")
    with pytest.raises(ValueError, match="both given"):
        regressor(kernels=["auto"]).fit(X, Y)
    for kernel in ("auto", None):
        with pytest.raises(ValueError, match="the choice is left to the fit"):
            regressor(kernel=kernel).set_params(kernel__gamma=1.0)
        with pytest.raises(ValueError, match="the kernel_ of a fitted estimator"):
            regressor(kernel=kernel).set_params(kernel__left__scales=[1.0])


def test_the_kernel_has_the_size_of_the_outputs():
    # so that standard deviations are those of the process: with K and that noise the
    # outputs have the variance that their mean y'P y over n - 1 says, which is one
    learning = learning_of(regressor(), X, Y)
    learned, n, rows = learning.run(AUTO), len(X), learning.X
    noise = noise_of(learned, rows) * np.eye(n)
    inverse = np.linalg.inv(learned.kernel(rows) + noise)
    ones = inverse.sum(axis=1)
    P = inverse - np.outer(ones, ones) / ones.sum()
    targets = learning.observed.targets
    assert np.trace(targets.T @ P @ targets) / targets.shape[1] / (n - 1) == (
        pytest.approx(1.0, rel=1e-3)
    )


@pytest.mark.parametrize("kernel", [None, "auto"])
def test_columns_that_do_not_vary_leave_the_mean(kernel):
    Y = np.random.default_rng(0).normal(size=(50, 2))
    model = OutputKernelRegressorCV(kernel, "identity").fit(np.ones((50, 3)), Y)
    assert_allclose(model.predict(np.ones((1, 3)))[0], Y.mean(axis=0), atol=1e-10)


@pytest.mark.parametrize("n", [4, 7, 9])
def test_few_rows_have_fewer_folds(n):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    model = OutputKernelRegressorCV("auto", "frobenius", alphas=3).fit(X, Y)
    assert model.scores_.shape[-1] == n // 2


@pytest.mark.usefixtures("briefly")
@pytest.mark.parametrize("seed", [0, *later(1)])
def test_folds_without_a_target_of_the_tasks_that_can_be_learned(seed):
    # nine tasks have one positive row each, which is in no training part of some fold
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(100, 3)), np.repeat(np.arange(10), 10)
    y = (np.arange(100) % 10 == 0).astype(int)
    y[:10] = X[:10, 0] > np.median(X[:10, 0])
    search = OutputKernelClassifierCV(
        structures="identity", alphas=1, random_state=seed
    )
    assert search.fit(X, y, task=task).feature_relevances_.shape == (3,)
