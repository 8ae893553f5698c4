"""Tables filled in, with and without inputs.

Of each table a share of the entries, drawn at random, is taken away and filled in; the
error is that of those entries in standard deviations of their columns (root mean
square, mean over five draws ± standard error). **okl** is `OutputKernelImputer()` on
the table alone, **okl, inputs** the same with inputs `X=`: where a sample of metals was
taken, the day of an exchange rate, the mixture of a concrete. The rivals are
scikit-learn's: **mean** of the column, **neighbours** (`KNNImputer`), and **rounds**
(`IterativeImputer` with `BayesianRidge`, ten rounds), without and with the inputs as
further columns.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator

import numpy as np
from benchmarks.measure import machine
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.preprocessing import scale

from okl import OutputKernelImputer
from reproductions.comparing import with_error
from reproductions.report import data_folder, table, write_page

SHARES, DRAWS = (0.2, 0.5), 5


def tables() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, table and inputs of every set."""
    signals = data_folder("signals")
    with np.load(signals / "jura.npz", allow_pickle=True) as stored:
        yield "metals", stored["Y"].astype(float), scale(stored["xy"])
    with np.load(signals / "exchange2007.npz", allow_pickle=True) as stored:
        days = stored["julian_day"].astype(float).reshape(-1, 1)
        yield "exchange rates", stored["Y"].astype(float), scale(days)
    with np.load(data_folder("mulan_mtr") / "slump.npz") as stored:
        yield "slump", stored["Y"].astype(float), scale(stored["X"].astype(float))


def filled(Y: np.ndarray, X: np.ndarray) -> dict[str, np.ndarray]:
    """Return the table filled in by each method."""
    both, m = np.hstack([Y, X]), Y.shape[1]
    rounds = IterativeImputer(max_iter=10, random_state=0)
    return {
        "mean": SimpleImputer().fit_transform(Y),
        "neighbours": KNNImputer().fit_transform(Y),
        "rounds": rounds.fit_transform(Y),
        "rounds, inputs": rounds.fit_transform(both)[:, :m],
        "okl": OutputKernelImputer().fit_transform(Y),
        "okl, inputs": OutputKernelImputer().fit_transform(Y, X=X),
    }


def run() -> None:
    rows, methods = [], []
    for name, Y, X in tables():
        for share in SHARES:
            errors: dict[str, list[float]] = {}
            for seed in range(DRAWS):
                drawn = np.random.default_rng(seed).random(Y.shape) < share
                taken = drawn & ~np.isnan(Y)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    warnings.simplefilter("ignore", UserWarning)  # edges of grids
                    found = filled(np.where(taken, np.nan, Y), X)
                for method, F in found.items():
                    off = ((F - Y) / np.nanstd(Y, axis=0))[taken]
                    errors.setdefault(method, []).append(np.sqrt(np.mean(off**2)))
            methods = list(errors)
            cells = {method: np.array(values) for method, values in errors.items()}
            best = min(methods, key=lambda method: cells[method].mean())
            texts = [
                f"**{with_error(values)}**" if method == best else with_error(values)
                for method, values in cells.items()
            ]
            size = f"{Y.shape[0]} x {Y.shape[1]}"
            rows.append((name, size, f"{share:.0%}", *texts))
            print(rows[-1], file=sys.stderr, flush=True)
    write_page(
        "filling_in",
        f"""# Filling in tables

`python -m reproductions filling_in`. {__doc__.split(chr(10) * 2, 1)[1]}
In bold: the least error of a row.

{table(["table", "size", "taken away", *methods], rows)}

Machine: {machine()}.
""",
    )
