"""A kernel per output: limiting cases, independent solvers, certificates."""

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from okl import (
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
    certify,
    output_kernel_path,
)
from okl.kernels import Constant, Gaussian, Gram, Laplacian, Linear, PerOutput
from tests import exact_softmax

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
NEW = rng.normal(size=(7, 3))
CLASSES = (X[:, 0] > 0.3).astype(int) + (X @ [1.0, 2.0, 0.5] > 0.2)
Y = np.column_stack([X[:, 0] ** 2, X @ [1, 0, 2], np.sin(X[:, 1])])
Y += 0.1 * rng.normal(size=Y.shape)
KERNELS = [Gaussian(0.3) + 1, 30 * Laplacian(0.2), Linear()]
REGRESSION = ["squared", "huber"]
MARGINS = ["squared", "logistic", "squared_hinge"]
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])


CLASSIFICATION = ["squared", "logistic", "softmax", "hinge", "squared_hinge"]


def coded(classes, m, loss):
    Y = (classes[:, None] == np.arange(m)).astype(float)
    return Y if loss == "softmax" else 2 * Y - 1


def regressor(kernel, **options):
    return OutputKernelRegressor(
        kernel, "identity", options.pop("alpha", 0.3), tol=1e-9, **options
    )


def classifier(kernel, **options):
    return OutputKernelClassifier(
        kernel, "identity", options.pop("alpha", 0.3), tol=1e-9, **options
    )


@pytest.mark.parametrize("loss", CLASSIFICATION)
@intercepts
def test_equal_kernels_are_the_shared_kernel(loss, intercept):
    options = {"loss": loss, "fit_intercept": intercept}
    one = classifier(Gaussian(), **options).fit(X, CLASSES)
    three = classifier(PerOutput([Gaussian()] * 3), **options).fit(X, CLASSES)
    assert len(three.kernel_.terms()) == 1
    assert_allclose(three.decision_function(NEW), one.decision_function(NEW), atol=1e-4)
    assert_allclose(three.certificate_.primal, one.certificate_.primal, rtol=1e-8)


@pytest.mark.parametrize("loss", REGRESSION)
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@intercepts
def test_separable_losses_are_one_fit_per_output(loss, missing, intercept):
    options = {"loss": loss, "fit_intercept": intercept}
    drawn = np.random.default_rng(2).random(Y.shape)
    seen = np.where(drawn < 0.3, np.nan, Y) if missing else Y
    together = regressor(PerOutput(KERNELS), **options).fit(X, seen)
    for j, kernel in enumerate(KERNELS):
        alone = regressor(kernel, **options).fit(X, seen[:, j])
        scale = np.abs(alone.predict(NEW)).max()
        assert_allclose(
            together.predict(NEW)[:, j], alone.predict(NEW), atol=1e-4 * scale
        )


@pytest.mark.parametrize("loss", MARGINS)
def test_one_against_the_rest_is_one_fit_per_class(loss):
    together = classifier(PerOutput(KERNELS), loss=loss).fit(X, CLASSES)
    for j, kernel in enumerate(KERNELS):
        alone = classifier(kernel, loss=loss).fit(X, np.equal(CLASSES, j))
        scores = alone.decision_function(NEW)
        assert_allclose(
            together.decision_function(NEW)[:, j],
            scores,
            atol=1e-4 * np.abs(scores).max(),
        )


@intercepts
def test_softmax_against_a_conic_solver(intercept):
    alpha, m = 0.3, 3
    targets = coded(CLASSES, m, "softmax")
    found = classifier(PerOutput(KERNELS), loss="softmax", fit_intercept=intercept)
    found.fit(X, CLASSES)
    roots = [np.linalg.cholesky(k(X) + 1e-9 * np.eye(len(X))) for k in KERNELS]
    inside = [cp.Variable(len(X)) for _ in roots]
    b = cp.Variable((1, m)) if intercept else np.zeros((1, m))
    F = cp.vstack([R @ g for R, g in zip(roots, inside, strict=True)]).T
    F = F + np.ones((len(X), 1)) @ b
    loss = cp.sum(cp.log_sum_exp(F, axis=1)) - cp.sum(cp.multiply(targets, F))
    norm = sum(cp.sum_squares(g) for g in inside)
    problem = cp.Problem(cp.Minimize(loss + alpha / 2 * norm))
    value = problem.solve(solver=cp.CLARABEL)
    assert_allclose(found.certificate_.primal, value, rtol=1e-6)
    scores = found.decision_function(X)
    difference = (scores - scores.mean()) - (F.value - F.value.mean())
    assert np.abs(difference).max() < 2e-3 * np.abs(scores).max()


