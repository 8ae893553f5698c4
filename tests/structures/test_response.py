"""The best L for a dual point, and its derivative, where R* is smooth or made so."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.numerics.arrays import symmetric
from okl.optimization import second_derivative
from okl.optimization.near_sparse import nearest_sparse
from okl.optimization.second_derivative import Followed
from okl.solvers.terms.proximal_points import Centred
from tests.instances import STRUCTURES
from tests.samples import psd

M = 4
CASES = [
    pytest.param(case, id=case.label)
    for case in STRUCTURES
    if "proximal" in case.make(M).capabilities
]


def response_of(case):
    """Return the response to S as a function, and what is maximised over L."""
    structure, centre, weight = case.make(M), psd(M, 11), 0.7
    if "response" in structure.capabilities:
        return structure.response, lambda S, L: np.sum(S * L) - structure.penalty(L)
    near = Centred(structure, centre, weight)
    return near.response, lambda S, L: np.sum(S * L) - near.penalty(L)


@pytest.mark.parametrize("case", CASES)
def test_it_is_the_best_output_kernel(case):
    respond, objective = response_of(case)
    S = psd(M, 12)
    found = respond(S)
    assert_allclose(found.value, objective(S, found.output_kernel), rtol=1e-12)
    assert np.linalg.eigvalsh(found.output_kernel)[0] > -1e-12
    if "known" in case.make(M).capabilities:
        return
    rng = np.random.default_rng(0)
    values, vectors = np.linalg.eigh(found.output_kernel)
    root = vectors * np.sqrt(np.clip(values, 0, None))
    for size in (1e-3, 1e-2, 1e-1, 1.0):
        moved = root + size * rng.normal(size=(M, M))
        assert objective(S, moved @ moved.T) <= found.value
        # of those that a set allows, near and far
        allowed = case.make(M).update(psd(M, 14) * size + found.output_kernel)
        assert objective(S, allowed) <= found.value


@pytest.mark.parametrize("case", CASES)
def test_its_derivatives(case):
    respond, _ = response_of(case)
    S, change, step = psd(M, 12), psd(M, 13), 1e-5
    here = respond(S)
    ahead, back = respond(S + step * change), respond(S - step * change)
    slope = (ahead.value - back.value) / (2 * step)
    assert_allclose(slope, np.sum(here.output_kernel * change), rtol=1e-6)
    moved = (ahead.output_kernel - back.output_kernel) / (2 * step)
    assert_allclose(here.derivative(change), moved, atol=1e-6)


@pytest.mark.parametrize("n_entries", [3, 25])
@pytest.mark.parametrize("case", CASES)
def test_its_derivatives_between_entries(case, n_entries):
    # M by the change of L for each symmetric part of p_i e_t'
    respond, _ = response_of(case)
    rng = np.random.default_rng(14)
    rows, outputs = rng.normal(size=(n_entries, M)), rng.integers(M, size=n_entries)
    derivative = respond(psd(M, 12)).derivative
    changes = np.zeros((n_entries, M, M))
    changes[np.arange(n_entries), :, outputs] = rows
    changes = (changes + changes.transpose(0, 2, 1)) / 2
    moved = np.array([derivative(change) for change in changes])
    expected = np.einsum("iab,jab->ij", changes, moved)
    found = derivative.between(rows, outputs)
    assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())


def test_no_more_than_so_many_outputs_are_written_out(monkeypatch):
    rng = np.random.default_rng(15)
    rows, outputs = rng.normal(size=(30, M)), rng.integers(M, size=30)
    L = psd(M, 16)
    derivative = Followed(lambda change: L @ change @ L, L)
    expected = derivative.between(rows, outputs)
    monkeypatch.setattr(second_derivative, "_MOST_OUTPUTS", M - 1)
    fresh = Followed(derivative.follow, L)
    assert_allclose(fresh.between(rows, outputs), expected, rtol=1e-10, atol=1e-10)
    assert "_of_units" in vars(derivative)
    assert "_of_units" not in vars(fresh)


@pytest.mark.parametrize("weight", [1e-3, 1e-1])
def test_the_sparse_matrix_near_a_far_one_is_the_nearest(weight):
    # S about where the penalty is level: Z = S / weight is far away, and the barrier
    # that Newton's method begins with is high
    rng, m, off, eps = np.random.default_rng(0), 3, 0.5, 1e-3
    outside = ~np.eye(m, dtype=bool)
    for _ in range(20):
        S = np.eye(m) / 2 + outside * symmetric(rng.uniform(-0.3, 0.3, size=(m, m)))
        L = nearest_sparse(S / weight, weight, off, eps).output_kernel
        inverse, free = np.linalg.inv(L), L != 0
        gradient = weight * L - S + (np.eye(m) - eps * inverse @ inverse) / 2
        held = gradient + off / 2 * np.sign(L) * outside
        assert_allclose(held[free], 0, atol=1e-8)
        assert np.all(np.abs(gradient[~free]) <= off / 2 + 1e-8)
