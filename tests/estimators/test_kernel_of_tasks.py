"""The kernel of tasks of numbers, learned once more when their relation is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import KFold

from okl import OutputKernelClassifierCV, OutputKernelRegressor, OutputKernelRegressorCV
from okl.estimators.search import rows_of_tasks
from okl.kernels import Constant, Gaussian, Learnable, Linear
from okl.metrics import mean_squared_error
from okl.model_selection import GradientSearchCV
from okl.plotting._path_scores import structure_labels_of
from okl.structures import Frobenius, Identity, Mean
from tests.covering import later
from tests.estimators.test_callbacks import Counting

N_TASKS, N_ROWS, FEW = 12, 40, 6


def tasks(relation, seed=0):
    """Return rows, numbers and ids: one bent function of two columns of four."""
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(N_TASKS), N_ROWS)
    X = rng.normal(size=(len(ids), 4))
    sizes = {
        "alike": np.ones(N_TASKS),
        "opposite": rng.choice([-1.0, 1.0], N_TASKS),
        "unrelated": rng.normal(size=N_TASKS),
    }[relation]
    f = 2 * np.sin(2 * X[:, 0]) + X[:, 1] ** 2
    if relation == "unrelated":
        slopes = 2 * rng.normal(size=(N_TASKS, 4))
        return X, np.sum(X * slopes[ids], axis=1) + rng.normal(size=len(ids)), ids
    return X, sizes[ids] * f + 0.5 * rng.normal(size=len(ids)), ids


def is_few(ids):
    return np.arange(len(ids)) % N_ROWS < FEW


def few_of(relation):
    X, y, ids = tasks(relation)
    few = is_few(ids)
    return X[few], y[few], ids[few]


def quick(**given):
    """Return a search of one structure and few alphas, to see what it does."""
    options = {"structures": [Mean(12.0)], "fit_intercept": "shared", "alphas": 3}
    return OutputKernelRegressorCV(**options | given)


def kernels_of(model):
    """Return the kernels that a search tried, and the best mean score of each."""
    found = {}
    table = model.cv_results_
    for kernel, score in zip(
        table["param_kernel"], table["mean_test_score"], strict=True
    ):
        found.setdefault(id(kernel), (kernel, []))[1].append(score)
    return [(kernel, np.nanmax(scores)) for kernel, scores in found.values()]


@pytest.fixture(scope="module")
def fitted():
    X, y, ids = few_of("alike")
    return OutputKernelRegressorCV().fit(X, y, task=ids)


def test_the_better_of_two_kernels_is_kept(fitted):
    (first, before), (second, now) = kernels_of(fitted)
    assert now > before
    assert fitted.kernel_.right.value == second.right.value
    assert fitted.best_score_ == now
    assert fitted.certificate_.status == "optimal"
    assert isinstance(fitted.structure_, Mean)
    # gamma was learned too, and only that structure was tried again
    assert fitted.structure_.gamma not in (1.2, 12.0, 120.0, 1200.0)
    assert fitted.scores_.shape[:2] == (5, 25)
    tried = np.isfinite(fitted.scores_[:, 0, 0])
    assert tried.sum() == 1
    assert structure_labels_of(fitted)[int(np.argmax(tried))] == str(fitted.structure_)
    assert first.right.value == 1.0
    assert_allclose(fitted.feature_relevances_.sum(), 1.0)
    assert fitted.feature_relevances_[:2].min() > fitted.feature_relevances_[2:].max()


@pytest.mark.parametrize("relation", ["alike", *later("opposite", "unrelated")])
def test_it_pays_where_tasks_are_related_and_costs_nothing_elsewhere(
    relation, monkeypatch
):
    X, y, ids = tasks(relation)
    few = is_few(ids)

    def error():
        model = OutputKernelRegressorCV(alphas=8)
        model.fit(X[few], y[few], task=ids[few])
        predicted = model.predict(X[~few], task=ids[~few])
        return mean_squared_error(y[~few], predicted)

    with_it = error()
    monkeypatch.setattr(rows_of_tasks.RowsOfTasks, "learn_again", lambda *_, **__: None)
    most = {"alike": 0.8, "opposite": 1.02, "unrelated": 1.05}
    assert with_it < most[relation] * error()


@pytest.mark.usefixtures("briefly")
@pytest.mark.parametrize(
    "given",
    [
        {"kernel": "rbf"},
        {"structures": "identity"},
        {"kernels": [Learnable(Gaussian(0.3))]},
        {"loss": "huber"},
        {"alpha_per_output": True},
    ],
    ids=["kernel", "identity", "learnable", "huber", "alphas"],
)
def test_elsewhere_there_is_one_kernel(given):
    X, y, ids = few_of("alike")
    model = OutputKernelRegressorCV(alphas=3, eps=1e-2, **given)
    assert len(kernels_of(model.fit(X, y, task=ids))) == 1


@pytest.mark.usefixtures("briefly")
def test_classes_of_tasks_and_targets_in_columns_have_one_kernel():
    X, y, ids = few_of("alike")
    model = OutputKernelClassifierCV(alphas=3, eps=1e-2, structures=[Mean(5.0)])
    assert len(kernels_of(model.fit(X, y > 0, task=ids))) == 1
    Y = np.column_stack([y, y + X[:, 0]])
    model = OutputKernelRegressorCV(alphas=3, eps=1e-2).fit(X, Y)
    assert len(kernels_of(model)) == 1


def test_gamma_is_learned_where_several_were_to_be_compared():
    X, y, ids = few_of("alike")
    one = quick(structures=[Mean(12.0), "frobenius"]).fit(X, y, task=ids)
    assert one.structure_.gamma == 12.0
    several = quick(structures=[Mean(12.0), Mean(1.2)]).fit(X, y, task=ids)
    assert isinstance(several.structure_, Mean)
    assert several.structure_.gamma not in (1.2, 12.0)
    assert several.best_score_ > one.best_score_


@pytest.mark.parametrize("structure", [Mean(12.0), *later(Frobenius())], ids=str)
def test_tasks_with_free_intercepts_have_it_too(structure):
    X, y, ids = few_of("alike")
    model = OutputKernelRegressorCV(structures=[structure], alphas=6)
    (_, before), (_, now) = kernels_of(model.fit(X, y, task=ids))
    assert model.best_score_ == max(before, now)
    assert str(model.structure_) == str(structure)  # it was named
    assert np.ptp(model.intercept_) > 0


def test_where_no_function_is_found_the_first_kernel_stays():
    rng = np.random.default_rng(0)
    X, ids = rng.normal(size=(60, 3)), np.arange(60) % 6
    y = rng.normal(size=60)
    model = OutputKernelRegressorCV(structures=["low_rank"], alphas=[1e6])
    with pytest.warns(UserWarning, match="output kernel that was chosen is zero"):
        model.fit(X, y, task=ids)
    assert len(kernels_of(model)) == 1


@pytest.mark.usefixtures("briefly")
def test_what_a_matrix_cannot_be_factorised_for_is_left_out(monkeypatch):
    def fails(*_, **__):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(rows_of_tasks, "learn_for_relation", fails)
    X, y, ids = few_of("alike")
    model = quick().fit(X, y, task=ids)
    assert len(kernels_of(model)) == 1


@pytest.mark.usefixtures("briefly")
def test_at_most_so_many_rows_are_used(monkeypatch):
    seen = []
    learn = rows_of_tasks.learn_for_relation

    def counted(standard, X, *args, **options):
        seen.append(len(X))
        return learn(standard, X, *args, **options)

    monkeypatch.setattr(rows_of_tasks, "learn_for_relation", counted)
    monkeypatch.setattr(rows_of_tasks, "MOST_ROWS", 50)
    X, y, ids = few_of("alike")
    weights = np.linspace(0.5, 1.5, len(y))
    again = quick().fit(X, y, sample_weight=weights, task=ids)
    assert seen == [50]
    assert again.certificate_.status == "optimal"


@pytest.mark.usefixtures("briefly")
def test_a_column_may_be_constant_among_those_rows(monkeypatch):
    constant = []
    learn = rows_of_tasks.learn_for_relation

    def seen(standard, X, *args, **options):
        constant.append(np.ptp(X[:, 4]) == 0)
        return learn(standard, X, *args, **options)

    monkeypatch.setattr(rows_of_tasks, "learn_for_relation", seen)
    monkeypatch.setattr(rows_of_tasks, "MOST_ROWS", 30)
    X, y, ids = few_of("alike")
    X = np.column_stack([X, np.arange(len(y)) == 3])
    for random_state in range(4):
        model = quick(random_state=random_state)
        assert model.fit(X, y, task=ids).feature_relevances_.shape == (5,)
    assert any(constant)


def test_the_unit_of_targets_that_are_not_normalised_does_not_matter():
    X, y, ids = few_of("alike")
    models = [
        quick(normalize_y=False).fit(X, unit * y, task=ids) for unit in (1.0, 1e-4)
    ]
    scores = [kernels_of(model)[1][1] for model in models]
    assert_allclose(scores[1], scores[0], rtol=1e-3)


def test_scores_that_are_nan_are_said_to_be():
    X, y, ids = few_of("alike")
    model = quick(scoring=lambda *_: np.nan)
    with pytest.raises(ValueError, match="Every mean score"):
        model.fit(X, y, task=ids)


def test_copies_of_rows_are_rows_of_more_weight():
    X, y, ids = few_of("alike")
    twice = [np.concatenate([part, part]) for part in (X, y, ids)]
    folds = [(np.arange(len(y)) % 3 != k, np.arange(len(y)) % 3 == k) for k in range(3)]
    doubled = [tuple(np.concatenate([part, part]) for part in fold) for fold in folds]
    one = quick(cv=_numbered(folds), search="full")
    one.fit(X, y, sample_weight=np.full(len(y), 2.0), task=ids)
    two = quick(cv=_numbered(doubled), search="full")
    two.fit(twice[0], twice[1], task=twice[2])
    assert_allclose(two.predict(X, task=ids), one.predict(X, task=ids), atol=1e-3)


def _numbered(folds):
    return [(np.flatnonzero(train), np.flatnonzero(test)) for train, test in folds]


@pytest.mark.usefixtures("briefly")
def test_steps_and_time_are_foretold():
    X, y, ids = few_of("alike")
    callback = Counting()
    folds = KFold(3, shuffle=True, random_state=0)
    options = {"alphas": 3, "eps": 1e-2, "cv": folds}
    model = OutputKernelRegressorCV(structures=[Mean(12.0)], **options)
    clone(model).set_callbacks(callback).fit(X, y, task=ids)
    names = [c.removeprefix("end ") for c in callback.calls if c.startswith("end ")]
    of_trial = ["kernel", "fold", "fold", "fold"]
    assert names[:-1] == [*of_trial, *of_trial, "refit"]
    one = clone(model).set_params(structures=[Identity()])
    few = one.forecast(X, y, task=ids).seconds
    assert model.forecast(X, y, task=ids).seconds > 1.5 * few
    named = clone(model).set_params(kernel=Learnable(Gaussian(0.3)))
    callback = Counting()
    named.set_callbacks(callback).fit(X, y, task=ids)
    assert sum(c.startswith("end kernel") for c in callback.calls) == 1


@pytest.mark.usefixtures("briefly")
def test_many_tasks_have_one_kernel(monkeypatch):
    monkeypatch.setattr(rows_of_tasks, "MOST_TASKS", N_TASKS - 1)
    X, y, ids = few_of("alike")
    model = OutputKernelRegressorCV(structures=[Mean(12.0)], alphas=3)
    assert len(kernels_of(model.fit(X, y, task=ids))) == 1


def test_a_search_by_gradient_learns_how_much_tasks_are_alike():
    kernel = Constant(1.0) * Gaussian(np.full(4, 0.3)) + Linear() + Constant(1.0)
    model = OutputKernelRegressor(kernel, Mean(12.0), fit_intercept="shared")
    gammas = []
    for relation in ("alike", "unrelated"):
        X, y, ids = few_of(relation)
        search = GradientSearchCV(model).fit(X, y, task=ids)
        assert search.criterion_ == "RestrictedLikelihood"
        assert search.best_estimator_.certificate_.status == "optimal"
        assert search.score(X, y, task=ids) > 0.5
        gammas.append(search.best_params_["structure__gamma"])
    assert gammas[0] > 100
    assert gammas[1] < 1


def test_a_search_by_gradient_takes_independent_tasks_and_an_alpha_for_each():
    X, y, ids = few_of("unrelated")
    independent = OutputKernelRegressor("rbf", "identity")
    search = GradientSearchCV(independent, criterion="leave_one_out_error")
    assert search.fit(X, y, task=ids).criterion_ == "LeaveOneOutError"
    each = GradientSearchCV(independent, alpha_per_output=True, max_iter=200)
    assert each.fit(X, y, task=ids).best_params_["alpha"].shape == (N_TASKS,)
