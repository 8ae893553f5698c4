"""One alpha for all outputs, or one for each.

`OutputKernelRegressorCV("rbf", structure)` with one alpha, with
``alpha_per_output=True``, and by default, where only outputs that are clearly better
off so have an alpha of their own, on the same ten shuffled folds, for independent
outputs and for ``"frobenius"``. The error of a fold is, for each target, the squared
error of the test rows over that of the mean of the training targets; sums over folds,
their roots, and the mean over targets give one number for a set (aRRMSE). Columns of X
are standardised on the training rows; missing inputs are their means.

A change is that of the error of a fold from one alpha to several, the mean over folds,
± its standard error as if folds were independent: below zero several are better.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from benchmarks.measure import machine
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from okl import OutputKernelRegressorCV
from reproductions.comparing import standard_error
from reproductions.real_sets import real_sets
from reproductions.report import table, write_page

SETS = ("edm", "jura", "andro", "slump", "enb", "sf1", "atp7d")
STRUCTURES = ("identity", "frobenius")
N_FOLDS = 10


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


def change(one: Errors, several: Errors) -> str:
    """Return the mean change of the error of a fold, with its standard error."""
    of_folds = [np.sqrt(e.squares / e.of_mean).mean(axis=1) for e in (one, several)]
    difference = of_folds[1] - of_folds[0]
    return f"{difference.mean():+.4f} ± {standard_error(difference):.4f}"


def run() -> None:
    rows = []
    for name, X, Y in real_sets():
        if name not in SETS:
            continue
        folds = KFold(N_FOLDS, shuffle=True, random_state=0)
        cells: list[object] = []
        for structure in STRUCTURES:
            model = partial(OutputKernelRegressorCV, "rbf", structure)
            one = errors(partial(model, alpha_per_output=False), X, Y, folds)
            each = errors(partial(model, alpha_per_output=True), X, Y, folds)
            default = errors(model, X, Y, folds)
            cells += [one, each, change(one, each), default, change(one, default)]
        rows.append((f"{name} ({len(X)}, {X.shape[1]}, {Y.shape[1]})", *cells))
        print(*rows[-1], sep=" | ", flush=True)
    header = [
        f"{structure}: {what}"
        for structure in STRUCTURES
        for what in ("one alpha", "one each", "change", "default", "change")
    ]
    write_page(
        "output_alphas",
        f"""# An alpha for each output

`python -m reproductions output_alphas`. {__doc__.split(chr(10) * 2, 1)[1]}
{table(["set (rows, columns, targets)", *header], rows)}

On {machine()}.
""",
    )


if __name__ == "__main__":
    run()
