"""Given matrices: lookup by row number, and never copied."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.svm import SVC

from okl.kernels import Average, Columns, Gaussian, Gram

rng = np.random.default_rng(11)
_factor = rng.normal(size=(30, 3))
M = _factor @ _factor.T
ROWS = np.arange(30.0)[:, None]


def test_lookup():
    x, z = [4, 0, 4], [29, 4]
    K = Gram(M)(np.array(x)[:, None], np.array(z)[:, None])
    assert_array_equal(K, [[M[i, j] for j in z] for i in x])
    assert_array_equal(Gram(M).diagonal(np.array(x)[:, None]), [M[i, i] for i in x])


def test_single_precision_and_integer_matrices_give_float64():
    for matrix in (M.astype(np.float32), np.eye(30, dtype=int)):
        K = Gram(matrix).resolve(ROWS)(ROWS)
        assert K.dtype == np.float64
        assert_array_equal(K, matrix)
        assert Gram(matrix).diagonal(ROWS).dtype == np.float64


@pytest.mark.parametrize(
    ("kernel", "find"),
    [
        (Gram(M), lambda k: k),
        (Gram(M) + 1, lambda k: k.left),
        (Gaussian() * Gram(M), lambda k: k.right),
        (Columns(Gram(M), 0), lambda k: k.kernel),
        (Average([Gaussian(), 2 * Gram(M)]), lambda k: k.kernels[1].right),
    ],
    ids=["Gram", "Sum", "Product", "Columns", "Average"],
)
def test_clone_never_copies_the_matrix(kernel, find):
    assert find(clone(kernel)).matrix is M
    assert find(kernel.resolve(ROWS)).matrix is M
    assert find(clone(SVC(kernel=kernel)).kernel).matrix is M
    assert find(clone(kernel)) is not find(kernel)


def test_grid_search_does_not_copy_the_matrix():
    y = (M[0] > 0).astype(int)
    search = GridSearchCV(SVC(kernel=Gram(M)), {"C": [0.1, 1.0]}, cv=2).fit(ROWS, y)
    assert search.best_estimator_.kernel.matrix is M


def test_a_pickle_is_independent():
    copy = pickle.loads(pickle.dumps(Gram(M)))
    assert copy.matrix is not M
    assert_array_equal(copy.matrix, M)


def test_cross_validation_of_row_numbers_is_that_of_a_precomputed_matrix():
    y = (M[0] > 0).astype(int)
    ours = cross_val_predict(
        SVC(kernel=Gram(M)), ROWS, y, cv=3, method="decision_function"
    )
    theirs = cross_val_predict(
        SVC(kernel="precomputed"), M, y, cv=3, method="decision_function"
    )
    assert_array_equal(ours, theirs)


@pytest.mark.parametrize("row", [-1, 30, 0.5, 1e300])
def test_row_numbers_are_checked(row):
    X = np.array([[0.0], [row]])
    for call in (Gram(M).resolve, Gram(M), Gram(M).diagonal):
        with pytest.raises(
            ValueError, match="takes row numbers from 0 to 29 as X, got"
        ):
            call(X)
    with pytest.raises(ValueError, match="takes row numbers from 0 to 29 as X, got"):
        Gram(M)(ROWS, X)


@pytest.mark.parametrize("row", [np.nan, np.inf])
def test_row_numbers_must_be_finite(row):
    with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
        Gram(M)(np.array([[0.0], [row]]))


def test_a_matrix_as_X():
    message = "single column, .* got 30 columns. Use Columns.*kernel='precomputed'"
    with pytest.raises(ValueError, match=message):
        Gram(M).resolve(M)


def test_matrix_must_be_square():
    with pytest.raises(ValueError, match=r"matrix of Gram must be square, .*\(30, 29"):
        Gram(M[:, :29]).resolve(ROWS)


def test_matrix_must_be_symmetric_up_to_rounding():
    unit = np.zeros((30, 30))
    unit[3, 5] = abs(M).max()
    Gram(M + 0.9e-5 * unit).resolve(ROWS)
    with pytest.raises(ValueError, match=r"must be symmetric.* pass \(M \+ M.T\) / 2"):
        Gram(M + 1.1e-5 * unit).resolve(ROWS)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_matrix_must_be_finite(value):
    matrix = M.copy()
    matrix[2, 2] = value
    with pytest.raises(ValueError, match=r"matrix of Gram contains (NaN|infinity)"):
        Gram(matrix).resolve(ROWS)


def test_matrix_must_be_a_matrix():
    with pytest.raises(ValueError, match="Expected 2D array"):
        Gram(np.ones(30)).resolve(ROWS)
