"""Conjugate gradients: the solution, and what is given where there is none."""

import numpy as np
import pytest

from okl.optimization.conjugate_gradient import conjugate_gradient, conjugate_steps

N = 30


def spectrum(rng, values):
    """Return a symmetric matrix with these eigenvalues."""
    vectors = np.linalg.qr(rng.normal(size=(len(values), len(values))))[0]
    return (vectors * values) @ vectors.T


@pytest.mark.parametrize("preconditioned", [False, True])
def test_the_solution(preconditioned):
    rng = np.random.default_rng(0)
    matrix = spectrum(rng, rng.uniform(1, 50, N))
    right = rng.normal(size=(N, 2))
    scales = np.diagonal(matrix)[:, None] if preconditioned else 1.0
    found = conjugate_gradient(
        lambda x: matrix @ x, right, lambda x: x / scales, rtol=1e-12
    )
    np.testing.assert_allclose(matrix @ found, right, atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_no_growth_where_there_is_no_curvature(seed):
    # half of the space is out of reach: what is given is a descent direction all the
    # same, and no multiple of rounding errors
    rng = np.random.default_rng(seed)
    matrix = spectrum(rng, np.array([0.1, 0.5, 1.0, 0.0, 0.0, 0.0]))
    right = rng.normal(size=6)
    found = conjugate_gradient(lambda x: matrix @ x, right, lambda x: x, rtol=1e-14)
    assert right @ found > 0
    assert np.linalg.norm(found) < 1e14


@pytest.mark.parametrize("small", [1e-2, 1e-4])
def test_curvature_is_that_of_a_direction_however_short(small):
    # the first step all but solves it, and leads on to a short direction whose
    # curvature is the rounding of that of the first
    matrix, right = np.diag([1.0, 1e-16]), np.array([1.0, small])
    found = conjugate_gradient(lambda x: matrix @ x, right, lambda x: x, rtol=1e-14)
    np.testing.assert_allclose(found, right, rtol=1e-3)


@pytest.mark.parametrize("n_values", [1, 3])
def test_as_many_products_as_there_are_eigenvalues(n_values):
    rng = np.random.default_rng(0)
    values = np.repeat(rng.uniform(1, 10, n_values), 4)
    matrix, right = spectrum(rng, values), rng.normal(size=values.shape)
    steps = list(
        conjugate_steps(
            lambda x: (matrix @ x, x), right, lambda x: x, max_iter=n_values
        )
    )
    assert len(steps) == n_values
    found = sum(step.length * step.direction for step in steps)
    np.testing.assert_allclose(matrix @ found, right, atol=1e-9)
    assert steps[-1].left < 1e-9
