"""Reduced-rank regression: what the closed form must satisfy, and scikit-learn."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from okl import ReducedRankRegression
from tests.samples import orthogonal


@parametrize_with_checks(
    [
        ReducedRankRegression(),
        ReducedRankRegression(rank=3, alpha=1.0),
        ReducedRankRegression(fit_intercept=False),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


def problem(n=30, d=6, m=5, seed=0, x_rank=None):
    """Draw rows and targets with offsets, the rows of a given rank."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if x_rank is not None:
        X = X[:, :x_rank] @ rng.normal(size=(x_rank, d))
    Y = X @ rng.normal(size=(d, m)) + 2 * rng.normal(size=(n, m))
    return X + rng.normal(size=d), Y + rng.normal(size=m)


def objective(X, Y, coef, intercept, alpha):
    residual = Y - X @ coef.T - intercept
    return np.vdot(residual, residual) + alpha * np.vdot(coef, coef)


SHAPES = [(30, 6, 5), (30, 4, 9), (6, 20, 4), (5, 8, 12), (3, 2, 1), (1, 3, 2)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("alpha", [0.0, 1e-3, 1.0, 1e4])
@pytest.mark.parametrize("intercept", [True, False])
def test_without_a_bound_it_is_ridge_or_least_squares(shape, alpha, intercept):
    X, Y = problem(*shape)
    if alpha:
        theirs = Ridge(alpha=alpha, fit_intercept=intercept, solver="svd").fit(X, Y)
    else:
        theirs = LinearRegression(fit_intercept=intercept).fit(X, Y)
    scale = np.abs(theirs.coef_).max()
    for rank in (min(shape[1:]), 100):
        model = ReducedRankRegression(rank, alpha=alpha, fit_intercept=intercept)
        model.fit(X, Y)
        assert model.coef_.shape == (shape[2], shape[1])
        # scikit-learn's Ridge drops the axis of a single column
        coef = theirs.coef_.reshape(model.coef_.shape)
        assert_allclose(model.coef_, coef, atol=1e-12 * scale)
        assert_allclose(model.intercept_, theirs.intercept_, atol=1e-12)
        predictions = theirs.predict(X).reshape(Y.shape)
        assert_allclose(model.predict(X), predictions, atol=1e-12)
        centred = X - X.mean(axis=0) if intercept else X
        expected = min(np.linalg.matrix_rank(centred), shape[2])
        assert model.rank_ == expected == np.linalg.matrix_rank(model.coef_)


@pytest.mark.parametrize("shape", [(30, 6, 5), (6, 20, 4), (5, 8, 12)])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_it_is_the_truncated_fit_of_the_augmented_problem(shape, alpha, rank):
    # the textbook's way: further rows of data, least squares, truncated SVD
    X, Y = problem(*shape)
    _, d, m = shape
    model = ReducedRankRegression(rank, alpha=alpha, fit_intercept=False).fit(X, Y)
    rows = np.vstack([X, np.sqrt(alpha) * np.eye(d)])
    targets = np.vstack([Y, np.zeros((d, m))])
    full = np.linalg.lstsq(rows, targets, rcond=None)[0]
    U, s, Vt = np.linalg.svd(rows @ full, full_matrices=False)
    assert_allclose(rows @ model.coef_.T, (U * s)[:, :rank] @ Vt[:rank], atol=1e-12)
    assert_allclose(model.coef_.T, full @ Vt[:rank].T @ Vt[:rank], atol=1e-12)
    assert model.rank_ == np.linalg.matrix_rank(model.coef_) == rank


@given(
    st.integers(0, 1000),
    st.tuples(st.integers(2, 10), st.integers(1, 6), st.integers(1, 6)),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.1, 10.0]),
    st.floats(1e-6, 10.0),
)
def test_no_other_coefficients_of_that_rank_are_better(seed, shape, rank, alpha, step):
    X, Y = problem(*shape, seed=seed)
    model = ReducedRankRegression(rank, alpha=alpha).fit(X, Y)
    best = objective(X, Y, model.coef_, model.intercept_, alpha)
    rng = np.random.default_rng(seed)
    # coefficients of rank at most `rank`: factors, those found and moved, and others
    U, s, Vt = np.linalg.svd(model.coef_, full_matrices=False)
    k = min(rank, len(s))
    left, right = U[:, :k] * s[:k], Vt[:k]
    for size in (0.0, step):
        other = (left + step * rng.normal(size=left.shape)) @ (
            right + size * rng.normal(size=right.shape)
        )
        intercept = (Y - X @ other.T).mean(axis=0)
        assert objective(X, Y, other, intercept, alpha) >= best * (1 - 1e-10) - 1e-12


