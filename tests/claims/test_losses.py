"""Any loss with any structure, against a conic solver that knows neither.

The formulation of the conic solver is in `tests.reference.conic_optimum`.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.losses import Hinge, Huber, Logistic, Softmax, Squared, SquaredHinge
from okl.structures import (
    Cluster,
    Fixed,
    Frobenius,
    Identity,
    LowRank,
    Mean,
    Sparse,
    TraceBall,
)
from tests import reference
from tests.samples import psd, solve, targets_for

N, M = 9, 3
LOSSES = {loss.name: loss for loss in (Huber(0.8), Logistic(), Softmax())}
LOSSES |= {"hinge": Hinge(), "squared_hinge": SquaredHinge()}
KNOWN = {
    "identity": Identity(),
    "fixed": Fixed(psd(M, 5)),
    "fixed-singular": Fixed(psd(M, 6, rank=1)),
    "mean": Mean(2.0),
}
LEARNED = {
    "frobenius": Frobenius(),
    "low-rank": LowRank(),
    "trace-ball": TraceBall(),
    "trace-ball-eps": TraceBall(1e-2),
    "cluster": Cluster(2),
    "sparse": Sparse(0.3, 1e-2),
}
losses = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
known = pytest.mark.parametrize("structure", KNOWN.values(), ids=KNOWN)
learned = pytest.mark.parametrize("structure", LEARNED.values(), ids=LEARNED)
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])


def weights_for(loss, columns=True):
    """Draw weights of entries, some zero, where the loss has them; else of rows."""
    shape = (N, M) if columns and loss.name != "softmax" else (N, 1)
    weights = np.random.default_rng(3).uniform(0.2, 2.0, size=shape)
    weights[1] = 0.0
    weights[-1, -1] = 0.0
    return weights


def compare(loss, structure, alpha, intercept, weights=None):
    """Compare value, bound and predictions where these are determined."""
    K, Y = targets_for(loss, N, M)
    # an objective within tol P of the least leaves predictions (2 tol P / v)^(1/2) of
    # room, v the least second derivative of the loss there: for classes a tenth or less
    found = solve(
        K,
        Y,
        structure,
        alpha,
        intercept=intercept,
        loss=loss,
        weights=weights,
        tol=1e-8 if "known" in structure.capabilities else 5e-8,
        max_iter=200,
    )
    value, F = reference.conic_optimum(K, Y, alpha, structure, intercept, loss, weights)
    certificate = found.solution.certificate
    assert certificate.status == "optimal"
    assert certificate.dual <= value * (1 + 1e-7)
    assert_allclose(certificate.primal, value, rtol=1e-6)
    assert_allclose(certificate.dual, value, rtol=1e-6)
    predictions = found.predict(K)
    if loss.name == "softmax":  # a number added to all scores of all rows is free
        predictions, F = predictions - predictions.mean(), F - F.mean()
    if intercept and "smooth" not in loss.capabilities:  # b may have a range
        predictions, F = predictions - predictions.mean(axis=0), F - F.mean(axis=0)
    assert_allclose(predictions, F, atol=2e-3 * np.abs(F).max())


@losses
@known
@intercepts
@pytest.mark.parametrize("alpha", [1.0, 0.03])
@pytest.mark.each_value
def test_known_output_kernel(loss, structure, intercept, alpha):
    compare(loss, structure, alpha, intercept)


@losses
@learned
@intercepts
@pytest.mark.each_value
def test_learned_output_kernel(loss, structure, intercept):
    compare(loss, structure, 0.3, intercept)


@pytest.mark.parametrize(
    "loss", [Squared(), *LOSSES.values()], ids=["squared", *LOSSES]
)
@pytest.mark.parametrize(
    "structure", [KNOWN["fixed"], LEARNED["frobenius"], LEARNED["low-rank"]], ids=repr
)
@intercepts
@pytest.mark.each_value
def test_weights(loss, structure, intercept):
    compare(loss, structure, 0.3, intercept, weights_for(loss))


@losses
@pytest.mark.parametrize(
    "structure", [*KNOWN.values(), *LEARNED.values()], ids=[*KNOWN, *LEARNED]
)
def test_an_unfinished_fit_brackets_the_optimum(loss, structure):
    K, Y = targets_for(loss, N, M)
    value, _ = reference.conic_optimum(K, Y, 0.05, structure, True, loss)
    for max_iter in (1, 2, 4):
        certificate = solve(
            K,
            Y,
            structure,
            0.05,
            intercept=True,
            loss=loss,
            max_iter=max_iter,
            tol=1e-9,
        ).solution.certificate
        assert certificate.dual <= value * (1 + 1e-7)
        assert certificate.primal >= value * (1 - 1e-7)
        assert certificate.dual > -np.inf


@losses
@pytest.mark.parametrize(
    "structure", [*KNOWN.values(), *LEARNED.values()], ids=[*KNOWN, *LEARNED]
)
def test_no_bound_is_below_that_of_no_model(loss, structure):
    # the dual point of a far larger alpha bounds nothing: without a model zero does
    K, Y = targets_for(loss, N, M)
    found = solve(K, Y, structure, 1.0, intercept=True, loss=loss)
    solution, alpha = found.solution, 1e-3
    certificate = found.formulation.problem.certificate(
        solution.dual_coef,
        solution.output_kernel,
        alpha,
        tol=1e-6,
        intercept=solution.intercept,
        dual_point=solution.dual_point,
    )
    value, _ = reference.conic_optimum(K, Y, alpha, structure, True, loss)
    assert 0 <= certificate.dual <= value * (1 + 1e-6) + 1e-8
