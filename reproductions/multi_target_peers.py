"""The default of `OutputKernelRegressorCV` beside its peers on multi-target sets.

The error of a set is the aRRMSE: for each target the squared error of the test rows,
summed over folds, is divided by that of the mean of the training targets; the roots of
these ratios are averaged over targets. There are ten shuffled folds, of which larger
sets use the first few. ± is the standard error over folds of the error of one fold, as
if folds were independent. Columns share their folds: a difference between two of them
is less uncertain than either.

**okl** is `OutputKernelRegressorCV(kernel="auto")`, nothing else set. **forest** and
**extra trees** have 500 trees; **boosting** is a `HistGradientBoostingRegressor` for
each target; **ridge** `RidgeCV` over 33 values of alpha; **elastic net**
`MultiTaskElasticNetCV`; **kernel ridge** `KernelRidge` with a Gaussian kernel, 8 values
of alpha times 10 of gamma by five shuffled folds; **processes** a
`GaussianProcessRegressor` for each target, with noise and a Gaussian kernel by marginal
likelihood, and **processes, widths** the same with a width for each column; **multitask
process** GPyTorch's with a Gaussian kernel, a width for each column and an output
kernel of rank two plus a diagonal, by 100 steps of Adam; **mean** that of the training
targets. All else is as in scikit-learn. Columns are standardised on the training rows
and missing inputs are their means, but for boosting, which takes rows as they are;
targets are standardised for the ridges, the elastic net and the multitask process. A
dash stands for a method that was too slow to be run here (`regression_peers.py` has the
limits). Of sets with more than 2000 rows 2000 were drawn.

In a fold of rf1 one test row has an entry 180 standard deviations away, and the linear
part of the kernel took its prediction as far away. Since this was seen the linear part
follows a column beyond the training rows by at most the width of their range, and rf1
counts among the sets of the design.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from time import process_time
from typing import Any

import numpy as np
from benchmarks.measure import machine
from sklearn.model_selection import KFold

from reproductions.comparing import standard_error
from reproductions.ranking import about_standings, standings_table
from reproductions.real_sets import real_sets
from reproductions.regression_peers import PEERS, Peer
from reproductions.report import table, write_page
from reproductions.study import Job, Plan, Record, Study

NAME = "multi_target_peers"
# Sets from few rows to many.
SETS = (
    "computer_survey",
    "andro",
    "slump",
    "edm",
    "jura",
    "sf1",
    "enb",
    "oes10",
    "atp7d",
    "atp1d",
    "scpf",
    "sf2",
    "osales",
    "sarcos4449",
    "parkinsons",
    "rf1",
)
# Those that were looked at while the recipe was made.
DESIGN = {
    "computer_survey",
    "andro",
    "slump",
    "edm",
    "jura",
    "enb",
    "oes10",
    "rf1",
    "sarcos4449",
    "scpf",
}
# Of some only the first folds.
N_FOLDS = 10
FEWER = {
    "enb": 5,
    "oes10": 3,
    "atp7d": 3,
    "atp1d": 3,
    "scpf": 3,
    "sf2": 3,
    "osales": 3,
    "sarcos4449": 2,
    "parkinsons": 2,
    "rf1": 2,
}
# Of sets with more rows, so many drawn at random.
MOST_ROWS = 2000


def n_folds(name: str) -> int:
    return FEWER.get(name, N_FOLDS)


def errors(peer: Peer, X: np.ndarray, Y: np.ndarray, split: Any) -> Record:
    """Return squared errors of a method and of the mean by output, and seconds."""
    train, test = split
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # edges of grids, searches that end early
        model = peer.pipeline(X.shape[1]).fit(X[train], Y[train])
    seconds = process_time() - start
    predicted = model.predict(X[test])
    return {
        "squares": np.sum((Y[test] - predicted) ** 2, axis=0).tolist(),
        "of_mean": np.sum((Y[test] - Y[train].mean(axis=0)) ** 2, axis=0).tolist(),
        "seconds": round(seconds, 3),
    }


def _drawn(X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all rows, or as many as there may be."""
    rows = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
    return (X, Y) if len(X) <= MOST_ROWS else (X[rows], Y[rows])


