"""The objective in a factor of L: slope and second derivatives by differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.solvers.factor.factored_point import FactoredPoint

ALPHA = 0.3


def drawn(rank, m=4, k=9):
    rng = np.random.default_rng(rank)
    d = rng.uniform(0.1, 3.0, size=(k, 1))
    Y = 0.1 * rng.normal(size=(k, m))  # S below one
    B = rng.normal(size=(m, rank))
    return d, Y, FactoredPoint.of(d, Y, np.eye(m), B @ B.T, ALPHA)


def along(d, Y, point, direction):
    """Return the objective at B + t D as a function of t."""
    rank = point.rank
    B = np.eye(len(point.weights), rank) * np.sqrt(point.weights[:rank])

    def value(t):
        moved = B + t * direction
        L = moved @ moved.T
        return FactoredPoint.of(d, point.targets, point.basis, L, ALPHA).objective

    return value


@pytest.mark.parametrize("rank", [2, 4])
def test_slope_and_curvature(rank):
    d, Y, point = drawn(rank)
    h, m = 1e-3, len(point.weights)
    for i in range(m):
        for j in range(rank):
            unit = np.zeros((m, rank))
            unit[i, j] = 1.0
            value = along(d, Y, point, unit)
            slope = (value(h) - value(-h)) / (2 * h)
            assert_allclose(slope, ALPHA * point.gradient[i, j], rtol=1e-4, atol=1e-9)
            if i == j or i >= rank:  # the others are those of pairs
                second = (value(h) - 2 * value(0) + value(-h)) / h**2
                assert_allclose(second, ALPHA * point.curvature[i, j], rtol=1e-3)


@pytest.mark.parametrize("rank", [2, 4])
def test_steps_go_down_and_do_not_turn_the_factor(rank):
    d, Y, point = drawn(rank)
    direction, slope = point.newton_step(ALPHA, rtol=1e-3)
    value = along(d, Y, point, direction)
    assert slope < 0
    assert_allclose((value(1e-5) - value(-1e-5)) / 2e-5, slope, rtol=1e-4)
    inside = direction[:rank] * np.sqrt(point.weights[:rank])[:, None]
    assert_allclose(inside, inside.T, atol=1e-9 * np.abs(inside).max())


@pytest.mark.parametrize("rank", [1, 2])
def test_steps_solve_the_equations_of_newton(rank):
    # along what does not only turn the factor; one column is multiplied otherwise
    d, Y, point = drawn(rank)
    direction, _ = point.newton_step(ALPHA, rtol=1e-8)
    size, h, m = np.abs(direction).max(), 1e-3, len(point.weights)
    roots = np.sqrt(point.weights[:rank])
    for i in range(m):
        for j in range(rank):
            change = np.zeros((m, rank))
            change[i, j] = 1.0
            if i < rank:
                change[i, j], change[j, i] = roots[j], roots[i]
            ahead = along(d, Y, point, direction / size + change)
            behind = along(d, Y, point, direction / size - change)
            both = ahead(h) - behind(h) - behind(-h) + ahead(-h)
            slope = ALPHA * np.sum(point.gradient * change)
            assert_allclose(size * both / (4 * h**2), -slope, rtol=1e-3, atol=1e-6)


def test_a_saddle_is_left_downwards():
    """Above one, I - S has negative eigenvalues; with UU' added it has none."""
    rng = np.random.default_rng(0)
    d, m = rng.uniform(1.0, 3.0, size=(9, 1)), 4
    Y, B = 4 * rng.normal(size=(9, m)), 0.1 * rng.normal(size=(m, 2))
    point = FactoredPoint.of(d, Y, np.eye(m), B @ B.T, ALPHA)
    values, vectors = np.linalg.eigh(point.moment)
    assert values[-1] > 1
    above = vectors * np.sqrt(2 * np.clip(values - 1, 0.0, None))
    assert_allclose(
        np.eye(m) - point.moment + above @ above.T,
        (vectors * np.abs(1 - values)) @ vectors.T,
        rtol=1e-9,
        atol=1e-9 * values[-1],
    )
    direction, slope = point.newton_step(ALPHA, rtol=1e-6, above=above)
    value = along(d, Y, point, direction)
    assert slope < 0
    assert value(1.0) < value(0.0)


def test_a_step_that_would_take_many_products_ends_before_and_goes_down(monkeypatch):
    rng = np.random.default_rng(0)
    d = np.geomspace(1e-2, 3.0, 60)[:, None]
    Y, B = 0.06 * rng.normal(size=(60, 40)), rng.normal(size=(40, 40))
    point = FactoredPoint.of(d, Y, np.eye(40), B @ B.T, ALPHA)
    product, halves = FactoredPoint._fall_of_moment, []

    def counted(self, half):
        halves.append(half)
        return product(self, half)

    monkeypatch.setattr(FactoredPoint, "_fall_of_moment", counted)
    direction, slope = point.newton_step(ALPHA, rtol=0.0)
    value = along(d, Y, point, direction)
    assert 30 < len(halves) <= 60
    assert slope < 0
    assert value(1e-3) < value(0.0)
