"""Smaller alphas than those of the grid, where the smallest is the best."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.preprocessing import normalize

from okl import OutputKernelClassifierCV
from okl.estimators.search import smaller_alphas, stages
from okl.selection import path
from okl.structures import Mean
from tests.covering import later

N_TASKS, N_ROWS = 20, 6


@pytest.fixture(scope="module")
def rows():
    """Return rows, classes and ids of many tasks of few rows that are alike."""
    rng = np.random.default_rng(0)
    ids = np.repeat(np.arange(N_TASKS), N_ROWS)
    X = rng.normal(size=(len(ids), 3))
    return X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] > 0, ids


def search(**given):
    options = {"structures": [Mean(40.0), Mean(4000.0)], "fit_intercept": "shared"}
    return OutputKernelClassifierCV(**options, **given)


@pytest.fixture(scope="module")
def fitted(rows):
    X, y, ids = rows
    # the grid ends near where it begins
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stages.Search, "_reaching", lambda *_: 0.05)
        return search(alphas=3).fit(X, y, task=ids)


def test_the_grid_goes_on_below_the_best_alpha(fitted):
    model = fitted
    n_added = model.alphas_.shape[1] - 3
    assert n_added in (5, 10)
    ratios = model.alphas_[:, 1:] / model.alphas_[:, :-1]
    assert_allclose(ratios, np.broadcast_to(ratios[:, :1], ratios.shape))
    means = model.scores_.mean(axis=-1)
    best = np.unravel_index(np.nanargmax(means), means.shape)
    assert 3 <= best[1] < means.shape[1] - 1
    other = 1 - best[0]
    assert np.all(np.isnan(means[other, 3:]))
    assert model.structure_.gamma == [40.0, 4000.0][best[0]]
    assert model.best_score_ == means[best[0], model.alphas_[best[0]] == model.alpha_]
    assert model.certificate_.status == "optimal"


def test_the_table_has_all_of_them(fitted):
    table = fitted.cv_results_
    assert len(table["mean_test_score"]) == fitted.alphas_.size
    assert len(table["temperature"]) == fitted.alphas_.size
    assert table["chosen_alpha"].sum() == 2
    assert fitted.temperature_ in table["temperature"][table["chosen_alpha"]]


@pytest.mark.usefixtures("briefly")
@pytest.mark.parametrize(
    "given",
    [
        {"eps": 0.5, "alphas": 2},
        *later(
            {"alphas": [30.0, 20.0]},
            {"kernel": "rbf", "fit_intercept": True, "alphas": 2},
        ),
    ],
)
def test_it_ends_where_it_was_told_to(rows, given, monkeypatch):
    def never(*_):
        raise AssertionError

    monkeypatch.setattr(stages, "with_smaller_alphas", never)
    X, y, ids = rows
    model = search().set_params(**given).fit(X, y, task=ids)
    assert model.alphas_.shape[1] == 2


@pytest.mark.usefixtures("briefly")
def test_a_coarse_grid_does_not_go_on(rows, monkeypatch):
    monkeypatch.setattr(stages.Search, "_reaching", lambda *_: 1e-3)
    X, y, ids = rows
    assert search(alphas=2).fit(X, y, task=ids).alphas_.shape[1] == 2


@pytest.mark.usefixtures("briefly")
def test_it_ends_where_rounding_begins(rows, monkeypatch):
    monkeypatch.setattr(stages.Search, "_reaching", lambda *_: 0.05)
    monkeypatch.setattr(smaller_alphas, "ROUNDED", 0.1)
    X, y, ids = rows
    assert search(alphas=3).fit(X, y, task=ids).alphas_.shape[1] == 3


def test_it_ends_at_some_time(rows, monkeypatch):
    monkeypatch.setattr(stages.Search, "_reaching", lambda *_: 0.3)
    monkeypatch.setattr(smaller_alphas, "_MORE", 1)
    X, y, ids = rows
    model = search(alphas=3).fit(X, y, task=ids)
    assert model.alphas_.shape[1] == 3 + smaller_alphas._TIMES


def test_of_texts_it_goes_on_where_no_kernel_is_named(monkeypatch):
    monkeypatch.setattr(path, "_SMALLEST", 0.05)
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    words = rng.dirichlet(np.full(120, 0.1), size=3)
    counts = np.array([rng.multinomial(20, words[k]) for k in y], dtype=float)
    X = csr_array(normalize(counts))
    for kernel, further in ((None, (5, 10)), ("linear", (0,))):
        model = OutputKernelClassifierCV(kernel, "identity", alphas=3).fit(X, y)
        assert model.alphas_.shape[1] - 3 in further
