"""The 2015 paper's synthetic study: errors and supports of a sparse output kernel.

There are T tasks, y = A U'x + noise of variance 0.1, where x is standard normal in 100
dimensions, U has orthonormal columns, and A is positive semi-definite with a given
share of non-zero entries, then corrupted by noise. T is 5, 10, 15 and 20. 50 rows are
for training, 100 for the test. The kernel is linear, without intercept; alpha and the
parameters of structures are chosen by 5-fold cross-validation.

The paper leaves open, and this script guesses:

- how A is drawn: non-zero entries uniform in [0, 1], off the diagonal at random places;
  the diagonal, never zero, raised until A is positive semi-definite; all divided by the
  largest entry. So the share is at least 1 / T;
- the corruption. The paper prints a variance of a tenth of the mean non-zero entry,
  which is noise about half as large as the entries; that the supports are said to be
  nearly recovered suggests a standard deviation of a tenth. Both are run;
- the grids, and which sizes T there are.

Trivial rivals: one ridge regression per task, each with an alpha of its own by
leave-one-out, and the means of the training targets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from benchmarks.measure import machine
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score

from okl import OutputKernelRegressorCV
from okl.metrics import support_precision_score, support_recall_score
from okl.structures import Fixed, Frobenius, Identity, Sparse, Structure, TraceBall
from reproductions.choosing import best_of_each, certified, noted_warnings
from reproductions.comparing import standard_error, with_error
from reproductions.report import save_figure, table, write_page
from reproductions.sparse_tasks import N_TEST, N_TRAIN, READINGS, draw, problem
from reproductions.trivial import OneEach, training_mean

TASKS = (5, 10, 15, 20)
SHARES = (0.1, 0.3, 0.5, 0.75, 1.0)
MODELS = 4  # for every number of tasks, share and reading
ROWS = (50, 1000)  # for the supports
SUPPORTS = 10  # models for every number of rows and reading
SPARSE = {mu: Sparse(mu=mu, eps=1e-3) for mu in (0.3, 0.5, 0.7, 0.9, 0.97)}
CHOSEN, SHOWN = "chosen", 0.7  # mu by cross-validation, and one to show
METHODS: dict[str, Sequence[Structure]] = {
    "STL (identity)": [Identity()],
    "MTRL (trace_ball)": [TraceBall(eps=0.0)],
    "OKL (frobenius)": [Frobenius()],
    "SKMTL (sparse)": list(SPARSE.values()),
}
TRUTH = "GT (the true A)"
RIVALS = ("STL (identity)", "one ridge each", "training mean")


def search() -> OutputKernelRegressorCV:
    return OutputKernelRegressorCV(
        "linear",
        alphas=16,
        cv=5,  # rows are drawn: there is no order to break
        fit_intercept=False,
        scoring="neg_mean_squared_error",
        normalize_y=False,
    )


def errors(n_tasks: int, share: float, reading: str, seed: int) -> list[float]:
    """Return the nMSE of every method on one data set."""
    tasks, X, Y = problem(n_tasks, share, reading, seed)
    methods = METHODS | {TRUTH: [Fixed(tasks.corrupted)]}
    models = best_of_each(search(), methods, X[:N_TRAIN], Y[:N_TRAIN])
    return [
        1 - r2_score(Y[N_TRAIN:], model.predict(X[N_TRAIN:]))
        for model in models.values()
    ]


def rival_errors(n_tasks: int, share: float, reading: str, seed: int) -> list[float]:
    """Return the nMSE of STL and of the trivial rivals on one data set."""
    _, X, Y = problem(n_tasks, share, reading, seed)
    known, asked = Y[:N_TRAIN], X[N_TRAIN:]
    stl = best_of_each(search(), {"STL": [Identity()]}, X[:N_TRAIN], known)["STL"]
    ridge = OneEach(RidgeCV(np.geomspace(1e-2, 1e4, 25), fit_intercept=False))
    made = [
        stl.predict(asked),
        ridge.fit(X[:N_TRAIN], known).predict(asked),
        training_mean(known, N_TEST),
    ]
    return [1 - r2_score(Y[N_TRAIN:], P) for P in made]


def rival_table() -> str:
    """Return the nMSE of STL and the difference of the trivial rivals to it."""
    return error_table(measured(rival_errors), RIVALS)


def measured(errors_of) -> dict[tuple[str, float], np.ndarray]:
    """Return errors (n_data_sets, n_methods) for every reading and share."""
    return {
        (reading, share): np.array(
            [
                errors_of(n_tasks, share, reading, seed)
                for n_tasks in TASKS
                for seed in range(MODELS)
            ]
        )
        for reading in READINGS
        for share in SHARES
    }


@dataclass(frozen=True)
class Recovery:
    """A before corruption, and what is learned of it for every mu and the chosen."""

    true: np.ndarray
    found: dict[float | str, np.ndarray]


def recover(n_rows: int, reading: str, seed: int) -> Recovery:
    """Learn the relations of 10 tasks, half of which are zero."""
    rng = np.random.default_rng(seed)
    tasks = draw(10, 0.5, reading, rng)
    X, Y = tasks.rows(n_rows, rng)
    of_all = search()
    models: dict = best_of_each(of_all, {m: [s] for m, s in SPARSE.items()}, X, Y)
    models[CHOSEN] = of_all
    found = {mu: model.output_kernel_ for mu, model in models.items()}
    return Recovery(tasks.clean, found)


def support_scores(true: np.ndarray, found: np.ndarray) -> tuple[float, float, float]:
    """Return precision, recall and size of the support found, as a share of all pairs.

    A support without any pair has precision zero.
    """
    precision = support_precision_score(true, found, zero_division=0.0)
    recall = support_recall_score(true, found, zero_division=0.0)
    return precision, recall, np.mean(found[np.triu_indices(len(found), 1)] != 0)


def error_figure(results: Mapping[tuple[str, float], np.ndarray]):
    """Draw the nMSE, and its difference to that of STL, against the share."""
    figure, axes = plt.subplots(
        2, 2, figsize=(10, 6.5), layout="constrained", sharex=True, sharey="row"
    )
    for (top, bottom), reading in zip(axes.T, READINGS, strict=True):
        outcomes = [results[reading, share] for share in SHARES]
        for column, name in enumerate([*METHODS, TRUTH]):
            losses = [nmse[:, column] for nmse in outcomes]
            changes = [nmse[:, column] - nmse[:, 0] for nmse in outcomes]
            for axis, values in ((top, losses), (bottom, changes)):
                axis.errorbar(
                    SHARES,
                    [v.mean() for v in values],
                    [standard_error(v) for v in values],
                    label=name,
                    capsize=2,
                    marker="o",
                    markersize=3,
                )
        top.set_title(f"{reading} of the corruption: a tenth")
        bottom.set_xlabel("share of non-zero entries in A")
    axes[0, 0].set_ylabel("nMSE")
    axes[1, 0].set_ylabel("nMSE less that of STL")
    axes[0, 0].legend(fontsize=8)
    return figure


def support_figure(recoveries: Mapping[tuple[str, int], Sequence[Recovery]]):
    """Draw |A| and |L| of the first model, a row for every reading."""
    figure, axes = plt.subplots(
        len(READINGS), 1 + 2 * len(ROWS), figsize=(13, 5.2), layout="constrained"
    )
    for line, reading in zip(axes, READINGS, strict=True):
        first = {n: recoveries[reading, n][0] for n in ROWS}
        pictures = {"true, before corruption": first[ROWS[0]].true}
        for mu in (CHOSEN, SHOWN):
            for n, recovery in first.items():
                pictures[f"{n} rows, mu {mu}"] = recovery.found[mu]
        for axis, (title, matrix) in zip(line, pictures.items(), strict=True):
            shown = np.abs(matrix) / np.abs(matrix).max()
            shown[matrix == 0] = np.nan
            image = axis.imshow(shown, vmin=0, vmax=1, cmap="viridis")
            axis.set(title=title, xticks=[], yticks=[])
        line[0].set_ylabel(f"{reading} a tenth")
    figure.colorbar(image, ax=axes, label="|entry| / largest; zeros white")
    return figure


def error_table(
    results: Mapping[tuple[str, float], np.ndarray],
    methods: Sequence[str] = (*METHODS, TRUTH),
) -> str:
    """Return the nMSE of STL and the difference of every method to it."""
    rows = [
        (
            reading,
            share,
            with_error(nmse[:, 0]),
            *(with_error(column - nmse[:, 0], form="+.4f") for column in nmse.T[1:]),
        )
        for (reading, share), nmse in results.items()
    ]
    return table(["corruption", "share", *methods], rows)


def support_table(recoveries: Mapping[tuple[str, int], Sequence[Recovery]]) -> str:
    """Return precision and recall of the supports, and their largest error."""
    rows, largest = [], 0.0
    for (reading, n_rows), line in recoveries.items():
        true = np.mean([support_scores(r.true, r.true)[-1] for r in line])
        cells = []
        for mu in (CHOSEN, *SPARSE):
            scores = np.array([support_scores(r.true, r.found[mu]) for r in line])
            precision, recall, share = scores.mean(axis=0)
            cells.append(f"{precision:.2f}, {recall:.2f} ({share:.2f})")
            largest = max(largest, *map(standard_error, scores.T))
        rows.append((reading, n_rows, f"{true:.2f}", *cells))
    header = ["corruption", "rows", "share true", "mu chosen", *map(str, SPARSE)]
    return f"{table(header, rows)}\n\nStandard errors are at most {largest:.2f}."


def run() -> None:
    with noted_warnings() as caught:
        results = measured(errors)
        recoveries = {
            (reading, n_rows): [
                recover(n_rows, reading, seed) for seed in range(SUPPORTS)
            ]
            for reading in READINGS
            for n_rows in ROWS
        }
    write_page(
        "sparse_synthetic",
        f"""# Synthetic tasks with sparse relations (2015)