@pytest.mark.parametrize("alpha", [0.0, 3.0])
def test_the_loss_falls_with_the_rank_by_the_next_singular_value(alpha):
    # Eckart & Young: each rank gains the square of one singular value
    X, Y = problem(m=4)
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    ranks = range(1, 5)
    models = [ReducedRankRegression(r, alpha=alpha).fit(X, Y) for r in ranks]
    values = [objective(X, Y, m.coef_, m.intercept_, alpha) for m in models]
    full = models[-1].coef_.T
    gram = full.T @ (X.T @ X + alpha * np.eye(6)) @ full
    gains = np.linalg.eigvalsh(gram)[::-1]
    assert_allclose(-np.diff(values), gains[1:], rtol=1e-9)
    assert_allclose(np.vdot(Y, Y) - values[0], gains[0], rtol=1e-9)


@pytest.mark.parametrize("rank", [1, 2, 4])
@pytest.mark.parametrize("shape", [(30, 6, 4), (7, 20, 4)])
def test_of_dependent_features_the_solution_has_the_smallest_norm(rank, shape):
    n, d, m = shape
    X, Y = problem(n, d, m, x_rank=3)
    X = X - X.mean(axis=0)  # else the offsets are a fourth direction
    model = ReducedRankRegression(rank).fit(X, Y)
    assert model.rank_ == min(rank, 3)
    assert np.abs(model.coef_).max() < 1e2
    # no part in the null space of X, which could be removed for nothing
    null = np.linalg.svd(X)[2][3:]
    assert_allclose(model.coef_ @ null.T, 0, atol=1e-13)
    # the limit of the ridge penalty, which has one solution
    nearly = ReducedRankRegression(rank, alpha=1e-9).fit(X, Y)
    assert_allclose(model.coef_, nearly.coef_, atol=1e-8)
    if rank == 4:
        theirs = LinearRegression().fit(X, Y)
        assert_allclose(model.coef_, theirs.coef_, atol=1e-12)


@given(st.integers(0, 1000), st.integers(1, 3), st.sampled_from([0.0, 2.0]))
def test_rotations_offsets_and_scales(seed, rank, alpha):
    X, Y = problem(12, 4, 3, seed=seed)
    model = ReducedRankRegression(rank, alpha=alpha).fit(X, Y)
    Q, R = orthogonal(3, seed), orthogonal(4, seed + 1)
    turned = clone(model).fit(X @ R, Y @ Q)
    scale = np.abs(model.coef_).max()
    assert_allclose(turned.coef_, Q.T @ model.coef_ @ R, atol=1e-8 * scale)
    moved = clone(model).fit(X + 7.0, Y - 5.0)
    assert_allclose(moved.coef_, model.coef_, atol=1e-8 * scale)
    assert_allclose(moved.predict(X + 7.0), model.predict(X) - 5.0, atol=1e-9)
    # all data twice is half the penalty
    twice = ReducedRankRegression(rank, alpha=2 * alpha)
    twice.fit(np.vstack([X, X]), np.vstack([Y, Y]))
    assert_allclose(twice.coef_, model.coef_, atol=1e-8 * scale)
    if alpha == 0:  # least squares does not know the units of the features
        units = np.array([1e-3, 1.0, 10.0, 1e3])
        scaled = clone(model).fit(X * units, Y)
        assert_allclose(scaled.coef_ * units, model.coef_, atol=1e-8 * scale)


