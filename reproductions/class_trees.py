"""Classes in a tree, with few examples each: does the tree pay?

Texts of clinc150 (150 intents in 10 domains), so many examples of each intent for
training and the whole test part; word counts as tf-idf with the inverse document
frequencies of the training rows. The flat model and the one with the tree are the same
softmax classifier with a linear kernel; alpha, and the ratio of the variances of
domains and intents, are chosen by the held-out likelihood of the same folds of the
training rows. The rival is scikit-learn's `LogisticRegression`, its C chosen on these
folds by the accuracy, and, where hiclass is installed, its three classifiers over that.
The log loss of `LogisticRegression` suffers from that choice. Of 3 examples a class
both models of okl got the least alpha of the grid in every draw, and the tree the
greatest ratio (*chosen* in `reproductions/results/class_trees.jsonl`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from time import process_time
from typing import Any

import numpy as np
import scipy.sparse as sp
from benchmarks.measure import machine
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from okl import ClassTree, OutputKernelClassifierCV
from okl.structures import Identity, Tree
from reproductions.comparing import standard_error, with_error
from reproductions.report import data_folder, table, write_page
from reproductions.study import Job, Plan, Record, Study

NAME = "class_trees"
SIZES, N_SPLITS, N_FOLDS = (3, 8, 20), 3, 3
ALPHAS = np.geomspace(1e-6, 0.1, 6)
RATIOS = (0.3, 1.0, 3.0, 10.0)  # of the variance of a domain to that of an intent
CS = np.geomspace(1, 1000, 4)
_LOCAL = "hiclass per "
METHODS = (
    "tree",
    "flat",
    "LogisticRegression",
    *(_LOCAL + name for name in ("ParentNode", "Level", "Node")),
)
MEASURES = ("intents", "domains")
COLUMNS = (*MEASURES, "log_loss", "seconds")


@dataclass(frozen=True)
class Texts:
    """Counts of words, and the classes as full paths."""

    counts: sp.csr_matrix
    labels: np.ndarray


@cache
def clinc150() -> tuple[Texts, Texts, ClassTree]:
    """Return the training and test part, and the tree of their classes."""
    stored = np.load(data_folder("clinc150") / "clinc150.npz")
    names, parents = stored["node_names"], stored["node_parent"]
    nodes = stored["class_node"]
    paths = np.array([f"{names[parents[node]]}/{names[node]}" for node in nodes])

    def part(which: str) -> Texts:
        arrays = [stored[f"X_{which}_{name}"] for name in ("data", "indices", "indptr")]
        shape = tuple(stored[f"X_{which}_shape"])
        counts = sp.csr_matrix(tuple(arrays), shape=shape).astype(float)
        return Texts(counts, paths[stored[f"y_{which}"]])

    return part("train"), part("test"), ClassTree.from_paths(paths)


def drawn(labels: np.ndarray, size: int, seed: int) -> np.ndarray:
    """Return so many rows of each class."""
    rng = np.random.default_rng(seed)
    return np.concatenate(
        [
            rng.choice(np.flatnonzero(labels == label), size, replace=False)
            for label in np.unique(labels)
        ]
    )


def ours(structures: list[Any], folds: list[Any]) -> OutputKernelClassifierCV:
    """Return the softmax classifier that chooses among structures and alphas."""
    return OutputKernelClassifierCV(
        "linear",
        structures,
        loss="softmax",
        alphas=ALPHAS,
        cv=folds,
        scoring="neg_log_loss",
        fit_intercept=False,
        tol=1e-3,
    )


def fitted(
    method: str, X: Any, y: np.ndarray, tree: ClassTree, folds: list[Any]
) -> tuple[Any, dict[str, float]]:
    """Return the model of a method, and what was chosen."""
    if method == "LogisticRegression":
        model = LogisticRegressionCV(
            Cs=CS,
            cv=folds,
            scoring="accuracy",
            l1_ratios=(0.0,),
            use_legacy_attributes=False,
        ).fit(X, y)
        return model, {"C": float(model.C_)}
    if method.startswith(_LOCAL):
        local = Local(method.removeprefix(_LOCAL), folds, X, y)
        return local, {"C": local.C}
    structures = (
        [Tree(tree, np.array([r, 1.0]) / (1 + r), "level") for r in RATIOS]
        if method == "tree"
        else [Identity()]
    )
    model = ours(structures, folds).fit(X, y)
    found = {"alpha": float(model.alpha_)}
    if method == "tree":
        above, below = model.structure_.variances
        found["ratio"] = float(above / below)
    return model, found


class Local:
    """A classifier of hiclass over logistic regression, C chosen on the folds."""

    def __init__(self, name: str, folds: list[Any], X: Any, y: np.ndarray) -> None:
        import hiclass

        self._kind = getattr(hiclass, f"LocalClassifierPer{name}")
        scores = [np.mean([self._score(C, X, y, *fold) for fold in folds]) for C in CS]
        self.C = float(CS[int(np.argmax(scores))])
        self._model = self._fitted(self.C, X, y)

    def _fitted(self, C: float, X: Any, y: np.ndarray) -> Any:
        model = self._kind(LogisticRegression(C=C, max_iter=1000))
        return model.fit(X, _levels(y))

    def _score(
        self, C: float, X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray
    ) -> float:
        predicted = self._fitted(C, X[train], y[train]).predict(X[test])
        return float(np.mean(_joined(predicted) == y[test]))

    def predict(self, X: Any) -> np.ndarray:
        return _joined(self._model.predict(X))


def _levels(paths: np.ndarray) -> np.ndarray:
    """Return the nodes of paths, level by level, none below a leaf."""
    parts = [path.split("/") for path in paths]
    depth = max(map(len, parts))
    return np.array([part + [""] * (depth - len(part)) for part in parts])


def _joined(levels: Any) -> np.ndarray:
    """Return the paths of nodes by level."""
    return np.array(["/".join(filter(None, path)) for path in levels])


def judged(method: str, size: int, seed: int) -> Record:
    """Return the accuracy of a method on a split, and seconds of a processor."""
    train, test, tree = clinc150()
    rows = drawn(train.labels, size, seed)
    weights = TfidfTransformer(sublinear_tf=True).fit(train.counts[rows])
    X, y = weights.transform(train.counts[rows]), train.labels[rows]
    splitter = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    folds = list(splitter.split(X, y))
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The alpha chosen")
        model, chosen = fitted(method, X, y, tree, folds)
    seconds = process_time() - start
    X_test = weights.transform(test.counts)
    predicted = model.predict(X_test)
    domains = (
        np.array([path.split("/")[0] for path in paths])
        for paths in (predicted, test.labels)
    )
    return {
        "intents": float(100 * np.mean(predicted == test.labels)),
        "domains": float(100 * np.mean(np.equal(*domains))),
        "chosen": chosen,
        "seconds": round(seconds, 1),
    } | _log_loss(model, X_test, test.labels)


def _log_loss(model: Any, X: Any, labels: np.ndarray) -> Record:
    """Return the log loss, nothing for what has no probabilities."""
    if isinstance(model, Local):
        return {}
    chances = model.predict_proba(X)
    return {"log_loss": float(log_loss(labels, chances, labels=model.classes_))}


def jobs(sizes: Sequence[int], methods: Sequence[str]) -> Iterator[Job]:
    """Yield what is to be computed, size by size and split by split."""
    for size in sizes:
        for seed in range(N_SPLITS):
            for method in methods:
                key = set_of(size), seed, method
                yield key, partial(judged, method, size, seed)


def set_of(size: int) -> str:
    """Return how the results of a size are called."""
    return f"{size} a class"


def write() -> None:
    """Write the page of the sizes and methods of which all splits are there."""
    study = Study(NAME)
    lines, parts = [], []
    for size in SIZES:
        found = {
            method: np.array(
                [[record.get(name, np.nan) for name in COLUMNS] for record in records]
            )
            for method in METHODS
            if (records := study.of(set_of(size), method, N_SPLITS)) is not None
        }
        if not {"tree", "flat"} <= set(found):
            parts.append(f"{size} a class: not all splits are there.")
            continue
        for method, values in found.items():
            above = found["tree"] - values
            lines.append(
                (
                    size,
                    method,
                    *(with_error(values[:, i], form=".1f") for i in (0, 1)),
                    *(
                        "" if method == "tree" else with_error(above[:, i], form="+.1f")
                        for i in (0, 1)
                    ),
                    "–" if np.isnan(values[0, 2]) else with_error(values[:, 2]),
                    f"{values[:, 3].mean():.0f}",
                )
            )
        parts.append(f"{size} a class: {verdict(found['tree'] - found['flat'])}")
    header = ["a class", "method", "intents, %", "domains, %"]
    header += ["tree above it, intents", "domains", "log loss", "seconds"]
    summary = "\n".join(f"- {part}" for part in parts)
    assert __doc__ is not None
    write_page(
        NAME,
        f"""# Classes in a tree

