"""How often intervals of predictions hold new targets.

Each set is divided ten times at random, 70 % of the rows (at most 400) for training and
the others (at most 1000) for testing. Figures are the percentage of test targets inside
the intervals, the mean over outputs and partitions ± its standard error. The model is
`OutputKernelRegressorCV` as it comes; inputs are standardised, and missing ones filled
by the mean.

**Quantiles** are `predict_interval(X, coverage)`: prediction ± standard deviation with
noise times the quantile of rows left out. **Normal** is
`predict(X, return_std=True, include_noise=True)` with the quantiles of a normal
distribution. Two rivals have one width for all rows: the normal quantiles of the
residuals' standard deviation about the training mean (**of the mean**, around that
mean), and of the residuals of left-out rows (**of residuals**). **Width** is the mean
width of the intervals by quantiles relative to those of the mean, at 95 %.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from benchmarks.measure import machine
from scipy.stats import norm
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from okl import OutputKernelRegressorCV
from reproductions.comparing import with_error
from reproductions.real_sets import real_sets
from reproductions.report import table, write_page

LEVELS = (0.5, 0.8, 0.95)
PARTITIONS, TRAIN, TEST = 10, 400, 1000
# Targets that are counts, mostly zero, or marks of a few values have no density that
# intervals could hold a share of; the survey has twenty rows.
LEFT_OUT = {"sf1", "sf2", "scpf", "osales", "computer_survey"}
METHODS = ("quantiles", "normal", "of the mean", "of residuals")


def one_partition(
    X: np.ndarray, Y: np.ndarray, seed: int
) -> tuple[dict[str, list[float]], float]:
    """Return the coverage of each method at each level, in percent, and a width."""
    order = np.random.default_rng(seed).permutation(len(X))
    n = min(int(0.7 * len(X)), TRAIN)
    train, test = order[:n], order[n:][:TEST]
    scaler = make_pipeline(SimpleImputer(), StandardScaler()).fit(X[train])
    rows, new, truth = scaler.transform(X[train]), scaler.transform(X[test]), Y[test]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # edges of grids
        model = OutputKernelRegressorCV().fit(rows, Y[train])
    predicted, std = model.predict(new, return_std=True, include_noise=True)
    mean, spread = Y[train].mean(axis=0), Y[train].std(axis=0, ddof=1)
    left_out = model._process._left_out.residuals * model.y_scale_
    of_residuals = np.sqrt(np.mean(left_out**2, axis=0))
    shares: dict[str, list[float]] = {method: [] for method in METHODS}
    width = 0.0
    for level in LEVELS:
        size = norm.ppf((1 + level) / 2)
        low, high = model.predict_interval(new, level)
        inside = {
            "quantiles": (low <= truth) & (truth <= high),
            "normal": np.abs(truth - predicted) <= size * std,
            "of the mean": np.abs(truth - mean) <= size * spread,
            "of residuals": np.abs(truth - predicted) <= size * of_residuals,
        }
        for method, hits in inside.items():
            shares[method].append(100.0 * float(hits.mean()))
        width = float(np.mean((high - low) / (2 * size * spread)))
    return shares, width


def run() -> None:
    rows, within = [], dict.fromkeys(METHODS, 0)
    for name, X, Y in real_sets():
        if name in LEFT_OUT:
            continue
        found: dict[str, list[list[float]]] = {method: [] for method in METHODS}
        widths = []
        for seed in range(PARTITIONS):
            shares, width = one_partition(X, Y, seed)
            widths.append(width)
            for method in METHODS:
                found[method].append(shares[method])
        overlap = 3 / 7
        cells = []
        for method in METHODS:
            columns = np.array(found[method]).T
            off = np.abs(columns.mean(axis=1) - 100 * np.array(LEVELS))
            within[method] += int(off.max() <= 3)
            texts = (with_error(column, overlap, form=".0f") for column in columns)
            bold = "**" if off.max() <= 3 else ""
            cells.append(bold + ", ".join(texts) + bold)
        size = f"{min(int(0.7 * len(X)), TRAIN)} x {Y.shape[1]}"
        rows.append((name, size, *cells, f"{np.mean(widths):.2f}"))
        print(rows[-1], file=sys.stderr, flush=True)
    totals = (f"{within[method]} of {len(rows)}" for method in METHODS)
    rows.append(("within 3 points", "", *totals, ""))
    write_page(
        "coverage",
        f"""# How often intervals hold new targets

`python -m reproductions coverage`. {__doc__.split(chr(10) * 2, 1)[1]}
In bold: within three points of 50, 80 and 95 % at all three.

{table(["set", "training rows x outputs", *METHODS, "width"], rows)}

Sets whose targets are counts or marks ({", ".join(sorted(LEFT_OUT))}) are not here.
Left-out rows tell of the scale of errors, which is why both ways are near 95 %; errors
with heavy tails lie closer to the prediction than normal ones of that scale, so that
normal intervals of 50 % hold too much.

Machine: {machine()}.
""",
    )
