"""Products with matrices that have one entry a row."""

import array_api_strict
import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose

from okl.coding.tasks import LongCoefficients, Tasks
from okl.kernels import Linear
from okl.operators import (
    Coupled,
    Dense,
    Features,
    OneTaskPerRow,
    RowBlocks,
    SparseFeatures,
)
from okl.operators.by_task import (
    ByTask,
    DenseByTask,
    FeaturesByTask,
    SparseFeaturesByTask,
)
from okl.output_kernels import SpectralKernel
from tests.samples import psd

rng = np.random.default_rng(0)
N, M = 30, 4
X = np.where(rng.random((N, 6)) < 0.5, 0.0, rng.normal(size=(N, 6)))
CODES = rng.integers(0, M - 1, N)  # the last task has no rows
C = rng.normal(size=(N, 1))
D = rng.normal(size=(N, 1))
L = psd(M, seed=1)
MATRIX = np.where(CODES[:, None] == np.arange(M), C, 0.0)

OPERATORS = {
    "dense": lambda: Dense(X @ X.T),
    "columns first": lambda: Dense(np.asfortranarray(X @ X.T)),
    "features": lambda: Features(X.copy()),
    "sparse": lambda: SparseFeatures(scipy.sparse.csr_array(X)),
    "sparse, wide": lambda: SparseFeatures(
        scipy.sparse.csr_array(np.hstack([X, np.zeros((N, N))]))
    ),
    "blocks": lambda: RowBlocks(Linear(), X, 8 * 8.0 * N * 4),
}
KINDS = {
    "dense": DenseByTask,
    "columns first": DenseByTask,
    "features": FeaturesByTask,
    "sparse": SparseFeaturesByTask,
    "sparse, wide": ByTask,
    "blocks": ByTask,
}
each = pytest.mark.parametrize("name", OPERATORS)


@each
@pytest.mark.parametrize("centered", [False, True])
def test_products_are_those_of_the_full_matrices(name, centered):
    operator = OPERATORS[name]()
    assert type(operator.by_task(Tasks(CODES, M))) is KINDS[name]
    K = X @ X.T
    if centered:
        operator, _ = operator.centered()
        H = np.eye(N) - 1 / N
        K = H @ K @ H
    rows = OneTaskPerRow(operator, Tasks(CODES, M))
    coupled = Coupled(rows, SpectralKernel.from_matrix(L))
    full = K * L[np.ix_(CODES, CODES)]
    assert_allclose(coupled @ C, full @ C, atol=1e-10)
    for product, right in zip(coupled.both(C, D), (C, D), strict=True):
        assert_allclose(product, full @ right, atol=1e-10)
    assert_allclose(coupled.diagonal[:, 0], np.diag(full), atol=1e-10)
    some = np.array([3, 17, 5])
    assert_allclose(coupled.block(some, 0), full[np.ix_(some, some)], atol=1e-10)
    other = np.where(CODES[:, None] == np.arange(M), D, 0.0)
    by_task = rows.by_task
    gram = by_task.gram(C, by_task.functions(D))
    assert_allclose(gram, MATRIX.T @ K @ other, atol=1e-10)
    # all of a matrix of rank 6, and no more than it
    factor = coupled.low_rank(6 * M).factors[0]
    assert_allclose(factor @ factor.T, full, atol=1e-8)
    few = coupled.low_rank(5).factors[0]
    assert few.shape == (N, 5)
    assert np.linalg.eigvalsh(full - few @ few.T)[0] > -1e-8


@each
@pytest.mark.parametrize("centered", [False, True])
def test_products_with_rows_that_were_held_out(name, centered):
    operator = OPERATORS[name]()
    K = X @ X.T
    if centered:
        operator, _ = operator.centered()
        H = np.eye(N) - 1 / N
        K = H @ K @ H
    rows, columns = np.arange(9), np.arange(9, N)
    tasks, scale = Tasks(CODES, M), np.array([1.0, 2.0, 0.5, 3.0])
    kernel = SpectralKernel.from_matrix(L)
    theta = LongCoefficients(C[columns], tasks.restrict(columns), kernel, scale)
    full = K * L[np.ix_(CODES, CODES)] * scale[CODES][:, None]
    products = operator.by_task(tasks, (rows, columns)) @ theta
    assert_allclose(products, full[np.ix_(rows, columns)] @ C[columns], atol=1e-10)


def test_any_array_namespace():
    xp = array_api_strict
    operator = Dense(xp.asarray(X @ X.T))
    rows = OneTaskPerRow(operator, Tasks(CODES, M))
    coupled = Coupled(rows, SpectralKernel.from_matrix(xp.asarray(L)))
    full = (X @ X.T) * L[np.ix_(CODES, CODES)]
    assert_allclose(np.asarray(coupled @ xp.asarray(C)), full @ C, atol=1e-10)
    sums = Tasks(CODES, M).sums(xp.asarray(C))
    assert_allclose(np.asarray(sums), MATRIX.sum(axis=0), atol=1e-12)


def test_coefficients_multiply_like_the_array_they_stand_for():
    theta = LongCoefficients(C, Tasks(CODES, M), SpectralKernel.from_matrix(L))
    left = rng.normal(size=(7, N))
    assert theta.shape == (N, M)
    assert_allclose(theta.dense(), MATRIX @ L, atol=1e-12)
    assert_allclose(left @ theta, left @ MATRIX @ L, atol=1e-12)
    assert_allclose(left[0] @ theta, left[0] @ MATRIX @ L, atol=1e-12)
    sparse = scipy.sparse.csr_array(np.where(left > 1, left, 0.0))
    assert_allclose(sparse @ theta, sparse @ MATRIX @ L, atol=1e-12)
