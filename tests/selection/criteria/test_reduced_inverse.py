"""Outputs that lack rows: from the inverse of all rows as from inverses of their own.

Where an inverse is reduced, and where it is not, what differs is rounding alone.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.operators import Dense
from okl.selection.criteria import RestrictedLikelihood, all_rows, decoupling
from okl.structures import Diagonal, Identity
from tests.selection.criteria.differences import (
    OBSERVED,
    ROW_WEIGHTS,
    M,
    N,
    assert_derivatives,
)
from tests.selection.criteria.test_closed_form import (
    ALPHA,
    every,
    made,
    sample,
    with_or_without,
)

SOME_COMPLETE = np.where(np.arange(M) == 1, 1.0, OBSERVED)
WEIGHTS = [OBSERVED, OBSERVED * ROW_WEIGHTS, SOME_COMPLETE]
weighted = pytest.mark.parametrize("weights", WEIGHTS, ids=["", "weights", "complete"])
ALPHAS = np.array([0.05, 0.4, 2.0])
SCALED = Diagonal(0.5 + np.arange(M))
cases = pytest.mark.parametrize(
    ("structure", "alpha"),
    [(Identity(), ALPHA), (SCALED, ALPHA), (Identity(), ALPHAS)],
    ids=["one-ratio", "scales", "alphas"],
)


@pytest.fixture
def few(monkeypatch):
    """Reduce any number of outputs, up to three ratios."""
    monkeypatch.setattr(decoupling, "FEW", M)
    monkeypatch.setattr(decoupling, "FEWEST", 0)


@every
@with_or_without
@cases
@weighted
def test_it_is_the_same(make, intercept, structure, alpha, weights, few, monkeypatch):
    Y, K = sample()

    def evaluated():
        criterion = made(make, Y, weights, intercept=intercept)
        return criterion.evaluate(Dense(K.copy()), alpha, structure)

    together = evaluated()
    monkeypatch.setattr(decoupling, "FEWEST", 99)
    apart = evaluated()
    assert_allclose(together.value, apart.value, rtol=1e-9)
    assert_allclose(together.log_alpha, apart.log_alpha, rtol=1e-7)
    G = apart.term.weights()
    assert np.abs(G).max() > 0.01
    change = np.cos(np.add.outer(K[0], K[0]))
    for direction in (K, change):
        expected = apart.term.along(direction)
        assert_allclose(together.term.along(direction), expected, atol=1e-7)


@every
@cases
def test_derivatives_are_differences(make, structure, alpha, few):
    Y, K = sample()
    assert_derivatives(made(make, Y, OBSERVED * ROW_WEIGHTS), K, alpha, structure)


@pytest.mark.parametrize(
    "weights",
    [
        np.add.outer(np.arange(N), np.arange(M)) % 2 * 1.0,
        1.0 + np.add.outer(np.arange(N), np.arange(M)),
    ],
    ids=["many-lack", "weights-of-entries"],
)
def test_others_have_inverses_of_their_own(weights, few, monkeypatch):
    Y, K = sample()
    monkeypatch.setattr(all_rows.ReducedInverse, "of", None)
    every_own = made(RestrictedLikelihood, Y, weights)
    every_own.evaluate(Dense(K.copy()), ALPHA, Identity())


def test_where_the_kernel_is_nothing_beside_the_noise(few, monkeypatch):
    Y, K = sample()

    def slope():
        criterion = made(RestrictedLikelihood, Y, OBSERVED)
        return criterion.evaluate(Dense(K.copy()), 1e9, Identity()).log_alpha

    together = slope()
    monkeypatch.setattr(decoupling, "FEWEST", 99)
    # a small difference of large numbers would have hardly a digit here
    assert_allclose(together, slope(), rtol=1e-5)


@every
def test_digits_are_kept_at_a_small_alpha(make, few, monkeypatch):
    """A decomposition in the place of the inverse would have none of them."""
    X = np.random.default_rng(0).normal(size=(120, 2))
    K = np.exp(-0.2 * ((X[:, None] - X) ** 2).sum(axis=2))
    Y = np.sin(X @ np.random.default_rng(1).normal(size=(2, M)))
    weights = (np.random.default_rng(2).random(Y.shape) > 0.25) * 1.0

    def evaluated():
        criterion = made(make, Y * weights, weights)
        return criterion.evaluate(Dense(K.copy()), 1e-8, Identity(), of_kernel=False)

    together = evaluated()
    monkeypatch.setattr(decoupling, "FEWEST", 99)
    apart = evaluated()
    assert_allclose(together.value, apart.value, rtol=1e-5)
    assert_allclose(together.log_alpha, apart.log_alpha, rtol=1e-3)


def test_many_ratios_have_inverses_of_their_own(few, monkeypatch):
    Y, K = sample()
    monkeypatch.setattr(decoupling, "FEW", M - 1)
    monkeypatch.setattr(all_rows.ReducedInverse, "of", None)
    made(RestrictedLikelihood, Y, OBSERVED).evaluate(Dense(K), ALPHAS, Identity())


def test_far_smaller_ratios_stay_apart():
    Y, K = sample()
    criterion = made(RestrictedLikelihood, Y, OBSERVED)
    alphas = np.array([1e-8, 1e6, 1e8])
    model = criterion._model(
        Dense(K),
        criterion._relation(Dense(K), alphas, Identity())[1],
        joins=False,
        of_kernel=True,
    )
    found = {int(block.outputs[0]): block.ratio for block in model.blocks}
    assert_allclose([found[j] for j in range(M)], 1 / alphas, rtol=1e-12)
