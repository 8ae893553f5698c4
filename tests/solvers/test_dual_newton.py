"""The preconditioner of Newton's method in the dual variables."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.losses import Squared
from okl.operators import Dense
from okl.problems import Inputs, formulate
from okl.solvers import Request
from okl.solvers.output_kernel import dual_newton as solver
from okl.solvers.output_kernel.output_kernel_newton import OutputKernelNewton
from okl.structures import Frobenius, Scaled

N, M = 20, 5


def systems(monkeypatch, structure, *, tol):
    """Return the equations of all steps: product, preconditioner and right side."""
    rng = np.random.default_rng(0)
    R = rng.normal(size=(N, 8))
    inputs = Inputs.of(Dense(R @ R.T), fit_intercept=False)
    Y = rng.normal(size=(N, M)) @ rng.normal(size=(M, M))
    problem = formulate(inputs, Y, Squared(), structure).problem
    given, plain = [], solver.conjugate_gradient

    def recorded(product, right, precondition, *, rtol):
        given.append((product, precondition, right))
        return plain(product, right, precondition, rtol=rtol)

    monkeypatch.setattr(solver, "conjugate_gradient", recorded)
    method = OutputKernelNewton()
    method.solve(method.prepare(problem), Request(2.0, tol, 100))
    return given


def entries(product, shape):
    """Return the diagonal of a linear map of arrays."""
    found = np.zeros(shape)
    for at in np.ndindex(shape):
        unit = np.zeros(shape)
        unit[at] = 1.0
        found[at] = product(unit)[at]
    return found


@pytest.mark.parametrize("scales", [None, np.geomspace(0.3, 3.0, M)])
def test_near_the_optimum_it_is_the_diagonal_of_the_second_derivative(
    scales, monkeypatch
):
    structure = Frobenius() if scales is None else Scaled(Frobenius(), scales)
    product, precondition, right = systems(monkeypatch, structure, tol=1e-13)[-1]
    diagonal = entries(product, right.shape)
    assert_allclose(1 / precondition(np.ones(right.shape)), diagonal, rtol=1e-4)
