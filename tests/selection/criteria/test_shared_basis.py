"""One decomposition for all outputs gives what an inverse for each of them gives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.operators import Dense
from okl.selection.criteria import all_rows, shared_basis
from okl.structures import Fixed, Identity
from tests.samples import psd
from tests.selection.criteria.differences import (
    ROW_WEIGHTS,
    M,
    assert_derivatives,
    recording,
)
from tests.selection.criteria.test_closed_form import (
    ALPHA,
    every,
    made,
    sample,
    with_or_without,
)

ALPHAS = np.array([0.05, 0.4, 2.0])
CASES = [(Identity(), ALPHAS), (Fixed(psd(M, 4)), ALPHA)]
cases = pytest.mark.parametrize(
    ("structure", "alpha"), CASES, ids=["alphas", "eigenvalues"]
)
weighted = pytest.mark.parametrize("weights", [None, ROW_WEIGHTS], ids=["", "weights"])


@every
@with_or_without
@cases
@weighted
def test_it_is_the_same(make, intercept, structure, alpha, weights, monkeypatch):
    Y, K = sample()

    def evaluated(few):
        monkeypatch.setattr(all_rows, "FEW", few)
        criterion = made(make, Y, weights, intercept=intercept)
        return criterion.evaluate(Dense(K.copy()), alpha, recording(structure))

    one, each = evaluated(0), evaluated(99)
    assert_allclose(one.value, each.value, rtol=1e-9)
    assert_allclose(one.log_alpha, each.log_alpha, rtol=1e-7)
    G = each.term.weights()
    if intercept:  # what constants are added to rows and columns does not count
        centring = np.eye(len(K)) - 1 / len(K)
        G = centring @ G @ centring
        assert_allclose(centring @ one.term.weights() @ centring, G, atol=1e-8)
    else:
        assert_allclose(one.term.weights(), G, atol=1e-8)
    assert one.term.of_structure.keys() == each.term.of_structure.keys()
    for name, found in each.term.of_structure.items():
        assert_allclose(one.term.of_structure[name], found, atol=1e-8)


@every
def test_derivatives_are_differences(make, monkeypatch):
    monkeypatch.setattr(all_rows, "FEW", 0)
    Y, K = sample()
    assert_derivatives(made(make, Y, ROW_WEIGHTS), K, ALPHAS, Identity())


@every
def test_a_kernel_that_stays_is_decomposed_once(make, monkeypatch):
    calls = []

    def counted(matrix):
        calls.append(len(matrix))
        return np.linalg.eigh(matrix)

    monkeypatch.setattr(shared_basis, "eigh", counted)
    Y, K = sample()
    criterion, operator = made(make, Y), Dense(K.copy())
    for factor in (1.0, 3.0):
        alpha = factor * ALPHAS
        found = criterion.evaluate(operator, alpha, Identity(), of_kernel=False)
        other = made(make, Y).evaluate(Dense(K.copy()), alpha, Identity())
        assert_allclose(found.value, other.value, rtol=1e-9)
        assert_allclose(found.log_alpha, other.log_alpha, rtol=1e-7)
    assert calls == [len(K)]