`python -m reproductions {NAME}`. {__doc__.split(chr(10) * 2, 1)[1]}
Figures are means and standard errors over {N_SPLITS} draws of the training rows; all
methods share them, and the test rows. *Tree above it* is the difference within a draw,
in points, bold if more than two standard errors from zero ({N_SPLITS} draws give these
but roughly). Seconds are those of a processor, search and fit, on a busy machine.

{table(header, lines)}

Does the tree pay, against the flat model?

{summary}

Machine: {machine()}.
""",
    )


def verdict(above: np.ndarray) -> str:
    """Return in words what the tree adds to the flat model (n_splits, 2 or more)."""
    words = []
    for name, values in zip(MEASURES, above.T, strict=False):
        mean, error = values.mean(), standard_error(values)
        what = "yes" if mean > 2 * error else "no" if mean < 0 else "not for certain"
        words.append(f"for {name} {what} ({mean:+.1f} ± {error:.1f})")
    return ", ".join(words) + "."


# Those of hiclass only where it is installed.
HERE = [m for m in METHODS if not m.startswith(_LOCAL) or find_spec("hiclass")]
PLAN = Plan(NAME, jobs, SIZES, HERE, write, option="sizes")
run = PLAN.run

if __name__ == "__main__":
    PLAN.main()
