"""Data that say nothing: kernel matrices that are zero, balanced and constant targets.

Every fit is then one of intercepts alone, and proved to be.
"""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from okl import (
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
    certify,
)
from okl.kernels import Gaussian, Linear
from okl.structures import LowRank, TraceBall

STRUCTURES = ("frobenius", "low_rank", LowRank(1), "trace_ball", TraceBall(0.1))
# A design of two levels of two factors, and their product, which the inputs ignore.
FIRST, SECOND = np.tile([0, 0, 1, 1], 6), np.tile([0, 1, 0, 1], 6)
BALANCED = 2.0 * np.column_stack([FIRST, SECOND, FIRST ^ SECOND]) - 1


@pytest.fixture(autouse=True)
def proved():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("structure", STRUCTURES, ids=str)
@pytest.mark.parametrize("loss", ["squared", "huber", "quantile", "missing", "tasks"])
def test_numbers_without_inputs(structure, loss, rng):
    X, Y, more = np.ones((20, 1)), rng.normal(size=(20, 3)), {}
    if loss == "missing":
        Y[0, 0] = np.nan
    if loss == "tasks":
        Y, more = Y[:, 0], {"task": np.arange(20) % 3}
    loss = loss if loss in ("huber", "quantile") else "squared"
    model = OutputKernelRegressor("rbf", structure, loss=loss).fit(X, Y, **more)
    predicted = model.predict(X, **more)
    assert np.ptp(predicted[more.get("task", 0) == 0], axis=0) == pytest.approx(0)


@pytest.mark.parametrize("structure", STRUCTURES, ids=str)
@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge", "softmax"])
def test_labels_without_inputs(structure, loss, rng):
    X, labels = np.ones((20, 1)), rng.integers(0, 2, size=(20, 3))
    labels = labels if loss != "softmax" else labels[:, 0] + labels[:, 1]
    model = OutputKernelClassifier("rbf", structure, loss=loss).fit(X, labels)
    if loss == "softmax":  # at the optimum those of the intercepts are the shares
        shares = np.unique(labels, return_counts=True)[1] / 20
        assert model.predict_proba(X[:1])[0] == pytest.approx(shares, abs=1e-3)


def test_a_column_that_is_constant_in_a_fold(rng):
    rare, Y = np.zeros((20, 1)), rng.normal(size=(20, 3))
    rare[3] = 1
    OutputKernelClassifierCV("rbf", "low_rank", alphas=3).fit(rare, (Y > 0).astype(int))
    Y[0, 0] = np.nan
    search = OutputKernelRegressorCV("rbf", ["identity", "low_rank"], alphas=3)
    assert search.fit(rare, Y).certificate_.status == "optimal"


@pytest.mark.parametrize("structure", STRUCTURES, ids=str)
def test_all_constant(structure):
    X, Y = np.ones((20, 1)), np.full((20, 3), 2.0)
    search = OutputKernelRegressorCV("rbf", structure, alphas=3).fit(X, Y)
    assert search.predict(X) == pytest.approx(Y)


@pytest.mark.parametrize("intercept", [True, False])
def test_classes_that_a_constant_cannot_tell_apart(intercept):
    X, y = np.ones((12, 1)), np.arange(12) % 3
    model = OutputKernelClassifier(
        "linear", "trace_ball", 0.1, loss="softmax", fit_intercept=intercept
    ).fit(X, y)
    assert model.certificate_.primal == pytest.approx(12 * np.log(3))
    assert certify(model, X, y).status == "optimal"


@pytest.mark.parametrize("kernel", [Gaussian(1.0), [Gaussian(1.0), Linear()]], ids=str)
@pytest.mark.parametrize("kind", ["plain", "weights", "softmax", "logistic"])
def test_balanced_designs(kernel, kind, rng):
    # K times these targets is zero, but for rounding
    X, more = np.repeat(rng.normal(size=(6, 2)), 4, axis=0), {}
    structure = (
        ["trace_ball", "trace_ball"] if isinstance(kernel, list) else "trace_ball"
    )
    if kind in ("softmax", "logistic"):
        model = OutputKernelClassifier(kernel, structure, 0.1, loss=kind)
        y = FIRST + 2 * SECOND if kind == "softmax" else (BALANCED > 0).astype(int)
    else:
        model, y = OutputKernelRegressor(kernel, structure, 0.1), BALANCED
        if kind == "weights":
            more = {"sample_weight": rng.uniform(1, 2, size=6).repeat(4)}
    model.fit(X, y, **more)
    assert model.certificate_.status == "optimal"
    assert certify(model, X, y, **more).status == "optimal"
