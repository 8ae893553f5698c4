"""Criteria and kernels together: derivatives by the parameters of a kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.kernels import Linear, Matern
from okl.losses import Softmax, Squared
from okl.operators import Dense
from okl.problems import Observed
from okl.selection.criteria import NAMES, choose_criterion
from okl.structures import Identity
from tests.samples import draw, draw_classes
from tests.selection.criteria.differences import M, folds_of

N = 20


def kernel_at(log_parameters):
    weight, scale, length = np.exp(log_parameters)
    return weight * Linear() + scale * Matern(length, 2.5)


@pytest.mark.parametrize("name", [*NAMES[1:], "softmax"])
def test_a_gradient_by_the_parameters_of_a_kernel(name):
    if name == "softmax":
        X, labels, _ = draw_classes(N, M)
        Y = (labels[:, None] == np.arange(M)).astype(float)
        observed, name = Observed(Y, Softmax()), "auto"
    else:
        X, Y, _ = draw(N, M)
        observed = Observed(Y, Squared())
    criterion = choose_criterion(
        name, observed, Identity(), folds_of(N), n_features=3, fit_intercept=True
    )
    here = np.array([-1.0, 0.3, 0.2])

    def value(parameters):
        operator = Dense(kernel_at(parameters)(X))
        return criterion.evaluate(operator, 0.3, Identity()).value

    kernel = kernel_at(here)
    found = criterion.evaluate(Dense(kernel(X)), 0.3, Identity())
    gradient = kernel.gradient(X, found.term.left, found.term.right)
    names = [parameter.name for parameter in kernel.hyperparameters(X)]
    assert len(names) == 3
    steps = 1e-4 * np.eye(3)
    expected = [(value(here + e) - value(here - e)) / 2e-4 for e in steps]
    # one by refits is as good as the gap of the fits and the residual of the solves
    along = [float(gradient[name]) for name in names]
    rtol = 2e-3 if found.term.right is not None else 1e-5
    assert_allclose(along, expected, rtol=rtol, atol=rtol * np.abs(expected).max())
    # K and alpha count by their ratio, and both weights scale K
    of_weights = [a for name, a in zip(names, along, strict=True) if "value" in name]
    assert len(of_weights) == 2
    assert_allclose(sum(of_weights), -found.log_alpha, rtol=rtol)
