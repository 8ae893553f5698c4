"""Where L goes along a path: polynomials in log alpha are followed exactly."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl import output_kernel_path
from okl.solvers.neighbours import Neighbours


def path(degree, alphas, m=3):
    """Return the neighbours of a matrix polynomial in log alpha, and the polynomial."""
    parts = np.random.default_rng(degree).normal(size=(degree + 1, m, m))

    def matrix(alpha):
        return sum(part * np.log(alpha) ** k for k, part in enumerate(parts))

    found = Neighbours()
    for alpha in alphas:
        found = found.joined(alpha, matrix(alpha))
    return found, matrix


@pytest.mark.parametrize(("degree", "count"), [(0, 1), (1, 2), (2, 3), (2, 5)])
def test_polynomials_are_followed(degree, count):
    found, matrix = path(degree, 10.0 ** -np.arange(count))
    assert_allclose(found.at(10.0**-count), matrix(10.0**-count), rtol=1e-9)


def test_what_was_found_at_an_alpha_is_found_again_and_replaced():
    found, matrix = path(2, [1.0, 0.5, 0.25])
    assert_allclose(found.at(0.5), matrix(0.5))
    assert_allclose(found.joined(0.5, np.eye(3)).at(0.5), np.eye(3))


def test_a_long_way_is_not_extrapolated():
    found, matrix = path(1, [1.0, 0.9])
    assert_allclose(found.at(1e-6), matrix(0.9))
    assert found.near(0.5)
    assert not found.near(1e-6)
    assert not Neighbours().near(1.0)


@pytest.mark.parametrize("structure", ["frobenius", "low_rank"])
def test_along_a_path_few_steps_are_left(structure):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = np.sin(X @ rng.normal(size=(3, 5))) + 0.1 * rng.normal(size=(60, 5))
    models = list(output_kernel_path(X, Y, structure=structure, alphas=25))
    assert np.mean([model.n_iter_ for model in models]) < 2.4
