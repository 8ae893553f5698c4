"""Outputs that arrive later: a few rows of a new output, a fit of the others.

One output of each set, another in each draw, is new. The others are fitted on 60 % of
the rows with a learned kernel, alpha by cross-validation. The new output is known in 5
to 50 of these rows, and predicted in the other 40 %. Errors are root mean squared
errors in standard deviations of the output (mean over ten draws ± standard error).
**extension** is `OutputKernelExtension` of the fit; **full refit** is
`OutputKernelRegressor` on all targets, with the unknown ones missing, and with the
kernel and the alpha of the fit; **own model** is `OutputKernelRegressorCV()` on the
rows of the new output alone, which learns a kernel of its own; **ridge** is
scikit-learn's `RidgeCV` on what the fit predicts of the other outputs; **mean** is that
of the rows. *Could gain* is how much lower, at most, the objective of a fit of all
outputs together is than that of the extension (`joint_certificate`), relative to it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

import numpy as np
from benchmarks.measure import machine
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import scale

from okl import OutputKernelExtension, OutputKernelRegressor, OutputKernelRegressorCV
from reproductions.comparing import with_error
from reproductions.report import data_folder, table, write_page

STRUCTURES = ("frobenius", "low_rank")
N_ROWS, DRAWS, SHARE = (5, 10, 20, 50), 10, 0.6
# of the 9125 hours of the rivers
N_HOURS = 500
METHODS = ("mean", "own model", "ridge", "extension", "full refit")


def sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, inputs and targets of every set."""
    signals = data_folder("signals")
    with np.load(signals / "jura.npz", allow_pickle=True) as stored:
        yield "metals", scale(stored["xy"]), stored["Y"].astype(float)
    with np.load(signals / "exchange2007.npz", allow_pickle=True) as stored:
        days = stored["julian_day"].astype(float).reshape(-1, 1)
        yield "exchange rates", scale(days), stored["Y"].astype(float)
    with np.load(data_folder("mulan_mtr") / "rf1.npz") as stored:
        X, Y = stored["X"].astype(float), stored["Y"].astype(float)
    hours = np.random.default_rng(0).permutation(len(X))[:N_HOURS]
    X = X[:, ~np.isnan(X).any(axis=0)][hours]
    yield "rivers", scale(X[:, X.std(axis=0) > 0]), Y[hours]


class Draw:
    """One output taken from a set, and a fit of the others."""

    def __init__(self, X: np.ndarray, Y: np.ndarray, seed: int, structure: str) -> None:
        order = np.random.default_rng(seed).permutation(len(X))
        self.new = np.random.default_rng(0).permutation(Y.shape[1])[seed % Y.shape[1]]
        known = order[: round(SHARE * len(X))]
        self.X, self.Y = X[known], Y[known]
        self.others = np.delete(self.Y, self.new, axis=1)
        rest = order[len(known) :]
        rest = rest[~np.isnan(Y[rest, self.new])]
        self.X_test, self.y_test = X[rest], Y[rest, self.new]
        self.spread = np.nanstd(Y[:, self.new])
        start = process_time()
        self.fit = OutputKernelRegressorCV(structures=structure)
        self.fit.fit(self.X, self.others)
        self.seconds = process_time() - start

    def of(self, n_rows: int) -> tuple[dict[str, tuple[float, float]], float]:
        """Return error and seconds of each method, and what a joint fit could gain."""
        column = self.Y[:, self.new]
        rows = np.flatnonzero(~np.isnan(column))[:n_rows]
        X, y, fit = self.X[rows], column[rows], self.fit
        few = np.full((len(column), 1), np.nan)
        few[rows, 0] = y
        joint = OutputKernelRegressor(fit.kernel_, fit.structure_, fit.alpha_)
        extension = OutputKernelExtension(fit)
        ridge = RidgeCV(np.logspace(-3, 3, 13))
        ways: dict[str, Callable[[], Any]] = {
            "mean": lambda: np.full(len(self.X_test), y.mean()),
            "own model": lambda: (
                OutputKernelRegressorCV().fit(X, y).predict(self.X_test)
            ),
            "ridge": lambda: ridge.fit(fit.predict(X), y).predict(
                fit.predict(self.X_test)
            ),
            "extension": lambda: extension.fit(X, y).predict(self.X_test),
            "full refit": lambda: joint.fit(
                self.X, np.hstack([self.others, few])
            ).predict(self.X_test)[:, -1],
        }
        found = {}
        for method in METHODS:
            start = process_time()
            error = np.sqrt(np.mean((ways[method]() - self.y_test) ** 2)) / self.spread
            found[method] = float(error), process_time() - start
        gain = extension.joint_certificate(self.others, y).relative_gap
        return found, gain


def page(structure: str) -> tuple[str, str]:
    """Return the tables of errors and of seconds with a structure."""
    errors, seconds = [], []
    for name, X, Y in sets():
        draws = [Draw(X, Y, seed, structure) for seed in range(DRAWS)]
        size = f"{X.shape[0]} x {Y.shape[1]}"
        for n_rows in N_ROWS:
            found = [draw.of(n_rows) for draw in draws]
            off = {k: np.array([one[k][0] for one, _ in found]) for k in METHODS}
            best = min(METHODS, key=lambda method: off[method].mean())
            cells = [
                f"**{with_error(off[k])}**" if k == best else with_error(off[k])
                for k in METHODS
            ]
            gain = np.mean([gain for _, gain in found])
            errors.append((name, size, n_rows, *cells, f"{gain:.1%}"))
            print(errors[-1], file=sys.stderr, flush=True)
        times = {k: np.mean([one[k][1] for one, _ in found]) for k in METHODS}
        fitting = np.mean([draw.seconds for draw in draws])
        seconds.append(
            (name, f"{fitting:.2f}", *(f"{times[k]:.3f}" for k in METHODS[1:]))
        )
    header = ("set", "size", "rows known", *METHODS, "could gain")
    of_times = ("set", "fit of the others", *METHODS[1:])
    return table(header, errors), table(of_times, seconds)


def run() -> None:
    parts = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # edges of grids, few rows
        for structure in STRUCTURES:
            errors, seconds = page(structure)
            parts.append(
                f"## {structure}\n\n{errors}\n\n"
                f"Seconds (of one core) with {N_ROWS[-1]} rows:\n\n{seconds}"
            )
    write_page(
        "later_outputs",
        f"""# Outputs that arrive later

`python -m reproductions later_outputs`. {__doc__.split(chr(10) * 2, 1)[1]}
In bold: the least error of a row.

{(chr(10) * 2).join(parts)}

Machine: {machine()}.
""",
    )
