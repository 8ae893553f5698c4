"""Losses in the cases that other libraries solve, in any order, and at extremes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from okl.losses import Hinge, Huber, Logistic, Softmax, Squared, SquaredHinge
from okl.structures import Fixed, Frobenius, Identity, LowRank, Mean, Sparse, TraceBall
from tests.samples import draw, draw_classes, gaussian, psd, solve, targets_for

CLASSIFYING = [Logistic(), Softmax(), Hinge(), SquaredHinge()]
LOSSES = [Huber(0.8), *CLASSIFYING]
each = pytest.mark.parametrize("loss", LOSSES, ids=repr)
classifying = pytest.mark.parametrize("loss", CLASSIFYING, ids=repr)
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
structures = pytest.mark.parametrize(
    "structure",
    [Mean(2.0), Frobenius(), LowRank(), TraceBall(), Sparse(0.3, 1e-2)],
    ids=lambda structure: structure.name,
)


def certified(K, Y, structure, alpha, **options):
    found = solve(K, Y, structure, alpha, **options)
    assert found.solution.certificate.status == "optimal"
    assert found.solution.certificate.gap >= -1e-12 * found.solution.certificate.primal
    return found


@pytest.mark.parametrize("alpha", [0.05, 1.0, 20.0])
@intercepts
def test_softmax_is_multinomial_logistic_regression(alpha, intercept):
    X, labels, _ = draw_classes(40, 4)
    theirs = LogisticRegression(
        C=1 / alpha, fit_intercept=intercept, tol=1e-10, max_iter=10**5
    ).fit(X, labels)
    Y = Softmax().coding.encode(labels, "multiclass", 4)
    found = certified(
        X @ X.T, Y, Identity(), alpha, loss=Softmax(), intercept=intercept, tol=1e-11
    )
    coef = X.T @ found.dual_coef
    assert_allclose(coef, theirs.coef_.T, atol=1e-4 * np.abs(theirs.coef_).max())
    p = np.exp(Softmax().coding.log_probabilities(found.predict(X @ X.T), "multiclass"))
    assert_allclose(p, theirs.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("alpha", [0.05, 1.0, 20.0])
@intercepts
def test_logistic_is_binary_logistic_regression(alpha, intercept):
    X, labels, _ = draw_classes(40, 2)
    theirs = LogisticRegression(
        C=1 / alpha, fit_intercept=intercept, tol=1e-10, max_iter=10**5
    ).fit(X, labels)
    Y = Logistic().coding.encode(labels, "binary", 2)
    found = certified(
        X @ X.T, Y, Identity(), alpha, loss=Logistic(), intercept=intercept, tol=1e-11
    )
    scores = found.predict(X @ X.T)
    expected = theirs.decision_function(X)
    assert_allclose(scores[:, 0], expected, atol=1e-4 * np.abs(expected).max())
    p = np.exp(Logistic().coding.log_probabilities(scores, "binary"))
    assert_allclose(p, theirs.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_squared_hinge_is_a_linear_support_vector_machine(C):
    X, labels, _ = draw_classes(40, 3)
    theirs = LinearSVC(C=C, fit_intercept=False, tol=1e-10, max_iter=10**6)
    theirs.fit(X, labels)
    loss = SquaredHinge()
    Y = loss.coding.encode(labels, "multiclass", 3)
    found = certified(X @ X.T, Y, Identity(), 1 / (2 * C), loss=loss, tol=1e-11)
    expected = theirs.decision_function(X)
    scale = np.abs(expected).max()
    assert_allclose(found.predict(X @ X.T), expected, atol=1e-4 * scale)


@structures
@intercepts
def test_huber_with_a_wide_quadratic_part_is_squared(structure, intercept):
    _, Y, K = draw(12, 3)
    one, two = (
        certified(K, Y, structure, 0.3, loss=loss, intercept=intercept, tol=1e-7)
        for loss in (Huber(1e6), Squared())
    )
    assert one.solution.certificate.primal == pytest.approx(
        two.solution.certificate.primal, rel=1e-6
    )
    F = two.predict(K)
    assert_allclose(one.predict(K), F, atol=2e-3 * np.abs(F).max())


def test_a_wild_target_moves_huber_no_further_than_delta():
    _, Y, K = draw(12, 3)
    fits = []
    for wild in (10.0, 1e4):
        Y[0, 0] = wild
        found = certified(K, Y, Frobenius(), 0.3, loss=Huber(), tol=1e-10)
        fits.append(found.predict(K))
    assert_allclose(*fits, atol=1e-2)


@each
@structures
def test_order_of_rows_and_outputs(loss, structure):
    K, Y = targets_for(loss, 12, 3)
    rows = np.random.default_rng(1).permutation(12)
    columns = np.array([2, 0, 1])
    one = certified(K, Y, structure, 0.3, loss=loss, intercept=True, tol=1e-7)
    two = certified(
        K[np.ix_(rows, rows)],
        Y[np.ix_(rows, columns)],
        structure,
        0.3,
        loss=loss,
        intercept=True,
        tol=1e-7,
    )
    assert two.solution.certificate.primal == pytest.approx(
        one.solution.certificate.primal, rel=1e-6
    )
    F = one.predict(K)[np.ix_(rows, columns)]
    G = two.predict(K[np.ix_(rows, rows)])
    assert_allclose(G, F, atol=2e-3 * np.abs(F).max())
    L = one.output_kernel.matrix()[np.ix_(columns, columns)]
    assert_allclose(two.output_kernel.matrix(), L, atol=5e-3 * np.abs(L).max())


@each
def test_order_of_the_outputs_of_a_fixed_kernel(loss):
    K, Y = targets_for(loss, 12, 3)
    columns, L = np.array([2, 0, 1]), psd(3, 5)
    one = certified(K, Y, Fixed(L), 0.3, loss=loss, tol=1e-9)
    permuted = Fixed(L[np.ix_(columns, columns)])
    two = certified(K, Y[:, columns], permuted, 0.3, loss=loss, tol=1e-9)
    F = one.predict(K)[:, columns]
    assert_allclose(two.predict(K), F, atol=1e-3 * np.abs(F).max())


class TestExtremes:
    """Every fit is certified, wherever the loss saturates."""

    @classifying
    @structures
    @intercepts
    @pytest.mark.each_value
    def test_one_sample_per_class(self, loss, structure, intercept):
        K, Y = targets_for(loss, 5, 5)
        found = certified(K, Y, structure, 0.1, loss=loss, intercept=intercept)
        assert np.array_equal(
            loss.coding.decide(found.predict(K), "multiclass"), Y.argmax(1)
        )

    @classifying
    @structures
    @intercepts
    @pytest.mark.each_value
    def test_separable_classes_at_a_small_alpha(self, loss, structure, intercept):
        rng = np.random.default_rng(0)
        labels = np.arange(30) % 3
        X = 4 * np.eye(3)[labels] + 0.3 * rng.normal(size=(30, 3))
        K, Y = gaussian(X, gamma=0.1), loss.coding.encode(labels, "multiclass", 3)
        found = certified(
            K, Y, structure, 1e-4, loss=loss, intercept=intercept, max_iter=300
        )
        assert np.array_equal(
            loss.coding.decide(found.predict(K), "multiclass"), labels
        )

    @pytest.mark.parametrize("loss", [Logistic(), Hinge(), SquaredHinge()], ids=repr)
    @structures
    def test_a_label_that_all_rows_have(self, loss, structure):
        _, labels, K = draw_classes(12, 2)
        indicators = np.column_stack([np.ones(12), labels, 1 - labels])
        Y = loss.coding.encode(indicators, "multilabel", 3)
        found = certified(K, Y, structure, 0.1, loss=loss, intercept=True)
        decided = loss.coding.decide(found.predict(K), "multilabel")
        assert np.all(decided[:, 0] == 1)
        assert np.all(np.isfinite(found.intercept))

    @classifying
    @pytest.mark.parametrize("structure", [Mean(2.0), Frobenius()], ids=repr)
    def test_many_classes_of_two_samples(self, loss, structure):
        _, labels, _ = draw_classes(100, 50)
        X = np.random.default_rng(0).normal(size=(50, 4))[labels]
        X = X + 0.1 * np.random.default_rng(1).normal(size=X.shape)
        Y = loss.coding.encode(labels, "multiclass", 50)
        certified(gaussian(X), Y, structure, 0.1, loss=loss, intercept=True)

    @pytest.mark.parametrize(
        "structure", [Mean(2.0), Frobenius(), TraceBall()], ids=lambda s: s.name
    )
    @intercepts
    def test_huber_far_from_the_targets(self, structure, intercept):
        _, Y, K = draw(12, 3)
        certified(K, 1e6 * Y, structure, 0.3, loss=Huber(), intercept=intercept)
        # in its own unit it is an ordinary problem: tF has the loss t^2 V
        one = certified(K, Y, Mean(2.0), 0.3, loss=Huber(), intercept=intercept)
        loss = Huber(1.35e6)
        two = certified(K, 1e6 * Y, Mean(2.0), 0.3, loss=loss, intercept=intercept)
        F = 1e6 * one.predict(K)
        assert_allclose(two.predict(K), F, atol=1e-2 * np.abs(F).max())
