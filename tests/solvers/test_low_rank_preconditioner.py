"""With all columns of K the preconditioner is the inverse it stands for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.coding.tasks import Tasks
from okl.losses import Logistic, Softmax, Squared
from okl.operators import Dense, Kronecker, SeparableSum, Term
from okl.output_kernels import SpectralKernel
from okl.problems import Observed
from okl.solvers.predictor import preconditioner_form
from okl.solvers.predictor.approximation import Prepared
from okl.solvers.predictor.low_rank_preconditioner import preconditioner
from okl.solvers.predictor.preconditioner_form import _affordable
from okl.structures import Fixed, Frobenius, Identity
from tests.samples import gaussian, psd

N, M = 40, 3
rng = np.random.default_rng(0)
ROWS = rng.normal(size=(N, 2))
RIGHT = rng.normal(size=(N, M))
SCORES = 3 * rng.normal(size=(N, M))


def shared():
    return Dense(gaussian(ROWS))


def per_output():
    one, other = Dense(gaussian(ROWS)), Dense(ROWS @ ROWS.T)
    return SeparableSum(
        (
            Term(one, np.array([0, 2]), np.array([1.0, 3.0])),
            Term(other, np.array([1]), np.array([2.0])),
        )
    )


@pytest.mark.parametrize("loss", [Logistic(), Softmax()], ids=repr)
@pytest.mark.parametrize(
    ("operator", "structure"),
    [
        (shared(), Identity()),
        (shared(), Fixed(psd(M, 5))),
        (shared(), Fixed(psd(M, 6, rank=2))),
        (per_output(), Identity()),
    ],
    ids=["identity", "fixed", "fixed-singular", "per-output"],
)
@pytest.mark.parametrize("weights", [None, 1.0 + np.arange(N)[:, None] % 3])
@pytest.mark.parametrize("alpha", [10.0, 0.01])
def test_all_columns_are_the_inverse(
    loss, operator, structure, alpha, weights, monkeypatch
):
    monkeypatch.setattr(preconditioner_form, "_PRODUCTS", 1e6)
    targets = loss.coding.encode(np.arange(N) % M, "multiclass", M)
    curvature = loss.curvature(targets, SCORES, weights)
    known = structure.known(targets)
    joint = Kronecker(operator, known)
    apply = preconditioner(joint, operator.low_rank(N), curvature, alpha)

    def system(right):
        inside = operator @ curvature.factor(right)
        return alpha * right + curvature.adjoint(known.multiply(inside))

    # on the range of V': elsewhere it is 1 / alpha
    right = curvature.project(RIGHT)
    back = apply(system(right))
    assert_allclose(back, right, atol=1e-4)


def test_it_stays_positive_definite_where_probabilities_saturate():
    loss = Softmax()
    targets = loss.coding.encode(np.arange(N) % M, "multiclass", M)
    operator = shared()
    curvature = loss.curvature(targets, 20 * SCORES)
    known = Identity().known(targets)
    for alpha in (1e2, 1.0, 1e-2, 1e-4):
        joint = Kronecker(operator, known)
        apply = preconditioner(joint, operator.low_rank(20), curvature, alpha)
        columns = np.eye(N * M).reshape(-1, N, M)
        matrix = np.stack([apply(column).ravel() for column in columns])
        matrix = (matrix + matrix.T) / 2
        values = np.linalg.eigvalsh(matrix)
        assert values[0] > 0
        assert values[-1] <= 1.01 / alpha


def test_more_outputs_allow_fewer_columns():
    ranks = [_affordable(4000.0**2, 4000, q) for q in (2, 6, 20, 100)]
    assert ranks == sorted(ranks, reverse=True)
    assert ranks[1] > 100
    assert ranks[-1] * 100 < 4000


def test_of_an_output_kernel_that_is_too_much_work_nothing_is_made(monkeypatch):
    # the weights of a row are not those of its mean, which took more products
    monkeypatch.setattr(preconditioner_form, "_PRODUCTS", 0)
    monkeypatch.setattr(preconditioner_form, "_SMALL", 0)
    loss = Logistic()
    targets = loss.coding.encode(np.arange(N) % M, "multiclass", M)
    known, operator = Fixed(psd(M, 5)).known(targets), shared()
    curvature = loss.curvature(targets, SCORES)
    joint = Kronecker(operator, known)
    apply = preconditioner(joint, operator.low_rank(N), curvature, 0.1)
    assert_allclose(apply(RIGHT), RIGHT / 0.1)


def test_in_long_form_the_columns_are_those_of_the_output_kernel():
    # found for one L and kept for another they stand for nothing: products then took
    # several times as many steps, to the same end
    tasks = Tasks(np.arange(N) % M, M)
    observed = Observed(RIGHT[:, :1], Squared(), tasks=tasks)
    inputs = observed.inputs(shared(), fit_intercept=False)
    problem = observed.formulate(inputs, Frobenius()).problem
    first = SpectralKernel(np.ones(M))
    prepared = Prepared.of(problem, first, N * M)
    for L in (np.eye(M), psd(M, 5)):
        kernel = SpectralKernel.from_matrix(L)
        moved = prepared.under(problem, kernel)
        (columns,) = moved.approximation.columns.factors
        expected = gaussian(ROWS) * L[np.ix_(tasks.codes, tasks.codes)]
        assert_allclose(columns @ columns.T, expected, atol=1e-6)