def test_one_output():
    X, Y = problem(m=1)
    for alpha in (0.0, 2.0):
        model = ReducedRankRegression(alpha=alpha).fit(X, Y[:, 0])
        theirs = Ridge(alpha=alpha).fit(X, Y[:, 0])
        assert model.coef_.shape == (6,)
        assert isinstance(model.intercept_, float)
        assert model.predict(X).shape == (30,)
        assert_allclose(model.coef_, theirs.coef_, atol=1e-12)
        assert_allclose(model.intercept_, theirs.intercept_, atol=1e-12)
        column = clone(model).fit(X, Y)
        assert_array_equal(column.coef_, model.coef_[None])
        assert column.predict(X).shape == (30, 1)
    assert ReducedRankRegression(fit_intercept=False).fit(X, Y).intercept_ == 0.0


def test_nothing_to_learn_from():
    X, Y = problem()
    constant = ReducedRankRegression(2).fit(X, np.full((30, 5), 0.1))
    flat = ReducedRankRegression(2).fit(np.full((30, 6), 1e8 / 3), Y)
    for model, expected in [(constant, np.full(5, 0.1)), (flat, Y.mean(axis=0))]:
        assert model.rank_ == 0
        assert_array_equal(model.coef_, np.zeros((5, 6)))
        assert_allclose(model.predict(X), np.tile(expected, (30, 1)), rtol=1e-14)
    # a constant feature takes no part
    model = ReducedRankRegression(2).fit(np.column_stack([X, np.full(30, 1e8 / 3)]), Y)
    assert_array_equal(model.coef_[:, -1], 0.0)
    alone = ReducedRankRegression(2).fit(X, Y)
    assert_allclose(model.coef_[:, :-1], alone.coef_, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-170, 1e170])
def test_extreme_units(scale):
    X, Y = problem()
    model = ReducedRankRegression(2).fit(scale * X, scale * Y)
    expected = ReducedRankRegression(2).fit(X, Y)
    assert_allclose(model.coef_, expected.coef_, rtol=1e-10)
    assert model.rank_ == 2


def test_no_matrix_of_features_by_features():
    X, Y = problem(n=8, d=20_000, m=3)  # 3.2 GB if it were
    tracemalloc.start()
    model = ReducedRankRegression(2, alpha=1.0).fit(X, Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.coef_.shape == (3, 20_000)
    assert peak < 10 * X.nbytes


def test_data_frames_and_a_search():
    X, Y = problem()
    frame = pd.DataFrame(Y, columns=list("abcde"))
    model = ReducedRankRegression(2).fit(pd.DataFrame(X, columns=list("uvwxyz")), frame)
    assert model.output_names_.tolist() == list("abcde")
    assert model.feature_names_in_.tolist() == list("uvwxyz")
    plain = ReducedRankRegression(2).fit(X, Y)
    assert_allclose(model.coef_, plain.coef_, atol=1e-13)
    assert not hasattr(model.fit(X, Y), "output_names_")
    search = GridSearchCV(ReducedRankRegression(), {"rank": [1, 2, 5]}, cv=3).fit(X, Y)
    assert search.best_estimator_.coef_.shape == (5, 6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rank": 0}, "rank must be an integer >= 1, got 0"),
        ({"rank": -1}, "rank must be an integer >= 1, got -1"),
        ({"rank": 1.5}, "rank must be an integer >= 1, got 1.5"),
        ({"rank": None}, "rank must be an integer >= 1, got None"),
        ({"rank": True}, "rank must be an integer >= 1, got True"),
        ({"alpha": -1e-9}, "alpha must be a finite number >= 0, got -1e-09"),
        ({"alpha": np.nan}, "alpha must be a finite number >= 0, got nan"),
        ({"alpha": np.inf}, "alpha must be a finite number >= 0, got inf"),
        ({"alpha": "1"}, "alpha must be a finite number >= 0, got '1'"),
        ({"fit_intercept": "no"}, "fit_intercept must be True or False, got 'no'"),
    ],
)
def test_bad_parameters(parameters, message):
    model = ReducedRankRegression(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(np.full((2, 2), np.nan), None)  # before any look at the data
    assert not hasattr(model, "coef_")


def test_sparse_rows_are_refused():
    X, Y = problem()
    with pytest.raises(TypeError, match="dense data is required"):
        ReducedRankRegression().fit(sp.csr_matrix(X), Y)


def test_sparse_targets_are_taken():
    X, Y = problem()
    dense, sparse = (ReducedRankRegression().fit(X, y) for y in (Y, sp.csr_array(Y)))
    assert_allclose(sparse.coef_, dense.coef_)
