"""After a fit that fails an estimator is what it was before."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from okl import (
    KernelAutoencoder,
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelImputer,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
    ReducedRankRegression,
)
from okl.kernels import CallableKernel, Gaussian
from tests.samples import draw

X, Y, _ = draw(12, 3)
LABELS = Y.argmax(axis=1)


def failing(X, Z=None):
    raise FloatingPointError


FAILING = CallableKernel(failing)
# an estimator, what it is fitted to, and what makes the next fit fail on the way: None
# for targets of too few rows
CASES = {
    "regressor": (OutputKernelRegressor(Gaussian()), (X, Y), {"kernel": FAILING}),
    "classifier": (OutputKernelClassifier(), (X, LABELS), {"kernel": FAILING}),
    "regressor-cv": (
        OutputKernelRegressorCV(Gaussian(), alphas=2),
        (X, Y),
        {"kernel": FAILING},
    ),
    "classifier-cv": (
        OutputKernelClassifierCV(Gaussian(), alphas=2, cv=2),
        (X, LABELS),
        {"kernel": FAILING},
    ),
    "autoencoder": (KernelAutoencoder(2), (X,), {"kernel": FAILING}),
    "reduced-rank": (ReducedRankRegression(), (X, Y), None),
    "imputer": (
        OutputKernelImputer(OutputKernelRegressor("linear", "identity")),
        (Y, None, X),
        {"estimator__kernel": FAILING},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_was_fitted_stays(name):
    estimator, data, wrong = CASES[name]
    other = [None if part is None else part[::-1] for part in data]
    if name.startswith("classifier"):
        other[1] = np.array(["a", "b", "c"])[other[1]]
    if wrong is None:
        other, wrong = [pd.DataFrame(X, columns=["p", "q", "r"]), Y[1:]], {}
    fresh = clone(estimator).set_params(**wrong)
    with pytest.raises((FloatingPointError, ValueError)):
        fresh.fit(*other)
    assert not [name for name in vars(fresh) if name.endswith("_")]
    fitted = clone(estimator).fit(*data)
    before = vars(fitted).copy()
    with pytest.raises((FloatingPointError, ValueError)):
        fitted.set_params(**wrong).fit(*other)
    assert vars(fitted).keys() == before.keys()
    learned = [name for name in before if name.endswith("_")]
    assert all(vars(fitted)[name] is before[name] for name in learned)


def test_classes_of_a_failed_fit_are_not_predicted():
    model = OutputKernelClassifier().fit(X, LABELS)
    expected = model.predict(X)
    with pytest.raises(ValueError, match="alpha has 2 entries"):
        model.set_params(alpha=[1.0, 2.0]).fit(X, np.array(["a", "b", "c"])[LABELS])
    assert_array_equal(model.predict(X), expected)


def test_columns_of_a_failed_fit_are_not_asked_for():
    frame = pd.DataFrame(X, columns=["p", "q", "r"])
    model = OutputKernelRegressor().fit(frame, Y)
    expected = model.predict(frame)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(frame[["p"]], Y[1:])
    assert_array_equal(model.predict(frame), expected)
