"""The system of a Newton step that a solution keeps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.losses import Huber, Logistic, Softmax, SquaredHinge
from okl.operators import Dense
from okl.problems import Inputs, formulate
from okl.solvers import NewtonCG, Request
from okl.structures import Fixed, Identity
from tests.samples import psd, targets_for

N, M = 14, 3


@pytest.mark.parametrize(
    "loss", [Huber(0.8), Logistic(), Softmax(), SquaredHinge()], ids=repr
)
@pytest.mark.parametrize(
    "structure", [Identity(), Fixed(psd(M, 3))], ids=["identity", "fixed"]
)
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_one_more_right_side_is_a_derivative(loss, structure, intercept):
    # scores moved by s, all else refitted: finite differences of alpha C
    K, Y = targets_for(loss, N, M)
    change = np.random.default_rng(1).normal(size=(N, M))
    solver, alpha, small = NewtonCG(), 0.5, 1e-5

    def dual_point(step):
        moved = _Moved(loss, step * change)
        inputs = Inputs.of(Dense(K.copy()), fit_intercept=intercept)
        problem = formulate(inputs, Y, moved, structure).problem
        prepared = solver.prepare(problem)
        solution = solver.solve(prepared, Request(alpha, tol=1e-14, max_iter=200))
        scores = problem.entries.joint(prepared.kernel) @ solution.start.duals.nearest
        if intercept:
            scores, _ = problem.at_best_intercept(scores)
        return moved.negative_gradient(problem.targets, scores), solution

    up, _ = dual_point(small)
    down, _ = dual_point(-small)
    _, solution = dual_point(0.0)
    expected = (up - down) / (2 * small)
    system = solution.hessian
    inside = system.solve(system.curvature.adjoint(change), rtol=1e-12)
    found = -alpha * system.curvature.factor(inside)
    assert_allclose(found, expected, atol=2e-5 * np.abs(expected).max())


class _Moved:
    """A loss whose scores are moved."""

    def __init__(self, loss, shift):
        self._loss, self._shift = loss, shift

    def __getattr__(self, name):
        method = getattr(self._loss, name)
        if name in (
            "value",
            "negative_gradient",
            "value_and_negative_gradient",
            "curvature",
            "damped_curvature",
            "best_intercept",
        ):
            return lambda targets, scores, *rest, **options: method(
                targets, scores + self._shift, *rest, **options
            )
        if name == "dual_value":
            # -V*(-a) of a loss moved by s is -V*(-a) + <a, s>
            return lambda targets, dual, weights=None: (
                method(targets, dual, weights) + np.vdot(dual, self._shift)
            )
        return method
