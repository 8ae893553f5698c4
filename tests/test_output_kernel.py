"""Output kernels against the matrix that they stand for."""

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from okl.losses import Huber, Logistic, Softmax
from okl.operators import Dense
from okl.output_kernels import OutputKernel, SpectralKernel
from okl.problems import Inputs, formulate
from okl.solvers import NewtonCG, Request
from okl.structures import Fixed
from tests.samples import orthogonal, psd, targets_for

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
    assert_allclose(kernel.adjoint(rows), rows @ factor, atol=1e-13 * scale**0.5)
    back = kernel.forward(kernel.adjoint(rows))
    assert_allclose(back, rows @ matrix, atol=1e-13 * scale)
    assert_allclose(kernel.rows([0, m - 1]), matrix[[0, -1]], atol=1e-14 * scale)
    assert_allclose(kernel.diagonal(), np.diag(matrix), atol=1e-14 * scale)
    assert kernel.largest_eigenvalue == pytest.approx(np.linalg.norm(matrix, 2))
    assert kernel.n_outputs == m
    assert kernel.spectral() is kernel
    V = kernel.coordinates(np.eye(m))
    assert_allclose(V.T @ V, np.eye(kernel.rank), atol=1e-13)


@each
def test_from_a_matrix(matrix):
    agree(SpectralKernel.from_matrix(matrix), matrix)


@each
@pytest.mark.parametrize("extra", [0, 3])
def test_from_a_factor(matrix, extra):
    values, vectors = np.linalg.eigh(matrix)
    B = vectors * np.sqrt(np.clip(values, 0, None))
    B = np.hstack([B, np.zeros((len(matrix), extra))])
    agree(SpectralKernel.from_factor(B), matrix)


@pytest.mark.parametrize("p", [0, 1, 3, 4, 6])
def test_from_a_thin_or_a_wide_factor(p):
    B = np.random.default_rng(p).normal(size=(4, p))
    agree(SpectralKernel.from_factor(B), B @ B.T)


def test_a_factor_with_a_dependent_column_has_a_lower_rank():
    b = np.arange(1.0, 6.0)[:, None]
    agree(SpectralKernel.from_factor(np.hstack([b, 2 * b])), 5 * b @ b.T)


def test_without_a_basis_it_is_diagonal():
    kernel = SpectralKernel(np.array([3.0, 2.0, 1.0]))
    agree(kernel, np.diag([3.0, 2.0, 1.0]))
    agree(SpectralKernel(np.array([3.0, 2.0, 0.0])).on_range(), np.diag([3.0, 2.0, 0]))


@each
def test_embedding(matrix):
    Q = orthogonal(7, 1, len(matrix))
    kernel = SpectralKernel.from_matrix(matrix)
    agree(kernel.embed(Q), Q @ matrix @ Q.T)
    thin = SpectralKernel(np.ones(1)).embed(Q[:, :1])
    agree(thin, Q[:, :1] @ Q[:, :1].T)


def test_rounding_is_no_rank():
    B = np.random.default_rng(0).normal(size=(50, 3))
    assert SpectralKernel.from_matrix(B @ B.T).rank == 3
    Q = orthogonal(50, 0)
    exact = (Q * np.r_[np.ones(20), np.zeros(30)]) @ Q.T
    assert SpectralKernel.from_matrix((exact + exact.T) / 2).rank == 20


@each
def test_any_array_namespace(matrix):
    kernel = SpectralKernel.from_matrix(strict.asarray(matrix))
    assert kernel.eigenvalues.__array_namespace__() is strict
    scale = np.abs(matrix).max()
    assert_allclose(np.asarray(kernel.matrix()), matrix, atol=1e-14 * scale)
    factor = SpectralKernel.from_factor(kernel.factor())
    assert_allclose(np.asarray(factor.matrix()), matrix, atol=1e-13 * scale)


class OneBranch(OutputKernel):
    """own I + common 11', which multiplies in one pass over the outputs.

    The smallest tree: each output is a leaf, and all of them hang from one node.
    """

    rank, n_outputs, couples = 5, 4, True

    def __init__(self, own, common):
        self._own, self._common, self.decomposed = own, common, 0

    @property
    def largest_eigenvalue(self):
        return self._own + self.n_outputs * self._common

    def adjoint(self, rows):
        sums = rows.sum(axis=1, keepdims=True)
        return np.hstack([self._own**0.5 * rows, self._common**0.5 * sums])

    def forward(self, inside):
        return self._own**0.5 * inside[:, :-1] + self._common**0.5 * inside[:, -1:]

    def rows(self, numbers):
        return self.matrix()[numbers]

    def diagonal(self):
        return np.full(self.n_outputs, self._own + self._common)

    def factor(self):
        return self.adjoint(np.eye(self.n_outputs))

    def matrix(self):
        return self._own * np.eye(self.n_outputs) + self._common

    def spectral(self):
        self.decomposed += 1
        return SpectralKernel.from_matrix(self.matrix())


@pytest.mark.parametrize("loss", [Huber(0.8), Logistic(), Softmax()], ids=repr)
def test_newtons_method_takes_any_implementation(loss):
    K, Y = targets_for(loss, 20, 4)
    tree = OneBranch(0.5, 2.0)
    structure, tol = Fixed(tree.matrix()), 1e-9
    inputs = Inputs.of(Dense(K.copy()), fit_intercept=True)
    problem = formulate(inputs, Y, loss, structure).problem
    solver = NewtonCG(columns=0)  # a diagonal preconditioner needs no eigenbasis
    prepared = solver.prepare_for(problem, tree)
    found = solver.solve(prepared, Request(0.5, tol=tol, max_iter=100))
    known = solver.solve(solver.prepare(problem), Request(0.5, tol=tol, max_iter=100))
    assert found.certificate.status == known.certificate.status == "optimal"
    primal = known.certificate.primal
    assert found.certificate.primal == pytest.approx(primal, rel=2 * tol)
    # the certificate takes the norm in the eigenbasis; no product did
    assert found.n_iter > 1
    assert tree.decomposed == 1
