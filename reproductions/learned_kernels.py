"""A kernel that is learned, beside grids over kernels and beside forests.

The error of a fold is, for each target, the squared error of the test rows over that of
the mean of the training targets; sums over folds, their roots, and the mean over
targets give one number for a set (aRRMSE). Folds are shuffled, ten of them, three of
the larger sets enb and oes10.

**okl, auto** is `OutputKernelRegressorCV("auto", ["identity", "frobenius"])`, **okl,
list** the same with the kernels that it tries by default, **ridge** scikit-learn's
`RidgeCV`, **kernel ridge** its `KernelRidge` with a Gaussian kernel, alpha and gamma
chosen by `GridSearchCV` on a grid of 15 times 16 values and five shuffled folds,
**forest** a `RandomForestRegressor` of 500 trees, **mean** that of the training
targets. Columns are standardised on the training rows for all, missing inputs are their
means, and targets are standardised for the ridges. Seconds are those of a processor for
all fits of a model to a set.

± is the standard error over folds of the error of one fold, as if folds were
independent. Columns that are compared share their folds: a difference between two of
them is less uncertain than either.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from benchmarks.measure import machine
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from okl import OutputKernelRegressorCV
from reproductions.comparing import standard_error
from reproductions.real_sets import real_sets
from reproductions.report import table, write_page

# Folds of each set.
N_FOLDS = {
    "computer_survey": 10,
    "edm": 10,
    "enb": 3,
    "jura": 10,
    "andro": 10,
    "slump": 10,
    "oes10": 3,
    "sf1": 10,
}
STRUCTURES = ["identity", "frobenius"]
GRID = {"alpha": np.logspace(-6, 1, 15), "gamma": np.logspace(-4, 1, 16)}


def _ridges(regressor: Any) -> TransformedTargetRegressor:
    return TransformedTargetRegressor(regressor, transformer=StandardScaler())


def _grid() -> GridSearchCV:
    folds = KFold(5, shuffle=True, random_state=0)
    return GridSearchCV(
        KernelRidge(kernel="rbf"), GRID, cv=folds, scoring="neg_mean_squared_error"
    )


MODELS: dict[str, Callable[[], Any]] = {
    "okl, auto": lambda: OutputKernelRegressorCV("auto", STRUCTURES),
    "okl, list": lambda: OutputKernelRegressorCV(structures=STRUCTURES),
    "ridge": lambda: _ridges(RidgeCV(np.logspace(-4, 4, 33))),
    "kernel ridge": lambda: _ridges(_grid()),
    "forest": lambda: RandomForestRegressor(500, random_state=0),
    "mean": DummyRegressor,
}


class Errors(NamedTuple):
    """What a model does on a set.

    Attributes
    ----------
    squares, of_mean : array (n_folds, n_outputs)
        Squared errors of the model and of the mean, summed over the test rows.
    seconds : float
        Of all fits.
    """

    squares: np.ndarray
    of_mean: np.ndarray
    seconds: float

    def __str__(self) -> str:
        error = np.sqrt(self.squares.sum(axis=0) / self.of_mean.sum(axis=0)).mean()
        folds = np.sqrt(self.squares / self.of_mean).mean(axis=1)
        return f"{error:.3f} ± {standard_error(folds):.3f}"


def errors(
    model: Callable[[], Any], X: np.ndarray, Y: np.ndarray, folds: Any
) -> Errors:
    squares, of_mean, seconds = [], [], 0.0
    for train, test in folds.split(X):
        pipeline = make_pipeline(SimpleImputer(), StandardScaler(), model())
        start = process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # edges of grids
            pipeline.fit(X[train], Y[train])
        seconds += process_time() - start
        predicted = pipeline.predict(X[test])
        squares.append(np.sum((Y[test] - predicted) ** 2, axis=0))
        of_mean.append(np.sum((Y[test] - Y[train].mean(axis=0)) ** 2, axis=0))
    return Errors(np.array(squares), np.array(of_mean), seconds)


def run() -> None:
    rows, times = [], []
    for name, X, Y in real_sets():
        if name not in N_FOLDS:
            continue
        folds = KFold(N_FOLDS[name], shuffle=True, random_state=0)
        found = [errors(model, X, Y, folds) for model in MODELS.values()]
        rows.append((f"{name} ({len(X)}, {X.shape[1]}, {Y.shape[1]})", *found))
        times.append((name, *(f"{one.seconds:.1f}" for one in found)))
        print(*rows[-1], *times[-1], sep=" | ", flush=True)
    write_page(
        "learned_kernels",
        f"""# Learned kernels

`python -m reproductions learned_kernels`. {__doc__.split(chr(10) * 2, 1)[1]}
{table(["set (rows, columns, targets)", *MODELS], rows)}

Seconds:

{table(["set", *MODELS], times)}

Machine: {machine()}.
""",
    )
