"""How often new targets are below the quantiles that were predicted for them.

Each set is divided five times at random, 70 % of the rows (at most 400) for training
and the others (at most 1000) for testing, and has at most six outputs here. Inputs are
standardised, and missing ones filled by the mean. Quantiles of a tenth and of nine
tenths are predicted, and figures are means over outputs and partitions ± standard
errors: the percentage of test targets below each, and the pinball loss of both over
that of the quantiles of the training targets, the **constant**.

**okl** is `OutputKernelRegressorCV(loss=Quantile(q))` as it comes, **without shift**
the same with ``shift=0.0``. **Intervals** are the limits of `predict_interval(X, 0.8)`
of the squared loss, by the errors of rows left out: one fit for both quantiles.
**Boosting** is `HistGradientBoostingRegressor(loss="quantile")` of each output.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable

import numpy as np
from benchmarks.measure import machine
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from okl import OutputKernelRegressorCV
from okl.losses import Quantile
from okl.metrics import mean_pinball_loss
from reproductions.comparing import with_error
from reproductions.coverage import LEFT_OUT
from reproductions.real_sets import real_sets
from reproductions.report import table, write_page

QUANTILES = (0.1, 0.9)
PARTITIONS, TRAIN, TEST, OUTPUTS = 5, 400, 1000, 6

# From training rows, targets and new rows to predictions of each quantile.
Limits = Callable[[np.ndarray, np.ndarray, np.ndarray], list[np.ndarray]]


def _okl(**options: float) -> Limits:
    return lambda X, Y, new: [
        OutputKernelRegressorCV(loss=Quantile(q), **options).fit(X, Y).predict(new)
        for q in QUANTILES
    ]


def _intervals(X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> list[np.ndarray]:
    low, high = OutputKernelRegressorCV().fit(X, Y).predict_interval(new, 0.8)
    return [low, high]


def _boosting(X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> list[np.ndarray]:
    found = []
    for q in QUANTILES:
        one = HistGradientBoostingRegressor(loss="quantile", quantile=q, random_state=0)
        found.append(np.column_stack([one.fit(X, y).predict(new) for y in Y.T]))
    return found


def _constant(X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> list[np.ndarray]:
    return [np.tile(np.quantile(Y, q, axis=0), (len(new), 1)) for q in QUANTILES]


METHODS: dict[str, Limits] = {
    "okl": _okl(),
    "without shift": _okl(shift=0.0),
    "intervals": _intervals,
    "boosting": _boosting,
    "constant": _constant,
}


def one_partition(X: np.ndarray, Y: np.ndarray, seed: int) -> dict[str, list[float]]:
    """Return of each method the percentages below, and the mean pinball loss."""
    order = np.random.default_rng(seed).permutation(len(X))
    n = min(int(0.7 * len(X)), TRAIN)
    train, test = order[:n], order[n:][:TEST]
    scaler = make_pipeline(SimpleImputer(), StandardScaler()).fit(X[train])
    rows, new, truth = scaler.transform(X[train]), scaler.transform(X[test]), Y[test]
    spread = Y[train].std(axis=0)
    found = {}
    for name, limits in METHODS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # edges of grids
            both = limits(rows, Y[train], new)
        below = [100.0 * float(np.mean(truth <= limit)) for limit in both]
        losses = [
            mean_pinball_loss(truth / spread, limit / spread, alpha=q)
            for q, limit in zip(QUANTILES, both, strict=True)
        ]
        found[name] = [*below, float(np.mean(losses))]
    return found


def run() -> None:
    rows, off, ratios = [], {}, {}
    for name, X, every in real_sets():
        if name in LEFT_OUT:
            continue
        Y = every[:, :OUTPUTS]
        results = [one_partition(X, Y, seed) for seed in range(PARTITIONS)]
        worst = np.array([one["constant"][2] for one in results])
        cells = []
        for method in METHODS:
            low, high, losses = np.array([one[method] for one in results]).T
            ratio = losses / worst
            off.setdefault(method, []).append(high.mean() - low.mean() - 80)
            ratios.setdefault(method, []).append(ratio.mean())
            below = ", ".join(with_error(one, 3 / 7, form=".0f") for one in (low, high))
            cells.append(f"{below}; {with_error(ratio, 3 / 7, form='.2f')}")
        size = f"{min(int(0.7 * len(X)), TRAIN)} x {Y.shape[1]}"
        rows.append((name, size, *cells))
        print(rows[-1], file=sys.stderr, flush=True)
    held = (f"{80 + np.mean(one):.0f} % between" for one in off.values())
    rows.append(("mean of sets", "", *held))
    means = (f"{np.exp(np.mean(np.log(one))):.2f}" for one in ratios.values())
    rows.append(("geometric mean of losses", "", *means))
    write_page(
        "coverage_of_quantiles",
        f"""# How often new targets are below their quantiles

`python -m reproductions coverage_of_quantiles`. {__doc__.split(chr(10) * 2, 1)[1]}
{table(["set", "training rows x outputs", *METHODS], rows)}

A fit is nearer to the targets that it was fitted to than to others: without the shift,
fewer than 80 % of new targets are between the two quantiles. Sets whose targets are
counts or marks ({", ".join(sorted(LEFT_OUT))}) are not here.

Machine: {machine()}.
""",
    )
