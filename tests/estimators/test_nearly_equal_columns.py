"""The small differences of columns that are nearly copies of each other are found.

They have hardly any variance, and a large weight is needed to predict from them. Where
kernels are learned from a start with as much noise as signal, all looks like noise.
"""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegressionCV, RidgeCV

from okl import OutputKernelClassifierCV, OutputKernelRegressorCV
from okl.losses import Squared
from okl.problems import Observed
from okl.selection import kernel_of_folds, likeliest_kernel
from okl.selection.criteria import LeaveOneOutError
from okl.selection.linear_plus import first_kernel, nearly_linear
from okl.selection.standard_rows import StandardRows
from tests.covering import later

N = 60


def drawn(seed, n_columns, *, part, noise, n=N):
    """Return rows of which two columns differ by a part, and that part, with noise."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(1000, 1))
    alike = common + part * rng.normal(size=(1000, 2))
    X = np.hstack([alike, rng.normal(size=(1000, n_columns - 2))])
    y = (X[:, 0] - X[:, 1]) / part + noise * rng.normal(size=1000)
    return X[:n], y[:n], X[n:], y[n:]


@pytest.mark.parametrize("n_columns", [2, 8, 20])
@pytest.mark.parametrize(("part", "noise"), [(0.1, 0.5), (0.01, 0.1), (1e-3, 0.1)])
@pytest.mark.each_value
def test_their_difference_is_predicted_as_by_ridge(n_columns, part, noise):
    errors = []
    for seed in range(3):
        X, y, others, targets = drawn(seed, n_columns, part=part, noise=noise)
        ours = OutputKernelRegressorCV().fit(X, y)
        ridge = RidgeCV(np.logspace(-8, 3, 40)).fit(X, y)
        errors.append([1 - model.score(others, targets) for model in (ours, ridge)])
    ours, ridge = np.mean(errors, axis=0)
    assert ours < 1.5 * ridge


def test_where_few_rows_leave_the_likelihood_to_prefer_noise():
    X, y, others, targets = drawn(2, 20, part=0.01, noise=0.1, n=30)
    assert OutputKernelRegressorCV().fit(X, y).score(others, targets) > 0.9


def test_of_outputs_with_missing_targets():
    X, y, others, targets = drawn(0, 8, part=0.01, noise=0.1)
    Y = np.column_stack([y, -y])
    Y[::5, 0] = Y[1::7, 1] = np.nan
    model = OutputKernelRegressorCV().fit(X, Y)
    assert model.score(others, np.column_stack([targets, -targets])) > 0.95


@pytest.mark.parametrize("n_columns", later(2, 8))
def test_their_difference_tells_classes_apart(n_columns):
    right = []
    for seed in (0, 2):
        X, y, others, targets = drawn(seed, n_columns, part=0.01, noise=0.1, n=80)
        ours = OutputKernelClassifierCV().fit(X, y > 0)
        peer = LogisticRegressionCV(
            Cs=np.logspace(-4, 8, 13),
            l1_ratios=(0,),
            use_legacy_attributes=False,
            scoring="neg_log_loss",
        ).fit(X, y > 0)
        labels = targets > 0
        right.append([np.mean(one.predict(others) == labels) for one in (ours, peer)])
    ours, peer = np.mean(right, axis=0)
    assert ours > peer - 0.03


def test_spectra():
    # three of seven substances are weak, and the base line drifts
    rng = np.random.default_rng(0)
    waves, n = np.linspace(0, 1, 200), N + 200
    peaks = np.exp(-0.5 * ((waves - rng.uniform(size=(35, 1))) / 0.05) ** 2)
    spectra = peaks.reshape(7, 5, -1).sum(axis=1)
    amounts = rng.uniform(size=(n, 7))
    X = (amounts * [0.1, 0.1, 0.1, 1, 1, 1, 1]) @ spectra
    X += 0.5 * rng.normal(size=(n, 2)) @ np.stack([np.ones_like(waves), waves])
    X += 1e-3 * rng.normal(size=X.shape)
    Y = amounts[:, :3] + 0.005 * rng.normal(size=(n, 3))
    model = OutputKernelRegressorCV().fit(X[:N], Y[:N])
    assert model.score(X[N:], Y[N:]) > 0.99


def test_a_kernel_that_was_not_learned_has_to_be_far_better():
    X, y, *_ = drawn(0, 3, part=0.1, noise=0.1)
    observed = Observed(np.column_stack([y, -y]), Squared())
    rows = StandardRows((X - X.mean(0)) / X.std(0), observed, True, None)
    criterion = LeaveOneOutError(observed, fit_intercept=True)
    for kernel, handicap in ((nearly_linear(3, 1e4), True), (first_kernel(3), False)):
        judged = likeliest_kernel._judged(rows, kernel)
        more = handicap * (5 + 0.2 * observed.targets.size)
        np.testing.assert_allclose(judged, rows.value(kernel, criterion) + more)


@pytest.mark.parametrize(("n", "n_columns"), [(15, 15), (20, 8)])
def test_few_rows_of_noise_are_predicted_as_without_it(n, n_columns, monkeypatch):
    def error():
        errors = []
        for seed in range(500, 506):
            rng = np.random.default_rng(seed)
            common = rng.normal(size=(n + 200, 1))
            X = common + 0.01 * rng.normal(size=(n + 200, n_columns))
            y = 0.5 * rng.normal(size=n + 200)
            model = OutputKernelRegressorCV(structures="identity").fit(X[:n], y[:n])
            errors.append(np.mean(model.predict(X[n:]) ** 2))
        return np.mean(errors)

    now = error()
    monkeypatch.setattr(likeliest_kernel, "_WEIGHTS", np.ones(1))
    assert now < 1.2 * error()


def test_the_search_starts_from_a_large_weight_as_well(monkeypatch):
    # what was not learned is no candidate here
    monkeypatch.setattr(likeliest_kernel, "_FAR_CLEARLY", np.inf)
    X, y, others, targets = drawn(0, 8, part=0.01, noise=0.1)
    assert OutputKernelRegressorCV().fit(X, y).score(others, targets) > 0.95


def test_alphas_end_where_rounding_begins():
    X, y, *_ = drawn(1, 20, part=1e-3, noise=0.1)
    (alphas,) = OutputKernelRegressorCV().fit(X, y).alphas_
    assert len(alphas) == 25
    assert alphas[-1] > 0.99e-9 * alphas[0]


@pytest.mark.usefixtures("briefly")
def test_nothing_else_is_tried_where_columns_differ(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=N)
    regressor = OutputKernelRegressorCV(structures="identity", alphas=3)
    classifier = OutputKernelClassifierCV(structures="identity", alphas=3)
    numbers = regressor.fit(X, y).predict(X)
    classes = classifier.fit(X, y > 0).predict_proba(X)
    monkeypatch.setattr(likeliest_kernel, "_WEIGHTS", np.ones(1))
    monkeypatch.setattr(kernel_of_folds, "_EXPLAINED", np.inf)
    np.testing.assert_array_equal(regressor.fit(X, y).predict(X), numbers)
    np.testing.assert_array_equal(classifier.fit(X, y > 0).predict_proba(X), classes)