@pytest.mark.parametrize(
    "kernels",
    [[30 * Gaussian(0.1) + 10] * 3, [30 * Gaussian(g) + 10 for g in (0.1, 0.3, 2.0)]],
    ids=["tied", "separate"],
)
@pytest.mark.parametrize("alpha", [1.0, 0.01])
def test_softmax_against_exact_newton_steps(kernels, alpha):
    C, value = exact_softmax.fit(
        [k(X) for k in kernels], coded(CLASSES, 3, "softmax"), alpha
    )
    options = {"loss": "softmax", "fit_intercept": False, "alpha": alpha}
    found = classifier(PerOutput(kernels), **options).fit(X, CLASSES)
    assert_allclose(found.certificate_.primal, value, rtol=1e-9)
    assert_allclose(found.dual_coef_, C, atol=1e-4 * np.abs(C).max())
    if kernels[0] is kernels[1]:
        shared = classifier(kernels[0], **options).fit(X, CLASSES)
        assert_allclose(shared.dual_coef_, C, atol=1e-4 * np.abs(C).max())


@pytest.mark.parametrize("loss", CLASSIFICATION)
@intercepts
def test_the_certificate_can_be_computed_from_the_matrices(loss, intercept):
    model = OutputKernelClassifier(
        PerOutput(KERNELS), "identity", 0.3, loss=loss, fit_intercept=intercept
    ).fit(X, CLASSES)
    # linear kernels are seen from the means of the rows
    matrices = [kernel(X) for kernel in model.kernel_.kernels]
    for K in (matrices, np.stack(matrices)):
        again = certify(
            K,
            coded(CLASSES, 3, loss),
            model.dual_coef_,
            alpha=0.3,
            structure="identity",
            loss=loss,
            intercept=model.intercept_ if intercept else None,
            dual_point=getattr(model, "dual_point_", None),
        )
        assert again.status == "optimal"
        assert_allclose(again.primal, model.certificate_.primal, rtol=1e-9)
        assert_allclose(again.dual, model.certificate_.dual, rtol=1e-6)


def test_more_outputs_than_samples():
    # outputs with kernels of their own may not be rotated into the span of the targets
    wide = np.random.default_rng(1).normal(size=(6, 9))
    kernels = [Gaussian(0.1 * (j + 1)) for j in range(9)]
    model = regressor(PerOutput(kernels)).fit(X[:6], wide)
    assert model.certificate_.status == "optimal"
    for j in (0, 8):
        alone = regressor(kernels[j]).fit(X[:6], wide[:, j])
        assert_allclose(model.predict(NEW)[:, j], alone.predict(NEW), rtol=1e-7)


def test_a_singular_and_an_indefinite_matrix():
    K = Linear()(X) - 1e-7 * np.eye(len(X))  # the negative part is clipped
    rows = np.arange(len(X), dtype=float)[:, None]
    kernels = [Gram(K), Gram(Gaussian(1.0)(X))]
    model = regressor(PerOutput(kernels), alpha=1e-3).fit(rows, Y[:, :2])
    for j, kernel in enumerate(kernels):
        alone = regressor(kernel, alpha=1e-3).fit(rows, Y[:, j])
        assert_allclose(model.predict(rows)[:, j], alone.predict(rows), atol=1e-6)


def test_matrices_equal_up_to_a_factor_are_stored_once():
    k = Gaussian(0.5)
    kernels = [30 * k, k * 5, k, 2 * (3 * k), k + 1, 7 * (k + 1), 30 * k + 10]
    kernels += [3 * k + 1, Constant(2), Gaussian(0.4), Gaussian([0.5, 0.5, 0.5])]
    terms = PerOutput(kernels).resolve(X).terms()
    assert [t.outputs.tolist() for t in terms] == [
        [0, 1, 2, 3],
        [4, 5],
        [6, 7],
        [8],
        [9],
        [10],
    ]
    assert_allclose(terms[0].scales, [30, 5, 1, 6])
    for term in terms:
        for j, scale in zip(term.outputs, term.scales, strict=True):
            assert_allclose(scale * term.kernel(X, NEW), kernels[j](X, NEW))


