"""Scores of folds: of features, and of alphas that are left out."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from okl import OutputKernelClassifier, OutputKernelClassifierCV
from okl.datasets import make_text_tree
from okl.losses import Softmax
from okl.operators import Features, SparseFeatures
from okl.problems import Inputs, Observed
from okl.selection.held_out import score_fold
from okl.structures import Identity, Mean
from tests.solvers.test_primal_step import intercepts, kinds, targets, words


@intercepts
@pytest.mark.parametrize("structure", [Identity(), Mean(2.0)], ids=lambda s: s.name)
@kinds
def test_held_out_predictions_are_those_of_the_models(structure, intercept, dense):
    X = words(90, dense=True)
    X[:, 3] = 0  # one that only held-out rows have
    X[80:, 3] = 1.0
    X = X if dense else sp.csr_matrix(X)
    observed = Observed(targets(Softmax(), 90), Softmax())
    train, test = np.arange(60), np.arange(60, 90)
    alphas = np.array([1.0, 0.1])
    operator = Features(X) if dense else SparseFeatures(X)
    whole = Inputs.of(operator, fit_intercept=intercept)
    found = score_fold(
        whole.plain,
        observed,
        [structure],
        alphas[None],
        train,
        test,
        lambda predictions, _: predictions,
        fit_intercept=intercept,
        tol=1e-10,
        max_iter=100,
    )
    labels = np.argmax(observed.targets, axis=1)
    for alpha, predictions in zip(alphas, found.scores[0], strict=True):
        model = OutputKernelClassifier(
            "linear", structure, alpha=alpha, loss="softmax", fit_intercept=intercept
        ).set_params(solver="newton_cg", tol=1e-12)
        scores = model.fit(X[train], labels[train]).decision_function(X[test])
        # softmax scores are known up to what all classes have in common
        centred = [rows - rows.mean(axis=1)[:, None] for rows in (predictions, scores)]
        assert_allclose(*centred, atol=1e-3)


def test_a_fold_leaves_alphas_out_that_are_far_below_its_best():
    X, labels, _ = make_text_tree(400, (3, 8), n_words=150, length=30, random_state=0)
    alphas = np.geomspace(10, 1e-4, 6)
    full, staged = (
        OutputKernelClassifierCV(
            "linear", alphas=alphas, cv=3, search=search, temperature=1.0
        ).fit(X, labels)
        for search in ("full", "compare")
    )
    left_out = np.isnan(staged.scores_[0])
    assert np.any(left_out)
    assert not np.any(np.isnan(full.scores_))
    assert staged.alpha_ == full.alpha_
    assert_allclose(staged.scores_[0][~left_out], full.scores_[0][~left_out], rtol=1e-2)
    for fold, missing in zip(full.scores_[0].T, left_out.T, strict=True):
        if not np.any(missing):
            continue
        first = int(np.argmax(missing))
        assert np.all(missing[first:])
        assert alphas[np.argmax(fold[:first])] >= 9 * alphas[first - 1]
