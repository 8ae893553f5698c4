"""Moments of many outputs are found some at a time, however many are at once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl import OutputKernelRegressor
from okl.posterior import systems


@pytest.mark.parametrize("structure", ["mean", "frobenius"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_moments_do_not_depend_on_how_many_are_found_at_once(
    structure, fit_intercept, monkeypatch
):
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(7), 2)
    X = rng.normal(size=(14, 5))
    y = X[:, 0] + 0.3 * task + 0.2 * rng.normal(size=14)
    found, widths, whitened = [], [], systems.whitened
    monkeypatch.setattr(
        systems, "whitened", lambda R, A: widths.append(A.shape[1]) or whitened(R, A)
    )
    for at_once in (10**6, 3 * 14 * 5, 1):
        monkeypatch.setattr(systems, "_AT_ONCE", at_once)
        model = OutputKernelRegressor("linear", structure, fit_intercept=fit_intercept)
        model.fit(X, y, task=task)
        found.append(model.predict(X, task=task, return_std=True)[1])
    assert_allclose(found[1:], [found[0]] * 2, rtol=1e-8)
    assert widths == [35, 15, 15, 5, *[5] * 7]