@pytest.mark.parametrize("intercept", [False, True])
def test_path_and_cross_validation_see_each_output(intercept):
    options = {"fit_intercept": intercept, "tol": 1e-9}
    kernel = PerOutput(KERNELS)
    path = output_kernel_path(
        X, Y, kernel=kernel, structure="identity", alphas=4, eps=1e-3, **options
    )
    H = np.eye(len(X)) - intercept / len(X)
    assert_allclose(
        path.alphas[0], max(np.linalg.norm(H @ k(X) @ H, 2) for k in KERNELS)
    )
    for j, alone in enumerate(KERNELS):
        for i, alpha in enumerate(path.alphas):
            model = regressor(alone, alpha=alpha, fit_intercept=intercept)
            expected = model.fit(X, Y[:, j]).predict(NEW)
            assert_allclose(path[i].predict(NEW)[:, j], expected, atol=1e-6)
    search = OutputKernelRegressorCV(
        kernel, "identity", alphas=path.alphas, cv=4, **options
    ).fit(X, Y)
    by_hand = OutputKernelRegressorCV(
        KERNELS[0], "identity", alphas=path.alphas, cv=4, **options
    ).fit(X, Y[:, 0])
    same = OutputKernelRegressorCV(
        PerOutput(KERNELS[:1]), "identity", alphas=path.alphas, cv=4, **options
    ).fit(X, Y[:, 0])
    assert_allclose(same.scores_, by_hand.scores_, rtol=1e-6)
    assert search.certificate_.status == "optimal"


def test_classes_in_cross_validation():
    search = OutputKernelClassifierCV(
        PerOutput(KERNELS), "identity", loss="softmax", alphas=3, eps=1e-2, cv=3
    ).fit(X, CLASSES)
    assert search.score(X, CLASSES) > 0.8


def test_parameters_reach_the_kernels():
    model = OutputKernelClassifier(PerOutput([Gaussian(), Linear()]), "identity")
    assert model.get_params()["kernel__kernels__0__gamma"] == "scale"
    copy = clone(model).set_params(kernel__kernels__0__gamma=0.5, loss="softmax")
    assert model.kernel.kernels[0].gamma == "scale"
    copy.fit(X, CLASSES > 0)
    assert copy.kernel_.kernels[0].gamma == 0.5
    assert copy.predict_proba(X).shape == (len(X), 2)
    resolved = clone(model).set_params(loss="softmax").fit(X, CLASSES > 0)
    expected = 1 / (X.shape[1] * X.var())
    assert_allclose(resolved.kernel_.kernels[0].gamma, expected)


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    outputs = pandas.DataFrame(Y, columns=["u", "v", "w"])
    model = regressor(PerOutput(KERNELS)).fit(frame, outputs)
    assert model.output_names_.tolist() == ["u", "v", "w"]
    new = pandas.DataFrame(NEW, columns=["a", "b", "c"])
    plain = regressor(PerOutput(KERNELS)).fit(X, Y)
    assert_allclose(model.predict(new), plain.predict(NEW))


@pytest.mark.parametrize(
    ("kernels", "y", "loss", "words"),
    [
        (KERNELS[:2], CLASSES, "softmax", "is 2, of outputs 3"),
        (KERNELS[:2], CLASSES > 0, "logistic", "is 2, of outputs 1"),
        (KERNELS[:1], CLASSES > 0, "softmax", "is 1, of outputs 2"),
        ([], CLASSES, "softmax", "list of at least one kernel"),
    ],
)
def test_a_wrong_number_of_kernels(kernels, y, loss, words):
    for estimator in (OutputKernelClassifier, OutputKernelClassifierCV):
        with pytest.raises(ValueError, match=words):
            estimator(PerOutput(kernels), "identity", loss=loss).fit(X, y)


def test_a_structure_that_couples_the_outputs():
    with pytest.raises(ValueError, match=r"PerOutput .* structure='identity'"):
        OutputKernelRegressor(PerOutput(KERNELS)).fit(X, Y)
    with pytest.raises(ValueError, match=r"PerOutput .* structure='identity'"):
        output_kernel_path(X, Y, kernel=PerOutput(KERNELS))
    with pytest.raises(ValueError, match=r"PerOutput .* structure='identity'"):
        OutputKernelRegressorCV(PerOutput(KERNELS), ["identity", "mean"]).fit(X, Y)
    with pytest.raises(ValueError, match="one kernel for all outputs"):
        regressor(PerOutput(KERNELS), solver="output_kernel_newton").fit(X, Y)
    with pytest.raises(TypeError, match=r"kernels\[1\] of PerOutput"):
        regressor(PerOutput([Linear(), "rbf"])).fit(X, Y[:, :2])
    matrices = [kernel(X) for kernel in KERNELS]
    options = {"alpha": 1.0, "output_kernel": np.eye(3)}
    with pytest.raises(ValueError, match="per output needs structure='identity'"):
        certify(matrices, Y, 0 * Y, structure="frobenius", **options)
    with pytest.raises(ValueError, match="one per output, 3 here; got 2"):
        certify(matrices[:2], Y, 0 * Y, alpha=1.0, structure="identity")


def test_an_unfinished_fit_says_so():
    model = OutputKernelClassifier(
        PerOutput(KERNELS), "identity", 1e-3, loss="softmax", max_iter=1
    )
    with pytest.warns(ConvergenceWarning):
        model.fit(X, CLASSES)
    assert model.certificate_.relative_gap > 1e-6
