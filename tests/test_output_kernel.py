"""L kept as eigenvalues and eigenvectors, against the matrix."""

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from okl.output_kernels import OutputKernel
from tests.samples import orthogonal, psd

CASES = {
    "full": psd(4),
    "rank 2": psd(5, rank=2),
    "zero": np.zeros((3, 3)),
    "one output": np.array([[2.0]]),
    "badly scaled": np.diag([1e-8, 1e8, 1.0]),
}
each = pytest.mark.parametrize("matrix", CASES.values(), ids=CASES)


def agree(kernel, matrix):
    m = len(matrix)
    scale = np.abs(matrix).max()
    assert_allclose(kernel.matrix(), matrix, atol=1e-14 * scale)
    assert_array_equal(kernel.matrix(), kernel.matrix().T)
    assert kernel.rank == np.linalg.matrix_rank(matrix, hermitian=True)
    assert np.all(kernel.eigenvalues > 0)
    assert np.all(np.diff(kernel.eigenvalues) <= 0)
    factor = kernel.factor()
    assert factor.shape == (m, kernel.rank)
    assert_allclose(factor @ factor.T, matrix, atol=1e-14 * scale)
    rows = np.random.default_rng(0).normal(size=(2, m))
    assert_allclose(kernel.multiply(rows), rows @ matrix, atol=1e-13 * scale)
    V = kernel.coordinates(np.eye(m))
    assert_allclose(V.T @ V, np.eye(kernel.rank), atol=1e-13)


@each
def test_from_a_matrix(matrix):
    agree(OutputKernel.from_matrix(matrix), matrix)


@each
@pytest.mark.parametrize("extra", [0, 3])
def test_from_a_factor(matrix, extra):
    values, vectors = np.linalg.eigh(matrix)
    B = vectors * np.sqrt(np.clip(values, 0, None))
    B = np.hstack([B, np.zeros((len(matrix), extra))])
    agree(OutputKernel.from_factor(B), matrix)


@pytest.mark.parametrize("p", [0, 1, 3, 4, 6])
def test_from_a_thin_or_a_wide_factor(p):
    B = np.random.default_rng(p).normal(size=(4, p))
    agree(OutputKernel.from_factor(B), B @ B.T)


def test_a_factor_with_a_dependent_column_has_a_lower_rank():
    b = np.arange(1.0, 6.0)[:, None]
    agree(OutputKernel.from_factor(np.hstack([b, 2 * b])), 5 * b @ b.T)


def test_without_a_basis_it_is_diagonal():
    kernel = OutputKernel(np.array([3.0, 2.0, 1.0]))
    agree(kernel, np.diag([3.0, 2.0, 1.0]))
    agree(OutputKernel(np.array([3.0, 2.0, 0.0])).on_range(), np.diag([3.0, 2.0, 0]))


@each
def test_embedding(matrix):
    Q = orthogonal(7, 1, len(matrix))
    kernel = OutputKernel.from_matrix(matrix)
    agree(kernel.embed(Q), Q @ matrix @ Q.T)
    thin = OutputKernel(np.ones(1)).embed(Q[:, :1])
    agree(thin, Q[:, :1] @ Q[:, :1].T)


def test_rounding_is_no_rank():
    B = np.random.default_rng(0).normal(size=(50, 3))
    assert OutputKernel.from_matrix(B @ B.T).rank == 3
    Q = orthogonal(50, 0)
    exact = (Q * np.r_[np.ones(20), np.zeros(30)]) @ Q.T
    assert OutputKernel.from_matrix((exact + exact.T) / 2).rank == 20


@each
def test_any_array_namespace(matrix):
    kernel = OutputKernel.from_matrix(strict.asarray(matrix))
    assert kernel.eigenvalues.__array_namespace__() is strict
    scale = np.abs(matrix).max()
    assert_allclose(np.asarray(kernel.matrix()), matrix, atol=1e-14 * scale)
    factor = OutputKernel.from_factor(kernel.factor())
    assert_allclose(np.asarray(factor.matrix()), matrix, atol=1e-13 * scale)
