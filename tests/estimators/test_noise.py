"""How large noise is, against refits without a row and processes written out."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from okl import OutputKernelRegressor
from okl.kernels import Gaussian, Linear, PerOutput
from okl.output_kernels import SpectralKernel
from okl.posterior import PredictiveVariance
from okl.structures import Fixed
from tests.samples import draw, psd

NEW = np.random.default_rng(9).normal(size=(7, 3))
KERNEL = Gaussian(0.3)
STRUCTURES = ["identity", Fixed(psd(3, 5)), Fixed(psd(3, 6, rank=2))]
each_structure = pytest.mark.parametrize("structure", STRUCTURES, ids=["I", "L", "low"])
each_intercept = pytest.mark.parametrize("b", [False, True], ids=["no-b", "b"])
each_targets = pytest.mark.parametrize("missing", [False, True], ids=["all", "some"])


def sample(n, m, missing, seed=0):
    X, Y, _ = draw(n, m)
    if missing:
        unseen = np.random.default_rng(seed).random(Y.shape) < 0.3
        unseen[:3] = False
        unseen[5] = True
        Y = np.where(unseen, np.nan, Y)
    return X, Y


def written_out(kernel, X, new, L, noise, seen, *, free_intercept):
    """Return the covariance of f + b (n_new, m, m), K (x) L formed."""
    n, m = len(X), len(L)
    o = seen.ravel()
    system = np.kron(kernel(X), L)[np.ix_(o, o)] + noise * np.eye(o.sum())
    told = np.kron(kernel(new, X), L)[:, o]
    full = np.kron(kernel(new), L) - told @ np.linalg.solve(system, told.T)
    if free_intercept:
        drift = np.kron(np.ones((n, 1)), np.eye(m))[o]
        solved = np.linalg.solve(system, drift)
        left = np.kron(np.ones((len(new), 1)), np.eye(m)) - told @ solved
        full += left @ np.linalg.inv(drift.T @ solved) @ left.T
    by_row = full.reshape(len(new), m, len(new), m)
    return np.stack([by_row[i, :, i] for i in range(len(new))])


@pytest.mark.parametrize("kernel", [KERNEL, Linear()], ids=repr)
@each_intercept
@each_targets
@pytest.mark.parametrize("rank", [4, 2])
def test_covariances_of_outputs_are_those_of_the_process(kernel, b, missing, rank):
    X, Y = sample(11, 4, missing)
    seen, L = ~np.isnan(Y), psd(4, 5, rank=rank)
    weights = seen.astype(float) if missing else None
    posterior = PredictiveVariance(
        kernel, X, SpectralKernel.from_matrix(L), 0.3, weights, b
    )
    expected = written_out(kernel, X, NEW, L, 0.3, seen, free_intercept=b)
    found = posterior.covariance(NEW)
    assert_allclose(found, expected, atol=1e-10)
    assert_allclose(np.einsum("ijj->ij", found), posterior(NEW), atol=1e-10)


@each_structure
@each_intercept
@each_targets
def test_rows_left_out_are_those_of_fits_without_them(structure, b, missing):
    X, Y = sample(12, 3, missing)
    options = {"fit_intercept": b, "normalize_y": False, "tol": 1e-10}
    model = OutputKernelRegressor(KERNEL, structure, 0.3, **options).fit(X, Y)
    left = model._process._left_out
    for i in (0, 4, 7):
        rest = np.delete(np.arange(12), i)
        alone = OutputKernelRegressor(KERNEL, structure, 0.3, **options)
        alone.fit(X[rest], Y[rest])
        seen = ~np.isnan(Y[i])
        residual = Y[i] - alone.predict(X[[i]])[0]
        assert_allclose(left.residuals[i, seen], residual[seen], rtol=1e-4, atol=1e-5)
        variance = alone._process.posterior(X[[i]])[0] + 0.3
        assert_allclose(left.variances[i], variance, rtol=1e-8)
        assert np.all(np.isnan(left.residuals[i, ~seen]))


@each_intercept
def test_independent_outputs_have_the_variance_of_leave_one_out_likelihood(b):
    # s_j = mean of C_ij r_ij, with C = P Y and r_ij = C_ij / P_ii
    X, Y = sample(15, 3, False)
    Y *= [1.0, 100.0, 0.01]
    model = OutputKernelRegressor(KERNEL, "identity", 0.2, fit_intercept=b).fit(X, Y)
    A = KERNEL(X) / 0.2 + np.eye(15)
    P = np.linalg.inv(A)
    if b:
        P -= np.outer(P.sum(0), P.sum(0)) / P.sum()
    C = P @ (Y - model.y_mean_)
    expected = np.mean(C**2 / np.diag(P)[:, None], axis=0)
    assert_allclose(model.noise_variance_, expected, rtol=1e-8)
    assert_allclose(np.diag(model.residual_covariance_), expected, rtol=1e-8)


@each_structure
@each_targets
def test_units_of_targets_are_those_of_the_noise(structure, missing):
    X, Y = sample(14, 3, missing)
    unit = np.array([1.0, 1e4, 1e-3])
    one = OutputKernelRegressor(KERNEL, structure, 0.3).fit(X, Y)
    other = OutputKernelRegressor(KERNEL, structure, 0.3).fit(X, Y * unit)
    assert_allclose(other.noise_variance_, one.noise_variance_ * unit**2, rtol=1e-6)
    for noise in (False, True):
        options = {"return_cov": True, "include_noise": noise}
        first, second = (m.predict(NEW, **options)[1] for m in (one, other))
        assert_allclose(second, first * np.outer(unit, unit), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("least", "most"), [(0.2, 1.0), (1.0, 5.0), (0.3, 3.0)])
def test_weights_say_how_exact_targets_are(least, most):
    # noise of variance .25 / weight; of copies of rows the estimate would be .42,
    # .08 and .14
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(800, 3)), rng.normal(size=(4000, 3))
    weights, slopes = rng.uniform(least, most, 800), np.array([1.0, 2.0, 3.0])
    y = X @ slopes + 0.5 * rng.normal(size=800) / np.sqrt(weights)
    model = OutputKernelRegressor("linear", "identity", alpha=0.01)
    model.fit(X, y, sample_weight=weights)
    assert_allclose(model.noise_variance_, 0.25, rtol=0.1)
    truth = new @ slopes + 0.5 * rng.normal(size=4000)
    low, high = model.predict_interval(new, 0.9)
    assert abs(np.mean((low <= truth) & (truth <= high)) - 0.9) < 0.02


@pytest.mark.parametrize(("weights", "said"), [(0.01, True), (50, True), (0.7, False)])
def test_noise_of_weights_that_no_row_has_is_warned_of(weights, said):
    X, Y, _ = draw(20, 2)
    model = OutputKernelRegressor(KERNEL, "identity", 0.1 * weights)
    model.fit(X, Y, sample_weight=np.full(20, weights))
    calls = [
        lambda: model.predict_interval(NEW),
        lambda: model.predict(NEW, return_std=True, include_noise=True),
    ]
    for call in calls:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            call()
        assert ["weight one" in str(one.message) for one in found] == [True] * said
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(NEW, return_std=True)


def test_noise_is_that_of_the_weights_of_each_output():
    X, Y, _ = draw(20, 2)
    weights = np.column_stack([np.ones(20), np.full(20, 0.01)])
    weights[0] = 0.0
    model = OutputKernelRegressor(KERNEL, "identity", 0.1)
    model.fit(X, Y, sample_weight=weights)
    with pytest.warns(UserWarning, match="of 1 of the outputs were from 0.01 to 0.01"):
        model.predict_interval(NEW)
    task = np.arange(20) % 2
    model.fit(X, Y[:, 0], sample_weight=weights[np.arange(20), task], task=task)
    with pytest.warns(UserWarning, match="of 1 of the outputs were from 0.01 to 0.01"):
        model.predict_interval(NEW)
    weights[1:, 1] = np.where(np.arange(19) % 2, 0.01, 1.0)
    model.fit(X, Y, sample_weight=weights)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_interval(NEW)


@pytest.mark.parametrize("structure", ["identity", "frobenius"])
def test_the_covariance_of_noise_is_that_of_weight_one(structure):
    rng = np.random.default_rng(0)
    truth = np.array([[1.0, 0.6, 0.0], [0.6, 0.5, -0.1], [0.0, -0.1, 0.3]])
    X, weights = rng.normal(size=(400, 2)), rng.uniform(0.2, 5.0, 400)
    signal = np.column_stack([np.sin(X[:, 0]), X[:, 1], np.sin(X[:, 0]) + X[:, 1]])
    noise = rng.multivariate_normal(np.zeros(3), truth, 400)
    Y = signal + noise / np.sqrt(weights)[:, None]
    model = OutputKernelRegressor(KERNEL, structure, 0.3)
    model.fit(X, Y, sample_weight=weights)
    assert_allclose(model.residual_covariance_, truth, atol=0.12)


@pytest.mark.parametrize("missing", [False, True])
def test_a_factor_of_weights_and_alpha_is_a_unit_of_noise(missing):
    X, Y = sample(14, 3, missing)
    weights = np.random.default_rng(1).uniform(0.3, 2.0, 14)
    for structure in STRUCTURES:
        model = OutputKernelRegressor(KERNEL, structure, 0.3, tol=1e-10)
        plain = model.fit(X, Y, weights)
        noise, std = plain.noise_variance_, plain.predict(NEW, return_std=True)[1]
        for factor in (10.0, 0.1):
            scaled = OutputKernelRegressor(KERNEL, structure, 0.3 * factor, tol=1e-10)
            scaled.fit(X, Y, weights * factor)
            assert_allclose(scaled.noise_variance_, factor * noise, rtol=1e-4)
            found = scaled.predict(NEW, return_std=True)[1]
            assert_allclose(found, std, rtol=1e-4)


def test_weighted_rows_left_out_one_by_one():
    X, Y, _ = draw(12, 1)
    weights = np.random.default_rng(2).uniform(0.3, 3.0, 12)
    model = OutputKernelRegressor(KERNEL, "identity", 0.3, fit_intercept=False)
    found = model.fit(X, Y[:, 0], weights).noise_variance_
    precision = np.linalg.inv(KERNEL(X) + np.diag(0.3 / weights))
    left = precision @ Y[:, 0] / np.diag(precision)
    expected = 0.3 * np.mean(left**2 * np.diag(precision))
    assert_allclose(found, expected, rtol=1e-6)


@each_structure
@each_targets
def test_noise_is_added_once(structure, missing):
    X, Y = sample(14, 3, missing)
    model = OutputKernelRegressor(KERNEL, structure, 0.3).fit(X, Y)
    mean, std = model.predict(NEW, return_std=True)
    again, noisy = model.predict(NEW, return_std=True, include_noise=True)
    assert_allclose(again, mean)
    assert_allclose(noisy**2, std**2 + model.noise_variance_)
    signal = model.predict(NEW, return_cov=True)[1]
    total = model.predict(NEW, return_cov=True, include_noise=True)[1]
    assert_allclose(np.einsum("ijj->ij", signal), std**2)
    assert_allclose(total - signal, np.tile(model.residual_covariance_, (7, 1, 1)))
    for options in ({}, {"given": np.full((7, 3), np.nan)}):
        with pytest.raises(ValueError, match="Pass return_std=True or return_cov=True"):
            model.predict(NEW, include_noise=True, **options)
    assert np.linalg.eigvalsh(signal).min() > -1e-10


@pytest.mark.parametrize("n", [400, 2000])
def test_the_noise_of_a_process_is_found(n):
    rng = np.random.default_rng(0)
    X, truth = rng.normal(size=(n, 1)), np.array([0.04, 4.0])
    Y = np.column_stack([np.sin(X[:, 0]), 30 * np.cos(X[:, 0])])
    Y += rng.multivariate_normal([0, 0], [[0.04, 0.32], [0.32, 4.0]], n)
    for structure in ("identity", "frobenius"):
        model = OutputKernelRegressor(Gaussian(1.0), structure, 0.1, tol=1e-4)
        found = model.fit(X[:400], Y[:400])
        assert_allclose(found.noise_variance_, truth, rtol=0.25)
        R = found.residual_covariance_[0, 1] / np.sqrt(found.noise_variance_.prod())
        assert abs(R - 0.8) < 0.1
        if n > 400:
            mean, std = found.predict(X[400:], return_std=True, include_noise=True)
            for size, share in ((0.674, 50), (1.282, 80), (1.96, 95)):
                inside = 100 * np.mean(np.abs(Y[400:] - mean) < size * std)
                assert abs(inside - share) < 3


@pytest.mark.parametrize("structure", ["identity", "frobenius"])
def test_noise_of_outputs_goes_together_where_half_of_the_targets_are_missing(
    structure,
):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 1))
    Y = np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 0]), X[:, 0]])
    Y += rng.multivariate_normal(
        np.zeros(3), 0.7 * np.ones((3, 3)) + 0.3 * np.eye(3), 100
    )
    Y[rng.random(Y.shape) < 0.5] = np.nan
    model = OutputKernelRegressor(Gaussian(1.0), structure, 0.5).fit(X, Y)
    spread = np.sqrt(model.noise_variance_)
    R = model.residual_covariance_ / np.outer(spread, spread)
    assert R[~np.eye(3, dtype=bool)].min() > 0.3
    assert R[~np.eye(3, dtype=bool)].max() < 0.9


@pytest.mark.parametrize("structure", ["identity", "frobenius"])
def test_rows_that_say_nothing_of_two_outputs_do_not_matter_to_their_relations(
    structure,
):
    rng = np.random.default_rng(0)
    X, shared = rng.normal(size=(60, 2)), rng.normal(size=(60, 1))
    Y = np.sin(X) + 0.6 * shared + 0.2 * rng.normal(size=(60, 2))
    more, nothing = rng.normal(size=(1000, 2)), np.full((1000, 2), np.nan)
    X_all, Y_all = np.vstack([X, more]), np.vstack([Y, nothing])
    weights = np.repeat([1.0, 0.0], [60, 1000])
    model = OutputKernelRegressor(KERNEL, structure, 0.3, tol=1e-10)
    alone = model.fit(X, Y).residual_covariance_
    for covariance in (
        model.fit(X_all, Y_all).residual_covariance_,
        model.fit(X_all, np.nan_to_num(Y_all), weights).residual_covariance_,
    ):
        assert_allclose(covariance, alone, rtol=1e-5)


def test_a_kernel_per_output_and_long_form_have_noise():
    X, Y = sample(20, 3, True)
    kernels = [Gaussian(0.3), 5.0 * Gaussian(0.3), Linear()]
    model = OutputKernelRegressor(PerOutput(kernels), "identity", 0.2).fit(X, Y)
    rows, tasks = np.nonzero(~np.isnan(Y))
    y = Y[rows, tasks]
    for j, kernel in enumerate(kernels):
        alone = OutputKernelRegressor(kernel, "identity", 0.2).fit(X, Y[:, j])
        assert isinstance(alone.noise_variance_, float)
        assert_allclose(model.noise_variance_[j], alone.noise_variance_, rtol=1e-4)
    wide = OutputKernelRegressor(KERNEL, "identity", 0.2, tol=1e-12).fit(X, Y)
    long = OutputKernelRegressor(KERNEL, "identity", 0.2, tol=1e-12)
    long.fit(X[rows], y, task=tasks)
    assert_allclose(long.noise_variance_, wide.noise_variance_, rtol=1e-6)
    own = long.predict(NEW, return_std=True, include_noise=True, task=np.ones(7))
    every = wide.predict(NEW, return_std=True, include_noise=True)
    assert_allclose(own, [part[:, 1] for part in every], rtol=1e-5, atol=1e-5)
    assert_allclose(long.residual_covariance_, np.diag(long.noise_variance_))


def test_an_alpha_for_each_output_is_the_noise_of_each():
    # as other units of the outputs, and as weights of them
    X, Y = sample(20, 3, True)
    alphas = np.array([0.05, 0.3, 2.0])
    several = PerOutput([KERNEL, KERNEL, Gaussian(1.0)])
    for kernel in (KERNEL, several):
        model = OutputKernelRegressor(kernel, "identity", alphas, tol=1e-12).fit(X, Y)
        mean, std = model.predict(NEW, return_std=True, include_noise=True)
        for j, alpha in enumerate(alphas):
            one = several.kernels[j] if kernel is several else kernel
            alone = OutputKernelRegressor(one, "identity", alpha, tol=1e-12)
            expected = alone.fit(X, Y[:, j]).predict(
                NEW, return_std=True, include_noise=True
            )
            assert_allclose(mean[:, j], expected[0], atol=1e-4)
            assert_allclose(std[:, j], expected[1], rtol=1e-4)
            found = model.noise_variance_[j]
            assert_allclose(found, alone.noise_variance_, rtol=1e-4)


def test_a_constant_output_and_one_seen_once():
    X, Y, _ = draw(14, 3)
    Y[:, 0], Y[1:, 1] = 5.0, np.nan
    for structure in ("identity", "frobenius"):
        model = OutputKernelRegressor(KERNEL, structure, 0.3).fit(X, Y)
        assert model.noise_variance_[0] < 1e-20
        mean, std = model.predict(NEW, return_std=True, include_noise=True)
        assert_allclose(mean[:, 0], 5.0)
        assert np.all(np.isfinite(std))
        given = np.full((7, 3), np.nan)
        given[:, 0] = 5.0
        assert np.all(np.isfinite(model.predict(NEW, given=given)))


def test_the_noise_of_one_observation_is_that_of_the_others():
    # nothing else tells of it, whatever rounding leaves: it is not exact
    rng = np.random.default_rng(0)
    task = np.array(["one", *rng.choice(["A", "B"], 39)])
    for _ in range(10):
        X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
        model = OutputKernelRegressor("linear", "identity", 0.1).fit(X, y, task=task)
        noise = model.noise_variance_
        assert noise[:2].min() <= noise[2] <= noise[:2].max()
        _, std = model.predict(X[:1], task=["one"], return_std=True, include_noise=True)
        assert std[0] > noise[2] ** 0.5


def test_tasks_of_few_rows_have_noise_in_common_with_others():
    # each alone intervals of tasks of two rows held 68 %, those of three 74 %
    rng = np.random.default_rng(0)
    sizes = np.array([2, 2, 2, 2, 3, 3, 3, 3, 20, 20])
    task, new = np.repeat(np.arange(10), sizes), np.repeat(np.arange(10), 50)
    inside = []
    for _ in range(20):
        levels = 5.0 * rng.normal(size=10)
        X, Z = rng.normal(size=(60, 2)), rng.normal(size=(500, 2))
        y = levels[task] + X[:, 0] + rng.normal(size=60)
        z = levels[new] + Z[:, 0] + rng.normal(size=500)
        model = OutputKernelRegressor("linear", "mean", 1.0).fit(X, y, task=task)
        low, high = model.predict_interval(Z, 0.9, task=new)
        inside.append((low <= z) & (z <= high))
    share = np.mean(inside, axis=0).reshape(10, 50).mean(axis=1)
    assert np.all(abs(share[:8] - 0.9) < 0.1)
    assert_allclose(share[:4].mean(), 0.9, atol=0.05)


def test_the_unit_of_tasks_of_one_row_is_that_of_the_others():
    rng = np.random.default_rng(1)
    X, task = rng.normal(size=(30, 2)), np.arange(30) % 3
    task[0] = 3
    y = X[:, 0] + task + rng.normal(size=30)
    for structure in ("mean", "frobenius"):
        model = OutputKernelRegressor(KERNEL, structure, 0.1)
        model.fit(X, y, task=task)
        mean, std = model.predict(NEW[:, :2], return_std=True, task=[3] * 7)
        for unit in (1e-3, 1e6):
            model.fit(X, y * unit, task=task)
            found = model.predict(NEW[:, :2], return_std=True, task=[3] * 7)
            assert_allclose(found[0], unit * mean, rtol=1e-3)
            assert_allclose(found[1], unit * std, rtol=1e-3)


def test_what_is_measured_is_kept_and_measured_again_after_pickling():
    X, Y = sample(14, 3, True)
    model = OutputKernelRegressor(KERNEL, "frobenius", 0.3).fit(X, Y)
    before = len(pickle.dumps(model))
    covariance = model.residual_covariance_
    assert len(pickle.dumps(model)) == before
    copy = pickle.loads(pickle.dumps(model))
    assert_allclose(copy.residual_covariance_, covariance)
    refitted = model.fit(X, Y * [1.0, 2.0, 3.0])
    assert_allclose(refitted.noise_variance_[2], 9 * covariance[2, 2], rtol=1e-4)


def test_errors():
    X, Y, _ = draw(14, 3)
    model = OutputKernelRegressor(KERNEL, "identity", 0.3).fit(X, Y)
    with pytest.raises(ValueError, match="one of return_std and return_cov"):
        model.predict(X, return_std=True, return_cov=True)
    huber = OutputKernelRegressor(loss="huber", tol=1e-2).fit(X, Y)
    with pytest.raises(ValueError, match=r"noise_variance_.*loss='huber'"):
        _ = huber.noise_variance_


@pytest.mark.parametrize("structure", ["identity", "frobenius"])
def test_covariances_that_do_not_fit_say_what_to_do(structure, free_memory):
    X, Y, _ = draw(14, 3)
    model = OutputKernelRegressor(KERNEL, structure, 0.3).fit(X, Y)
    model.predict(NEW, return_cov=True)
    free_memory(100)
    with pytest.raises(MemoryError, match=r"covariance of 3 outputs.*fewer rows"):
        model.predict(NEW, return_cov=True)


def test_intervals_cover_what_is_not_normal():
    # errors of which a few are large: their quantiles are not those of normal ones
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    Y = np.sin(X) + 0.1 * rng.standard_t(2, size=(1500, 2)) * [1.0, 50.0]
    model = OutputKernelRegressor(Gaussian(0.5), "identity", 5.0).fit(X[:500], Y[:500])
    for coverage in (0.5, 0.8, 0.95):
        low, high = model.predict_interval(X[500:], coverage)
        inside = np.mean((low <= Y[500:]) & (Y[500:] <= high), axis=0)
        assert np.all(np.abs(inside - coverage) < 0.06)
    given = Y[500:].copy()
    given[:, 0] = np.nan
    low, high = model.predict_interval(X[500:], given=given)
    assert_allclose(low[:, 1], given[:, 1])
    assert np.all(low[:, 0] < high[:, 0])
    for flag in ("return_std", "return_cov"):
        with pytest.raises(ValueError, match=f"{flag} must be .* an array of shape"):
            model.predict(X, **{flag: np.arange(len(X)) % 2})
    with pytest.raises(ValueError, match="include_noise must be True or False, got"):
        model.predict(X, return_std=True, include_noise="yes")
    for coverage in (95, "0.9", None, np.array([0.5, 0.9])):
        with pytest.raises(ValueError, match="coverage must be a number between 0"):
            model.predict_interval(X, coverage)


def test_a_quantile_is_that_of_the_rows_and_of_all_outputs_where_they_are_few():
    X, Y, _ = draw(25, 3)
    Y[8:, 2] = np.nan
    model = OutputKernelRegressor(KERNEL, "identity", 0.3).fit(X, Y)
    sizes = np.sort(np.abs(model._process.calibration.standardised), axis=0)
    found = model._process.quantiles(0.9)
    assert_allclose(found[:2], sizes[23, :2])  # the 24th of 26 = 0.9 (25 + 1)
    every = np.sort(sizes[~np.isnan(sizes)])
    assert_allclose(found[2], every[int(np.ceil(0.9 * (len(every) + 1))) - 1])
    rows, tasks = np.nonzero(~np.isnan(Y))
    long = OutputKernelRegressor(KERNEL, "identity", 0.3, tol=1e-12)
    long.fit(X[rows], Y[rows, tasks], task=tasks)
    own = long.predict_interval(NEW, 0.9, task=np.ones(7))
    wide = OutputKernelRegressor(KERNEL, "identity", 0.3, tol=1e-12).fit(X, Y)
    expected = [bound[:, 1] for bound in wide.predict_interval(NEW, 0.9)]
    assert_allclose(own, expected, atol=1e-4)


@pytest.mark.parametrize("normalize", [False, True])
def test_arrays_that_change_after_the_fit_change_nothing(normalize):
    X, Y, _ = draw(20, 2)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 20)
    model = OutputKernelRegressor(
        KERNEL, "mean", fit_intercept=normalize, normalize_y=normalize
    )
    model.fit(X, Y, sample_weight=weights)
    expected = pickle.loads(pickle.dumps(model)).predict(NEW, return_std=True)[1]
    Y[:], weights[:] = 100.0, 3.0
    assert_allclose(model.predict(NEW, return_std=True)[1], expected, rtol=1e-12)


def test_the_interval_of_one_row_is_that_of_a_normal_distribution():
    model = OutputKernelRegressor(KERNEL, "identity").fit([[0.0]], [[1.0, 2.0]])
    mean, std = model.predict([[1.0]], return_std=True, include_noise=True)
    low, high = model.predict_interval([[1.0]], 0.95)
    assert_allclose(high - mean, norm.ppf(0.975) * std, rtol=1e-12)
    assert_allclose(mean - low, high - mean, rtol=1e-12)
