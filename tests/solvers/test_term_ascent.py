"""Several kernels and the hinge: Newton's method on the multipliers."""

import warnings
from dataclasses import replace

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import okl
from okl import OutputKernelClassifier, OutputKernelRegressor
from okl.certificates.terms import StructureTerms
from okl.kernels import Gaussian, Laplacian, Linear
from okl.losses import Hinge, Quantile, SquaredHinge
from okl.operators import Dense, Features, OperatorTerms
from okl.output_kernels import SpectralKernel
from okl.problems import Inputs, formulate
from okl.solvers import AugmentedLagrangian, Request
from okl.solvers.kinks import polishing
from okl.solvers.predictor import active_system
from okl.solvers.terms.proximal_points import Centred
from okl.solvers.terms.term_point import Answering, TermPoint
from okl.structures import Cluster, Identity, Sparse, TraceBall
from tests.covering import later
from tests.samples import draw_classes, gaussian, psd, targets_for


def three_classes(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=n), [-0.5, 0.5])


def fitted(structures, alpha, n=60, **options):
    X, y = three_classes(n)
    kernels = [Gaussian(0.3), Linear()]
    model = OutputKernelClassifier(kernels, structures, alpha, loss="hinge", **options)
    return model.fit(X, y)


@pytest.mark.parametrize("alpha", [5.0, 0.5, 0.05, 5e-4])
@pytest.mark.parametrize(
    "structures",
    [
        ["frobenius", "identity"],
        ["identity", "frobenius"],
        ["frobenius", "frobenius"],
        ["low_rank", "identity"],
        [TraceBall(), "frobenius"],
        [Sparse(0.3), Cluster(2)],
    ],
    ids=str,
)
def test_small_alphas_are_certified(structures, alpha):
    model = fitted(structures, alpha)
    assert model.certificate_.status == "optimal"
    assert okl.certify(model, *three_classes()).status == "optimal"


@pytest.mark.parametrize("alpha", [0.5, 0.01])
def test_the_dual_value_rises(alpha):
    dual = [record["dual"] for record in fitted(["frobenius"] * 2, alpha).history_]
    assert len(dual) > 3
    assert np.all(np.diff(dual) >= -1e-12 * dual[-1])


def test_zeros_are_exact():
    X, y = three_classes()
    model = fitted(["frobenius", "identity"], 0.5, tol=1e-8)
    signs = np.where(y[:, None] == model.classes_, 1.0, -1.0)
    margins, a = signs * model.decision_function(X), signs * model.dual_point_
    assert np.all(a[margins > 1 + 1e-5] == 0)
    assert_allclose(a[margins < 1 - 1e-5], 1.0, rtol=1e-12)
    assert_allclose(model.dual_point_.sum(axis=0), 0.0, atol=1e-10)


@pytest.mark.parametrize("n", [34, *later(40, 44)])
def test_a_small_gap(n):
    # the model of one round, proved by the dual point of another
    model = fitted(["frobenius", "low_rank"], 0.5, n=n, tol=1e-9)
    assert model.certificate_.status == "optimal"
    assert okl.certify(model, *three_classes(n)).status == "optimal"


def test_conjugate_gradients_find_the_same(monkeypatch):
    one = fitted(["frobenius", "frobenius"], 0.5)
    monkeypatch.setattr(active_system, "DIRECT", 0)
    two = fitted(["frobenius", "frobenius"], 0.5)
    for model in (one, two):
        assert model.certificate_.status == "optimal"
    assert_allclose(one.certificate_.primal, two.certificate_.primal, rtol=2e-6)


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize("alpha", [0.2, 0.05])
def test_a_neighbouring_alpha_is_a_start(intercept, alpha):
    problem = two_kernels(Hinge(), intercept=intercept)
    solver = AugmentedLagrangian()
    prepared, options = solver.prepare(problem), {"tol": 1e-7, "max_iter": 1000}
    cold = solver.solve(prepared, Request(0.1, **options))
    there = solver.solve(prepared, Request(alpha, **options))
    warm = solver.solve(prepared, Request(0.1, start=there.start, **options))
    assert warm.certificate.status == "optimal"
    assert_allclose(warm.certificate.primal, cold.certificate.primal, rtol=2e-7)


def two_kernels(loss, n=30, m=3, *, intercept=True, structures=("frobenius",) * 2):
    X, labels, K = draw_classes(n, m)
    operator = OperatorTerms((Dense(K), Dense(gaussian(X, gamma=0.1))))
    structure = StructureTerms(
        tuple(okl.structures.as_structure(one) for one in structures)
    )
    targets = loss.coding.encode(labels, "multiclass", m)
    inputs = Inputs.of(operator, fit_intercept=intercept)
    return formulate(inputs, targets, loss, structure).problem


