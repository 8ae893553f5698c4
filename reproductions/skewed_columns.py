"""Skewed columns and wrong entries in X: the defaults as they are, and transformed.

Rows have eight independent columns, of which four matter; 100 rows are to train on,
1000 to test on. *numbers* are two functions of the columns, with noise of three tenths
of their standard deviation, judged by the squared error divided by the variance of the
test rows; *classes* are three, drawn by the softmax of such functions and judged by the
log loss. The columns are

- **normal**: as they were drawn;
- **logs count**: each is the exponential of 1.5 times a normal one, and the functions
  are those of the normal one: ratios matter, not differences;
- **sizes count**: the same columns, and targets that are linear in them;
- **one wrong entry**: normal, but for one entry of one column, which is 100;
- **one in each column**: normal, but for an entry of each column, of another row, which
  is 1000.

Test rows have no wrong entries. **okl** is `OutputKernelRegressorCV` with independent
outputs, and `OutputKernelClassifierCV`. **quantiles** and **power** are the same after
scikit-learn's `QuantileTransformer` (100 quantiles, to a normal distribution) and
`PowerTransformer`. **forest** has 300 trees, **boosting** is
`HistGradientBoostingRegressor` or `...Classifier`; all else is as in scikit-learn. ± is
the standard error over draws.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.measure import machine
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import log_loss
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, QuantileTransformer

from okl import OutputKernelClassifierCV, OutputKernelRegressorCV
from reproductions.comparing import with_error
from reproductions.report import table, write_page

NAME = "skewed_columns"
N_TRAIN, N_TEST, N_COLUMNS, N_COUNT, N_TREES = 100, 1000, 8, 4, 300
COLUMNS = (
    "normal",
    "logs count",
    "sizes count",
    "one wrong entry",
    "one in each column",
)
# How many draws.
KINDS = {"numbers": 5, "classes": 3}


def _transformed(ours: Callable[[], Any]) -> dict[str, Any]:
    quantiles = QuantileTransformer(n_quantiles=100, output_distribution="normal")
    return {
        "okl": ours(),
        "quantiles": make_pipeline(quantiles, ours()),
        "power": make_pipeline(PowerTransformer(), ours()),
    }


METHODS: dict[str, Callable[[], dict[str, Any]]] = {
    "numbers": lambda: {
        **_transformed(lambda: OutputKernelRegressorCV(structures="identity")),
        "forest": RandomForestRegressor(N_TREES, random_state=0),
        "boosting": MultiOutputRegressor(HistGradientBoostingRegressor(random_state=0)),
    },
    "classes": lambda: {
        **_transformed(OutputKernelClassifierCV),
        "forest": RandomForestClassifier(N_TREES, random_state=0),
        "boosting": HistGradientBoostingClassifier(random_state=0),
    },
}


def drawn(kind: str, columns: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and targets, the training rows first."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(N_TRAIN + N_TEST, N_COLUMNS))
    X = np.exp(1.5 * Z) if "count" in columns else Z.copy()
    if columns == "one wrong entry":
        X[0, 0] = 100.0
    elif columns == "one in each column":
        X[np.arange(N_COLUMNS), np.arange(N_COLUMNS)] = 1000.0
    n_functions = 2 if kind == "numbers" else 3
    if columns == "sizes count":
        F = X[:, :N_COUNT] @ rng.normal(size=(N_COUNT, n_functions))
    else:
        inside = Z[:, :N_COUNT] @ rng.normal(size=(N_COUNT, 20)) * 0.6
        inside += 0.5 * rng.normal(size=20)
        F = np.tanh(inside) @ rng.normal(size=(20, n_functions))
    F /= F.std(axis=0)
    if kind == "numbers":
        return X, F + 0.3 * rng.normal(size=F.shape)
    return X, np.argmax(5 * F + rng.gumbel(size=F.shape), axis=1)


def loss(kind: str, model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Fit to the training rows, and judge the others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # edges of grids
        model.fit(X[:N_TRAIN], y[:N_TRAIN])
    test, targets = X[N_TRAIN:], y[N_TRAIN:]
    if kind == "numbers":
        errors = (model.predict(test) - targets) ** 2
        return float(np.mean(errors / targets.var(axis=0)))
    return float(log_loss(targets, model.predict_proba(test), labels=model.classes_))


def run() -> None:
    """Fit everything, and write the page."""
    parts = []
    for kind, n_draws in KINDS.items():
        rows = []
        for columns in COLUMNS:
            found: dict[str, list[float]] = {}
            for seed in range(n_draws):
                X, y = drawn(kind, columns, seed)
                for method, model in METHODS[kind]().items():
                    found.setdefault(method, []).append(loss(kind, model, X, y))
            losses = {method: np.array(values) for method, values in found.items()}
            cells = [with_error(losses["okl"])]
            for method in list(losses)[1:]:
                cells.append(with_error(losses[method] / losses["okl"], form=".2f"))
            rows.append((columns, *cells))
            print(kind, *rows[-1], flush=True)
        head = ["columns", "okl", *(f"{m} / okl" for m in list(losses)[1:])]
        text = f"{kind.capitalize()}, {n_draws} draws"
        parts.append(f"## {text}\n\n{table(head, rows)}")
    pages = "\n\n".join(parts)
    write_page(
        NAME,
        f"""# Skewed columns and wrong entries

`python -m reproductions {NAME}`. {__doc__.split(chr(10) * 2, 1)[1]}
The first column of numbers is the loss of okl, the others are ratios of losses: above
one, okl is better.

{pages}

Machine: {machine()}.
""",
    )


if __name__ == "__main__":
    run()
