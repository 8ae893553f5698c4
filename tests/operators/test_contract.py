"""Every operator against the matrix that it stands for."""

import pickle

import array_api_strict as strict
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from okl.kernels import Gaussian
from okl.operators import Dense, DiagonalOperator, Features, RowBlocks, SparseFeatures
from tests.samples import gaussian

N = 11


def phi(n_features, seed=0, rank=None):
    """Features with a mean, half of them zero."""
    rng = np.random.default_rng(seed)
    F = (1 + rng.normal(size=(N, n_features))) * (rng.random((N, n_features)) < 0.6)
    if rank:
        F[:, rank:] = F[:, :rank] @ rng.normal(size=(rank, n_features - rank))
    return F


def dense(seed=0):
    K = gaussian(phi(3, seed))
    return Dense(K.copy()), K


def dense_deficient():
    F = phi(3)
    return Dense(F @ F.T), F @ F.T


def dense_borrowed():
    _, K = dense()
    return Dense(K, owned=False), K.copy()


def features():
    F = phi(4)
    return Features(F), F @ F.T


def features_deficient():
    F = phi(5, rank=2)
    return Features(F), F @ F.T


def features_wide():
    F = phi(15)
    return Features(F), F @ F.T


def features_sparse():
    F = phi(4)
    return SparseFeatures(sp.csr_matrix(F)), F @ F.T


def features_sparse_array():
    F = phi(4)
    return SparseFeatures(sp.csr_array(F)), F @ F.T


def features_sparse_deficient():
    F = phi(5, rank=2)
    return SparseFeatures(sp.csr_matrix(F)), F @ F.T


def features_sparse_wide():
    F = phi(15) * (np.random.default_rng(1).random((N, 15)) < 0.4)
    return SparseFeatures(sp.csr_array(F)), F @ F.T


def diagonal():
    d = np.random.default_rng(0).uniform(0.5, 2.0, size=N)
    return DiagonalOperator(d), np.diag(d)


def diagonal_deficient():
    d = np.random.default_rng(0).uniform(0.5, 2.0, size=N)
    d[[0, 4, 10]] = 0.0
    return DiagonalOperator(d), np.diag(d)


def row_blocks():
    X = phi(3)
    # a budget of three blocks of four rows
    return RowBlocks(Gaussian(0.5), X, 8 * 8 * 4 * N), Gaussian(0.5)(X)


def row_blocks_sparse():
    X = sp.csr_array(phi(4))
    return RowBlocks(Gaussian(0.2), X, 1.0), Gaussian(0.2)(X)


MAKERS = [
    row_blocks,
    row_blocks_sparse,
    dense,
    dense_deficient,
    dense_borrowed,
    diagonal,
    diagonal_deficient,
    features,
    features_deficient,
    features_wide,
    features_sparse,
    features_sparse_array,
    features_sparse_deficient,
    features_sparse_wide,
]
H = np.eye(N) - 1 / N


def twice_centered(maker):
    """Centre, take some rows, and centre them again, as cross-validation does."""
    operator, K = maker()
    rows = np.array([0, 2, 3, 5, 6, 9])
    inside = np.eye(6) - 1 / 6
    once = operator.centered()[0].restrict(rows)
    return once.centered()[0], inside @ K[np.ix_(rows, rows)] @ inside


def weighted(maker):
    """Centre and scale by weights of the rows, one of them zero."""
    operator, K = maker()
    weights = np.random.default_rng(4).uniform(0.1, 3.0, size=N)
    weights[2] = 0.0
    share, roots = weights / weights.sum(), np.sqrt(weights)
    centered, means = operator.centered(share)
    assert_allclose(means, K @ share, atol=1e-13)
    inside = np.eye(N) - np.outer(np.ones(N), share)
    matrix = inside @ K @ inside.T
    return centered.scaled(roots), roots[:, None] * matrix * roots


def scaled(maker):
    """Scale without centring."""
    operator, K = maker()
    roots = np.random.default_rng(5).uniform(0.1, 3.0, size=N)
    return operator.scaled(roots), roots[:, None] * K * roots


