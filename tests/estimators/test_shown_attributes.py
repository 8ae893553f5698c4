"""What notebooks show of fitted estimators, and what completion offers."""

import numpy as np
import pytest

from okl import (
    OutputKernelClassifier,
    OutputKernelExtension,
    OutputKernelRegressor,
)
from okl.estimators.extension_spread import NewOutputSpread
from okl.estimators.process import Process
from okl.kernels import Gaussian, Row

X = np.random.default_rng(0).normal(size=(12, 3))
Y = np.c_[X @ [1.0, 2.0, -1.0], np.sin(X[:, 0])]
MEASURED = {"noise_variance_", "residual_covariance_"}


def shown(model):
    assert "Fitted attributes" in model._repr_html_()
    return set(model._get_fitted_attr_html())


@pytest.fixture
def nothing_measured(monkeypatch):
    def measure(*args, **kwargs):
        raise AssertionError("the rows left out were asked for")

    for name in ("noise_variance", "residual_covariance"):
        monkeypatch.setattr(Process, name, measure)
    monkeypatch.setattr(NewOutputSpread, "noise", property(measure))


@pytest.mark.parametrize(
    "model",
    [
        OutputKernelRegressor(),
        OutputKernelRegressor([Gaussian(), Row()], ["frobenius", "frobenius"]),
        OutputKernelRegressor(loss="huber"),
        OutputKernelRegressor(kernel="precomputed"),
        OutputKernelExtension(OutputKernelRegressor().fit(X, Y)),
    ],
)
def test_what_takes_long_is_offered_and_not_shown(model, nothing_measured):
    model.fit(X @ X.T if getattr(model, "kernel", None) == "precomputed" else X, Y)
    assert {"dual_coef_", "intercept_", "output_kernel_"} <= shown(model)
    assert not shown(model) & MEASURED
    assert "noise_variance_" in dir(model)
    assert "predict" in dir(model)


def test_measured_attributes_are_computed_when_asked_for(nothing_measured):
    model = OutputKernelRegressor().fit(X, Y)
    for measured in (model, OutputKernelExtension(model).fit(X, Y)):
        with pytest.raises(AssertionError, match="asked for"):
            _ = measured.noise_variance_


def test_arrays_of_many_outputs_are_not_computed_to_be_shown():
    many = np.random.default_rng(1).normal(size=(12, 1001))
    model = OutputKernelRegressor().fit(X, many)
    assert not [name for name in shown(model) if "output_kernel" in name]
    assert "output_kernel_factor_" in dir(model)
    assert "output_kernel_factor_" in shown(OutputKernelRegressor().fit(X, many[:, 1:]))


def test_what_is_not_there_is_not_offered():
    model = OutputKernelRegressor()
    assert not [name for name in dir(model) if name in MEASURED]
    assert "residual_kernel_" not in dir(model.fit(X, Y))
    assert not hasattr(OutputKernelRegressor(loss="huber").fit(X, Y), "noise_variance_")
    classifier = OutputKernelClassifier(loss="hinge").fit(X, np.arange(12) % 3)
    assert not set(dir(classifier)) & {*MEASURED, "predict_proba"}
    assert "dual_point_" in shown(classifier)
