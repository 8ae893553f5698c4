"""The standard deviation of predictions, against Gaussian processes written out."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, DotProduct

from okl import OutputKernelRegressor, OutputKernelRegressorCV, output_kernel_path
from okl.kernels import Constant, Gaussian, Gram, Kernel, Linear, PerOutput
from okl.output_kernels import SpectralKernel
from okl.posterior import PredictiveVariance, systems
from okl.structures import Cluster, Fixed, Graph, Sparse, TraceBall
from tests.covering import examples
from tests.samples import draw, gaussian, psd

NEW = np.random.default_rng(9).normal(size=(7, 3))


def written_out(kernel, X, new, L, alpha, weights=None, *, free_intercept=False):
    """Return the variance of f + b (n_new, m): K (x) L formed, b by least squares.

    The noise alpha is a number, or one for each output.
    """
    n, m = len(X), len(L)
    weights = np.ones((n, m)) if weights is None else np.broadcast_to(weights, (n, m))
    seen = weights.ravel() > 0
    system = np.kron(kernel(X), L)[np.ix_(seen, seen)]
    noise = np.broadcast_to(alpha, (n, m)).ravel()[seen]
    system += np.diag(noise / weights.ravel()[seen])
    told = np.kron(kernel(new, X), L)[:, seen]
    variance = np.kron(kernel.diagonal(new), np.diag(L))
    variance -= np.einsum("ij,ji->i", told, np.linalg.solve(system, told.T))
    if free_intercept:
        drift = np.kron(np.ones((n, 1)), np.eye(m))[seen]
        solved = np.linalg.solve(system, drift)
        left = np.kron(np.ones((len(new), 1)), np.eye(m)) - told @ solved
        variance += np.einsum(
            "ij,jk,ik->i", left, np.linalg.inv(drift.T @ solved), left
        )
    return variance.reshape(-1, m)


def variance_of(kernel, X, L, alpha, weights=None, *, free_intercept=False):
    """Return what the library computes, as a function of new rows."""
    return PredictiveVariance(
        kernel, X, SpectralKernel.from_matrix(L), alpha, weights, free_intercept
    )


def with_noise_alpha(model, std):
    """Return standard deviations of the process whose noise is alpha, not measured."""
    alpha = model._process.noise * model.y_scale_**2
    return std * np.sqrt(alpha / model.noise_variance_)


KERNELS = [Gaussian(0.3), Linear(), Linear() + Constant(0.5)]
WEIGHTS = ["none", "rows", "entries"]
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)
each_intercept = pytest.mark.parametrize("b", [False, True], ids=["no-b", "b"])
each_weights = pytest.mark.parametrize("kind", WEIGHTS)


def weights_of(kind, n, m, seed=0):
    """Draw weights, a part of them zero, none in the first two rows."""
    if kind == "none":
        return None
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.2, 3.0, size=(n, 1 if kind == "rows" else m))
    weights[2:] *= rng.random(size=weights[2:].shape) < 0.6
    return weights


def covariances(m):
    """Return output kernels: full, singular, in two blocks, diagonal."""
    blocks = np.zeros((m, m))
    blocks[:2, :2], blocks[2:, 2:] = psd(2, 1), psd(m - 2, 2)
    return [psd(m, 5), psd(m, 6, rank=2), blocks, np.diag(np.arange(m) / 2.0)]


@each_kernel
@each_intercept
@each_weights
@pytest.mark.parametrize("case", range(4), ids=["full", "rank-2", "blocks", "diagonal"])
def test_against_the_process_written_out(kernel, b, kind, case):
    X, _, _ = draw(11, 4)
    L, weights = covariances(4)[case], weights_of(kind, 11, 4)
    result = variance_of(kernel, X, L, 0.3, weights, free_intercept=b)(NEW)
    expected = written_out(kernel, X, NEW, L, 0.3, weights, free_intercept=b)
    assert_allclose(result, expected, atol=1e-11)


@each_kernel
@each_intercept
def test_both_sides_of_the_system_of_entries_agree(kernel, b, monkeypatch):
    # the size of the sides decides which is taken: here each is made to be
    X, _, _ = draw(11, 4)
    weights = weights_of("entries", 11, 4)
    results = []
    for side in (systems.InTargets, systems.InCoordinates):
        monkeypatch.setattr(systems, "InTargets", side)
        monkeypatch.setattr(systems, "InCoordinates", side)
        of = variance_of(kernel, X, psd(4, 5), 0.3, weights, free_intercept=b)
        results.append(of(NEW))
    assert_allclose(*results, atol=1e-11)


@each_weights
def test_a_flat_prior_is_the_limit_of_a_large_constant(kind):
    X, _, _ = draw(11, 4)
    L, weights = psd(4, 5), weights_of(kind, 11, 4)
    kernel = Gaussian(0.3)
    free = variance_of(kernel, X, L, 0.3, weights, free_intercept=True)(NEW)
    gaps = []
    for size in (1e3, 1e4):
        # a constant kernel per output beside K (x) L
        n, m = 11, 4
        w = np.ones((n, m)) if weights is None else np.broadcast_to(weights, (n, m))
        seen = w.ravel() > 0

        def prior(A, B, size=size, m=m):
            ones = np.ones((len(A), len(B)))
            return np.kron(kernel(A, B), L) + size * np.kron(ones, np.eye(m))

        system = prior(X, X)[np.ix_(seen, seen)] + np.diag(0.3 / w.ravel()[seen])
        told = prior(NEW, X)[:, seen]
        left = prior(NEW, NEW) - told @ np.linalg.solve(system, told.T)
        gaps.append(np.abs(free - np.diag(left).reshape(-1, m)).max())
    assert gaps[1] < 1e-3
    assert gaps[1] < 0.2 * gaps[0]


@pytest.mark.parametrize(
    ("kernel", "theirs"),
    [
        (Gaussian(0.3), RBF(np.sqrt(1 / 0.6))),
        (Linear() + Constant(4.0), DotProduct(sigma_0=2.0)),
    ],
    ids=["gaussian", "linear"],
)
def test_without_intercept_and_relations_it_is_scikit_learns(kernel, theirs):
    X, Y, _ = draw(20, 3)
    # scikit-learn's normalisation subtracts the mean, ours does so with an intercept
    Y = (Y - Y.mean(axis=0)) * [1.0, 100.0, 0.01]
    for normalize in (False, True):
        model = OutputKernelRegressor(
            kernel, "identity", 0.2, fit_intercept=False, normalize_y=normalize
        )
        mean, std = model.fit(X, Y).predict(NEW, return_std=True)
        process = GaussianProcessRegressor(
            theirs, alpha=0.2, optimizer=None, normalize_y=normalize
        ).fit(X, Y)
        expected_mean, expected = process.predict(NEW, return_std=True)
        assert_allclose(mean, expected_mean, rtol=1e-6, atol=1e-8)
        assert_allclose(with_noise_alpha(model, std), expected, rtol=1e-6, atol=1e-8)


STRUCTURES = [
    "identity",
    "mean",
    Fixed(psd(4, 6, rank=2)),
    Graph(np.ones((4, 4)) - np.eye(4)),
    "frobenius",
    "low_rank",
    TraceBall(1e-2),
    Cluster(2),
    Sparse(0.3, 1e-2),
]


@pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@each_intercept
@pytest.mark.each_value
def test_every_structure_with_its_own_output_kernel(structure, missing, b):
    X, Y, _ = draw(14, 4)
    weights = np.ones(Y.shape)
    if missing:
        weights = (weights_of("entries", 14, 4) > 0) * 1.0
        Y = np.where(weights > 0, Y, np.nan)
    model = OutputKernelRegressor(
        Gaussian(0.3), structure, 0.4, fit_intercept=b, tol=1e-4
    ).fit(X, Y)
    mean, std = model.predict(NEW, return_std=True)
    assert_allclose(mean, model.predict(NEW))
    noise = 0.4 * model.y_scale_**2
    expected = written_out(
        Gaussian(0.3), X, NEW, model.output_kernel_, noise, weights, free_intercept=b
    )
    assert_allclose(with_noise_alpha(model, std) ** 2, expected, atol=1e-10)


@pytest.mark.parametrize("kind", ["rows", "entries"])
@pytest.mark.parametrize("structure", ["identity", "frobenius"])
@each_intercept
def test_weights_of_the_fit_are_those_of_the_process(structure, kind, b):
    X, Y, _ = draw(14, 4)
    weights = weights_of(kind, 14, 4)
    Y[3] = np.nan
    model = OutputKernelRegressor(
        Gaussian(0.3), structure, 0.4, fit_intercept=b, tol=1e-4
    ).fit(X, Y, sample_weight=weights[:, 0] if kind == "rows" else weights)
    _, std = model.predict(NEW, return_std=True)
    weights[3] = 0.0
    noise = 0.4 * model.y_scale_**2
    expected = written_out(
        Gaussian(0.3), X, NEW, model.output_kernel_, noise, weights, free_intercept=b
    )
    assert_allclose(with_noise_alpha(model, std) ** 2, expected, atol=1e-10)


def test_the_mean_is_that_of_the_same_process():
    # what makes std the spread around the prediction: one model gives both
    X, Y, _ = draw(12, 3)
    L, kernel = psd(3, 5), Gaussian(0.3)
    model = OutputKernelRegressor(kernel, Fixed(L), 0.2, fit_intercept=False).fit(X, Y)
    L = model.output_kernel_
    system = np.kron(kernel(X), L) + np.diag(np.tile(0.2 * model.y_scale_**2, 12))
    expected = np.kron(kernel(NEW, X), L) @ np.linalg.solve(system, Y.ravel())
    assert_allclose(model.predict(NEW).ravel(), expected, atol=1e-9)


def test_off_the_range_of_the_output_kernel_nothing_varies():
    X, _, _ = draw(12, 4)
    L = np.diag([1.0, 0.5, 0.0, 0.0])
    variance = variance_of(Gaussian(0.3), X, L, 0.2)(NEW)
    assert np.all(variance[:, 2:] == 0)
    assert np.all(variance[:, :2] > 0)
    free = variance_of(Gaussian(0.3), X, L, 0.2, free_intercept=True)(NEW)
    assert_allclose(free[:, 2:], 0.2 / 12)


@given(seed=st.integers(0, 2**16), n_more=st.integers(1, 6), missing=st.booleans())
@examples(25)
def test_more_rows_never_add_variance(seed, n_more, missing):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8 + n_more, 3))
    weights = weights_of("entries", len(X), 3, seed) if missing else None
    L = psd(3, seed)
    alpha = 10 ** rng.uniform(-3, 1)
    few = weights if weights is None else weights[:8]
    for b in (False, True):
        before = variance_of(Gaussian(0.3), X[:8], L, alpha, few, free_intercept=b)
        after = variance_of(Gaussian(0.3), X, L, alpha, weights, free_intercept=b)
        assert np.all(after(NEW) <= before(NEW) + 1e-10)


@each_weights
def test_data_drowned_in_noise_leave_the_prior(kind):
    X, _, _ = draw(12, 4)
    L, kernel = psd(4, 5), Linear() + Constant(0.5)
    variance = variance_of(kernel, X, L, 1e9, weights_of(kind, 12, 4))(NEW)
    assert_allclose(variance, np.outer(kernel.diagonal(NEW), np.diag(L)), rtol=1e-6)


@pytest.mark.parametrize("b", [False, True], ids=["no-b", "b"])
def test_weight_two_is_the_row_twice(b):
    X, _, _ = draw(10, 3)
    counts = np.array([[1], [2], [1], [0], [3], [1], [2], [0], [1], [1]])
    L = psd(3, 5)
    twice = np.repeat(X, counts[:, 0], axis=0)
    for kernel in KERNELS:
        weighted = variance_of(kernel, X, L, 0.3, counts * 1.0, free_intercept=b)
        repeated = variance_of(kernel, twice, L, 0.3, free_intercept=b)
        assert_allclose(weighted(NEW), repeated(NEW), atol=1e-11)


@each_weights
def test_features_lose_no_digits_where_targets_have_almost_no_noise(kind):
    # formed as k(x, x) less what is known, the variance would be rounding
    X, _, _ = draw(40, 4)
    L, weights = psd(4, 5), weights_of(kind, 40, 4)
    at_one = variance_of(Linear(), X, L, 1e-12, weights)(NEW)
    at_another = variance_of(Linear(), X, L, 1e-14, weights)(NEW)
    assert_allclose(at_another, at_one / 100, rtol=1e-5)


@each_weights
@each_intercept
def test_sparse_rows_are_dense_rows(kind, b):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(15, 6)) * (rng.random((15, 6)) < 0.4)
    new = rng.normal(size=(4, 6))
    weights = weights_of(kind, 15, 3)
    for kernel in (Linear(), Gaussian(0.2)):
        dense = variance_of(kernel, X, psd(3, 5), 0.3, weights, free_intercept=b)
        thin = variance_of(
            kernel, csr_array(X), psd(3, 5), 0.3, weights, free_intercept=b
        )
        assert_allclose(thin(csr_array(new)), dense(new), atol=1e-11)


def test_blocks_of_rows_change_nothing():
    X, Y, _ = draw(30, 3)
    new = np.random.default_rng(1).normal(size=(60, 3))
    model = OutputKernelRegressor(Gaussian(0.3), alpha=0.2).fit(X, Y)
    _, std = model.predict(new, return_std=True)
    with config_context(working_memory=0.005):
        _, in_blocks = model.predict(new, return_std=True)
    assert_allclose(in_blocks, std, rtol=1e-12)


def test_one_output_has_one_dimension():
    X, Y, _ = draw(15, 2)
    model = OutputKernelRegressor(Gaussian(0.3), alpha=0.2)
    _, std = model.fit(X, Y[:, 0]).predict(NEW, return_std=True)
    assert std.shape == (7,)
    _, column = model.fit(X, Y[:, :1]).predict(NEW, return_std=True)
    assert_allclose(column, std[:, None])


def test_the_estimator_that_chooses_alpha_uses_what_it_chose():
    X, Y, _ = draw(25, 3)
    chosen = OutputKernelRegressorCV(Gaussian(0.3), alphas=3, cv=3).fit(X, Y)
    again = OutputKernelRegressor(Gaussian(0.3), alpha=chosen.alpha_).fit(X, Y)
    assert_allclose(
        chosen.predict(NEW, return_std=True)[1], again.predict(NEW, return_std=True)[1]
    )


def test_models_of_a_path_have_their_own_alpha():
    X, Y, _ = draw(20, 3)
    Y[3, 1] = np.nan
    # the objective grows by about alpha / 2 times the squared change of L, so that L
    # is known to the root of the tolerance
    options = {"kernel": Gaussian(0.3), "tol": 1e-12}
    path = output_kernel_path(X, Y, alphas=[0.1, 1.0], **options)
    for model in path:
        alone = OutputKernelRegressor(alpha=model.alpha, **options).fit(X, Y)
        expected = alone.predict(NEW, return_std=True)[1]
        assert_allclose(model.predict(NEW, return_std=True)[1], expected, rtol=1e-4)


def test_changing_alpha_after_the_fit_changes_nothing():
    X, Y, _ = draw(20, 3)
    model = OutputKernelRegressor(Gaussian(0.3), alpha=0.2).fit(X, Y)
    model.set_params(alpha=5.0, fit_intercept=False)
    expected = clone(model).set_params(alpha=0.2, fit_intercept=True).fit(X, Y)
    assert_allclose(
        model.predict(NEW, return_std=True)[1],
        expected.predict(NEW, return_std=True)[1],
    )


class Counting(Kernel):
    """A kernel that counts how often a training matrix is formed."""

    calls = 0

    def __call__(self, X, Z=None):
        Counting.calls += Z is None
        return gaussian(X, Z)

    def diagonal(self, X):
        return np.ones(len(X))


def test_the_decomposition_is_kept_and_a_refit_forgets_it():
    X, Y, _ = draw(20, 3)
    model = OutputKernelRegressor(Counting(), alpha=0.2).fit(X, Y)
    after_fit = Counting.calls
    first = model.predict(NEW, return_std=True)[1]
    model.predict(NEW, return_std=True)
    assert Counting.calls == after_fit + 1
    copy = pickle.loads(pickle.dumps(model))
    assert len(pickle.dumps(model)) < len(
        pickle.dumps(model._process.posterior._prepared[0])
    )
    assert_allclose(copy.predict(NEW, return_std=True)[1], first)
    assert Counting.calls == after_fit + 2
    refitted = model.fit(X[:10], Y[:10]).predict(NEW, return_std=True)[1]
    fresh = clone(model).fit(X[:10], Y[:10])
    assert_allclose(refitted, fresh.predict(NEW, return_std=True)[1])
    assert np.all(refitted > 0)
    assert not np.allclose(refitted, first)


def test_a_precomputed_kernel_does_not_know_new_rows():
    X, Y, K = draw(20, 3)
    model = OutputKernelRegressor("precomputed", alpha=0.2).fit(K, Y)
    with pytest.raises(ValueError, match=r"k\(x, x\) of new rows.*Gram"):
        model.predict(K[:3], return_std=True)
    # the advice works
    rows = np.arange(20.0)[:, None]
    whole = gaussian(np.vstack([X, NEW]))
    numbered = OutputKernelRegressor(Gram(whole), alpha=0.2).fit(rows, Y)
    direct = OutputKernelRegressor(Gaussian(0.5), alpha=0.2).fit(X, Y)
    assert_allclose(
        numbered.predict(np.arange(20.0, 27.0)[:, None], return_std=True)[1],
        direct.predict(NEW, return_std=True)[1],
        atol=1e-6,
    )


def test_another_loss_has_no_standard_deviation():
    X, Y, _ = draw(20, 3)
    model = OutputKernelRegressor(loss="huber", tol=1e-2).fit(X, Y)
    with pytest.raises(ValueError, match=r"for loss='squared'.*loss='huber'.*Quantile"):
        model.predict(X, return_std=True)


@pytest.mark.parametrize("kind", ["rows", "entries"])
def test_what_does_not_fit_says_what_to_do(kind, free_memory):
    free_memory(500)
    X, _, _ = draw(20, 3)
    kernel = Gaussian(0.3) if kind == "rows" else Linear()
    of = variance_of(kernel, X, psd(3, 5), 0.3, weights_of(kind, 20, 3))
    with pytest.raises(MemoryError, match=r"standard deviation.*\. (Fit|Use) "):
        of(NEW)


@each_intercept
@pytest.mark.parametrize("weighted", [False, True])
def test_a_kernel_per_output_is_one_process_an_output(b, weighted):
    X, Y, _ = draw(20, 3)
    Y[4, 1] = np.nan
    kernels = [Gaussian(0.3), 5.0 * Gaussian(0.3), Linear()]
    weights = np.random.default_rng(3).uniform(0.5, 2.0, 20) if weighted else None
    model = OutputKernelRegressor(PerOutput(kernels), "identity", 0.2, fit_intercept=b)
    mean, std = model.fit(X, Y, weights).predict(NEW, return_std=True)
    for j, kernel in enumerate(kernels):
        alone = OutputKernelRegressor(kernel, "identity", 0.2, fit_intercept=b)
        expected = alone.fit(X, Y[:, [j]], weights).predict(NEW, return_std=True)
        assert_allclose(mean[:, [j]], expected[0], atol=1e-3)  # certified to 1e-6
        one = with_noise_alpha(alone, expected[1])
        assert_allclose(with_noise_alpha(model, std)[:, [j]], one, atol=1e-12)


@each_intercept
@pytest.mark.parametrize("structure", ["identity", "frobenius"])
@pytest.mark.parametrize("weighted", [False, True])
def test_long_form_is_the_target_matrix(b, structure, weighted):
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(30, 3)), rng.permutation(np.arange(30) % 3)
    y = X[:, 0] + 0.1 * rng.normal(size=30)
    weights = rng.uniform(0.5, 2.0, 30) if weighted else None
    model = OutputKernelRegressor(Gaussian(0.3), structure, 0.2, fit_intercept=b)
    ids = np.array(["a", "b", "c"])[codes]
    model.fit(X, y, weights, task=ids)
    # what not knowing L adds has tests of its own
    model._process = replace(model._process, refits=None)
    mean, std = model.predict(NEW, return_std=True)
    assert_allclose(mean, model.predict(NEW))
    observed = (codes[:, None] == np.arange(3)).astype(float)
    if weighted:
        observed *= weights[:, None]
    noise = 0.2 * model.y_scale_**2
    expected = written_out(
        Gaussian(0.3), X, NEW, model.output_kernel_, noise, observed, free_intercept=b
    )
    assert_allclose(with_noise_alpha(model, std), np.sqrt(expected), atol=1e-10)
    own = np.array(["b", "a", "c", "c", "a", "b", "b"])
    mean, some = model.predict(NEW, return_std=True, task=own)
    assert_allclose(mean, model.predict(NEW, task=own))
    assert_allclose(some, std[np.arange(7), np.searchsorted(["a", "b", "c"], own)])
    copy = pickle.loads(pickle.dumps(model))
    assert_allclose(copy.predict(NEW, return_std=True)[1], std)


def test_memory_for_kernels_per_output_is_asked_once(free_memory):
    X, Y, _ = draw(20, 2)
    several = PerOutput([Gaussian(0.3), Gaussian(1.0)])
    model = OutputKernelRegressor(several, "identity", 0.2).fit(X, Y)
    free_memory(1e9)
    _, std = model.predict(NEW, return_std=True)
    # what was decomposed is there already; a copy has to decompose it again
    free_memory(500)
    assert_allclose(model.predict(NEW, return_std=True)[1], std)
    with pytest.raises(MemoryError, match=r"2 kernel matrices.*Fit each output"):
        pickle.loads(pickle.dumps(model)).predict(NEW, return_std=True)


def test_features_need_no_matrix_per_output(free_memory):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(600, 2)), rng.normal(size=(600, 2))
    model = OutputKernelRegressor(PerOutput([Linear(), 2.0 * Linear()]), "identity")
    model.fit(X, Y)
    free_memory(8 * 600**2 / 4)
    assert model.predict(X[:3], return_std=True)[1].shape == (3, 2)
