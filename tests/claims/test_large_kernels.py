"""Where K is large, dual variables prove more than the gradient of the loss does."""

import numpy as np
import pytest

from okl.losses import Logistic, Softmax, SquaredHinge
from okl.operators import Dense, Features
from okl.problems import Inputs, Observed
from okl.solvers import solve
from okl.structures import Identity
from tests.samples import draw_classes


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize("loss", [Softmax(), Logistic(), SquaredHinge()], ids=repr)
def test_a_direction_that_is_not_used_may_be_as_large_as_it_likes(loss, intercept):
    X, labels, _ = draw_classes(40, 3)
    alpha, targets = 1.0, loss.coding.encode(labels, "multiclass", 3)

    def problem_of(operator):
        inputs = Inputs.of(operator, fit_intercept=intercept)
        return Observed(targets, loss).formulate(inputs, Identity()).problem

    fit = solve(problem_of(Features(X)), alpha, tol=1e-8, max_iter=100)
    C, kernel = fit.dual_coef, fit.output_kernel
    # no function of the model changes: u'C is zero, and u'1
    known = np.linalg.qr(np.column_stack([C, np.ones(40)]))[0]
    u = np.random.default_rng(0).normal(size=40)
    u -= known @ (known.T @ u)
    problem = problem_of(Dense(X @ X.T + 1e10 * np.outer(u, u)))
    found = problem.certificate(C, kernel, alpha, tol=1e-4, intercept=fit.intercept)
    assert found.primal == pytest.approx(fit.certificate.primal, rel=1e-5)
    assert found.status == "optimal"
    # the gradient of the loss, which is close to alpha C, is orthogonal to u only
    # nearly, and proves less
    scores = problem.entries.predictions(C)
    scores, _ = problem.at_best_intercept(scores)
    point = problem.downhill(scores)
    norm = np.vdot(point, problem.operator @ point)
    dual = problem.dual_loss(point) - norm / (2 * alpha)
    assert found.primal - dual > 1e-4 * found.primal
