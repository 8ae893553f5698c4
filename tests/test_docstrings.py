"""What docstrings say of parameters, their defaults and attributes is what is there."""

import ast
import importlib
import inspect

import numpy as np
import pytest
from numpydoc.docscrape import NumpyDocString

import okl
from okl.model_selection import GradientSearchCV

MODULES = [
    importlib.import_module(name)
    for name in (
        "okl",
        "okl.kernels",
        "okl.structures",
        "okl.losses",
        "okl.solvers",
        "okl.model_selection",
        "okl.inspection",
        "okl.decisions",
        "okl.metrics",
        "okl.parameters",
        "okl.plotting",
        "okl.datasets",
    )
]
PUBLIC = {
    value.__qualname__: value
    for module in MODULES
    for name, value in vars(module).items()
    if not name.startswith("_")
    and (inspect.isclass(value) or inspect.isfunction(value))
    and value.__module__.startswith("okl.")
}


def described(thing, section):
    """Return the types of a section of a docstring, by name."""
    parts = NumpyDocString(inspect.cleandoc(thing.__doc__))[section]
    return {
        name.strip().lstrip("*"): part.type
        for part in parts
        for name in part.name.split(",")
    }


@pytest.mark.parametrize("name", PUBLIC)
def test_parameters_and_defaults_are_those_of_the_signature(name):
    parameters = described(PUBLIC[name], "Parameters")
    if not parameters:
        return
    signature = inspect.signature(PUBLIC[name]).parameters
    assert set(parameters) == set(signature)
    for parameter, kind in parameters.items():
        if "default=" in kind:
            said = kind.partition("default=")[2]
            default = signature[parameter].default
            try:
                assert ast.literal_eval(said) == default, parameter
            except ValueError:  # an object, which its factory makes
                assert "factory" in repr(default), parameter


def fitted():
    """Return fits of each kind of estimator."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    Y = np.column_stack([X[:, 0], X.sum(axis=1)]) + 0.1 * rng.normal(size=(30, 2))
    labels, holed = np.arange(30) % 3, np.where(rng.random(Y.shape) < 0.1, np.nan, Y)
    regressor = okl.OutputKernelRegressor().fit(X, Y)
    return [
        regressor,
        okl.OutputKernelClassifier().fit(X, labels),
        okl.OutputKernelClassifier(loss="hinge").fit(X, labels),
        okl.OutputKernelRegressorCV("rbf", alphas=3, eps=1e-2).fit(X, Y),
        okl.OutputKernelClassifierCV("rbf", alphas=3, loss="squared").fit(X, labels),
        okl.KernelAutoencoder().fit(X),
        okl.ReducedRankRegression().fit(X, Y),
        okl.OutputKernelImputer().fit(holed),
        okl.OutputKernelExtension(regressor).fit(X[:9], Y[:9, 0]),
        GradientSearchCV(okl.OutputKernelRegressor(structure="identity")).fit(X, Y),
    ]


@pytest.mark.filterwarnings("ignore:The alpha chosen:UserWarning")
def test_attributes_of_fits_are_described():
    for model in fitted():
        named = set(described(type(model), "Attributes"))
        if "..." in named:  # and those of the estimator that chooses nothing
            one = type(model).__name__.removesuffix("CV")
            named |= set(described(getattr(okl, one), "Attributes"))
        found = {name for name in vars(model) if name.endswith("_")}
        found = {name for name in found if not name.startswith("_")}
        assert found, model
        assert found <= named, (model, found - named)
