"""Predictions where other outputs are known, against the whole system conditioned."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn import config_context

from okl import OutputKernelClassifier, OutputKernelRegressor
from okl.kernels import Gaussian, Linear, PerOutput, Row
from okl.structures import Diagonal, Fixed
from tests.posterior.test_row_term import written_out
from tests.samples import draw, psd

NEW = np.random.default_rng(9).normal(size=(8, 3))
KERNEL = Gaussian(0.3)
each_intercept = pytest.mark.parametrize("b", [False, True], ids=["no-b", "b"])
each_structure = pytest.mark.parametrize("structure", ["identity", "frobenius"])


def partly(Y, seed=1, share=0.5):
    """Return targets with a part of them missing, none or all in some rows."""
    unseen = np.random.default_rng(seed).random(Y.shape) < share
    unseen[0], unseen[1] = True, False
    return np.where(unseen, np.nan, Y)


def conditioned(prior, noise, drift, train, seen, x, given, new_noise):
    """Condition the (n + 1) m targets of which some were observed; b by its prior.

    Prior and drift are of all (n + 1) m entries, noise (n m,) of the training ones.
    Returns mean and covariance of the targets of the last row, and of f + b.
    """
    m = len(given)
    o = np.concatenate([seen.ravel(), ~np.isnan(given)])
    y = np.concatenate([train.ravel(), given])[o]
    signal = prior + 1e7 * drift @ drift.T
    total = signal.copy()
    total[:-m, :-m] += noise
    total[-m:, -m:] += new_noise
    gain = np.linalg.solve(total[np.ix_(o, o)], total[o][:, -m:]).T
    mean, covariance = gain @ y, total[-m:, -m:] - gain @ total[o][:, -m:]
    known = ~np.isnan(given)
    mean[known] = given[known]
    return mean, covariance


@each_intercept
@pytest.mark.parametrize("missing", [False, True], ids=["all", "some"])
def test_it_is_the_whole_system_conditioned(b, missing):
    # L given, signal and noise as the model has them, and the noise of the new row of
    # any covariance
    X, Y, _ = draw(9, 4)
    Y -= Y.mean(axis=0)
    L = psd(4, 5)
    seen = ~np.isnan(partly(Y, 3, 0.3)) if missing else np.ones(Y.shape, bool)
    seen[1:3] = True
    observed = np.where(seen, Y, np.nan)
    model = OutputKernelRegressor(
        KERNEL, Fixed(L), 0.3, fit_intercept=b, normalize_y=False, tol=1e-12
    ).fit(X, observed)
    given = partly(np.random.default_rng(2).normal(size=(8, 4)))
    found, covariance = model.predict(
        NEW, given=given, return_cov=True, include_noise=True
    )
    # both signal and noise of output j are s_j times those of the model
    s = model.noise_variance_ / 0.3
    posterior = model._process
    for x, y, mean, spread in zip(NEW, given, found, covariance, strict=True):
        rows = np.vstack([X, x])
        D = np.diag(np.sqrt(s))
        prior = np.kron(KERNEL(rows), L)
        # the fit has no factors: those of the posterior are put on its result
        drift = np.kron(np.ones((10, 1)), np.eye(4)) * b
        noise = 0.3 * np.eye(36)
        at_x = np.full(4, np.nan)
        f, S = conditioned(
            prior, noise, drift, observed, seen, x, at_x, np.zeros((4, 4))
        )
        S, N = D @ S @ D, posterior.residual_covariance()
        o, u = ~np.isnan(y), np.isnan(y)
        expected = y.copy()
        gain = (S + N)[np.ix_(u, o)] @ np.linalg.inv((S + N)[np.ix_(o, o)])
        expected[u] = f[u] + gain @ (y - f)[o]
        assert_allclose(mean, expected, atol=1e-5)
        rest = (S + N)[np.ix_(u, u)] - gain @ (S + N)[np.ix_(o, u)]
        assert_allclose(spread[np.ix_(u, u)], rest, atol=1e-5)
        assert np.all(spread[o] == 0)
        assert np.all(spread[:, o] == 0)


@each_intercept
def test_independent_outputs_are_a_process_with_the_covariance_of_errors(b):
    # signal B (x) K, noise alpha B: the whole system of (n + 1) m targets at once
    X, Y, _ = draw(9, 3)
    Y = (Y - Y.mean(axis=0)) @ np.array([[1, 0.8, 0.2], [0, 1, 0.7], [0, 0, 1]])
    Y -= Y.mean(axis=0)
    model = OutputKernelRegressor(
        KERNEL, "identity", 0.3, fit_intercept=b, normalize_y=False
    ).fit(X, Y)
    B = model.residual_covariance_ / 0.3
    given = partly(np.random.default_rng(2).normal(size=(8, 3)))
    found, covariance = model.predict(
        NEW, given=given, return_cov=True, include_noise=True
    )
    for x, y, mean, spread in zip(NEW, given, found, covariance, strict=True):
        prior = np.kron(KERNEL(np.vstack([X, x])), B)
        drift = np.kron(np.ones((10, 1)), np.eye(3)) * b
        expected, full = conditioned(
            prior,
            0.3 * np.kron(np.eye(9), B),
            drift,
            Y,
            np.ones(Y.shape, bool),
            x,
            y,
            0.3 * B,
        )
        assert_allclose(mean, expected, atol=1e-4)
        u = np.isnan(y)
        assert_allclose(spread[np.ix_(u, u)], full[np.ix_(u, u)], atol=1e-4)


@each_intercept
def test_the_term_of_a_row_is_the_covariance_of_noise(b):
    X, Y, _ = draw(12, 3)
    L, row = psd(3, 5), psd(3, 6)
    model = OutputKernelRegressor(
        [KERNEL, Row()],
        [Fixed(L), Fixed(row)],
        0.3,
        fit_intercept=b,
        normalize_y=False,
        tol=1e-12,
    ).fit(X, Y)
    N = row + 0.3 * np.eye(3)
    D = np.diag(np.sqrt(model.noise_variance_ / np.diag(N)))
    assert_allclose(model.residual_covariance_, D @ N @ D, rtol=1e-8)
    given = partly(np.random.default_rng(2).normal(size=(8, 3)))
    found, covariance = model.predict(
        NEW, given=given, return_cov=True, include_noise=True
    )
    for x, y, mean, spread in zip(NEW, given, found, covariance, strict=True):
        f, S = written_out(KERNEL, X, Y, x, L, N, b)
        T = D @ (S + N) @ D
        o, u = ~np.isnan(y), np.isnan(y)
        gain = T[np.ix_(u, o)] @ np.linalg.inv(T[np.ix_(o, o)])
        assert_allclose(mean[u], f[u] + gain @ (y - f)[o], atol=1e-4)
        rest = T[np.ix_(u, u)] - gain @ T[np.ix_(o, u)]
        assert_allclose(spread[np.ix_(u, u)], rest, atol=1e-6)


@pytest.mark.parametrize("structure", ["identity", Diagonal([0.5, 2.0, 1.0])], ids=repr)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_independent_outputs_of_several_kernels_are_those_of_their_sum(
    structure, missing
):
    X, Y, _ = draw(20, 3)
    Y[np.random.default_rng(1).random(Y.shape) < missing] = np.nan
    options = {"fit_intercept": True, "tol": 1e-12}
    one = OutputKernelRegressor(KERNEL + Linear(), structure, 0.3, **options)
    several = OutputKernelRegressor([KERNEL, Linear()], [structure] * 2, 0.3, **options)
    given = partly(np.random.default_rng(2).normal(size=(8, 3)))
    expected, covariance = one.fit(X, Y).predict(NEW, given=given, return_cov=True)
    found, own = several.fit(X, Y).predict(NEW, given=given, return_cov=True)
    assert_allclose(found, expected, atol=1e-5)
    assert_allclose(own, covariance, atol=1e-5)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_learned_covariance_of_noise_is_measured_in_rows_left_out(missing):
    rng = np.random.default_rng(0)
    X, drawn = rng.normal(size=(300, 2)), 0.8 + 0.2 * np.eye(3)
    noise = rng.multivariate_normal(np.zeros(3), drawn, 300)
    Y = np.tanh(X @ rng.normal(size=(2, 3))) + noise / 2
    Y[rng.random(Y.shape) < missing] = np.nan
    model = OutputKernelRegressor([KERNEL, Row()], ["frobenius", "frobenius"], 0.3)
    model.fit(X, Y)
    learned, measured = model.residual_kernel_, model.residual_covariance_
    errors = [
        matrix[0, 1] / np.sqrt(matrix[0, 0] * matrix[1, 1]) - 0.8
        for matrix in (learned, measured)
    ]
    assert errors[0] < -0.3  # what the penalty makes of it
    assert abs(errors[1]) < 0.1


@each_structure
def test_nothing_given_is_the_prediction(structure):
    X, Y, _ = draw(14, 3)
    model = OutputKernelRegressor(KERNEL, structure, 0.3).fit(X, Y)
    nothing = np.full((8, 3), np.nan)
    for noise in (False, True):
        for kind in ("return_std", "return_cov"):
            options = {kind: True, "include_noise": noise}
            plain = model.predict(NEW, **options)
            found = model.predict(NEW, given=nothing, **options)
            assert_allclose(found[0], plain[0])
            assert_allclose(found[1], plain[1], atol=1e-12)


@each_structure
def test_what_is_given_is_returned_and_tells_of_the_rest(structure):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    shared = np.array([1.0, 0.8, -0.9])
    covariance = np.outer(shared, shared) + 0.01 * np.eye(3)
    errors = rng.multivariate_normal([0, 0, 0], covariance, 300)
    Y = np.sin(X) * [1.0, -10.0, 100.0] + errors * [1.0, 10.0, 100.0]
    model = OutputKernelRegressor(Gaussian(1.0), structure, 0.1, tol=1e-4)
    model.fit(X[:200], Y[:200])
    given = Y[200:].copy()
    given[:, 1] = np.nan
    plain, wide = model.predict(X[200:], return_std=True, include_noise=True)
    found, std = model.predict(
        X[200:], given=given, return_std=True, include_noise=True
    )
    assert_allclose(found[:, [0, 2]], given[:, [0, 2]])
    assert np.all(std[:, [0, 2]] == 0)
    assert np.all(std[:, 1] < wide[:, 1])
    errors = found[:, 1] - Y[200:, 1]
    assert np.sqrt(np.mean(errors**2)) < 0.3 * np.std(plain[:, 1] - Y[200:, 1])
    assert np.mean((errors / std[:, 1]) ** 2) < 1.4
    if structure == "identity":  # L is not in the way of what errors say
        assert np.mean((errors / std[:, 1]) ** 2) > 0.7


def test_rows_of_one_pattern_are_as_rows_by_themselves():
    X, Y, _ = draw(14, 3)
    model = OutputKernelRegressor(KERNEL, "frobenius", 0.3).fit(X, Y)
    given = partly(np.random.default_rng(2).normal(size=(8, 3)))
    whole = model.predict(NEW, given=given, return_std=True)
    with config_context(working_memory=1e-3):  # a few rows at a time
        assert_allclose(model.predict(NEW, given=given), whole[0], atol=1e-12)
    for i in range(8):
        alone = model.predict(NEW[[i]], given=given[[i]], return_std=True)
        for one, all_of_them in zip(alone, whole, strict=True):
            assert_allclose(one[0], all_of_them[i], atol=1e-12)


def test_data_frames_are_read_by_name():
    X, Y, _ = draw(14, 3)
    model = OutputKernelRegressor(KERNEL, "frobenius", 0.3)
    model.fit(X, pd.DataFrame(Y, columns=["a", "b", "c"]))
    given = partly(np.random.default_rng(2).normal(size=(8, 3)))
    given[:, 0] = np.nan
    expected = model.predict(NEW, given=given)
    table = pd.DataFrame(given, columns=["a", "b", "c"])[["c", "b"]]
    assert_allclose(model.predict(NEW, given=table), expected)
    with pytest.raises(ValueError, match=r"'d', which is none of.*'a', 'b'"):
        model.predict(NEW, given=table.rename(columns={"c": "d"}))
    with pytest.raises(ValueError, match="2 columns of the name 'b'"):
        model.predict(NEW, given=table.rename(columns={"c": "b"}))


def test_long_form_and_kernels_per_output():
    X, Y, _ = draw(20, 3)
    rows, tasks = np.nonzero(~np.isnan(partly(Y)))
    long = OutputKernelRegressor(KERNEL, "frobenius", 0.2)
    long.fit(X[rows], Y[rows, tasks], task=tasks)
    given = partly(np.random.default_rng(2).normal(size=(8, 3)))
    assert np.all(np.isfinite(long.predict(NEW, given=given)))
    with pytest.raises(ValueError, match="leave task out"):
        long.predict(NEW, given=given, task=np.zeros(8))
    several = PerOutput([Gaussian(0.3), Gaussian(1.0), Gaussian(0.1)])
    model = OutputKernelRegressor(several, "identity", 0.2).fit(X, Y)
    assert np.all(np.isfinite(model.predict(NEW, given=given)))


def test_errors():
    X, Y, _ = draw(14, 3)
    model = OutputKernelRegressor(KERNEL, "identity", 0.3).fit(X, Y)
    with pytest.raises(ValueError, match=r"\(7, 3\); expected \(8, 3\)"):
        model.predict(NEW, given=np.zeros((7, 3)))
    with pytest.raises(ValueError, match="given contains infinity"):
        model.predict(NEW, given=np.full((8, 3), np.inf))
    huber = OutputKernelRegressor(loss="huber", tol=1e-2).fit(X, Y)
    with pytest.raises(ValueError, match=r"given.*loss='huber'"):
        huber.predict(NEW, given=np.zeros((8, 3)))
    gram = OutputKernelRegressor("precomputed").fit(KERNEL(X), Y)
    with pytest.raises(ValueError, match="Gram"):
        gram.predict(KERNEL(NEW, X), given=np.zeros((8, 3)))
    classes = OutputKernelClassifier(KERNEL).fit(X, Y[:, 0] > 0)
    with pytest.raises(TypeError, match="given"):
        classes.predict(NEW, given=np.zeros((8, 1)))


@pytest.mark.parametrize("structure", ["identity", "low_rank", "trace_ball"])
def test_a_constant_output_tells_nothing(structure):
    # what rounding and the tolerance leave of it was taken for noise of 1e-34
    X, Y, _ = draw(20, 3)
    Y[:, 0] = 0.1
    Y[:5, 1] = np.nan
    model = OutputKernelRegressor(KERNEL, structure, normalize_y=False).fit(X, Y)
    assert model.noise_variance_[0] == 0.0
    given = np.full((len(NEW), 3), np.nan)
    given[:, 0] = 0.8
    found, std = model.predict(NEW, given=given, return_std=True)
    mean, alone = model.predict(NEW, return_std=True)
    assert_allclose(found[:, 1:], mean[:, 1:], rtol=1e-6)
    assert_allclose(std[:, 1:], alone[:, 1:], rtol=1e-2)


def test_a_constant_output_that_is_not_fitted_has_noise():
    X, Y, _ = draw(20, 3)
    Y[:, 0] = 0.1
    options = {"normalize_y": False, "fit_intercept": False}
    model = OutputKernelRegressor(KERNEL, "identity", **options).fit(X, Y)
    assert model.noise_variance_[0] > 0.0
