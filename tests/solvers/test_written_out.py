"""Data in long form, L learned: the target matrix written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl import (
    OutputKernelClassifier,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
    certify,
)
from okl.kernels import Gaussian
from okl.losses import Quantile
from okl.solvers import written_out
from okl.solvers.kinks import augmented_lagrangian
from okl.solvers.smooth import factor_newton, majorization
from okl.structures import LowRank, Sparse
from tests.covering import later

N, M = 60, 4
CODES = np.arange(N) % M


def sample(loss):
    """Return X, y and an estimator of an alpha that leaves many entries at kinks."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, 3))
    y = X[:, 0] + 0.5 * CODES * X[:, 1] + 0.4 * rng.normal(size=N)
    if loss in ("hinge", "squared_hinge", "logistic"):
        model = OutputKernelClassifier("linear", alpha=0.1, loss=loss)
        return X, (y > 0).astype(int), model
    return X, y, OutputKernelRegressor("linear", alpha=0.1, loss=loss)


def wide(y):
    """Return the target matrix, NaN where a row is not of the task."""
    return np.where(CODES[:, None] == np.arange(M), y[:, None], np.nan)


@pytest.mark.parametrize(
    "loss", ["hinge", Quantile(0.3), "squared_hinge", "logistic"], ids=str
)
@pytest.mark.parametrize(
    "structure", ["frobenius", "low_rank", *later("trace_ball", Sparse(0.5))], ids=str
)
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.each_value
def test_both_forms_go_the_same_way(loss, structure, intercept, monkeypatch):
    X, y, model = sample(loss)
    asked, written = [], written_out.written_out
    for solver in (augmented_lagrangian, majorization):
        monkeypatch.setattr(
            solver, "written_out", lambda one: asked.append(1) or written(one)
        )
    model.set_params(structure=structure, fit_intercept=intercept)
    weights = np.linspace(0.5, 2.0, N)
    # for f is found once more
    closer = majorization._CLOSER if loss in ("squared_hinge", "logistic") else 1.0
    model.set_params(tol=closer * 1e-6).fit(X, wide(y), sample_weight=weights)
    matrix, n_iter = model.certificate_, model.n_iter_
    assert not asked
    model.set_params(tol=1e-6).fit(X, y, sample_weight=weights, task=CODES)
    assert len(asked) == 1
    assert model.certificate_.status == "optimal"
    # but for what rounding decides, which at kinks is more, from processor to processor
    if not isinstance(loss, Quantile):
        assert abs(model.n_iter_ - n_iter) <= 2
    assert_allclose(model.certificate_.primal, matrix.primal, rtol=2e-6)
    again = certify(model, X, y, sample_weight=weights, task=CODES)
    assert_allclose(again.dual, model.certificate_.dual, rtol=1e-9)
    if "smooth" not in model.loss_.capabilities:
        assert model.dual_point_.shape == (N,)


def test_few_features_and_no_intercept_are_proved():
    # models of some columns of K ended at a gap of 1e-3 here
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(32, 2))
    Y = rows @ rng.normal(size=(2, 6)) + 0.5 * rng.standard_t(3, size=(32, 6))
    X, ids = np.repeat(rows, 6, axis=0), np.tile(np.arange(6), 32)
    options = {"alpha": 0.02, "loss": Quantile(0.3), "fit_intercept": False}
    model = OutputKernelRegressor("linear", "low_rank", **options)
    model.fit(X, Y.ravel(), task=ids)
    assert model.certificate_.status == "optimal"
    assert model.n_iter_ <= 12


@pytest.mark.parametrize(
    "loss", ["hinge", "squared_hinge", *later(Quantile(0.3), "logistic")], ids=str
)
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_under_a_bound_on_the_rank_f_is_the_best_for_its_output_kernel(loss, intercept):
    # what is found with the target matrix has more than one entry a row there
    X, y, model = sample(loss)
    model.set_params(structure=LowRank(1), fit_intercept=intercept)
    model.fit(X, wide(y))
    matrix = model.certificate_
    model.fit(X, y, task=CODES)
    assert matrix.status == model.certificate_.status == "rank_limited"
    assert model.certificate_.primal <= (1 + 1e-6) * matrix.primal


def test_a_tolerance_near_rounding_is_met():
    X, y, model = sample(Quantile(0.3))
    model.set_params(structure="low_rank", tol=1e-10)
    assert model.fit(X, y, task=CODES).certificate_.status == "optimal"


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("limit", ["tasks", "memory"])
def test_many_tasks_and_little_memory_take_products_alone(limit, loss, monkeypatch):
    X, y, model = sample(loss)
    model.set_params(structure="frobenius", kernel=Gaussian(0.3), alpha=1.0)
    written = model.fit(X, y, task=CODES).certificate_
    if limit == "memory":
        monkeypatch.setattr(written_out, "_MATRICES", np.inf)
    else:
        monkeypatch.setattr(augmented_lagrangian, "_FEW_OUTPUTS", M - 1)
        monkeypatch.setattr(majorization, "_FEW_OUTPUTS", M - 1)
    monkeypatch.setattr(written_out, "written_out", None)
    column = model.fit(X, y, task=CODES).certificate_
    assert column.status == "optimal"
    assert column.primal != written.primal
    assert_allclose(column.primal, written.primal, rtol=2e-6)


@pytest.mark.filterwarnings("ignore:The training part", "ignore:The alpha chosen")
def test_a_fold_without_rows_of_a_task():
    X, y, _ = sample(Quantile(0.5))
    ids = np.where(np.arange(N) == 7, "once", "often")
    ids[::3] = "also"
    search = OutputKernelRegressorCV(
        "linear", "frobenius", alphas=[0.1], cv=3, loss=Quantile(0.5)
    )
    search.fit(X, y, task=ids)
    assert search.certificate_.status == "optimal"
    assert np.all(np.isfinite(search.scores_))


@pytest.mark.parametrize(
    ("loss", "limit"), [("huber", "_MORE_ENTRIES"), ("squared", "_FEW_ENTRIES")]
)
def test_numbers_are_written_out_if_the_matrix_is_small(loss, limit, monkeypatch):
    X, y, model = sample(loss)
    asked, written = [], majorization.written_out
    monkeypatch.setattr(
        majorization, "written_out", lambda one: asked.append(1) or written(one)
    )
    model.set_params(structure=LowRank(), solver="majorization")
    matrix = model.fit(X, y, task=CODES).certificate_
    assert asked
    asked.clear()
    monkeypatch.setattr(majorization, limit, N * M - 1)
    column = model.fit(X, y, task=CODES).certificate_
    assert not asked
    assert matrix.status == column.status == "optimal"
    assert_allclose(column.primal, matrix.primal, rtol=2e-6)


def test_many_rows_of_other_losses_are_not_written_out(monkeypatch):
    # the system of all of them would not be factorised
    X, y, model = sample("huber")
    monkeypatch.setattr(factor_newton, "DIRECT", N - 1)
    monkeypatch.setattr(majorization, "written_out", None)
    model.set_params(structure=LowRank(1), solver="majorization")
    assert model.fit(X, y, task=CODES).certificate_.status == "rank_limited"
