"""Conjugate gradients whose unknowns come in pairs x = M y."""

from itertools import islice

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.optimization.conjugate_pairs import conjugate_pairs
from tests.samples import psd

N, P = 12, 3


def solved(M, precondition, *, start=None):
    """Return steps for 0.3 y + B x = r with x = M y, and B and r."""
    B, right = psd(N, 2), np.random.default_rng(1).normal(size=(N, P))
    zero = np.zeros((N, P))
    inside = zero if start is None else start
    residual = right - 0.3 * inside - B @ M @ inside
    steps = conjugate_pairs(
        lambda y, x: 0.3 * y + B @ x,
        precondition,
        (inside, M @ inside, residual),
        precondition(residual),
    )
    return list(islice(steps, N * P)), B, right


def model(step, M, B, right):
    x, y = step.image, step.inside
    return np.sum(x * (0.3 * y + B @ x)) / 2 - np.sum(x * right)


@pytest.mark.parametrize("close", [0.0, 1.0], ids=["by M", "exact"])
@pytest.mark.parametrize("started", [False, True])
def test_each_step_lowers_the_model_to_the_solution(close, started):
    M = psd(N, 1) + 0.1 * np.eye(N)
    inverse = np.linalg.inv(0.3 * np.eye(N) + close * psd(N, 2) @ M)
    start = np.random.default_rng(2).normal(size=(N, P)) if started else None
    steps, B, right = solved(M, lambda r: (inverse @ r, M @ inverse @ r), start=start)
    values = [model(step, M, B, right) for step in steps]
    falls = -np.diff(values)
    assert np.all(falls >= -1e-12 * abs(values[-1]))
    last = steps[-1]
    expected = np.linalg.solve(0.3 * np.eye(N) + B @ M, right)
    assert_allclose(last.inside, expected, rtol=1e-6, atol=1e-8)
    assert_allclose(last.image, M @ expected, rtol=1e-6, atol=1e-8)
    left = right - 0.3 * last.inside - B @ last.image
    assert_allclose(last.residual, left, atol=1e-10 * np.abs(right).max())
    if close:
        assert len(steps) == 1 or steps[0].left < 1e-20


def test_there_are_no_steps_where_nothing_is_left():
    M = np.zeros((N, N))
    steps, *_ = solved(M, lambda r: (r, M @ r))
    assert steps == []
