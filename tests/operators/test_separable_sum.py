"""The sum of separable terms against the matrix that each output has."""

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.operators import Dense, Features, SeparableSum, Term
from tests.samples import gaussian

N = 12
ROWS = np.random.default_rng(0).normal(size=(N, 3))
MATRICES = [gaussian(ROWS), ROWS @ ROWS.T]
# what each of five outputs has: a matrix and a factor
OUTPUTS = [(1, 2.0), (0, 1.0), (0, 30.0), (1, 2.0), (0, 0.5)]
STACK = np.stack([scale * MATRICES[q] for q, scale in OUTPUTS])
RIGHT = np.random.default_rng(1).normal(size=(N, len(OUTPUTS)))


def separable(xp=np):
    operators = [Dense(xp.asarray(MATRICES[0].copy())), Features(xp.asarray(ROWS))]
    terms = []
    for q, operator in enumerate(operators):
        outputs = [j for j, (which, _) in enumerate(OUTPUTS) if which == q]
        scales = np.array([OUTPUTS[j][1] for j in outputs])
        terms.append(Term(operator, np.array(outputs), scales))
    return SeparableSum(tuple(terms))


def times(stack, right):
    return np.stack([K @ x for K, x in zip(stack, right.T, strict=True)], axis=1)


@pytest.mark.parametrize("xp", [np, strict], ids=["numpy", "strict"])
def test_products_and_diagonals(xp):
    operator = separable(xp)
    assert operator.n_samples == N
    assert not operator.shared
    product = operator @ xp.asarray(RIGHT)
    assert product.__array_namespace__() is xp
    assert_allclose(np.asarray(product), times(STACK, RIGHT), atol=1e-12)
    diagonals = np.diagonal(STACK, axis1=1, axis2=2).T
    assert_allclose(np.asarray(operator.diagonal()), diagonals)
    assert_allclose(operator.norm, max(np.linalg.norm(K, 2) for K in STACK))


@pytest.mark.parametrize("shift", [1e-3, 10.0])
def test_solve(shift):
    expected = [np.linalg.inv(K + shift * np.eye(N)) for K in STACK]
    found = separable().solve(RIGHT, shift)
    assert_allclose(found, times(expected, RIGHT), rtol=1e-7)


def test_solve_where_a_factorisation_fails():
    shift = 1e-300  # no more than nothing beside the matrix: the range is left
    matrix = Dense(MATRICES[1].copy())
    operator = SeparableSum((Term(matrix, np.array([0]), np.ones(1)),))
    inside = MATRICES[1] @ RIGHT[:, :1]
    found = operator.solve(inside, shift)
    assert_allclose(MATRICES[1] @ found, inside, atol=1e-8 * np.abs(inside).max())


def test_centering():
    H = np.eye(N) - 1 / N
    centered, means = separable().centered()
    assert_allclose(means, STACK.mean(axis=1).T)
    assert_allclose(centered @ RIGHT, times(H @ STACK @ H, RIGHT), atol=1e-12)


def test_restrict_and_cross():
    rows, columns = np.array([7, 1, 2]), np.array([0, 3, 4, 5, 8])
    some = RIGHT[columns]
    inside = STACK[:, columns[:, None], columns]
    assert_allclose(
        separable().restrict(columns) @ some, times(inside, some), atol=1e-12
    )
    across = STACK[:, rows[:, None], columns]
    assert_allclose(
        separable().cross(rows, columns) @ some, times(across, some), atol=1e-12
    )


def test_as_many_columns_as_rows_are_the_whole_matrix():
    low_rank = separable().low_rank(N)
    back = low_rank.forward(low_rank.adjoint(RIGHT))
    assert_allclose(back, times(STACK, RIGHT), atol=1e-8)
    for j, K in enumerate(STACK):
        factor, scale = low_rank.factor(j)
        assert_allclose(scale**2 * factor @ factor.T, K, atol=1e-8)
