"""With all columns it is the inverse."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl import OutputKernelClassifier, OutputKernelRegressor
from okl.kernels import Gaussian, Linear
from okl.losses import Logistic, Softmax, Squared
from okl.operators import (
    Dense,
    DiagonalOperator,
    OperatorTerms,
    counted_products,
)
from okl.operators.joint_sum import JointSum
from okl.operators.terms import RowOperator
from okl.output_kernels import OutputKernelTerms, SpectralKernel
from okl.solvers.predictor import preconditioner_form
from okl.solvers.predictor.low_rank_preconditioner import preconditioner
from okl.structures import Fixed
from tests.samples import gaussian, psd

N, M = 30, 3
rng = np.random.default_rng(0)
ROWS = rng.normal(size=(N, 2))
RIGHT = rng.normal(size=(N, M))
ONE = psd(M, 1)
KERNELS = Dense(gaussian(ROWS)), Dense(ROWS @ ROWS.T)
ROW = RowOperator(np.ones(N))
UNEVEN = DiagonalOperator(1.0 + np.arange(N) % 4)


def joint(operators, matrices):
    kernels = tuple(SpectralKernel.from_matrix(matrix) for matrix in matrices)
    return JointSum(OperatorTerms(operators), OutputKernelTerms(kernels))


def error(joint, curvature, alpha=0.1, rank=N):
    """Return by how much the approximate inverse misses what the system came from."""
    apply = preconditioner(joint, joint.low_rank(rank), curvature, alpha)
    right = curvature.project(RIGHT)
    inside = joint @ curvature.factor(right)
    back = apply(alpha * right + curvature.adjoint(inside))
    return np.abs(back - right).max()


def curvature(loss):
    targets = loss.coding.encode(np.arange(N) % M, "multiclass", M)
    return loss.curvature(targets, 3 * RIGHT)


def test_a_diagonal_kernel_beside_the_term_of_a_row_is_exact():
    terms = joint((UNEVEN, ROW), (ONE, psd(M, 3)))
    assert error(terms, curvature(Squared()), rank=0) < 1e-6


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Softmax()], ids=repr)
@pytest.mark.parametrize("rank", [1, M], ids=["few", "all"])
def test_all_columns_are_the_inverse(loss, rank, monkeypatch):
    monkeypatch.setattr(preconditioner_form, "_PRODUCTS", 1e6)
    terms = joint(KERNELS, (ONE, psd(M, 2, rank=rank)))
    assert error(terms, curvature(loss)) < 1e-5


def test_the_term_of_a_row_is_in_the_diagonal(monkeypatch):
    # exact where the L of that term couples nothing, whatever the weights
    monkeypatch.setattr(preconditioner_form, "_PRODUCTS", 1e6)
    terms = joint((KERNELS[0], UNEVEN), (ONE, np.diag([1.0, 2.0, 3.0])))
    assert error(terms, curvature(Logistic())) < 1e-5


@pytest.mark.parametrize("loss", [Logistic(), Softmax()], ids=repr)
@pytest.mark.parametrize("matrix", [np.zeros((M, M)), ONE], ids=["zero", "one"])
def test_output_kernels_may_be_zero(loss, matrix):
    terms = joint(KERNELS, (np.zeros((M, M)), matrix))
    assert error(terms, curvature(loss)) < 1e-5


def test_nothing_is_made_where_columns_would_cost_too_much(monkeypatch):
    monkeypatch.setattr(preconditioner_form, "_PRODUCTS", 0)
    monkeypatch.setattr(preconditioner_form, "_SMALL", 0)
    terms, W = joint(KERNELS, (ONE, psd(M, 2))), curvature(Logistic())
    apply = preconditioner(terms, terms.low_rank(N), W, 0.1)
    assert_allclose(apply(RIGHT), RIGHT / 0.1)


@pytest.mark.parametrize("loss", ["softmax", "logistic", "huber"])
def test_fits_take_a_fraction_of_the_products(loss, monkeypatch):
    n, m = 150, 5
    rng = np.random.default_rng(0)
    X, directions = rng.normal(size=(n, 6)), rng.normal(size=(2, 6, m))
    scores = np.sin(X @ directions[0]) + 0.5 * X @ directions[1]
    structures = [Fixed(psd(m, 1)), Fixed(psd(m, 2, rank=2))]

    def products():
        if loss == "huber":
            estimator, y = OutputKernelRegressor, scores + rng.standard_t(2, (n, m))
        else:
            estimator, y = OutputKernelClassifier, scores.argmax(axis=1)
        kernels = [Gaussian(0.1), Linear()]
        model = estimator(kernels, structures, 1e-3, loss=loss, tol=1e-4)
        with counted_products() as count, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # scales of columns
            model.fit(X, y)
        assert model.certificate_.status == "optimal"
        return count.total

    fewer = products()
    monkeypatch.setattr(preconditioner_form, "_PRODUCTS", 0)
    monkeypatch.setattr(preconditioner_form, "_SMALL", 0)
    assert fewer < 0.6 * products()
