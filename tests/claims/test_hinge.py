"""The hinge loss against the support vector machines of scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, make_multilabel_classification
from sklearn.svm import SVC, LinearSVC

from okl import OutputKernelClassifier, OutputKernelClassifierCV, certify
from okl.losses import Hinge
from okl.solvers.kinks import support_vectors
from okl.structures import Cluster, Identity, LowRank, Mean, Sparse, TraceBall
from tests.samples import draw_classes, gaussian, solve

CS = pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
STRUCTURES = [
    Identity(),
    Mean(2.0),
    "frobenius",
    LowRank(),
    TraceBall(),
    TraceBall(1e-2),
    Cluster(2),
    Sparse(0.3, 1e-2),
]
structures = pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])


def two_classes(n=60, seed=0):
    _, labels, K = draw_classes(n, 2, seed)
    return K, labels


@CS
def test_one_output_is_a_support_vector_machine(C):
    K, labels = two_classes()
    theirs = SVC(C=C, kernel="precomputed", tol=1e-10).fit(K, labels)
    ours = OutputKernelClassifier(
        "precomputed", "identity", 1 / C, loss="hinge", tol=1e-8
    ).fit(K, labels)
    scores = theirs.decision_function(K)
    assert_allclose(ours.decision_function(K), scores, atol=1e-3)
    dual = np.zeros(len(K))
    dual[theirs.support_] = theirs.dual_coef_[0]
    assert_allclose(ours.dual_coef_, dual, atol=2e-3 * C)
    # the support vectors, and those at the bound, exactly
    y = np.where(labels == 1, 1.0, -1.0)
    assert_array_equal(np.flatnonzero(ours.dual_point_), np.sort(theirs.support_))
    inside = y * ours.decision_function(K)
    assert_array_equal(ours.dual_point_[inside > 1 + 1e-6], 0.0)
    assert_array_equal((y * ours.dual_point_)[inside < 1 - 1e-6], 1.0)
    assert_allclose(ours.dual_coef_, C * ours.dual_point_, rtol=1e-14)


@pytest.mark.parametrize("structure", [LowRank(), LowRank(2)], ids=repr)
def test_where_the_best_output_kernel_is_zero(structure):
    # so many rows and classes that conjugate gradients have columns of K
    X, labels, _ = draw_classes(120, 5)
    model = OutputKernelClassifier("rbf", structure, 1e4, loss="hinge")
    assert model.fit(X, labels).certificate_.status == "optimal"
    assert_array_equal(model.output_kernel_, 0)


@pytest.mark.parametrize("structure", [Identity(), Mean(2.0)], ids=repr)
@intercepts
@pytest.mark.parametrize("linear", [False, True], ids=["gaussian", "linear"])
@pytest.mark.each_value
def test_zeros_are_exact_at_any_tolerance(structure, intercept, linear):
    # the linear kernel has rank 3: a matrix of 4 support vectors on the margin, which
    # the intercept makes possible, is singular
    X, labels, K = draw_classes(40, 3)
    K = X @ X.T if linear else K
    Y = Hinge().coding.encode(labels, "multiclass", 3)
    for alpha in (1.0, 1e-3):
        for tol in (1e-6, 1e-8, 1e-10):
            options = {"loss": Hinge(), "intercept": intercept, "tol": tol}
            found = solve(K, Y, structure, alpha, **options).solution
            assert found.certificate.status == "optimal"
            L = structure.known(Y)
            exact = L.multiply(found.dual_point / alpha)
            assert_array_equal(found.dual_coef, exact)
            assert np.sum(found.dual_point == 0) > Y.size / 5


@CS
def test_weights_are_those_of_a_support_vector_machine(C):
    K, labels = two_classes()
    weights = np.random.default_rng(0).choice([0.0, 0.3, 1.0, 2.5], size=len(K))
    seen = weights > 0
    theirs = SVC(C=C, kernel="precomputed", tol=1e-10)
    theirs.fit(K[np.ix_(seen, seen)], labels[seen], sample_weight=weights[seen])
    Y = Hinge().coding.encode(labels, "binary", 2)
    options = {"loss": Hinge(), "intercept": True, "tol": 1e-8}
    ours = solve(K, Y, Identity(), 1 / C, weights=weights[:, None], **options)
    expected = theirs.decision_function(K[:, seen])
    assert_allclose(ours.predict(K)[:, 0], expected, atol=1e-3)
    assert_array_equal(ours.dual_coef[~seen], 0)


@CS
def test_without_intercept_it_is_a_linear_support_vector_machine(C):
    X, labels, _ = draw_classes(60, 3)
    theirs = LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=1e-10)
    theirs.set_params(max_iter=10**6).fit(X, labels)
    ours = OutputKernelClassifier(
        "linear", "identity", 1 / C, loss="hinge", fit_intercept=False, tol=1e-10
    ).fit(X, labels)
    expected = theirs.decision_function(X)
    assert_allclose(
        ours.decision_function(X), expected, atol=1e-4 * np.abs(expected).max()
    )


@structures
@intercepts
def test_certify_says_the_same_from_public_attributes(structure, intercept):
    X, labels, _ = draw_classes(30, 3)
    model = OutputKernelClassifier(
        structure=structure, alpha=0.3, loss="hinge", fit_intercept=intercept
    ).fit(X, labels)
    assert model.certificate_.status == "optimal"
    options = {
        "alpha": 0.3,
        "structure": structure,
        "intercept": model.intercept_ if intercept else None,
        "loss": "hinge",
    }
    if "known" not in model.structure_.capabilities:
        options["output_kernel"] = model.output_kernel_
    K = model.kernel_(X)
    Y = Hinge().coding.encode(labels, "multiclass", 3)
    found = certify(K, Y, model.dual_coef_, dual_point=model.dual_point_, **options)
    assert found.status == "optimal"
    assert found.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert found.dual == pytest.approx(model.certificate_.dual, rel=1e-9)
    # any dual point bounds the optimum, and one outside the domain bounds nothing
    for factor in (0.0, 0.5, 0.9):
        point = factor * model.dual_point_
        other = certify(K, Y, model.dual_coef_, dual_point=point, **options)
        assert other.dual <= found.primal
        assert other.primal == found.primal
    wrong = [-model.dual_point_]
    if intercept:
        unbalanced = model.dual_point_.copy()
        unbalanced[:, 0] *= np.where(labels == 0, 0.5, 1.0)
        wrong.append(unbalanced)
    for point in wrong:
        other = certify(K, Y, model.dual_coef_, dual_point=point, **options)
        assert other.dual == -np.inf
        assert other.status == "unproved"


def test_a_dual_point_must_be_given_and_fit():
    K, labels = two_classes(10)
    Y = Hinge().coding.encode(labels, "binary", 2)
    options = {"alpha": 1.0, "structure": "identity", "loss": "hinge"}
    with pytest.raises(ValueError, match=r"is not differentiable.*pass dual_point"):
        certify(K, Y, 0 * Y, **options)
    with pytest.raises(ValueError, match=r"shape of Y, \(10, 1\); got \(9, 1\)"):
        certify(K, Y, 0 * Y, dual_point=Y[1:], **options)


def test_another_loss_has_no_dual_point():
    X, labels, _ = draw_classes(30, 3)
    model = OutputKernelClassifier(loss="hinge").fit(X, labels)
    assert model.dual_point_.shape == (30, 3)
    model.set_params(loss="squared").fit(X, labels)
    assert not hasattr(model, "dual_point_")


@structures
def test_several_labels(structure):
    X, Y = make_multilabel_classification(40, 5, n_classes=4, random_state=0)
    model = OutputKernelClassifier(structure=structure, loss="hinge", alpha=0.5)
    model.fit(X, Y)
    assert model.certificate_.status == "optimal"
    assert_array_equal(model.predict(X), model.decision_function(X) > 0)
    assert np.mean(model.predict(X) == Y) > 0.65


@pytest.mark.parametrize("alpha", [0.03, 1.0, 30.0])
@pytest.mark.parametrize("weighting", ["none", "rows", "missing"])
def test_libsvm_and_newton_rounds_find_the_same(alpha, weighting, monkeypatch):
    _, labels, K = draw_classes(40, 3)
    Y = Hinge().coding.encode(labels, "multiclass", 3)
    rng = np.random.default_rng(0)
    weights = {
        "none": None,
        "rows": rng.integers(0, 3, size=(40, 1)).astype(float),
        "missing": rng.integers(0, 2, size=(40, 3)).astype(float),
    }[weighting]
    options = {"loss": Hinge(), "intercept": True, "weights": weights, "tol": 1e-9}
    direct = solve(K, Y, Identity(), alpha, **options).solution
    assert direct.n_iter == 1
    monkeypatch.setattr(support_vectors, "fits", lambda problem, kernel: False)
    rounds = solve(K, Y, Identity(), alpha, **options).solution
    assert rounds.n_iter > 1
    for solution in (direct, rounds):
        assert solution.certificate.status == "optimal"
    assert direct.certificate.primal == pytest.approx(
        rounds.certificate.primal, rel=3e-9
    )


def test_a_first_guess_that_is_wrong_is_mended(monkeypatch):
    # an injected fault: multipliers of other machines
    _, labels, K = draw_classes(40, 3)
    Y = Hinge().coding.encode(labels, "multiclass", 3)
    original = support_vectors.multipliers_of

    def faulty(problem, kernel, alpha, *, tol):
        return original(problem, kernel, 30 * alpha, tol=tol)

    monkeypatch.setattr(support_vectors, "multipliers_of", faulty)
    found = solve(K, Y, Identity(), 0.1, loss=Hinge(), intercept=True).solution
    assert found.certificate.status == "optimal"
    assert found.n_iter > 1


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_label_that_all_rows_have_has_dual_variables_of_zero(seed, alpha):
    # multipliers of one sign that sum to zero: rounding must not leave one outside
    _, labels, K = draw_classes(12, 2, seed)
    indicators = np.column_stack([np.ones(12), labels, 1 - labels])
    Y = Hinge().coding.encode(indicators, "multilabel", 3)
    found = solve(K, Y, Mean(2.0), alpha, loss=Hinge(), intercept=True)
    assert found.solution.certificate.status == "optimal"
    assert_array_equal(found.solution.dual_point[:, 0], 0)


def test_class_weights_are_those_of_a_support_vector_machine():
    X, labels, _ = draw_classes(60, 2)
    X, labels = X[:45], labels[:45]
    theirs = SVC(C=2.0, gamma=0.5, class_weight={0: 3.0, 1: 0.5}, tol=1e-10)
    theirs.fit(X, labels)
    ours = OutputKernelClassifier(
        gaussian,
        "identity",
        0.5,
        loss="hinge",
        class_weight={0: 3.0, 1: 0.5},
        tol=1e-10,
    ).fit(X, labels)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)


def test_search_over_alpha_and_structure():
    X, labels = load_digits(n_class=4, return_X_y=True)
    X, labels = X[:80] / 16, labels[:80]
    search = OutputKernelClassifierCV(
        "rbf", ["identity", "frobenius"], alphas=3, eps=1e-3, cv=3, loss="hinge"
    ).fit(X, labels)
    assert search.certificate_.status == "optimal"
    assert search.dual_point_.shape == (80, 4)
    assert search.best_score_ > 0.9
    assert not hasattr(search, "predict_proba")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("seed", "n"), [(1, 10), (5, 12)])
def test_a_model_in_the_output_kernel_that_falls_without_end(seed, n):
    # where all dual variables are at a bound nothing bends it: L became 1e158
    X = np.random.default_rng(seed).normal(size=(n, 2))
    model = OutputKernelClassifier("rbf", "sparse", loss="hinge", alpha=2.0)
    assert model.fit(X, np.arange(n) % 2).certificate_.status == "optimal"
