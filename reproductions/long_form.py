"""One task a row: every structure against one model per task and one for all.

Three sets in long form: exam scores of pupils of 139 schools (school), mines among
objects in 29 fields (landmine), and the Parkinson's disease score of 42 people
(parkinsons, the total UPDRS). Rows are split at random within each task, anew for every
split: models learn from three quarters of the pupils, 40 objects a field or 20
recordings a person, and are judged on all others. Inputs, and targets that are numbers,
are standardised on the training rows. The schools have a linear kernel, the others a
Gaussian one with gamma="scale"; the mines a logistic loss. Every task has an intercept
of its own.

**one per task** is L = I, and **one for all** L = 11'; like every structure here they
have one alpha for all tasks. Alpha and the parameters of a structure are those with the
best score on a quarter of the training rows of each task; fits end at a relative
duality gap of 1e-4. Where the size of L is not bounded (frobenius, low_rank, sparse)
alpha is one of 6 values down to 0.03 of alpha_max, 0.003 for the Parkinson's scores.
For the other structures alpha_max, where they predict next to nothing, is larger, and
alpha is one of 8 values down to 3e-5 of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from time import process_time
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from benchmarks.measure import machine
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from okl import OutputKernelClassifierCV, OutputKernelRegressorCV
from okl.structures import Fixed, Sparse, Structure
from reproductions.candidates import candidates
from reproductions.choosing import best_of_each, certified, noted_warnings
from reproductions.comparing import standard_error, with_error
from reproductions.report import data_folder, save_figure, table, write_page

N_SPLITS, TOLERANCE = 3, 1e-4
ONE_FOR_ALL = "one for all"


@dataclass(frozen=True)
class Set:
    """A data set in long form.

    Attributes
    ----------
    X, y, ids : arrays
        Rows, targets and tasks.
    kernel : str
        The input kernel.
    n_train : int or float
        Training rows of each task, or their part.
    score : str
        What is judged, the larger the better.
    smallest : float
        The least alpha, over alpha_max, of structures that do not bound L.
    """

    X: np.ndarray
    y: np.ndarray
    ids: np.ndarray
    kernel: str
    n_train: float
    score: str
    smallest: float = 0.03

    @property
    def classes(self) -> bool:
        """Whether targets are classes."""
        return self.score == "AUC"

    def split(self, rows: np.ndarray, n_first: float, seed: int) -> list[np.ndarray]:
        """Cut rows in two at random within each task: so many, or a part, and others.

        Where there are fewer rows of a class than two, neither part lacks it.
        """
        rng = np.random.default_rng(seed)
        parts: tuple[list[int], list[int]] = [], []
        for task in np.unique(self.ids):
            own = rng.permutation(rows[self.ids[rows] == task])
            n = int(n_first * len(own)) if n_first < 1 else int(n_first)
            parts[0].extend(own[:n])
            parts[1].extend(own[n:])
        return [np.array(part) for part in parts]

    def judge(self, model: Any, X: np.ndarray, test: np.ndarray, scale: Any) -> float:
        """Return the score of a model on test rows."""
        y, ids = self.y[test], self.ids[test]
        if self.classes:
            scores = model.decision_function(X, task=ids)
            areas = [
                roc_auc_score(y[ids == task], scores[ids == task])
                for task in np.unique(ids)
            ]
            return float(np.mean(areas))
        predicted = model.predict(X, task=ids)[:, None]
        residual = y - scale.inverse_transform(predicted)[:, 0]
        spread = y - y.mean()
        if self.score.startswith("within"):
            means = {task: y[ids == task].mean() for task in np.unique(ids)}
            spread = y - np.array([means[task] for task in ids])
        return float(1 - (residual @ residual) / (spread @ spread))


def sets() -> Iterator[tuple[str, Set]]:
    """Yield the sets with their names."""
    with np.load(data_folder("school") / "school.npz") as stored:
        X, y = stored["X"].astype(float), stored["y"].astype(float)
        yield "school", Set(X, y, stored["task"], "linear", 0.75, "explained variance")
    with np.load(data_folder("landmine") / "landmine.npz") as stored:
        X = stored["X"].astype(float)
        yield "landmine", Set(X, stored["y"], stored["task"], "rbf", 40, "AUC")
    with np.load(data_folder("parkinsons") / "parkinsons.npz") as stored:
        X, y = stored["X"], stored["Y"][:, 1]
        score = "within-person explained variance"
        yield "parkinsons", Set(X, y, stored["subject"], "rbf", 20, score, 0.003)


def structures(n_tasks: int) -> dict[str, list[Structure]]:
    """Return the structures to compare for so many tasks."""
    found = candidates(n_tasks)
    one_per_task = found.pop("identity")
    ones: Structure = Fixed(np.ones((n_tasks, n_tasks)))
    found["sparse"] = [Sparse(mu=0.5, eps=1e-2)]
    return {"one per task": one_per_task, ONE_FOR_ALL: [ones], **found}


METHODS = tuple(structures(1))
UNBOUNDED = ("frobenius", "low_rank", "sparse")


def scores(data: Set) -> np.ndarray:
    """Return the scores (n_methods, n_splits)."""
    found = np.empty((len(METHODS), N_SPLITS))
    if data.classes:
        search = partial(OutputKernelClassifierCV, loss="logistic", scoring="roc_auc")
    else:  # standardised below, by one mean and scale for all tasks
        search = partial(OutputKernelRegressorCV, normalize_y=False)
    for number in range(N_SPLITS):
        train, test = data.split(np.arange(len(data.y)), data.n_train, number)
        folds = data.split(np.arange(len(data.y))[train], 0.75, 100 + number)
        place = {row: i for i, row in enumerate(train)}
        folds = [np.array([place[row] for row in fold]) for fold in folds]
        inputs = StandardScaler().fit(data.X[train])
        y, scale = data.y[train], None
        if not data.classes:
            scale = StandardScaler().fit(y[:, None])
            y = scale.transform(y[:, None])[:, 0]
        tried = structures(len(np.unique(data.ids)))
        unbounded = {name: tried.pop(name) for name in UNBOUNDED}
        rows = inputs.transform(data.X[test])
        for family, alphas, eps in ((tried, 8, 3e-5), (unbounded, 6, data.smallest)):
            models = best_of_each(
                search(
                    data.kernel,
                    alphas=alphas,
                    eps=eps,
                    cv=[tuple(folds)],
                    tol=TOLERANCE,
                ),
                family,
                inputs.transform(data.X[train]),
                y,
                task=data.ids[train],
            )
            for method, model in models.items():
                score = data.judge(model, rows, test, scale)
                found[METHODS.index(method), number] = score
    return found


def score_table(results: Mapping[str, tuple[Set, np.ndarray]]) -> str:
    """Return a line a method: scores per task, and differences to the first."""
    header, columns = ["structure"], []
    for name, (data, found) in results.items():
        header.append(f"{name}: {data.score}")
        first = [with_error(found[0])]
        first += [with_error(row - found[0], form="+.3f") for row in found[1:]]
        columns.append(first)
    return table(header, zip(METHODS, *columns, strict=True))


def score_figure(results: Mapping[str, tuple[Set, np.ndarray]]):
    """Draw the scores of all structures, a panel a set."""
    figure, axes = plt.subplots(
        1, len(results), figsize=(4 * len(results), 3.6), sharey=True,
        layout="constrained",
    )  # fmt: skip
    for axis, (name, (data, found)) in zip(axes, results.items(), strict=True):
        errors = [standard_error(row) for row in found]
        places = range(len(METHODS))
        axis.errorbar(found.mean(axis=1), places, xerr=errors, fmt="o", capsize=2)
        axis.axvline(found[0].mean(), color="0.8", zorder=0)
        axis.set(title=name, xlabel=data.score, yticks=places, yticklabels=METHODS)
    axes[0].invert_yaxis()
    return figure


def run() -> None:
    results, seconds = {}, {}
    with noted_warnings() as caught:
        for name, data in sets():
            start = process_time()
            results[name] = data, scores(data)
            seconds[name] = process_time() - start
    sizes = "; ".join(
        f"{name} {len(data.y)} rows of {data.X.shape[1]} numbers, "
        f"{len(np.unique(data.ids))} tasks, {seconds[name]:.0f} s"
        for name, (data, _) in results.items()
    )
    write_page(
        "long_form",
        f"""# One task a row

`python -m reproductions long_form`. {__doc__.split(chr(10) * 2, 1)[1]}
The first line are scores, the others differences to it (positive: better), paired over
{N_SPLITS} splits, ± one standard error over the splits, bold beyond two; splits share
rows, so that the true errors are larger. {FINDINGS}

{score_table(results)}

{save_figure(score_figure(results), "long_form")}

{sizes}, processor time. {certified(caught).replace("1e-6", "1e-4")}
Machine: {machine()}.
""",
    )


FINDINGS = """Pupils and mines differ little from task to task: one model for all, or
tasks pulled to their mean, is best, and learned relations gain less over one model per
task. People differ much: one model for all fails, and relations of low rank explain
more than half of what one model per person leaves. [Trivial rivals](rivals.md) that
look at no relations do as well on mines (a logistic regression of all rows), and better
on the Parkinson's scores (a line between two of a person's own scores)."""
