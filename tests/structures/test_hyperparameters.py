"""Parameters of a given output kernel that can be learned."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.structures import Graph, Mean
from tests.instances import STRUCTURES
from tests.samples import psd

M = 4
ADJACENCY = np.round(psd(M, 3) ** 2, 3)


@pytest.mark.parametrize("case", STRUCTURES, ids=lambda case: case.label)
def test_the_gradient_is_that_of_the_parameters(case):
    structure = case.make(M)
    names = [one.name for one in structure.hyperparameters(M)]
    given = "known" in structure.capabilities
    assert list(structure.gradient(psd(M))) == (names if given else [])


@pytest.mark.parametrize("case", STRUCTURES, ids=lambda case: case.label)
def test_all_within_the_bounds_is_valid(case):
    structure = case.make(M)
    learned = structure.hyperparameters(M)
    values = structure.get_params()
    for one in learned:
        assert_allclose(one.value, values[one.name])
        assert np.all(one.bounds[0] <= np.asarray(one.value))
        assert np.all(np.asarray(one.value) <= one.bounds[1])
        assert np.shape(one.prior.gradient(one.coordinates())) == one.shape
    for end in (0, 1):
        bounds = {
            one.name: np.broadcast_to(one.bounds[end], one.shape)[()] for one in learned
        }
        type(structure)(**{**structure.get_params(deep=False), **bounds}).validate(M)


@pytest.mark.parametrize("gamma", [1e-3, 0.7, 40.0])
@pytest.mark.parametrize("make", [Mean, lambda gamma: Graph(ADJACENCY, gamma)])
def test_the_derivative_by_log_gamma(make, gamma):
    weights, step = psd(M) - np.eye(M), 1e-5

    def along(t):
        return np.vdot(weights, make(gamma * np.exp(t)).matrix(M))

    expected = (along(step) - along(-step)) / (2 * step)
    assert_allclose(make(gamma).gradient(weights)["gamma"], expected, rtol=1e-6)
    # W = left' right, its symmetric part
    turn = np.triu(np.ones((M, M)), 1)
    found = make(gamma).gradient(np.eye(M), weights + turn - turn.T)["gamma"]
    assert_allclose(found, expected, rtol=1e-6)
    (one,) = make(gamma).hyperparameters(M)
    assert one.bounds[0] < one.value == gamma < one.bounds[1]
