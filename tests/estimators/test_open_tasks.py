"""Tasks of numbers by default: drawn to their mean, or related by what is learned."""

import numpy as np
import pytest
from sklearn.base import clone

from okl import OutputKernelRegressorCV
from okl.metrics import mean_squared_error
from okl.structures import Frobenius, Mean
from tests.covering import later
from tests.samples import as_texts


def tasks(n_tasks, n_rows, alike, seed=0):
    """Return rows, numbers and ids; tasks are alike, or of either sign."""
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(n_tasks), n_rows)
    X = rng.normal(size=(len(ids), 3))
    signs = np.ones(n_tasks) if alike else rng.choice([-1.0, 1.0], n_tasks)
    weights = signs[:, None] * [2.0, -1.0, 1.0] + 0.2 * rng.normal(size=(n_tasks, 3))
    noise = rng.normal(size=len(ids))
    return X, np.sum(X * weights[ids], axis=1) + signs[ids] + noise, ids


def search(**given):
    return OutputKernelRegressorCV(alphas=6, eps=1e-2, **given)


@pytest.mark.parametrize("alike", [True, *later(False)], ids=["alike", "opposite"])
def test_what_tasks_have_in_common_is_found(alike):
    X, y, ids = tasks(8, 40, alike, seed=1)
    few = np.arange(len(y)) % 40 < 6

    def error(model):
        model.fit(X[few], y[few], task=ids[few])
        return mean_squared_error(y[~few], model.predict(X[~few], task=ids[~few]))

    default = search()
    errors = error(default), error(search(structures="frobenius"))
    if alike:
        assert isinstance(default.structure_, Mean)
        assert errors[0] < 0.9 * errors[1]
    else:
        assert errors[0] < 1.05 * errors[1]
    assert default.intercept_.shape == (8,)
    assert default.certificate_.status == "optimal"
    assert clone(default).structures is None


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"kernel": "rbf"}, np.asarray),
        ({"kernels": "short_list"}, np.asarray),
        ({"structures": "frobenius"}, np.asarray),
        ({}, as_texts),
    ],
    ids=["kernel", "kernels", "structure", "sparse"],
)
def test_where_something_is_named_relations_are_learned(given, kind):
    X, y, ids = tasks(4, 8, alike=True)
    model = OutputKernelRegressorCV(alphas=[1.0], **given).fit(kind(X), y, task=ids)
    assert isinstance(model.structure_, Frobenius)
    assert model.scores_.shape[:2] == (1, 1)


def test_targets_in_columns_have_learned_relations_after_tasks():
    X, y, ids = tasks(4, 8, alike=True)
    model = search().fit(X, y, task=ids)
    assert model.scores_.shape[0] == 5
    model.fit(X, np.stack([y, -y], axis=1))
    assert isinstance(model.structure_, Frobenius)
    assert model.scores_.shape[0] == 1