`python -m reproductions sparse_synthetic`. {__doc__.split(chr(10) * 2, 1)[1]}
## Errors (Figure 1)

{MODELS} models for every T and share, {MODELS * len(TASKS)} a line, all methods on the
same data; differences to STL, ± one standard error, bold beyond two.

{error_table(results)}

The trivial rivals:

{rival_table()}

An alpha of its own for each task is no better than STL's one for all, mostly a little
worse: the gains above are not for want of tuning STL.

{save_figure(error_figure(results), "sparse_synthetic")}

As in the paper, knowing A helps most where few entries are not zero, and SKMTL is
better than STL. Not as in the paper, OKL and MTRL are better than STL as well, and MTRL
better than SKMTL. With half as many training rows as dimensions about half of the
signal is out of reach of every method, which leaves little to tell them apart.

## Support (Figure 2)

{SUPPORTS} models with T = 10 and half of the entries zero. A cell is: precision and
recall, off the diagonal, of the non-zero entries of L against those of A before
corruption, and in brackets the share of pairs that are not zero in L. Guessing has the
precision `share true`, an empty support that of zero. Alpha is chosen by
cross-validation for every mu, and for `mu chosen` mu as well. The pictures are those of
the first model.

{support_table(recoveries)}

{save_figure(support_figure(recoveries), "sparse_synthetic_support")}

The support is there to be found, from 50 rows even, if the corruption is small and mu
is about {SHOWN}. But the mu that predicts best is larger, and its L hardly sparse:
cross-validation for prediction does not find the support. Corruption of the variance
printed leaves little of it in the data.

mu tried: {", ".join(map(str, SPARSE))}, with eps = 1e-3.

{certified(caught)} Machine: {machine()}.
""",
    )
