"""Many classes with few examples each: does mixing a few functions pay?

There are two sets. *Drawn*: 30 classes, whose scores are mixtures of 3 linear functions
of 20 normal features by a normal matrix, three times as large as the noise; 3000 rows
for the test. *clinc150*: texts of 30 intents of 2 domains as tf-idf, and all their test
rows.

Every method is the softmax classifier with a linear kernel and without intercept, and
all share the training rows and 3 folds of these. With *Mixing*, L is B B', with
functions of the classes' own in addition (`own=1.0`) or without; B has rank 3, and 10
for the texts. Alpha, B and the variances of the tree are learned together by the
gradient of the held-out likelihood, in at most 30 iterations and with alpha at least
0.001. `low_rank`, which learns L from the training rows in one convex fit, has alpha
from a grid by the same likelihood. With the rank bounded as that of B it is not convex,
far slower, and tried on one size of the drawn set only, of which that is the true rank.
On the texts all methods end at the least alpha allowed. *Frequencies* gives all classes
the same probability.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from benchmarks.measure import machine
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from okl import ClassTree, OutputKernelClassifier, OutputKernelClassifierCV
from okl.model_selection import GradientSearchCV
from okl.structures import LowRank, Mixing, Structure, Tree
from reproductions.class_trees import drawn
from reproductions.comparing import with_error
from reproductions.labelled_trees import labelled_tree
from reproductions.report import table, write_page
from reproductions.study import Key, Record, Study, pursue

NAME = "class_mixing"
N_SPLITS, N_FOLDS, MAX_ITER = 3, 3, 30
N_CLASSES, N_FACTORS, N_FEATURES, SHARPNESS, N_TEST = 30, 3, 20, 3.0, 3000
N_DOMAINS, TEXT_RANK = 2, 10
BOUNDS = (1e-3, 1e3)  # of alpha, and of the grids
SETS = {"drawn": (3, 6, 20), "clinc150": (3,)}
ALPHAS = {"drawn": np.geomspace(0.1, 100, 7), "clinc150": np.geomspace(1e-3, 0.1, 3)}
FLAT, OWN, MIXED = "flat", "Mixing, own=1.0", "Mixing"
LOW, BOUNDED = "low_rank", "low_rank, rank given"
METHODS = (FLAT, OWN, MIXED, LOW, BOUNDED, "Tree", "frequencies")
COLUMNS = ("accuracy", "log_loss", "seconds")


class Split(NamedTuple):
    """Training and test rows, and the tree of the classes if there is one."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    tree: ClassTree | None


