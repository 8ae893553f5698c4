"""The likelihood of folds of several kernels, each with an output kernel of its own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl import OutputKernelRegressor
from okl.certificates.terms import StructureTerms
from okl.kernels import Gram
from okl.losses import Logistic, Softmax, Squared
from okl.operators import Dense, OperatorTerms
from okl.operators.terms import RowOperator
from okl.problems import Observed
from okl.selection.criteria import FoldsLikelihood
from okl.structures import Fixed, Frobenius, Identity, LowRank, Mean, as_structure
from tests.samples import psd, targets_for
from tests.selection.criteria.differences import M, folds_of, recording

N, ALPHA, STEP = 18, 0.3, 1e-5
ENTRIES = (np.random.default_rng(2).random((N, M)) > 0.2) * 1.0
GIVEN = [Identity(), Fixed(psd(M, 4))]
EXACT = {"tol": 1e-12, "rtol": 1e-10}


def made(Y, loss, weights=None, *, intercept=True, **options):
    observed = Observed(Y, loss, weights)
    return FoldsLikelihood(observed, folds_of(N), fit_intercept=intercept, **options)


def operator_of(matrices, *, rows=False):
    terms = tuple(Dense(K.copy()) for K in matrices)
    return OperatorTerms((*terms, RowOperator(np.ones(N))) if rows else terms)


def difference(at):
    return (at(STEP) - at(-STEP)) / (2 * STEP)


@pytest.mark.parametrize(
    "data",
    [
        (Softmax(), None),
        (Logistic(), ENTRIES),
        (Squared(), None),
        (Squared(), ENTRIES),
    ],
    ids=["softmax", "logistic-entries", "squared", "squared-entries"],
)
@pytest.mark.parametrize(
    "setting",
    [
        pytest.param((structures, rows), id=name)
        for name, structures, rows in (
            ("given", GIVEN, False),
            ("given-rows", [Mean(0.5), Fixed(psd(M, 4)), Identity()], True),
            ("frobenius", [Frobenius(), Frobenius()], False),
            ("given-frobenius-rows", [Fixed(psd(M, 4)), Frobenius()], True),
        )
    ],
)
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.each_value
def test_derivatives_are_differences_of_refits(data, setting, intercept):
    (loss, weights), (structures, rows) = data, setting
    K, Y = targets_for(loss, N, M)
    matrices = [K, psd(N, 6)][: len(structures) - rows]
    criterion = made(Y, loss, weights, intercept=intercept, **EXACT)
    structure = StructureTerms(tuple(structures))
    operator = operator_of(matrices, rows=rows)
    recorded = StructureTerms(tuple(map(recording, structures)))
    found = criterion.evaluate(operator, ALPHA, structure)

    def value(matrices=matrices, alpha=ALPHA, structures=structures):
        terms = StructureTerms(tuple(structures))
        return criterion.evaluate(operator_of(matrices, rows=rows), alpha, terms).value

    tolerances = {"rtol": 1e-5, "atol": 1e-6 * abs(found.value)}
    for q in range(len(matrices)):
        change = psd(N, 9)
        expected = difference(
            lambda t, q=q, D=change: value(
                [one + t * D * (p == q) for p, one in enumerate(matrices)]
            )
        )
        assert_allclose(found.terms[q].along(change), expected, **tolerances)
    expected = difference(lambda t: value(alpha=ALPHA * np.exp(t)))
    assert_allclose(found.log_alpha, expected, **tolerances)
    found = criterion.evaluate(operator, ALPHA, recorded)
    for q, own in enumerate(structures):
        known = own.known(Y)
        if known is None:
            assert not found.terms[q].of_structure
            continue
        L, change = known.matrix(), psd(M, 8)
        expected = difference(
            lambda t, q=q, L=L, D=change: value(
                structures=[
                    Fixed(L + t * D) if p == q else one
                    for p, one in enumerate(structures)
                ]
            )
        )
        along = np.vdot(found.terms[q].of_structure["weights"], change)
        assert_allclose(along, expected, **tolerances)


@pytest.mark.parametrize("loss", [Softmax(), Squared()], ids=["softmax", "squared"])
@pytest.mark.parametrize("structure", [Mean(0.5), Frobenius()], ids=str)
def test_one_kernel_in_a_list_is_that_kernel(loss, structure):
    K, Y = targets_for(loss, N, M)
    listed = made(Y, loss, **EXACT).evaluate(
        operator_of([K]), ALPHA, StructureTerms((structure,))
    )
    alone = made(Y, loss, **EXACT).evaluate(Dense(K.copy()), ALPHA, structure)
    assert_allclose(listed.value, alone.value, rtol=1e-7)
    assert_allclose(listed.log_alpha, alone.log_alpha, rtol=1e-4)
    assert_allclose(listed.term.weights(), alone.term.weights(), rtol=1e-3, atol=1e-4)
    for name, slope in alone.term.of_structure.items():
        assert_allclose(listed.term.of_structure[name], slope, rtol=1e-4)


def test_two_kernels_under_one_given_matrix_are_their_sum():
    K, Y = targets_for(Softmax(), N, M)
    other, given = psd(N, 6), Fixed(psd(M, 4))
    listed = made(Y, Softmax(), **EXACT).evaluate(
        operator_of([K, other]), ALPHA, StructureTerms((given, given))
    )
    added = made(Y, Softmax(), **EXACT).evaluate(Dense(K + other), ALPHA, given)
    assert_allclose(listed.value, added.value, rtol=1e-7)
    assert_allclose(listed.log_alpha, added.log_alpha, rtol=1e-4)
    for one in listed.terms:
        assert_allclose(one.weights(), added.term.weights(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("structures", [("frobenius", "mean"), ("low_rank", "mean")])
def test_the_value_is_that_of_refits(structures):
    K, Y = targets_for(Squared(), N, M)
    other = psd(N, 6)
    models = tuple(as_structure(one) for one in structures)
    criterion = made(Y, Squared())
    found = criterion.value(operator_of([K, other]), ALPHA, StructureTerms(models))
    total = 0.0
    for train, test in folds_of(N):
        model = OutputKernelRegressor(
            [Gram(K), Gram(other)],
            list(structures),
            ALPHA,
            normalize_y=False,
            tol=1e-8,
        ).fit(train[:, None], Y[train])
        total += np.sum((Y[test] - model.predict(test[:, None])) ** 2) / 2
    assert_allclose(found.value, total, rtol=1e-4)
    assert criterion.differentiates(StructureTerms(models)) == (
        "low_rank" not in structures
    )


def test_the_term_of_a_row_says_nothing_of_held_out_rows():
    K, Y = targets_for(Squared(), N, M)
    structure = StructureTerms((Mean(0.5), Identity()))
    criterion = made(Y, Squared(), **EXACT)
    found = criterion.evaluate(operator_of([K], rows=True), ALPHA, structure)
    # I and alpha add up: F = K C L + C, and alpha C = Y - F
    alone = made(Y, Squared(), **EXACT).evaluate(Dense(K.copy()), 1 + ALPHA, Mean(0.5))
    assert_allclose(found.value, alone.value, rtol=1e-7)


def test_the_next_evaluation_starts_where_the_last_ended():
    K, Y = targets_for(Softmax(), N, M)
    structure = StructureTerms(tuple(GIVEN))
    criterion = made(Y, Softmax(), tol=1e-11, rtol=1e-6)
    for scale in (1.0, 1.1, 0.9):
        operator = operator_of([scale * K, psd(N, 6)])
        warm = criterion.evaluate(operator, ALPHA, structure)
        cold = criterion.cold().evaluate(operator, ALPHA, structure)
        assert_allclose(warm.value, cold.value, rtol=1e-7)
        assert_allclose(warm.log_alpha, cold.log_alpha, rtol=1e-3)
        assert warm.largest_gap == 0.0


def test_a_learned_output_kernel_without_a_derivative_is_refused():
    K, Y = targets_for(Softmax(), N, M)
    with pytest.raises(ValueError, match=r"L of \[Identity.*LowRank.* is learned"):
        made(Y, Softmax()).evaluate(
            operator_of([K, K]), ALPHA, StructureTerms((Identity(), LowRank()))
        )