def variants(maker):
    """Return the operator, centred and scaled in several ways, each with its matrix."""
    operator, K = maker()
    centered, means = maker()[0].centered()
    assert_allclose(means, K.mean(axis=0), atol=1e-13)
    return [
        (operator, K),
        (centered, H @ K @ H),
        twice_centered(maker),
        weighted(maker),
        scaled(maker),
    ]


def eigenvectors(operator):
    """Return those as an array: of a diagonal matrix they are not formed."""
    spectrum = operator.spectrum
    return spectrum.vectors @ np.eye(len(spectrum.eigenvalues))


each = pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
stored = pytest.mark.parametrize(
    "maker",
    [maker for maker in MAKERS if not isinstance(maker()[0], RowBlocks)],
    ids=lambda maker: maker.__name__,
)


@each
def test_products(maker):
    for operator, K in variants(maker):
        right = np.random.default_rng(1).normal(size=(len(K), 3))
        assert operator.n_samples == len(K)
        found = operator @ right
        assert type(found) is np.ndarray
        assert_allclose(found, K @ right, atol=1e-13 * np.linalg.norm(K))


@each
def test_diagonal_and_columns(maker):
    for operator, K in variants(maker):
        scale = np.linalg.norm(K)
        assert_allclose(operator.diagonal(), np.diagonal(K), atol=1e-13 * scale)
        for index in (0, 2, 5):
            assert_allclose(
                operator.columns([index])[:, 0], K[:, index], atol=1e-13 * scale
            )


@stored
def test_spectrum_reconstructs_and_has_no_zeros(maker):
    for operator, K in variants(maker):
        spectrum = operator.spectrum
        d, U = spectrum.eigenvalues, eigenvectors(operator)
        assert_allclose(spectrum.vectors.T @ K, U.T @ K, atol=1e-13)
        assert_allclose(U.T @ U, np.eye(len(d)), atol=1e-7)
        assert_allclose((U * d) @ U.T, K, atol=1e-13 * np.linalg.norm(K))
        assert np.all(d > 0)
        assert np.all(np.diff(d) >= 0)
        assert_allclose(spectrum.norm, np.linalg.norm(K, 2), rtol=1e-12)
        significant = np.linalg.eigvalsh(K) > 1e-9 * spectrum.norm
        assert np.sum(d > 1e-9 * spectrum.norm) == np.sum(significant)
        assert operator.spectrum is spectrum


@stored
def test_eigenvectors_are_orthonormal_to_rounding(maker):
    for operator, K in variants(maker):
        U = eigenvectors(operator)
        assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-12)
        assert U.shape == operator.spectrum.vectors.shape
        assert U.shape[0] == len(K)


@stored
@pytest.mark.parametrize("shift", [1e-3, 1.0, 1e4])
def test_solve(maker, shift):
    for operator, K in variants(maker):
        right = np.random.default_rng(2).normal(size=(len(K), 2))
        before = operator @ right
        found = operator.solve(right, shift)
        expected = np.linalg.solve(K + shift * np.eye(len(K)), right)
        assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())
        assert_array_equal(operator @ right, before)


@each
def test_restrict_and_cross(maker):
    rows, columns = np.array([7, 1, 2, 10]), np.array([0, 3, 4, 5, 8])
    right = np.random.default_rng(3).normal(size=(5, 2))
    operators = [maker(), (maker()[0].centered()[0], None), scaled(maker)]
    for operator, K in operators:
        matrix = H @ maker()[1] @ H if K is None else K
        inside = operator.restrict(columns)
        assert inside.n_samples == 5
        assert_allclose(
            inside @ right, matrix[np.ix_(columns, columns)] @ right, atol=1e-12
        )
        assert_allclose(
            operator.cross(rows, columns) @ right,
            matrix[np.ix_(rows, columns)] @ right,
            atol=1e-12,
        )