def drawn_split(size: int, seed: int) -> Split:
    """Draw so many training rows of each class, all of which mix few functions."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(N_FEATURES, N_FACTORS)) / np.sqrt(N_FEATURES)
    mixing = SHARPNESS * rng.normal(size=(N_CLASSES, N_FACTORS))

    def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(n, N_FEATURES))
        scores = X @ weights @ mixing.T
        return X, np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)

    X, y = rows(400 * N_CLASSES)
    chosen = [np.flatnonzero(y == label)[:size] for label in range(N_CLASSES)]
    if min(len(some) for some in chosen) < size:
        raise RuntimeError(f"A class of split {seed} has fewer than {size} rows.")
    numbers = np.concatenate(chosen)
    return Split(X[numbers], y[numbers], *rows(N_TEST), None)


def text_split(size: int, seed: int) -> Split:
    """Return so many texts of each intent of the first domains."""
    task = labelled_tree("clinc150")
    domains = np.unique([path.split("/")[0] for path in task.tree.classes_])[:N_DOMAINS]
    kept, judged = (
        np.flatnonzero(np.isin([path.split("/")[0] for path in part], domains))
        for part in (task.y_train, task.y_test)
    )
    rows = kept[drawn(task.y_train[kept], size, seed)]
    columns, y = task.columns().fit(task.train[rows]), task.y_train[rows]
    X, X_test = (
        columns.transform(task.train[rows]),
        columns.transform(task.test[judged]),
    )
    return Split(X, y, X_test, task.y_test[judged], ClassTree.from_paths(np.unique(y)))


def learned(structure: str | Structure, folds: list[Any]) -> GradientSearchCV:
    """Return the search that learns alpha and what the structure has to learn."""
    model = OutputKernelClassifier(
        "linear", structure, loss="softmax", fit_intercept=False, alpha=1.0, tol=1e-3
    )
    parameters = {"alpha": BOUNDS}
    return GradientSearchCV(model, parameters, cv=folds, max_iter=MAX_ITER)


def model_of(method: str, name: str, split: Split, folds: list[Any]) -> Any:
    """Return what is fitted."""
    rank = TEXT_RANK if name == "clinc150" else N_FACTORS
    if method == "frequencies":
        return DummyClassifier()
    if method in {LOW, BOUNDED}:
        return OutputKernelClassifierCV(
            "linear",
            [LowRank(rank if method == BOUNDED else None)],
            loss="softmax",
            alphas=ALPHAS[name],
            cv=folds,
            scoring="neg_log_loss",
            temperature=1.0,
            fit_intercept=False,
            tol=1e-3,
        )
    structures: dict[str, Callable[[], str | Structure]] = {
        FLAT: lambda: "identity",
        OWN: lambda: Mixing(rank, own=1.0),
        MIXED: lambda: Mixing(rank),
        "Tree": lambda: Tree(split.tree),
    }
    return learned(structures[method](), folds)


def judged(name: str, size: int, seed: int, method: str) -> Record:
    """Return how good a method is on the test rows, and seconds of a processor."""
    split = (text_split if name == "clinc150" else drawn_split)(size, seed)
    splitter = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    folds = list(splitter.split(split.X, split.y))
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The alpha chosen")
        model = model_of(method, name, split, folds).fit(split.X, split.y)
    seconds = process_time() - start
    chances = model.predict_proba(split.X_test)
    hits = model.classes_[chances.argmax(axis=1)] == split.y_test
    alpha = getattr(model, "best_params_", {}).get("alpha", getattr(model, "alpha_", 0))
    return {
        "accuracy": float(100 * np.mean(hits)),
        "log_loss": float(log_loss(split.y_test, chances, labels=model.classes_)),
        "seconds": round(seconds, 1),
        "alpha": float(alpha),
    }


def takes(method: str, name: str, size: int) -> bool:
    """Tell whether a method is tried; a bounded rank is by far the slowest."""
    if method == BOUNDED:
        return (name, size) == ("drawn", 6)
    return method != "Tree" or name == "clinc150"


def set_of(name: str, size: int) -> str:
    """Return how the results of a set and size are called."""
    return f"{name}, {size} a class"


def jobs() -> Iterator[tuple[Key, Callable[[], Record]]]:
    """Yield what is to be computed, set by set and split by split."""
    for name, sizes in SETS.items():
        for size in sizes:
            for seed in range(N_SPLITS):
                for method in METHODS:
                    if takes(method, name, size):
                        key = set_of(name, size), seed, method
                        yield key, partial(judged, name, size, seed, method)


def lines_of(study: Study, name: str, size: int) -> tuple[list[tuple], str | None]:
    """Return the lines of the table, and which method has the least log loss."""
    found = {
        method: np.array([[record[key] for key in COLUMNS] for record in records])
        for method in METHODS
        if (records := study.of(set_of(name, size), method, N_SPLITS)) is not None
    }
    if FLAT not in found:
        return [], None
    lines = []
    for method, values in found.items():
        above = values - found[FLAT]
        lines.append(
            (
                set_of(name, size),
                method,
                with_error(values[:, 0], form=".1f"),
                "" if method == FLAT else with_error(above[:, 0], form="+.1f"),
                with_error(values[:, 1]),
                "" if method == FLAT else with_error(above[:, 1], form="+.3f"),
                f"{values[:, 2].mean():.1f}",
            )
        )
    best = min(found, key=lambda method: found[method][:, 1].mean())
    sure = min(found, key=lambda method: -found[method][:, 0].mean())
    return lines, (
        f"- {set_of(name, size)}: `{best}` has the least log loss, `{sure}` the most "
        "classes right."
    )


def write() -> None:
    """Write the page of what is there."""
    study, lines, parts = Study(NAME), [], []
    for name, sizes in SETS.items():
        for size in sizes:
            more, best = lines_of(study, name, size)
            lines += more
            parts.append(best or f"- {set_of(name, size)}: not all splits are there.")
    header = ["set", "method", "accuracy, %", "above flat", "log loss"]
    header += ["above flat", "seconds"]
    summary = "\n".join(parts)
    assert __doc__ is not None
    write_page(
        NAME,
        f"""# Classes that mix a few functions

`python -m reproductions {NAME}`. {__doc__.split(chr(10) * 2, 1)[1]}
Figures are means and standard errors over {N_SPLITS} draws of the training rows.
*Above flat* is the difference within a draw, bold if more than two standard errors from
zero ({N_SPLITS} draws give these but roughly). Seconds are those of a processor, search
and fit.

{table(header, lines)}

Which one wins?

{summary}

Machine: {machine()}.
""",
    )


def run() -> None:
    """Compute what is missing, and write the page."""
    pursue(Study(NAME), jobs())
    write()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--again", nargs="*", default=[], help="methods")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    given = parser.parse_args()
    done = pursue(Study(NAME, given.again), jobs(), given.seconds)
    print("all done" if done else "more to do")
    write()


if __name__ == "__main__":
    main()