@pytest.mark.parametrize("n_entries", [4, 60])
@pytest.mark.parametrize("structures", [("frobenius",) * 2, (Cluster(2), Sparse())])
def test_the_answer_of_some_entries(structures, n_entries):
    # fewer entries than pairs of outputs, and more
    problem = two_kernels(SquaredHinge())
    rng = np.random.default_rng(1)
    n, m = problem.targets.shape
    if "frobenius" not in structures:
        near = tuple(Centred(one, psd(m, 2), 10.0) for one in structures)
        problem = replace(problem, structure=StructureTerms(near))
    joint = Answering(problem, TermPoint.at(problem, rng.normal(size=(n, m))))
    chosen = rng.permutation(n * m)[:n_entries]
    rows, outputs = chosen // m, chosen % m
    change = np.zeros((n, m))
    change[rows, outputs] = rng.normal(size=n_entries)
    image = joint @ change
    block = joint.block(rows, outputs)
    assert_allclose(block @ change[rows, outputs], image[rows, outputs], rtol=1e-9)
    assert_allclose(block, block.T, rtol=1e-12)
    largest = np.linalg.eigvalsh(block)[-1]
    assert np.linalg.eigvalsh(block)[0] > -1e-10 * largest
    assert joint.n_dimensions is None  # without features


def test_few_features_make_a_small_system(monkeypatch):
    # one of all entries took seconds for three hundred rows of five features
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X @ rng.normal(size=(3, 5)) + rng.gumbel(size=(80, 5))).argmax(axis=1)
    model = OutputKernelClassifier("linear", "frobenius", 0.1, loss="hinge")
    written, block = [], Answering.block

    def counted(self, rows, outputs):
        written.append(rows.shape[0])
        return block(self, rows, outputs)

    monkeypatch.setattr(Answering, "block", counted)
    small = model.fit(X, y).certificate_
    assert all(size <= active_system._SMALL for size in written)
    monkeypatch.setattr(active_system, "_WORTH", 0.0)
    whole = model.fit(X, y).certificate_
    assert max(written) > active_system._SMALL
    assert small.status == whole.status == "optimal"
    assert_allclose(small.primal, whole.primal, rtol=2e-6)


@pytest.mark.parametrize("structures", [("frobenius",) * 2, (Cluster(2), Sparse())])
def test_the_answer_by_features(structures):
    rng = np.random.default_rng(1)
    n, m = 30, 3
    features = [rng.normal(size=(n, k)) for k in (2, 4)]
    terms = tuple(okl.structures.as_structure(one) for one in structures)
    if "frobenius" not in structures:
        terms = tuple(Centred(one, psd(m, 2), 10.0) for one in terms)
    inputs = Inputs(OperatorTerms(tuple(Features(R) for R in features)), None)
    given = rng.normal(size=(n, m)), SquaredHinge(), StructureTerms(terms)
    problem = formulate(inputs, *given).problem
    joint = Answering(problem, TermPoint.at(problem, rng.normal(size=(n, m))))
    chosen = rng.permutation(n * m)[:60]
    rows, outputs = chosen // m, chosen % m
    root, block = joint.narrow_root(rows, outputs), joint.block(rows, outputs)
    assert root.shape == (60, joint.n_dimensions) == (60, 6 * m)
    assert_allclose(root @ root.T, block, atol=1e-9 * np.abs(block).max())


def test_a_narrow_root_in_any_array_namespace():
    rng = np.random.default_rng(0)
    rows, targets, dual = (rng.normal(size=(20, k)) for k in (2, 3, 3))
    roots = []
    for xp in (np, strict):
        operator = OperatorTerms((Features(xp.asarray(rows)),))
        structure = StructureTerms((okl.structures.Frobenius(),))
        inputs = Inputs.of(operator, fit_intercept=True)
        given = inputs, xp.asarray(targets), Quantile(0.5), structure
        problem = formulate(*given).problem
        joint = Answering(problem, TermPoint.at(problem, xp.asarray(dual)))
        root = joint.narrow_root(xp.asarray([0, 4, 4, 7]), xp.asarray([2, 0, 1, 2]))
        assert root.__array_namespace__() is xp
        roots.append(np.asarray(root))
    one, two = roots
    assert one.shape == (4, 6)
    assert_allclose(one @ one.T, two @ two.T, atol=1e-12)


@pytest.mark.parametrize("structures", ["frobenius", ["frobenius"] * 2], ids=str)
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_scores_are_at_their_kinks_where_hardly_any_is_off(structures, n_outputs):
    # L held while they are solved for left gaps of 1e-6 to 1e-9
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3))
    Y = np.sin(X @ rng.normal(size=(3, n_outputs)))
    Y += 0.3 * rng.normal(size=Y.shape)
    kernel = [Gaussian(0.3), Laplacian(0.3)] if isinstance(structures, list) else "rbf"
    model = OutputKernelRegressor(kernel, structures, 2e-3, loss="quantile", tol=1e-14)
    with warnings.catch_warnings():  # rounding ends it before
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, Y)
    assert abs(model.certificate_.relative_gap) < 1e-9
    assert model.n_iter_ <= 20


