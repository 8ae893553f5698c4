"""Displays find the estimator inside of pipelines and searches."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from okl import (
    OutputKernelClassifier,
    OutputKernelExtension,
    OutputKernelImputer,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
    ReducedRankRegression,
)
from okl.plotting import (
    ConvergenceDisplay,
    OutputGraphDisplay,
    OutputKernelDisplay,
    RegularizationPathDisplay,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3))
Y = X @ rng.normal(size=(3, 4)) + 0.1 * rng.normal(size=(30, 4))
CHOOSING = OutputKernelRegressorCV("rbf", alphas=[1.0, 0.1], cv=2)
DISPLAYS = [OutputKernelDisplay, OutputGraphDisplay, ConvergenceDisplay]


def search(estimator, name="alpha"):
    return GridSearchCV(estimator, {name: [1.0, 0.1]}, cv=3)


def wrapped(model):
    pipeline = make_pipeline(StandardScaler(), model)
    return [
        (pipeline, lambda w: w[-1]),
        (search(model), lambda w: w.best_estimator_),
        (
            search(pipeline, "outputkernelregressor__alpha"),
            lambda w: w.best_estimator_[-1],
        ),
        (
            TransformedTargetRegressor(pipeline, transformer=StandardScaler()),
            lambda w: w.regressor_[-1],
        ),
    ]


@pytest.mark.parametrize(("wrapper", "inside"), wrapped(OutputKernelRegressor()))
def test_the_model_inside_is_drawn(wrapper, inside):
    model = inside(wrapper.fit(X, Y))
    for display in (OutputKernelDisplay, OutputGraphDisplay):
        drawn = display.from_estimator(wrapper)
        units = np.outer(model.y_scale_, model.y_scale_)
        expected = model.output_kernel_ / units
        np.testing.assert_allclose(drawn.output_kernel, expected, rtol=1e-12)
    drawn = ConvergenceDisplay.from_estimator(wrapper)
    assert drawn.history is model.history_
    assert drawn.name == "OutputKernelRegressor"


def test_the_path_inside_is_drawn():
    pipeline = make_pipeline(StandardScaler(), CHOOSING).fit(X, Y)
    drawn = RegularizationPathDisplay.from_estimator(pipeline)
    np.testing.assert_array_equal(drawn.scores, pipeline[-1].scores_)


def test_names_are_those_of_the_model_inside():
    classes = np.array(["ant", "bee", "cow"])[rng.integers(3, size=30)]
    pipeline = make_pipeline(StandardScaler(), OutputKernelClassifier())
    drawn = OutputKernelDisplay.from_estimator(pipeline.fit(X, classes))
    assert drawn.output_names == ["ant", "bee", "cow"]
    tuned = TunedThresholdClassifierCV(pipeline, cv=2).fit(X, classes == "ant")
    assert OutputKernelDisplay.from_estimator(tuned).output_names == ["0"]


@pytest.mark.parametrize("display", DISPLAYS)
def test_what_a_fitted_imputer_has_is_said(display):
    imputer = OutputKernelImputer().fit(Y)
    with pytest.raises(ValueError, match=r"is fitted, and .*\.covariance\)\.plot\(\)"):
        display.from_estimator(imputer)
    drawn = OutputKernelDisplay(imputer.distribution_.covariance).plot()
    assert drawn.output_kernel.shape == (4, 4)
    with pytest.raises(NotFittedError, match="call fit before"):
        display.from_estimator(OutputKernelImputer())


@pytest.mark.parametrize(
    ("kept", "new", "names"),
    [
        (list("abc"), ["d", "e"], ["a", "b", "c", "d", "e"]),
        (list("abc"), None, ["a", "b", "c", "3", "4"]),
        (None, ["d", "e"], ["0", "1", "2", "d", "e"]),
        (None, None, ["0", "1", "2", "3", "4"]),
    ],
)
def test_an_extension_has_names_and_units_of_all_outputs(kept, new, names):
    def targets(values, columns):
        return values if columns is None else pd.DataFrame(values, columns=columns)

    model = OutputKernelRegressor().fit(X, targets(100.0 * Y[:, :3], kept))
    extension = OutputKernelExtension(model)
    extension.fit(X, targets(0.01 * np.fliplr(Y[:, 2:]), new))
    display = OutputKernelDisplay.from_estimator(extension, kind="covariance")
    assert display.output_names == names
    alike = OutputKernelExtension(OutputKernelRegressor().fit(X, Y[:, :3]))
    alike.fit(X, np.fliplr(Y[:, 2:]))
    drawn = OutputKernelDisplay.from_estimator(alike).output_kernel
    assert_allclose(display.output_kernel, drawn, rtol=1e-6)
    assert_allclose(drawn[:3, :3], L_of_normalised(model), rtol=1e-12)


def L_of_normalised(model):
    return model.output_kernel_ / np.outer(model.y_scale_, model.y_scale_)


def test_what_a_fitted_extension_has_is_said():
    extension = OutputKernelExtension(OutputKernelRegressor().fit(X, Y[:, :3]))
    extension.fit(X, Y[:, 3])
    assert OutputKernelDisplay.from_estimator(extension).output_kernel.shape == (4, 4)
    with pytest.raises(ValueError, match=r"no history_ to draw; draw its estimator"):
        ConvergenceDisplay.from_estimator(extension)
    ConvergenceDisplay.from_estimator(extension.estimator)
    with pytest.raises(ValueError, match=r"no output_kernel_ to draw\.$"):
        OutputKernelDisplay.from_estimator(ReducedRankRegression(1).fit(X, Y))


@pytest.mark.parametrize("display", DISPLAYS)
def test_what_is_not_fitted_inside_is_named(display):
    pipeline = make_pipeline(StandardScaler(), OutputKernelRegressor())
    with pytest.raises(NotFittedError, match=r"This OutputKernelRegressor has no .*_:"):
        display.from_estimator(pipeline)
    with pytest.raises(NotFittedError, match=r"This GridSearchCV has no .*_: call fit"):
        display.from_estimator(search(pipeline))
    with pytest.raises(NotFittedError, match="Regressor has no alphas_ and"):
        RegularizationPathDisplay.from_estimator(pipeline.fit(X, Y))
    with pytest.raises(TypeError, match="3 is not an estimator"):
        OutputKernelDisplay.from_estimator(3)