def jobs(sets: Sequence[str], methods: Sequence[str]) -> Iterator[Job]:
    """Yield what is to be computed, fold by fold."""
    stored = {name: _drawn(X, Y) for name, X, Y in real_sets() if name in sets}
    for name in sets:
        X, Y = stored[name]
        folds = KFold(N_FOLDS, shuffle=True, random_state=0).split(X)
        for number, split in enumerate(islice(folds, n_folds(name))):
            for method in methods:
                peer = PEERS[method]
                if peer.takes(len(split[0]), X.shape[1], Y.shape[1]):
                    yield (
                        (name, number, method),
                        partial(errors, peer, X, Y, split),
                    )


def error(records: list[Record]) -> float:
    """Return the aRRMSE of all folds together."""
    squares, of_mean = (
        np.sum([record[name] for record in records], axis=0)
        for name in ("squares", "of_mean")
    )
    return float(np.sqrt(squares / of_mean).mean())


def uncertain(records: list[Record]) -> str:
    """Return it with the standard error over folds, if there are several."""
    if len(records) == 1:
        return f"{error(records):.3f}"
    folds = [
        np.sqrt(np.divide(record["squares"], record["of_mean"])).mean()
        for record in records
    ]
    return f"{error(records):.3f} ± {standard_error(np.array(folds)):.3f}"


def write() -> None:
    """Write the page of what is there."""
    study = Study(NAME)
    shapes = {name: (*X.shape, Y.shape[1]) for name, X, Y in real_sets()}
    found = {name: study.of_each(name, PEERS, n_folds(name)) for name in SETS}
    found = {name: records for name, records in found.items() if "okl" in records}
    errors = {
        name: {method: error(records) for method, records in methods.items()}
        for name, methods in found.items()
    }
    rows, times = [], []
    for name, methods in found.items():
        best = min(errors[name].values())
        n, d, m = shapes[name]
        title = f"{name} ({n}, {d}, {m}; {n_folds(name)})"
        cells = [
            f"**{uncertain(methods[one])}**"
            if one in methods and errors[name][one] == best
            else uncertain(methods[one])
            if one in methods
            else "–"
            for one in PEERS
        ]
        rows.append((title, *cells))
        seconds = [
            f"{np.mean([record['seconds'] for record in methods[one]]):.1f}"
            if one in methods
            else "–"
            for one in PEERS
        ]
        times.append((name, *seconds))
    groups = {
        "all sets": errors,
        "sets that the recipe was designed on": {
            name: values for name, values in errors.items() if name in DESIGN
        },
        "other sets": {
            name: values for name, values in errors.items() if name not in DESIGN
        },
    }
    parts = []
    for title, some in groups.items():
        if not some:
            continue
        ranks = standings_table(some, list(PEERS), "okl", "error")
        parts.append(f"{title.capitalize()} ({len(some)}):\n\n{ranks}")
    summary = "\n\n".join(parts)
    write_page(
        NAME,
        f"""# Multi-target sets: the default beside its peers

`python -m reproductions {NAME}`. {__doc__.split(chr(10) * 2, 1)[1]}
## Ranks and ratios

{about_standings("okl", "error")}

{summary}

## Every set

aRRMSE; in brackets rows, columns, targets and folds.

{table(["set", *PEERS], rows)}

Seconds of a processor for one fit, on a machine that others used as well:

{table(["set", *PEERS], times)}

Machine: {machine()}.
""",
    )


PLAN = Plan(NAME, jobs, SETS, list(PEERS), write)
run = PLAN.run

if __name__ == "__main__":
    PLAN.main()
