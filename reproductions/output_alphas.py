"""One alpha for all outputs, or one for each.

`OutputKernelRegressorCV("rbf", structure)`, for independent outputs and for
``"frobenius"``, is compared on the same ten shuffled folds with one alpha, with
``alpha_per_output=True``, and by default, where only outputs that are clearly better
off with an alpha of their own have one. The error of a set is the aRRMSE: for each
target the squared error of the test rows, summed over folds, is divided by that of the
mean of the training targets; the roots of these ratios are averaged over targets.
Columns of X are standardised on the training rows; missing inputs are their means.

A change is the difference between the errors of a fold with several alphas and with
one, the mean over folds, ± its standard error as if folds were independent: below zero
several are better.
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
# Drawn outputs by the standard deviation of their noise, that of the signal being one;
# of some no part is signal.
NONE = float("inf")
DRAWN = {
    "one, and one of noise alone": (0.1, NONE),
    "one, and nine of noise alone": (0.1, *[NONE] * 9),
    "four, the first with least noise": (0.1, 0.3, 1.0, 2.0),
    "four with equal noise": (1.0, 1.0, 1.0, 1.0),
}
N_DRAWS, N_TRAIN, N_TEST = 8, 100, 800


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


def drawn(noises: tuple[float, ...], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of eight columns, of which three count, and outputs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_TRAIN + N_TEST, 8))
    columns = []
    for noise in noises:
        slopes, of_noise = rng.normal(size=2), rng.normal(size=len(X))
        signal = np.sin(2 * X[:, 0]) + X[:, 1:3] @ slopes
        signal /= signal.std()
        columns.append(of_noise if noise == NONE else signal + noise * of_noise)
    return X, np.column_stack(columns)


def on_new_rows(X: np.ndarray, Y: np.ndarray, alpha_per_output: Any) -> np.ndarray:
    """Return squared errors over the variance (n_outputs,), by the first rows."""
    model = OutputKernelRegressorCV(alpha_per_output=alpha_per_output)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # edges of grids
        model.fit(X[:N_TRAIN], Y[:N_TRAIN])
    left, Y = Y[N_TRAIN:] - model.predict(X[N_TRAIN:]).reshape(N_TEST, -1), Y[N_TRAIN:]
    return np.mean(left**2, axis=0) / Y.var(axis=0)


def drawn_table() -> str:
    """Return errors of the first output, and changes of the mean over outputs."""
    rows = []
    for what, noises in DRAWN.items():
        first, mean = [], []
        for seed in range(N_DRAWS):
            X, Y = drawn(noises, seed)
            each = [on_new_rows(X, Y, way) for way in (False, True, "auto")]
            alone = on_new_rows(X, Y[:, :1], alpha_per_output=False)
            first.append([alone[0], *(errors[0] for errors in each)])
            mean.append([errors.mean() for errors in each])
        means = np.array(mean)
        changes = 100 * (means[:, 1:] / means[:, :1] - 1)
        rows.append(
            (
                what,
                *(
                    f"{e.mean():.3f} ± {standard_error(e):.3f}"
                    for e in np.array(first).T
                ),
                *(f"{c.mean():+.1f} ± {standard_error(c):.1f}" for c in changes.T),
            )
        )
        print(*rows[-1], sep=" | ", flush=True)
    header = ("alone", "one alpha", "one each", "default")
    of_all = ("all, %: one each", "all, %: default")
    return table(["outputs", *(f"first: {one}" for one in header), *of_all], rows)


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

Drawn outputs, {N_TRAIN} rows, {N_DRAWS} draws, kernel learned, `"frobenius"`: the
squared error over the variance, on {N_TEST} further rows, of the first output, which
has the least noise, and the change of the mean over outputs by more than one alpha.

{drawn_table()}

On {machine()}.
""",
    )


if __name__ == "__main__":
    run()