@each
def test_column_means_of_centred_blocks(maker):
    # where cross-validation takes the intercept from
    operator, K = maker()
    rows = np.array([0, 2, 3, 5, 6, 9])
    block = operator.centered()[0].restrict(rows)
    _, means = block.centered()
    expected = (H @ K @ H)[np.ix_(rows, rows)].mean(axis=0)
    assert_allclose(means, expected, atol=1e-13 * np.linalg.norm(K))


@each
def test_centring_a_restriction_leaves_the_original_alone(maker):
    operator, K = maker()
    operator.restrict(np.arange(5)).centered()
    right = np.eye(N)[:, :2]
    assert_allclose(operator @ right, K @ right, atol=1e-13 * np.linalg.norm(K))


@stored
def test_the_decomposition_is_not_pickled(maker):
    operator, K = maker()
    size = len(pickle.dumps(operator))
    operator.spectrum  # noqa: B018
    assert len(pickle.dumps(operator)) == size
    copy = pickle.loads(pickle.dumps(operator))
    assert_allclose(copy @ K, K @ K, atol=1e-12 * np.linalg.norm(K) ** 2)


def test_a_borrowed_matrix_is_not_written_to():
    _, K = dense()
    K.flags.writeable = False
    operator = Dense(K, owned=False, trusted=False)
    operator.centered()[0].verified()
    operator.solve(np.ones((N, 1)), 1.0)
    operator.spectrum  # noqa: B018
    assert_allclose(operator.verified() @ np.eye(N), K)
    # what was verified without a copy is still borrowed
    operator.verified().centered()


def test_an_owned_matrix_is_centred_in_place():
    operator, K = dense()
    matrix = operator._matrix
    assert operator.centered()[0]._matrix is matrix
    assert_allclose(matrix, H @ K @ H, atol=1e-14)


def test_features_never_become_a_kernel_matrix():
    import tracemalloc

    n = 2500
    rng = np.random.default_rng(0)
    F = rng.normal(size=(n, 3))
    right = rng.normal(size=(n, 2))
    for given in (Features(F), SparseFeatures(sp.csr_matrix(F))):
        tracemalloc.start()
        try:
            operator = given.centered()[0]
            operator.solve(right, 1.0)
            operator.spectrum  # noqa: B018
            operator.cross(np.arange(n // 2), np.arange(n // 2, n)) @ right[n // 2 :]
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 8 * n * n / 20


@pytest.mark.parametrize("maker", [dense, dense_deficient, features, features_wide])
def test_any_array_namespace(maker):
    operator, K = maker()
    array = operator._matrix if isinstance(operator, Dense) else operator.features
    right = np.random.default_rng(0).normal(size=(N, 2))
    here = type(operator)(strict.asarray(array.copy()))
    there = strict.asarray(right)
    assert_allclose(np.asarray(here @ there), K @ right, atol=1e-12)
    assert_allclose(
        np.asarray(here.solve(there, 0.5)), operator.solve(right, 0.5), atol=1e-10
    )
    spectrum = here.spectrum
    U = np.asarray(spectrum.vectors)
    assert_allclose((U * np.asarray(spectrum.eigenvalues)) @ U.T, K, atol=1e-12)
    rows, columns = strict.asarray(np.arange(3)), strict.asarray(np.arange(4, 9))
    cross = here.cross(rows, columns) @ there[4:9, :]
    assert_allclose(np.asarray(cross), K[:3, 4:9] @ right[4:9], atol=1e-12)
    block = here.restrict(rows) @ there[:3, :]
    assert_allclose(np.asarray(block), K[:3, :3] @ right[:3], atol=1e-12)
    centered, means = here.centered()
    assert_allclose(np.asarray(means), K.mean(axis=0), atol=1e-13)
    assert_allclose(np.asarray(centered @ there), H @ K @ H @ right, atol=1e-12)


def test_sparse_features_multiply_many_columns_some_at_a_time():
    operator, K = features_sparse()
    right = np.random.default_rng(0).normal(size=(N, 150))
    assert_allclose(operator @ right, K @ right, atol=1e-12)
    centred, _ = operator.centered()
    H = np.eye(N) - 1 / N
    assert_allclose(centred @ right, H @ K @ H @ right, atol=1e-12)
