"""Several kernels, each with its own output kernel: F = sum_q K_q C L_q."""

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import okl
from okl import OutputKernelClassifier, OutputKernelRegressor
from okl.kernels import Gaussian, Laplacian, Linear, Row
from okl.structures import Cluster, Fixed, Sparse, TraceBall, as_structure
from tests.reference import conic_penalty
from tests.samples import psd

N, M, ALPHA = 12, 3, 0.3
TWO = ["frobenius", "frobenius"]
PLAIN = {"normalize_y": False, "fit_intercept": False}


def sample(n=N, m=M, seed=0):
    """Rows, and outputs that share what the rows do not tell."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    explained = np.tanh(X @ rng.normal(size=(2, m)))
    common = rng.normal(size=(n, 1)) * rng.normal(size=m)
    return X, explained + 0.5 * common + 0.2 * rng.normal(size=(n, m))


def root(matrix):
    values, vectors = np.linalg.eigh(matrix)
    return vectors * np.sqrt(np.clip(values, 0.0, None))


def conic(matrices, Y, loss, *, intercept, structures=TWO):
    """Return the optimum, F and the L_q."""
    m = Y.shape[1]
    kernels = [cp.Variable((m, m), PSD=True) for _ in matrices]
    parts = [cp.Variable(Y.shape) for _ in matrices]
    F = sum(root(K) @ Z for K, Z in zip(matrices, parts, strict=True))
    scores = F
    if intercept:
        scores = F + np.ones((len(Y), 1)) @ cp.Variable((1, m))
    penalty, allowed = 0.0, []
    for Z, L, structure in zip(parts, kernels, structures, strict=True):
        own, constraints = conic_penalty(as_structure(structure), L)
        penalty = penalty + cp.matrix_frac(Z.T, L) / 2 + own
        allowed += constraints
    problem = cp.Problem(cp.Minimize(loss(scores) + ALPHA * penalty), allowed)
    problem.solve(solver=cp.CLARABEL)
    return problem.value, scores.value, [L.value for L in kernels]


@pytest.mark.parametrize("second", [Linear(), Row()], ids=repr)
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
def test_optimum_of_a_conic_solver(second, intercept, missing):
    X, Y = sample()
    seen = np.ones_like(Y)
    if missing:
        seen[np.random.default_rng(1).random(Y.shape) < 0.3] = 0.0
    value, F, kernels = conic(
        [Gaussian(0.5)(X), second(X)],
        Y,
        lambda scores: cp.sum_squares(cp.multiply(seen, Y - scores)) / 2,
        intercept=intercept,
    )
    model = OutputKernelRegressor(
        [Gaussian(0.5), second],
        TWO,
        ALPHA,
        fit_intercept=intercept,
        normalize_y=False,
        tol=1e-9,
    ).fit(X, np.where(seen > 0, Y, np.nan))
    assert_allclose(model.certificate_.primal, value, rtol=1e-6)
    assert_allclose(model.certificate_.dual, value, rtol=1e-6)
    for found, known in zip(model.output_kernels_, kernels, strict=True):
        assert_allclose(found, known, atol=2e-3 * np.abs(known).max())
    if not isinstance(second, Row):
        assert_allclose(model.predict(X), F, atol=2e-3 * np.abs(F).max())


@pytest.mark.parametrize(
    "structures",
    [
        ["frobenius", "low_rank"],
        ["low_rank", "low_rank"],
        [TraceBall(), "frobenius"],
        [TraceBall(0.05), TraceBall()],
        [Cluster(2), "frobenius"],
        [Cluster(2, within=4.0), Sparse(0.3, 0.05)],
        [Sparse(0.3, 0.05), "low_rank"],
        [Sparse(1.0, 0.05), Sparse(0.0, 0.05)],
    ],
    ids=str,
)
@pytest.mark.parametrize("second", [Linear(), Row()], ids=repr)
def test_kinks_of_penalties_and_a_conic_solver(structures, second):
    X, Y = sample()
    value, _, _ = conic(
        [Gaussian(0.5)(X), second(X)],
        Y,
        lambda scores: cp.sum_squares(Y - scores) / 2,
        intercept=True,
        structures=structures,
    )
    model = OutputKernelRegressor(
        [Gaussian(0.5), second], structures, ALPHA, normalize_y=False
    ).fit(X, Y)
    assert model.certificate_.status == "optimal"
    assert okl.certify(model, X, Y).status == "optimal"
    assert_allclose(model.certificate_.primal, value, rtol=1e-5)
    assert_allclose(model.certificate_.dual, value, rtol=1e-5)


@pytest.mark.parametrize(
    "structure", [TraceBall(), TraceBall(0.05), Cluster(2), Sparse(0.3, 0.05)], ids=repr
)
@pytest.mark.parametrize(
    "loss", ["huber", "logistic", "softmax", "squared_hinge", "hinge"]
)
def test_every_structure_of_a_term_with_other_losses(structure, loss):
    X, Y = sample(20)
    kernels, structures = [Gaussian(0.5), Linear()], [structure, "frobenius"]
    if loss == "huber":
        Y[np.random.default_rng(1).random(Y.shape) < 0.2] = np.nan
        model, targets = OutputKernelRegressor(kernels, structures, loss=loss), Y
    else:
        model = OutputKernelClassifier(kernels, structures, loss=loss)
        targets = Y > 0 if loss in ("logistic", "hinge") else Y.argmax(axis=1)
    fitted = model.fit(X, targets)
    assert fitted.certificate_.status == "optimal"
    assert okl.certify(fitted, X, targets).status == "optimal"


def test_classes_against_a_conic_solver():
    X, Y = sample()
    labels = (Y > 0).astype(int)
    value, _, _ = conic(
        [Gaussian(0.5)(X), np.eye(N)],
        labels,
        lambda F: cp.sum(cp.logistic(F) - cp.multiply(labels, F)),
        intercept=True,
    )
    model = OutputKernelClassifier(
        [Gaussian(0.5), Row()], TWO, ALPHA, loss="logistic", tol=1e-8
    ).fit(X, labels)
    assert_allclose(model.certificate_.primal, value, rtol=1e-6)
    assert model.predict_proba(X).shape == (N, M)


@pytest.mark.parametrize("structures", [TWO, ["low_rank", "frobenius"]], ids=str)
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@pytest.mark.each_value
def test_kinks_of_the_loss_and_a_conic_solver(structures, intercept, missing):
    X, Y = sample()
    labels = np.where(Y > 0, 1.0, -1.0)
    seen = np.ones_like(Y)
    if missing:
        seen[np.random.default_rng(1).random(Y.shape) < 0.3] = 0.0
    value, F, _ = conic(
        [Gaussian(0.5)(X), Linear()(X)],
        labels,
        lambda F: cp.sum(cp.multiply(seen, cp.pos(1 - cp.multiply(labels, F)))),
        intercept=intercept,
        structures=structures,
    )
    model = OutputKernelClassifier(
        [Gaussian(0.5), Linear()],
        structures,
        ALPHA,
        loss="hinge",
        fit_intercept=intercept,
        tol=1e-8,
    ).fit(X, np.where(seen > 0, labels > 0, np.nan))
    assert_allclose(model.certificate_.primal, value, rtol=1e-6)
    assert_allclose(model.certificate_.dual, value, rtol=1e-6)
    assert_allclose(model.decision_function(X), F, atol=1e-2 * np.abs(F).max())


@pytest.mark.parametrize("loss", ["softmax", "squared_hinge", "hinge", "squared"])
def test_classes_are_certified(loss):
    X, Y = sample(30)
    model = OutputKernelClassifier([Gaussian(0.5), Linear()], TWO, 1.0, loss=loss).fit(
        X, Y.argmax(axis=1)
    )
    assert model.certificate_.status == "optimal"
    assert okl.certify(model, X, Y.argmax(axis=1)).status == "optimal"
    assert model.score(X, Y.argmax(axis=1)) > 0.5


def test_two_equal_kernels_are_one_doubled():
    X, Y = sample(25)
    twice = OutputKernelRegressor(
        [Gaussian(0.5), Gaussian(0.5)], ["identity", "identity"], ALPHA
    ).fit(X, Y)
    once = OutputKernelRegressor(2 * Gaussian(0.5), "identity", ALPHA).fit(X, Y)
    assert_allclose(twice.predict(X), once.predict(X), atol=1e-4)
    assert_allclose(twice.certificate_.primal, once.certificate_.primal, rtol=1e-6)


def test_a_row_of_no_weight_is_no_term():
    X, Y = sample(25)
    structures = ["frobenius", Fixed(np.zeros((M, M)))]
    given = {"tol": 1e-9}
    model = OutputKernelRegressor(
        [Gaussian(0.5), Row()], structures, ALPHA, **given
    ).fit(X, Y)
    alone = OutputKernelRegressor(Gaussian(0.5), "frobenius", ALPHA, **given).fit(X, Y)
    assert_allclose(model.predict(X), alone.predict(X), atol=1e-3)
    assert_allclose(model.certificate_.primal, alone.certificate_.primal, rtol=1e-8)
    assert_allclose(model.output_kernels_[0], alone.output_kernel_, atol=1e-3)


def test_a_row_with_a_given_kernel_is_noise_with_its_covariance():
    X, Y = sample(25)
    signal, noise = psd(M, 3), psd(M, 4)
    model = OutputKernelRegressor(
        [Gaussian(0.5), Row()], [Fixed(signal), Fixed(noise)], ALPHA, **PLAIN
    ).fit(X, Y)
    K, new = Gaussian(0.5)(X), np.random.default_rng(3).normal(size=(4, 2))
    # the mean of a Gaussian process, row by row of the flattened targets
    prior = np.kron(K, signal)
    noisy = prior + np.kron(np.eye(len(X)), noise + ALPHA * np.eye(M))
    dual = np.linalg.solve(noisy, Y.ravel())
    mean = np.kron(Gaussian(0.5)(new, X), signal) @ dual
    assert_allclose(model.predict(new), mean.reshape(-1, M), atol=1e-4)


@pytest.mark.parametrize("second", [Linear(), Row()], ids=repr)
def test_permuted_outputs(second):
    X, Y = sample(25)
    order = np.array([2, 0, 1])
    fits = [
        OutputKernelRegressor([Gaussian(0.5), second], TWO, ALPHA, tol=1e-9).fit(X, y)
        for y in (Y, Y[:, order])
    ]
    for one, other in zip(*(fit.output_kernels_ for fit in fits), strict=True):
        assert_allclose(one[np.ix_(order, order)], other, atol=1e-3)
    assert_allclose(fits[0].certificate_.primal, fits[1].certificate_.primal, rtol=1e-7)


def test_the_value_of_given_output_kernels_has_the_gradient_of_the_certificate():
    # phi(L_1, L_2) = min over f: d phi = -alpha / 2 sum_q <C'K_q C, dL_q>
    X, Y = sample()
    kernels, given = [Gaussian(0.5), Row()], [psd(M, 3), psd(M, 4)]

    def fitted(matrices):
        structures = [Fixed(matrix) for matrix in matrices]
        model = OutputKernelRegressor(kernels, structures, ALPHA, tol=1e-13, **PLAIN)
        return model.fit(X, Y)

    model = fitted(given)
    # C from C (L_1 + L_2) = Theta_1 + Theta_2
    dual = np.linalg.solve(sum(given), sum(model.dual_coef_).T).T
    change, step = psd(M, 7), 1e-4
    for q, kernel in enumerate(kernels):
        values = []
        for sign in (1, -1):
            moved = list(given)
            moved[q] = given[q] + sign * step * change
            values.append(fitted(moved).certificate_.primal)
        slope = -ALPHA / 2 * np.sum((dual.T @ kernel(X) @ dual) * change)
        assert_allclose((values[0] - values[1]) / (2 * step), slope, rtol=1e-4)


def test_the_certificate_bounds_every_model():
    X, Y = sample()
    model = OutputKernelRegressor([Gaussian(0.5), Linear()], TWO, ALPHA, **PLAIN)
    certificate = model.fit(X, Y).certificate_
    matrices = [kernel(X) for kernel in model.kernel_]

    def objective(dual, kernels):
        pairs = list(zip(matrices, kernels, strict=True))
        F = sum(K @ dual @ L for K, L in pairs)
        cost = sum(np.sum((dual.T @ K @ dual) * L) + np.sum(L * L) for K, L in pairs)
        return np.sum((Y - F) ** 2) / 2 + ALPHA / 2 * cost

    own = np.linalg.lstsq(
        np.hstack(model.output_kernels_).T, np.hstack(model.dual_coef_).T, rcond=None
    )[0].T
    assert_allclose(
        objective(own, model.output_kernels_), certificate.primal, rtol=1e-8
    )
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 1e-1):
        for _ in range(20):
            moved = [
                root(L) + size * rng.normal(size=(M, M)) for L in model.output_kernels_
            ]
            dual = own + size * rng.normal(size=own.shape)
            value = objective(dual, [B @ B.T for B in moved])
            assert value >= certificate.dual


def test_weights_are_repetitions_where_no_row_has_its_own_term():
    X, Y = sample()
    weights = np.random.default_rng(0).integers(1, 4, size=N)
    kernels = [Gaussian(0.5), Linear()]
    weighted = OutputKernelRegressor(kernels, TWO, ALPHA, tol=1e-9)
    weighted.fit(X, Y, sample_weight=weights)
    repeated = OutputKernelRegressor(kernels, TWO, ALPHA, tol=1e-9)
    repeated.fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0))
    assert_allclose(
        weighted.certificate_.primal, repeated.certificate_.primal, rtol=1e-7
    )
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-3)


def test_the_row_term_finds_what_the_inputs_do_not_explain():
    rng = np.random.default_rng(0)
    n, m = 200, 4
    X = rng.normal(size=(n, 2))
    loading = np.array([1.0, 1.0, -1.0, 0.0])
    noise = rng.normal(size=(n, 1)) * loading + 0.3 * rng.normal(size=(n, m))
    Y = np.tanh(X @ rng.normal(size=(2, m))) + noise
    model = OutputKernelRegressor([Gaussian(), Row()], TWO, 1.0).fit(X, Y)
    L = model.residual_kernel_
    correlation = L / np.sqrt(np.outer(np.diag(L), np.diag(L)))
    assert correlation[0, 1] > 0.4
    assert correlation[0, 2] < -0.4
    assert abs(correlation[0, 3]) < 0.2


@pytest.mark.parametrize("loss", ["squared", "huber"])
@pytest.mark.parametrize(("n", "m", "alpha"), [(60, 3, 1e-3), (5, 12, 2e-4)])
def test_small_alphas_are_certified(n, m, alpha, loss):
    X, Y = sample(n, m)
    for second in (Linear(), Row()):
        model = OutputKernelRegressor([Gaussian(0.5), second], TWO, alpha, loss=loss)
        assert model.fit(X, Y).certificate_.status == "optimal"


@pytest.mark.parametrize("loss", ["softmax", "logistic"])
@pytest.mark.parametrize("alpha", [0.05, 5e-4])
def test_small_alphas_of_classes_are_certified(loss, alpha):
    # 20 to 50 s, and gaps of 3e-5, where each round started from no functions at all
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    kernels, structures = [Gaussian(0.3), Linear()], ["low_rank", "identity"]
    model = OutputKernelClassifier(kernels, structures, alpha, loss=loss).fit(X, y)
    assert model.certificate_.status == "optimal"


def test_a_start_is_as_good_as_where_it_comes_from():
    # the functions of C and L_q of another alpha, and a part of C
    X, Y = sample(30)
    alphas = [1.0, 0.1, 0.01]
    structures = ["low_rank", "frobenius"]
    kernels = [Gaussian(0.5), Linear()]
    path = okl.output_kernel_path(
        X, Y, kernel=kernels, structure=structures, alphas=alphas
    )
    for alpha, certificate in zip(path.alphas, path.certificates, strict=True):
        assert certificate.status == "optimal"
        alone = OutputKernelRegressor(kernels, structures, alpha).fit(X, Y)
        assert_allclose(certificate.primal, alone.certificate_.primal, rtol=3e-6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_random_fits_are_certified(seed):
    rng = np.random.default_rng(seed)
    X, Y = sample(int(rng.choice([5, 12, 40])), int(rng.choice([1, 2, 5])), seed)
    if rng.random() < 0.4:
        Y[2:][rng.random(Y[2:].shape) < 0.3] = np.nan
    choices = [[Gaussian(), Row()], [Linear(), Row()], [Gaussian(0.5), Linear()]]
    kernels = [*choices[rng.integers(3)]]
    structures = [str(rng.choice(["frobenius", "identity", "mean"])) for _ in kernels]
    weights = rng.random(len(X)) + 0.1 if rng.random() < 0.3 else None
    model = OutputKernelRegressor(
        kernels,
        structures,
        10 ** rng.uniform(-4, 2),
        loss=str(rng.choice(["squared", "huber"])),
        fit_intercept=bool(rng.random() < 0.6),
    ).fit(X, Y, sample_weight=weights)
    assert model.certificate_.status == "optimal"
    assert okl.certify(model, X, Y, sample_weight=weights).status == "optimal"


def test_squared_hinges_that_newton_steps_jump_over():
    # at this alpha rounds without damping go from one side of the margins to the other
    rng = np.random.default_rng(0)
    X, mix, common = (rng.normal(size=size) for size in ((60, 2), (2, 3), (60, 1)))
    Y = np.sin(X) @ mix + 0.5 * common + 0.2 * rng.normal(size=(60, 3))
    y = np.where(np.random.default_rng(0).random(Y.shape) < 0.3, np.nan, Y > 0)
    kernels = [Gaussian(1.0), Laplacian(0.5)]
    model = OutputKernelClassifier(kernels, TWO, 1e-3, loss="squared_hinge").fit(X, y)
    assert model.certificate_.status == "optimal"
    assert okl.certify(model, X, y).status == "optimal"


@pytest.mark.parametrize("structures", [["trace_ball", "sparse"], ["sparse", "sparse"]])
def test_few_rows_under_penalties_with_kinks(structures):
    X, Y = sample(5)
    model = OutputKernelRegressor([Gaussian(1.0), Row()], structures).fit(X, Y)
    assert model.certificate_.status == "optimal"
