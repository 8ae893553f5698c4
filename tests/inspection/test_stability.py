"""How far the entries of L move: closed forms, known relations, invariances, errors."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
from joblib import parallel_config
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from okl import (
    OutputKernelClassifier,
    OutputKernelExtension,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
)
from okl.inspection import output_kernel_stability
from okl.inspection.resampling import Sampling, bootstrap, jackknife
from okl.kernels import Gaussian, Row
from okl.model_selection import GradientSearchCV
from tests.samples import draw, gaussian

LINEAR = OutputKernelRegressor("linear")
PRECISE = OutputKernelRegressor("rbf", tol=1e-10)
METHODS = ["jackknife", "bootstrap"]


def correlation(L):
    scale = np.sqrt(np.diag(L))
    return L / np.outer(scale, scale)


def linear_outputs(W, rng, n=80, noise=0.7):
    """Draw rows, and outputs that are linear functions of them with noise."""
    X = rng.normal(size=(n, len(W)))
    return X, X @ W + noise * rng.normal(size=(n, W.shape[1]))


def limit(W, noise=0.7):
    """Return the correlation of L with a linear kernel and infinitely many rows.

    The best L for coefficients W of normalised outputs minimises
    tr(W'W / L) / 2 + ||L||^2 / 2, so that 2 L^3 = W'W.
    """
    scale = np.sqrt((W**2).sum(axis=0) + noise**2)
    return correlation(
        scipy.linalg.fractional_matrix_power((W / scale).T @ (W / scale), 1 / 3)
    )


@pytest.mark.parametrize("method", METHODS)
def test_intervals_hold_known_relations(method):
    W = np.array([[1, 1, 0], [1, 0.5, 0.3], [0, 1, -1], [0.5, 0, 1]])
    truth, held, widths, estimates = limit(W), [], [], []
    for seed in range(12):
        X, Y = linear_outputs(W, np.random.default_rng(seed))
        found = output_kernel_stability(
            LINEAR, X, Y, method=method, n_resamples=10, random_state=seed
        ).correlation
        pairs = np.triu_indices(3, 1)
        held.append(((found.lower < truth) & (truth < found.upper))[pairs])
        widths.append(found.std[pairs])
        estimates.append(found.estimate[pairs])
    # of 36 intervals of 95 % those of two data sets of 12 may all miss
    assert np.mean(held) >= 10 / 12
    # and they are as wide as the estimates vary, which 12 know to a quarter
    ratio = np.mean(widths, axis=0) / np.std(estimates, axis=0, ddof=1)
    assert np.all((ratio > 0.5) & (ratio < 2.0))


def test_nothing_is_stable_where_functions_are_orthogonal_and_all_is_where_alike():
    rng = np.random.default_rng(0)
    found = []
    for seed in range(8):
        orthogonal = np.linalg.qr(rng.normal(size=(6, 4)))[0]
        X, Y = linear_outputs(orthogonal, rng, noise=1.0)
        apart = output_kernel_stability(LINEAR, X, Y, random_state=seed)
        found.append(apart.stable[np.triu_indices(4, 1)].any())
        assert apart.stable[np.diag_indices(4)].all()
    # one in twenty is expected at most; two or more of eight happen once in seventeen
    assert sum(found) <= 1
    X, Y = linear_outputs(np.ones((6, 4)) * [1, -1, 1, 2], rng)
    alike = output_kernel_stability(LINEAR, X, Y)
    assert alike.stable.all()
    assert np.all(alike.correlation.upper <= 1)


def with_the_kernel_of(model):
    """Return the same with its gamma of "scale" as a number."""
    return clone(model).set_params(kernel=model.kernel_)


def test_leaving_rows_out_one_by_one_is_the_jackknife():
    X, Y, _ = draw(12, 3)
    found = output_kernel_stability(PRECISE, X, Y, n_resamples=12, random_state=3)
    left_out, held = [], with_the_kernel_of(PRECISE.fit(X, Y))
    for row in range(12):
        kept = np.delete(np.arange(12), row)
        left_out.append(held.fit(X[kept], Y[kept]).output_kernel_)
    for name, draws in [
        ("covariance", np.array(left_out)),
        ("correlation", np.array([correlation(L) for L in left_out])),
    ]:
        entries = getattr(found, name)
        expected = np.sqrt(11 / 12 * ((draws - draws.mean(0)) ** 2).sum(axis=0))
        np.testing.assert_allclose(entries.std, expected, rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(entries.mean, draws.mean(0), rtol=1e-4, atol=1e-6)
    L = PRECISE.fit(X, Y).output_kernel_
    np.testing.assert_allclose(found.covariance.estimate, L)
    # Student's quantile of eleven degrees of freedom
    entries = found.covariance
    np.testing.assert_allclose(entries.upper - L, 2.20099 * entries.std, rtol=1e-5)


def test_the_bootstrap_copies_rows():
    X, Y, _ = draw(12, 3)
    weight = np.linspace(0.5, 2, 12)
    found = output_kernel_stability(
        PRECISE, X, Y, method="bootstrap", n_resamples=3, sample_weight=weight
    )
    units, seen = Sampling.of(12, None, None), np.ones((12, 3), dtype=bool)
    counts = bootstrap(units, 3, seen, check_random_state(0))
    np.testing.assert_array_equal(counts.sum(axis=1), 12)
    assert counts.max() > 1
    held = with_the_kernel_of(PRECISE.fit(X, Y, weight))
    for drawn, own in zip(found.covariance.draws, counts, strict=True):
        rows = np.repeat(np.arange(12), own)
        copied = held.fit(X[rows], Y[rows], weight[rows]).output_kernel_
        np.testing.assert_allclose(drawn, copied, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(
        found.covariance.std, found.covariance.draws.std(axis=0, ddof=1)
    )


@pytest.mark.parametrize("method", METHODS)
def test_the_order_and_the_units_of_outputs_make_no_difference(method):
    X, Y, _ = draw(30, 4)
    order, units = [2, 0, 3, 1], np.array([1e-6, 1.0, 1e3, 7.0])
    first = output_kernel_stability(PRECISE, X, Y, method=method, n_resamples=4)
    other = output_kernel_stability(
        PRECISE, X, (Y * units)[:, order], method=method, n_resamples=4
    )
    both = np.ix_(order, order)
    scale = np.outer(units, units)[both]
    for part in ("estimate", "mean", "std", "lower", "upper"):
        np.testing.assert_allclose(
            getattr(other.correlation, part),
            getattr(first.correlation, part)[both],
            atol=1e-4,
        )
        np.testing.assert_allclose(
            getattr(other.covariance, part) / scale,
            getattr(first.covariance, part)[both],
            atol=1e-3,
        )
    np.testing.assert_array_equal(other.stable, first.stable[both])


def test_in_parallel_as_in_a_row():
    X, Y, _ = draw(20, 3)
    one = output_kernel_stability(PRECISE, X, Y, n_resamples=4)
    with parallel_config(backend="threading"):
        two = output_kernel_stability(PRECISE, X, Y, n_resamples=4, n_jobs=2)
    np.testing.assert_allclose(two.covariance.draws, one.covariance.draws, rtol=1e-9)
    other = output_kernel_stability(PRECISE, X, Y, n_resamples=4, random_state=1)
    assert np.abs(other.covariance.draws - one.covariance.draws).max() > 1e-3


def test_groups_are_left_out_together():
    X, Y, _ = draw(20, 3)
    alone = output_kernel_stability(PRECISE, X, Y, n_resamples=5)
    twice = np.repeat(np.arange(20), 2)
    found = output_kernel_stability(
        PRECISE,
        X[twice],
        Y[twice],
        n_resamples=5,
        groups=[f"g{code:02}" for code in twice],
        sample_weight=np.full(40, 0.5),
    )
    np.testing.assert_allclose(found.covariance.std, alone.covariance.std, rtol=1e-2)
    rows = Sampling.of(40, twice, None)
    kept = jackknife(rows, 5, np.ones((40, 1), dtype=bool), check_random_state(0))
    np.testing.assert_array_equal(kept[:, ::2], kept[:, 1::2])
    np.testing.assert_array_equal(kept.sum(axis=0), 4)  # once left out


def test_strata_keep_their_share():
    strata = np.repeat(["a", "b", "c"], [4, 8, 20])
    units, seen = Sampling.of(32, None, strata), strata[:, None] == ["a", "b", "c"]
    rng = check_random_state(0)
    np.testing.assert_array_equal(
        bootstrap(units, 5, seen, rng) @ seen, np.tile([4, 8, 20], (5, 1))
    )
    np.testing.assert_array_equal(
        jackknife(units, 4, seen, rng) @ seen, np.tile([3, 6, 15], (4, 1))
    )


def test_a_search_stands_for_what_it_chose():
    X, Y, _ = draw(30, 3)
    grid = {"alpha": [0.5, 2.0], "structure": ["low_rank"]}
    chosen = OutputKernelRegressorCV("rbf", structures=["low_rank"], alphas=[9, 1, 0.1])
    searches = {
        chosen: lambda: OutputKernelRegressor(
            chosen.kernel_, chosen.structure_, chosen.alpha_
        ),
        GridSearchCV(OutputKernelRegressor(), grid, cv=KFold(3)): lambda: (
            OutputKernelRegressor(structure="low_rank", alpha=0.5)
        ),
        GradientSearchCV(LINEAR, n_restarts=1): None,
    }
    for search, by_hand in searches.items():
        search.fit(X, Y)
        model = getattr(search, "best_estimator_", search)
        found = output_kernel_stability(search, X, Y, n_resamples=2)
        np.testing.assert_allclose(
            found.covariance.estimate, model.output_kernel_, rtol=1e-3, atol=1e-5
        )
        again = output_kernel_stability(
            by_hand() if by_hand else model, X, Y, n_resamples=2
        )
        np.testing.assert_allclose(again.covariance.draws, found.covariance.draws)


def test_steps_of_a_pipeline_transform_as_they_were_fitted():
    X, Y, _ = draw(20, 3)
    whole = make_pipeline(StandardScaler(), OutputKernelRegressor()).fit(X, Y)
    found = output_kernel_stability(whole, X, Y, n_resamples=3)
    rows = StandardScaler().fit_transform(X)
    alone = output_kernel_stability(whole[-1], rows, Y, n_resamples=3)
    np.testing.assert_allclose(found.covariance.draws, alone.covariance.draws)


def test_a_given_matrix_loses_rows_and_columns():
    X, Y, _ = draw(15, 3)
    given = OutputKernelRegressor("precomputed", tol=1e-10)
    of_rows = OutputKernelRegressor(Gaussian(0.5), tol=1e-10)
    found = output_kernel_stability(given, gaussian(X), Y, n_resamples=3)
    np.testing.assert_allclose(
        found.covariance.draws,
        output_kernel_stability(of_rows, X, Y, n_resamples=3).covariance.draws,
        rtol=1e-4,
        atol=1e-6,
    )


def test_each_of_several_kernels():
    """Outputs that only what the inputs do not explain moves together."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    common = rng.normal(size=(100, 1))
    Y = np.column_stack([np.sin(2 * X), rng.normal(size=100)]) + common * [1, 1, 0]
    model = OutputKernelRegressor([Gaussian(), Row()], ["frobenius", "frobenius"])
    found = output_kernel_stability(model, X, Y, n_resamples=10)
    kernels = model.fit(X, Y).output_kernels_
    for term, L in zip(found.terms, kernels, strict=True):
        np.testing.assert_allclose(term.covariance.estimate, L, rtol=1e-6)
        assert term.terms == [term]
    np.testing.assert_allclose(found.covariance.estimate, sum(kernels), rtol=1e-6)
    left = found.terms[1].stable
    assert left[0, 1]
    assert not left[0, 2]
    assert not left[1, 2]
    # it leaks into the only output kernel of a flexible kernel, not into the first
    one = output_kernel_stability(OutputKernelRegressor(), X, Y, n_resamples=10)
    assert one.correlation.estimate[0, 1] > 0.1
    assert one.stable[0, 1]
    assert np.abs(found.terms[0].correlation.estimate[0, 1]) < 0.1
    assert not found.terms[0].stable[0, 1]
    with pytest.raises(ValueError, match=r'copies would share.*method="jackknife"'):
        output_kernel_stability(model, X, Y, method="bootstrap")


@pytest.mark.parametrize("method", METHODS)
def test_one_task_a_row(method):
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(90, 3)), np.array(["c", "a", "b"])[np.arange(90) % 3]
    slope = np.where(task == "a", -1.0, 1.0)
    y = slope * X.sum(axis=1) + 0.3 * rng.normal(size=90)
    found = output_kernel_stability(
        LINEAR, X, y, task=task, method=method, n_resamples=8
    )
    assert found.covariance.draws.shape == (8, 3, 3)
    np.testing.assert_array_equal(np.sign(found.correlation.estimate[0]), [1, -1, -1])
    assert found.stable.all()
    again = output_kernel_stability(
        LINEAR, X, y, task=pd.DataFrame({"id": task}), method=method, n_resamples=8
    )
    np.testing.assert_array_equal(again.stable, found.stable)
    with pytest.raises(ValueError, match=r"task must have one id .* shape \(90, 3\)"):
        output_kernel_stability(LINEAR, X, y, task=X)


