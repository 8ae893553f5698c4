"""How often intervals of the relations hold what more rows would say.

Fifty data sets of each kind have four outputs with noise: functions of five normal
columns, linear or a sine of each, mixed at random once; or, in **apart**, linear
functions that are orthogonal to each other. `output_kernel_stability` is run with
twenty resamples, at 95 %, with kernel and alpha given.

**Holds many rows** is the percentage of the intervals (of the correlations of six
pairs, in all data sets) that contain the correlation of a fit to 2000 rows. **Holds the
mean** is the percentage that contains the mean of the estimates over data sets; the
difference between the two is shrinkage by alpha, which no resampling sees. **Width** is
the mean standard error relative to the standard deviation of the estimates over data
sets. **Wrong** is the percentage of data sets in which a relation is called stable
whose sign is not that with many rows; in **apart**, in which any relation is called
stable, which may happen in 5 %.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from benchmarks.measure import machine
from joblib import Parallel, delayed

from okl import OutputKernelRegressor
from okl.inspection import output_kernel_stability
from reproductions.report import table, write_page

SETS, MANY, N_FEATURES, N_OUTPUTS = 50, 2000, 5, 4
PAIRS = np.triu_indices(N_OUTPUTS, 1)


@dataclass(frozen=True)
class Kind:
    """A kind of data, and the estimator it is given to."""

    name: str
    kernel: str
    structure: str
    n: int
    noise: float
    alpha: float
    apart: bool = False

    def draw(self, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows and outputs."""
        of_all = np.random.default_rng(0)
        W = of_all.normal(size=(N_FEATURES, 2)) @ of_all.normal(size=(2, N_OUTPUTS))
        W += 0.5 * of_all.normal(size=W.shape)
        if self.apart:
            W = np.linalg.qr(W)[0] * N_FEATURES**0.5
        rng = np.random.default_rng([1, seed])
        X = rng.normal(size=(n, N_FEATURES))
        F = (X if self.kernel == "linear" else np.sin(2 * X)) @ W / N_FEATURES**0.5
        return X, F + self.noise * rng.normal(size=F.shape)

    def estimator(self) -> OutputKernelRegressor:
        """Return the estimator, not fitted."""
        return OutputKernelRegressor(self.kernel, self.structure, self.alpha)


KINDS = [
    Kind("linear", "linear", "frobenius", 100, 0.7, 1.0),
    Kind("linear, noisy", "linear", "frobenius", 100, 1.5, 10.0),
    Kind("linear", "linear", "low_rank", 100, 0.7, 5.0),
    Kind("sines", "rbf", "frobenius", 200, 0.5, 1.0),
    Kind("sines, noisy", "rbf", "frobenius", 200, 1.0, 5.0),
    Kind("apart", "linear", "frobenius", 100, 0.7, 1.0, apart=True),
    Kind("apart, noisy", "linear", "frobenius", 100, 1.5, 10.0, apart=True),
]


def share(hits: np.ndarray) -> str:
    """Write a percentage ± its standard error, (n_sets, ...) of True and False."""
    of_sets = 100 * hits.reshape(len(hits), -1).mean(axis=1)
    return f"{of_sets.mean():.0f} ± {of_sets.std(ddof=1) / len(hits) ** 0.5:.0f}"


def run_kind(kind: Kind, method: str) -> tuple[str, ...]:
    X, Y = kind.draw(MANY, SETS)
    many = kind.estimator().fit(X, Y).output_kernel_
    scale = np.sqrt(np.diag(many))
    truth = (many / np.outer(scale, scale))[PAIRS]
    if kind.apart:
        truth = np.zeros_like(truth)
    found = [
        output_kernel_stability(
            kind.estimator(), *kind.draw(kind.n, seed), method=method, random_state=seed
        )
        for seed in range(SETS)
    ]
    estimates, stds, lower, upper = (
        np.array([getattr(one.correlation, part)[PAIRS] for one in found])
        for part in ("estimate", "std", "lower", "upper")
    )
    stable = np.array([one.stable[PAIRS] for one in found])
    mean = estimates.mean(axis=0)
    wrong = stable & (np.sign(estimates) != np.sign(truth))
    return (
        kind.name,
        f"{kind.kernel}, {kind.structure}",
        method,
        share((lower <= truth) & (truth <= upper)),
        share((lower <= mean) & (mean <= upper)),
        f"{(stds.mean(axis=0) / estimates.std(axis=0, ddof=1)).mean():.2f}",
        f"{100 * stable.mean():.0f}",
        share(wrong.any(axis=1)),
    )


def run() -> None:
    rows = Parallel(n_jobs=2, verbose=10)(
        delayed(run_kind)(kind, method)
        for kind in KINDS
        for method in ("jackknife", "bootstrap")
    )
    columns = ["data", "model", "method", "holds many rows", "holds the mean"]
    columns += ["width", "stable, %", "wrong"]
    write_page(
        "stability",
        f"""# How sure the relations are said to be

`python -m reproductions stability`. {__doc__.split(chr(10) * 2, 1)[1]}
{table(columns, rows)}

Machine: {machine()}.
""",
    )
