"""Scores of a support are those of a classification of the pairs."""

import warnings
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning

from okl.metrics import (
    support_f1_score,
    support_precision_score,
    support_recall_score,
)

SCORES = [support_precision_score, support_recall_score, support_f1_score]
each = pytest.mark.parametrize("score", SCORES)


def symmetric(m, pairs):
    """Return a matrix with the given entries i < j, and anything on the diagonal."""
    L = np.diag(np.arange(m) - 1.0)
    for (i, j), value in pairs.items():
        L[i, j] = L[j, i] = value
    return L


TRUE = symmetric(4, {(0, 1): 2.0, (1, 2): -1e-9, (2, 3): 0.5})
# two of the three found, with two that are not there
FOUND = symmetric(4, {(0, 1): -3.0, (1, 2): 1.0, (0, 2): 0.03, (0, 3): 1e-15})


def test_by_hand():
    assert support_precision_score(TRUE, FOUND) == 2 / 4
    assert support_recall_score(TRUE, FOUND) == 2 / 3
    assert support_f1_score(TRUE, FOUND) == pytest.approx(4 / 7, abs=1e-15)


def test_the_threshold_is_relative_to_the_largest_estimated_entry():
    # 0.03 is 1 % of 3.0: at most, not below
    for scale in (1.0, 2.0**40):
        precision = partial(support_precision_score, TRUE, scale * FOUND)
        assert precision(threshold=1e-14) == 2 / 3
        assert precision(threshold=0.0099) == 2 / 3
        assert precision(threshold=0.0101) == 2 / 2
        assert precision(threshold=0.4) == 1 / 1
        assert support_recall_score(TRUE, FOUND, threshold=0.4) == 1 / 3
    # never applied to the true support, which has 1e-9
    assert support_recall_score(TRUE, TRUE != 0, threshold=0.9) == 1.0


entries = st.sampled_from([0.0, 0.0, 1e-30, -2.0, 5.0])


@st.composite
def two_kernels(draw):
    m = draw(st.integers(2, 6))
    pairs = [(i, j) for j in range(m) for i in range(j)]
    return [symmetric(m, {p: draw(entries) for p in pairs}) for _ in range(2)]


@given(two_kernels(), st.randoms(use_true_random=False))
def test_precision_and_recall_are_counts_of_pairs(kernels, random):
    true, estimated = kernels
    m = len(true)
    pairs = [(i, j) for j in range(m) for i in range(j)]
    related = {p for p in pairs if true[p] != 0}
    found = {p for p in pairs if estimated[p] != 0}
    assume(related and found)
    precision = support_precision_score(true, estimated)
    assert precision == len(related & found) / len(found)
    # swapping the matrices swaps the scores
    assert support_recall_score(estimated, true) == precision
    # nor does it matter how outputs are numbered or scaled
    order = random.sample(range(m), m)
    scales = np.diag([2.0 ** random.randint(-3, 3) for _ in range(m)])
    moved = (scales @ estimated @ scales)[np.ix_(order, order)]
    assert support_precision_score(true[np.ix_(order, order)], moved) == precision


def test_diagonals_adjacency_matrices_and_sparse_matrices():
    adjacency = symmetric(4, {(0, 1): 1, (1, 2): 1, (2, 3): 1})
    np.fill_diagonal(adjacency, 0)
    for score in SCORES:
        expected = score(TRUE, FOUND)
        assert score(adjacency.astype(bool), FOUND + 1e6 * np.eye(4)) == expected
        assert score(sp.csr_array(adjacency), sp.coo_matrix(FOUND)) == expected
        assert score(adjacency.tolist(), FOUND.tolist()) == expected


def test_without_relations():
    none = np.eye(3)
    some = symmetric(3, {(0, 1): 1.0})
    for score, true, estimated in [
        (support_precision_score, some, none),
        (support_recall_score, none, some),
        (support_f1_score, none, none),
    ]:
        with pytest.warns(UndefinedMetricWarning):
            assert score(true, estimated) == 0.0
        assert score(true, estimated, zero_division=1.0) == 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert support_recall_score(some, none) == 0.0
        assert support_precision_score(none, some) == 0.0
        assert support_f1_score(some, none) == 0.0


@each
@pytest.mark.parametrize(
    ("true", "estimated", "message"),
    [
        (np.eye(3), np.eye(2), r"the same shape; got \(3, 3\) and \(2, 2\)"),
        (np.ones((3, 2)), np.eye(3), r"true output kernel must be square.*\(3, 2\)"),
        (np.eye(3), np.ones(3), r"estimated output kernel must be square.*\(3,\)"),
        (np.triu(np.ones((3, 3))), np.eye(3), "true output kernel is not symmetric"),
        (np.eye(3), np.diag([1, np.nan, 1]), "estimated output kernel has NaN"),
        (np.diag([1, np.inf, 1]), np.eye(3), "true output kernel has NaN or inf"),
        ([[1.0]], [[1.0]], r"at least two outputs; got matrices of shape \(1, 1\)"),
        (np.empty((0, 0)), np.empty((0, 0)), "at least two outputs"),
    ],
)
def test_bad_matrices(score, true, estimated, message):
    with pytest.raises(ValueError, match=message):
        score(true, estimated)


@each
@pytest.mark.parametrize("threshold", [-0.1, 1.0, np.nan, "0.1", None, True])
def test_bad_threshold(score, threshold):
    with pytest.raises(ValueError, match=r"threshold must be a number in \[0, 1\)"):
        score(TRUE, FOUND, threshold=threshold)
