"""Tasks of classes by default: intercepts are drawn together as all else is."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl import OutputKernelClassifierCV, certify
from okl.inspection.held import with_hyperparameters_held
from okl.kernels import Constant
from okl.metrics import log_loss
from okl.structures import Mean
from tests.covering import later
from tests.samples import as_texts


def tasks(n_tasks, n_rows, relation="alike", seed=0):
    """Return rows that are not around zero, classes and ids."""
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(n_tasks), n_rows)
    X = rng.normal(size=(len(ids), 3))
    own = rng.normal(size=(n_tasks, 3))
    sides = rng.choice([-1.0, 1.0], n_tasks)
    weights, base = {
        "alike": ([2.0, -1.0, 1.0] + 0.2 * own, 0.5),
        "opposite": (sides[:, None] * [2.0, -1.0, 1.0] + 0.2 * own, 0.0),
        "unequal": ([2.0, -1.0, 1.0] + 0.2 * own, 3.0 * sides),
    }[relation]
    scores = np.sum(X * weights[ids], axis=1) + np.broadcast_to(base, n_tasks)[ids]
    return X + 5.0, (scores > rng.logistic(size=len(ids))).astype(int), ids


def losses(models, X, y, ids, few):
    """Return the log loss of each on the rows that are not among the few."""
    return [log_loss(y[~few], m.predict_proba(X[~few], task=ids[~few])) for m in models]


@pytest.fixture(scope="module")
def fitted():
    X, y, ids = tasks(12, 56)
    few = np.arange(len(y)) % 56 < 6
    default = OutputKernelClassifierCV(alphas=6).fit(X[few], y[few], task=ids[few])
    return default, X, y, ids, few


def own_intercepts(X, y, ids, alphas=6):
    search = OutputKernelClassifierCV(structures="frobenius", alphas=alphas)
    return search.fit(X, y, task=ids)


def test_tasks_of_few_rows_share_what_they_know_of_intercepts(fitted):
    default, X, y, ids, few = fitted
    own = own_intercepts(X[few], y[few], ids[few])
    assert own.intercept_.shape == (12,)
    assert default.intercept_ == 0.0
    assert isinstance(default.structure_, Mean)
    assert isinstance(default.kernel_.right, Constant)
    assert_allclose(default.feature_relevances_.sum(), 1.0)
    shared, free = losses([default, own], X, y, ids, few)
    assert shared < 0.85 * free


@pytest.mark.parametrize("case", later(("opposite", 20), ("unequal", 30)), ids=str)
def test_what_tasks_do_not_share_is_not_lost(case):
    """Relations of either sign, and classes that are rare in some tasks only."""
    relation, n_rows = case
    X, y, ids = tasks(6, 60 + n_rows, relation)
    few = np.arange(len(y)) % (60 + n_rows) < n_rows
    default = OutputKernelClassifierCV(alphas=4).fit(X[few], y[few], task=ids[few])
    own = own_intercepts(X[few], y[few], ids[few], alphas=4)
    shared, free = losses([default, own], X, y, ids, few)
    assert shared < 1.02 * free


def test_the_fit_is_certified_and_stays_what_it_is(fitted):
    default, X, y, ids, few = fitted
    given = X[few], y[few]
    assert default.certificate_.status == "optimal"
    changed = pickle.loads(pickle.dumps(default)).set_params(structures="mean")
    again = certify(changed, *given, task=ids[few])
    assert_allclose(again.primal, default.certificate_.primal, rtol=1e-7)
    assert_allclose(again.dual, default.certificate_.dual, rtol=1e-6)
    with pytest.raises(ValueError, match="name a structure"):
        default.intercept_ = np.ones(12)


def test_a_single_fit_with_what_was_chosen_is_the_same(fitted):
    default, X, y, ids, few = fitted
    model, rows = with_hyperparameters_held(default, X[few])
    model.fit(rows, y[few], task=ids[few])
    assert model.kernel_.get_params().keys() == default.kernel_.get_params().keys()
    assert_allclose(model.decision_function(X), default.decision_function(X), atol=1e-3)
    assert model.temperature == default.temperature_


def test_a_structure_that_is_named_may_share_intercepts(fitted):
    default, X, y, ids, few = fitted
    named = OutputKernelClassifierCV(
        structures=[
            *(Mean(12 * part) for part in (0.1, 1.0, 10.0, 100.0)),
            "frobenius",
        ],
        alphas=6,
        fit_intercept="shared",
    ).fit(X[few], y[few], task=ids[few])
    assert_allclose(named.predict_proba(X), default.predict_proba(X))
    free = {"kernel": "rbf"}, {"kernels": "short_list"}, {}
    for given, task in zip(free, (ids, ids, None), strict=True):
        search = OutputKernelClassifierCV(fit_intercept="shared", **given)
        with pytest.raises(
            ValueError, match=r"'shared' is only for .*a kernel that is learned"
        ):
            search.fit(X, y, task=task)
    with pytest.raises(ValueError, match="must be True, False or 'shared', got 'own'"):
        search.set_params(fit_intercept="own").fit(X, y, task=ids)


@pytest.mark.usefixtures("briefly")
@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"structures": "mean"}, np.asarray),
        ({"kernel": "rbf"}, np.asarray),
        ({"kernels": "short_list"}, np.asarray),
        ({}, as_texts),
    ],
    ids=["structure", "kernel", "kernels", "sparse"],
)
def test_intercepts_are_free_where_something_is_named(given, kind):
    X, y, ids = tasks(6, 12)
    search = OutputKernelClassifierCV(alphas=[1.0], **given)
    assert search.fit(kind(X), y, task=ids).intercept_.shape == (6,)


@pytest.mark.usefixtures("briefly")
def test_classes_without_tasks_have_a_free_intercept_after_a_fit_with():
    X, y, ids = tasks(4, 10)
    search = OutputKernelClassifierCV(alphas=2, cv=3)
    assert search.fit(X, y, task=ids).intercept_ == 0.0
    assert search.fit(X, y).intercept_ != 0.0
    none = OutputKernelClassifierCV(alphas=2, cv=3, fit_intercept=False)
    assert "Constant(10" not in repr(none.fit(X, y, task=ids).kernel_)


@pytest.mark.usefixtures("briefly")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("n_rows", [8, 3], ids=["learned", "short list"])
def test_where_rows_are_seen_from_does_not_matter(n_rows):
    X, y, ids = tasks(6, n_rows)
    search = OutputKernelClassifierCV(alphas=2, cv=3)
    near, far = (
        search.fit(X + at, y, task=ids).predict_proba(X + at) for at in (0, 100)
    )
    assert_allclose(near, far, atol=1e-4)


@pytest.mark.usefixtures("briefly")
@pytest.mark.parametrize(("n_tasks", "n_rows"), [(20, 3), (2, 4)])
def test_tasks_that_no_kernel_can_be_learned_from_share_as_well(n_tasks, n_rows):
    X, y, ids = tasks(n_tasks, n_rows)
    with pytest.warns(UserWarning, match="short list"):
        model = OutputKernelClassifierCV(alphas=3).fit(X, y, task=ids)
    assert isinstance(model.kernel_.right, Constant)
    assert model.intercept_ == 0.0
    assert np.all(np.isfinite(model.predict_log_proba(X)))