@pytest.mark.parametrize("max_iter", range(7, 14))
def test_polishing_is_among_the_iterations(max_iter):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3))
    Y = np.sin(X @ rng.normal(size=(3, 3))) + 0.3 * rng.normal(size=(40, 3))
    kernels = [Gaussian(0.3), Laplacian(0.3)]
    model = OutputKernelRegressor(kernels, ["frobenius"] * 2, 2e-3, loss="quantile")
    model.set_params(tol=1e-14, max_iter=max_iter)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, Y)
    assert model.n_iter_ <= max_iter
    assert len(model.history_) == model.n_iter_


@pytest.mark.parametrize("seed", [34, 51, 139, 157])
def test_copies_of_rows_are_weights_to_the_last_digits(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(size=(15, 10)), rng.integers(0, 3, size=15)
    copies = rng.integers(0, 5, size=15)
    model = OutputKernelRegressor(loss="quantile", tol=1e-16)
    with warnings.catch_warnings():  # rounding ends it before
        warnings.simplefilter("ignore", ConvergenceWarning)
        weighted = clone(model).fit(X, y, sample_weight=copies)
        repeated = clone(model).fit(X.repeat(copies, axis=0), y.repeat(copies))
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-11)


@pytest.mark.parametrize("loss", [Hinge(), Quantile(0.9)], ids=lambda one: one.name)
def test_systems_of_polishing_that_were_met_are_not_factorised_in_turns(
    loss, monkeypatch
):
    # far from the optimum free entries come and go in turns, those of quantiles do here
    K, Y = targets_for(loss, 40, 4)
    problem = formulate(Inputs(Dense(K), None), Y, loss, Identity()).problem
    made = []

    class Counted(polishing.ActiveSystem):
        def __init__(self, prepared, curvature, alpha):
            super().__init__(prepared, curvature, alpha)
            made.append(curvature.diagonal.tobytes())

    monkeypatch.setattr(polishing, "ActiveSystem", Counted)
    for seed in range(5):
        made.clear()
        part = np.random.default_rng(seed).random(Y.shape)
        start = Y * part if loss.name == "hinge" else part - 0.5
        polishing.polished(problem, SpectralKernel(np.ones(4)), start, 0.01)
        # once more where that has brought the scores nearer
        assert 0 < len(set(made)) <= len(made) <= len(set(made)) + 1


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_rounding_frees_no_multiplier_at_a_bound(scale, monkeypatch):
    # y - (y - a) may be an ulp below a bound a: such entries, their scores far from
    # their kinks, kept polishing from its solution, and fits for minutes
    K, Y = targets_for(Quantile(0.5), 200, 4)
    inputs = Inputs(Dense(K), None)
    problem = formulate(inputs, scale * Y, Quantile(0.5), Identity()).problem
    free = []

    class Watched(polishing.ActiveSystem):
        def __init__(self, prepared, curvature, alpha):
            super().__init__(prepared, curvature, alpha)
            free.append(curvature.diagonal > 0)

    monkeypatch.setattr(polishing, "ActiveSystem", Watched)
    part = np.random.default_rng(0).uniform(-1.0, 1.0, Y.shape)
    start = np.clip(part, -0.5, 0.5)
    polishing.polished(problem, SpectralKernel(np.ones(4)), start, 0.01)
    assert_array_equal(free[0], abs(part) < 0.5)


def test_weights_of_the_squared_hinge_are_copies_of_rows():
    X, y = three_classes()
    times = np.arange(len(y)) % 3 + 1
    kernels = [Gaussian(0.3), Laplacian(0.3)]
    model = OutputKernelClassifier(
        kernels, ["frobenius"] * 2, 0.1, loss="squared_hinge"
    )
    weighted = model.fit(X, y, sample_weight=times).certificate_
    copied = model.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).certificate_
    assert weighted.status == copied.status == "optimal"
    assert weighted.primal == pytest.approx(copied.primal, rel=2e-6)


@pytest.mark.parametrize("missing", [False, True])
def test_the_squared_hinge_takes_few_products(missing, monkeypatch):
    # with models of the loss, which is flat beyond the margin, the first took 11 044
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(24, 12)), rng.normal(size=(24, 6))
    y = Y.argmax(axis=1)
    if missing:
        y = (Y > 0).astype(float)
        y[5:][rng.random((19, 6)) < 0.2] = np.nan
    products, product = [], Answering.__matmul__

    def counted(self, change):
        products.append(1)
        return product(self, change)

    monkeypatch.setattr(Answering, "__matmul__", counted)
    kernels, structures = [Gaussian(), Laplacian()], ["frobenius", "low_rank"]
    model = OutputKernelClassifier(kernels, structures, 2e-3, loss="squared_hinge")
    model.fit(X, y)
    assert model.certificate_.status == "optimal"
    assert okl.certify(model, X, y).status == "optimal"
    assert len(products) < 2000
