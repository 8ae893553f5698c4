"""Variances of many outputs: from a matrix of each, or from the system of all."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import config_context

from okl import OutputKernelRegressor
from okl.coding.tasks import Tasks
from okl.kernels import Gaussian, Linear
from okl.posterior import in_targets
from okl.posterior.moments import EntryMoments
from okl.structures import Fixed, Sparse


@pytest.mark.parametrize("structure", ["mean", "frobenius"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_moments_do_not_depend_on_how_many_are_found_at_once(
    structure, fit_intercept, monkeypatch
):
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(7), 2)
    X = rng.normal(size=(14, 5))
    y = X[:, 0] + 0.3 * task + 0.2 * rng.normal(size=14)
    found, widths, whitened = [], [], in_targets.whitened
    monkeypatch.setattr(
        in_targets, "whitened", lambda R, A: widths.append(A.shape[1]) or whitened(R, A)
    )
    for at_once in (10**6, 3 * 14 * 5, 1):
        monkeypatch.setattr(in_targets, "_AT_ONCE", at_once)
        model = OutputKernelRegressor("linear", structure, fit_intercept=fit_intercept)
        model.fit(X, y, task=task)
        found.append(model.predict(X, return_std=True)[1])
    assert_allclose(found[1:], [found[0]] * 2, rtol=1e-8)
    assert widths == [35, 15, 15, 5, *[5] * 7]


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(0.3)], ids=repr)
@pytest.mark.parametrize("structure", ["frobenius", Sparse(0.5)], ids=repr)
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("long", [False, True], ids=["matrix", "long"])
def test_both_ways_give_the_same_variances(
    kernel, structure, fit_intercept, long, monkeypatch
):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(30, 3)), rng.normal(size=(50, 3))
    task = np.arange(30) % 4
    Y = X @ rng.normal(size=(3, 4)) + 0.3 * rng.normal(size=(30, 4))
    weights = rng.uniform(0.5, 2.0, size=30)
    given = {"task": task} if long else {}
    y = Y[:, 0] if long else np.where(rng.random(Y.shape) < 0.4, np.nan, Y)
    options = {"alpha": 0.3, "fit_intercept": fit_intercept}
    model = OutputKernelRegressor(kernel, structure, **options)
    model.fit(X, y, sample_weight=weights, **given)
    found = []
    for pay in (True, False):
        monkeypatch.setattr(EntryMoments, "pay", lambda *sizes, pay=pay: pay)
        posterior = replace(model._process.posterior)
        found.append(posterior(new))
        assert ("_moments" in vars(posterior)) == pay
    assert_allclose(found[1], found[0], rtol=1e-6, atol=1e-9)
    diagonal = np.einsum("ijj->ij", posterior.covariance(new))
    assert_allclose(found[1], diagonal, rtol=1e-6, atol=1e-9)
    if long:
        asked = Tasks(np.arange(50) % 4, 4)
        own = posterior(new, asked)[:, 0]
        assert_allclose(own, found[0][np.arange(50), asked.codes], rtol=1e-6, atol=1e-9)


def test_a_hundred_tasks_take_no_matrix_of_rows_each():
    """Tasks of few rows would have a hundred of these, far larger than all else."""
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(100), 4)
    X, y = rng.normal(size=(400, 5)), rng.normal(size=400)
    model = OutputKernelRegressor(Gaussian(0.3), "frobenius").fit(X, y, task=task)
    tracemalloc.start()
    assert np.all(model.predict(X, return_std=True, task=task)[1] > 0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 * 8 * 400**2


def test_matrices_of_outputs_are_found_for_many_rows_or_soon():
    soon, long = (50, 10, 500), (1000, 100, 1000)
    assert EntryMoments.pay(1, *soon)
    # matrices that are nearly as large as the system are no quicker
    assert not EntryMoments.pay(1, 400, 10, 500)
    assert not EntryMoments.pay(1000, *long)
    assert EntryMoments.pay(1001, *long)
    assert not EntryMoments.pay(10**6, 10**6, 100, 10**6)  # they do not fit


def test_the_covariance_is_found_in_blocks_of_rows():
    rng = np.random.default_rng(0)
    n, m = 200, 20
    X, y, task = rng.normal(size=(n, 3)), rng.normal(size=n), np.arange(n) % m
    known = Fixed(0.5 + 0.5 * np.eye(m))
    model = OutputKernelRegressor(Gaussian(0.1), known).fit(X, y, task=task)
    posterior, new = model._process.posterior, rng.normal(size=(1000, 3))
    whole = posterior.covariance(new)
    with config_context(working_memory=4):
        tracemalloc.start()
        parts = posterior.covariance(new)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert_allclose(parts, whole, atol=1e-12)
    # the system of one block would have as much as a hundred times the limit
    assert peak - parts.nbytes < 8 * 2**20