def test_classes_and_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    classes = np.array(["x", "y", "z"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    of_classes = output_kernel_stability(
        OutputKernelClassifier(), X, classes, n_resamples=5
    )
    labels = (np.column_stack([X[:, 0], -X[:, 0], X[:, 1]]) > 0).astype(int)
    of_labels = output_kernel_stability(
        OutputKernelClassifier(), X, labels, n_resamples=10
    )
    assert of_classes.covariance.draws.shape == (5, 3, 3)
    assert of_labels.correlation.estimate[0, 1] < -0.9
    assert of_labels.stable[0, 1]
    assert not of_labels.stable[0, 2]


def test_targets_that_are_missing_are_in_every_resample():
    X, Y, _ = draw(20, 3)
    Y[3:, 2] = np.nan
    for method in METHODS:
        model = OutputKernelRegressor("rbf")
        found = output_kernel_stability(model, X, Y, method=method, n_resamples=15)
        assert np.all(found.covariance.draws[:, 2, 2] >= 0)
    Y[1:, 2] = np.nan
    with pytest.raises(ValueError, match=r"losing an output.* is in 1 of 20 rows"):
        output_kernel_stability(PRECISE, X, Y)


def test_refits_above_the_tolerance_are_counted():
    X, Y, _ = draw(20, 3)
    short = OutputKernelRegressor(
        structure="low_rank", alpha=0.01, max_iter=1, tol=1e-12
    )
    with (
        pytest.warns(ConvergenceWarning, match="of 3 refits ended above"),
        pytest.warns(ConvergenceWarning, match="after the 1 iterations"),
    ):
        found = output_kernel_stability(short, X, Y, n_resamples=3)
    assert found.n_failed > 0


X, Y, _ = draw(10, 2)
REFUSED = {
    "method must be one of 'jackknife', 'bootstrap'; got 'boot'": {"method": "boot"},
    "n_resamples must be an integer >= 2, got 1": {"n_resamples": 1},
    "n_resamples=11 is more than the 10 rows that can be left out": {"n_resamples": 11},
    "n_resamples=20 is more than the 5 groups": {"groups": np.arange(10) % 5},
    "level must be a number between 0 and 1, got 95": {"level": 95},
    "level must be a number between 0 and 1, got '0.9'": {"level": "0.9"},
    "inconsistent numbers of samples": {"groups": [1, 2]},
    "sample_weight has a negative entry": {"sample_weight": -np.ones(10)},
    "fixes the output kernel before the fit": {
        "estimator": OutputKernelRegressor(structure="mean")
    },
    "There is one output": {"y": Y[:, 0], "n_resamples": 2},
    "groups is missing in 2 of 10 rows": {"groups": ["a", "b"] * 4 + [None, np.nan]},
    "y is None; pass the targets": {"y": None},
    "Targets must be numbers, NaN where": {"y": np.full((10, 2), "a")},
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_used_is_refused(message):
    arguments = {"estimator": OutputKernelRegressor(), "X": X, "y": Y}
    with pytest.raises(ValueError, match=re.escape(message)):
        output_kernel_stability(**arguments | REFUSED[message])


@pytest.mark.parametrize(
    ("estimator", "error", "message"),
    [
        (Ridge().fit(X, Y), TypeError, "a fitted pipeline that ends in one; got Ridge"),
        (OutputKernelRegressorCV(), NotFittedError, "not fitted"),
        (GradientSearchCV(OutputKernelRegressor()), NotFittedError, "not fitted"),
        (
            OutputKernelExtension(OutputKernelRegressor().fit(X, Y)).fit(X, Y[:, 0]),
            TypeError,
            "got OutputKernelExtension. For a search with refit=False, or another wrap",
        ),
        (
            GridSearchCV(LINEAR, {"alpha": [1.0]}, refit=False, cv=2).fit(X, Y),
            TypeError,
            "got GridSearchCV",
        ),
        (
            make_pipeline(StandardScaler(), OutputKernelRegressor()),
            NotFittedError,
            "Pipeline",
        ),
    ],
)
def test_estimators_that_cannot_be_fitted_again(estimator, error, message):
    with pytest.raises(error, match=message):
        output_kernel_stability(estimator, X, Y)


def test_a_line_and_a_table():
    X, Y, _ = draw(30, 3)
    level = np.float32(0.95)  # a number of any type
    found = output_kernel_stability(LINEAR, X, Y, n_resamples=4, level=level)
    n_stable = int(found.stable[np.triu_indices(3, 1)].sum())
    assert repr(found) == (
        f"<OutputKernelStability: {n_stable} of 3 relations of 3 outputs are stable, "
        "level=0.95, jackknife of 4 refits>"
    )
    table = found.table(["a", "b", "c"])
    assert {len(column) for column in table.values()} == {6}
    row = [*zip(table["first"], table["second"], strict=True)].index(("a", "c"))
    for kind in ("correlation", "covariance"):
        entries = getattr(found, kind)
        assert table[kind][row] == entries.estimate[0, 2]
        assert table[f"{kind}_lower"][row] == entries.lower[0, 2]
    assert found.table()["second"][row] == 2
    framed = pd.DataFrame(Y, columns=["a", "b", "c"])
    named = output_kernel_stability(LINEAR, X, framed, n_resamples=4).table()
    assert (named["first"][row], named["second"][row]) == ("a", "c")
    assert named["covariance"][row] == pytest.approx(table["covariance"][row])
    with pytest.raises(ValueError, match="There are 3 outputs; got 2"):
        found.table(["a", "b"])
