"""Classes in a tree, with few examples each and with many: does the tree pay?

Models are trained on a few examples of each class (on all of a class that has fewer),
and on all rows; the whole test part is predicted.

*clinc150*: texts of 150 intents in 10 domains, and *news20*: texts of 20 newsgroups, as
tf-idf with the inverse document frequencies of the training rows, with a linear kernel.
*imclef07a*, *imclef07d*: X-ray images, 80 standardised columns, with the one of three
Gaussian kernels that is best for the flat model; the seconds of that search are counted
for the tree as well. On the images *tree, linear* and *flat, linear* have a linear
kernel and an intercept, as the rivals do.

The flat model and the one with the tree are the same softmax classifier. Alpha, the
ratio of the variance of all inner levels together to that of the leaves, and the
temperature of probabilities are chosen by the held-out likelihood of the same folds.
*Mixing* learns ten functions that all classes mix, beside functions of their own, and
alpha, by the gradient of that likelihood; as it takes long, on texts with few examples
only. The rivals are scikit-learn's `LogisticRegression`, its C chosen on these folds by
the accuracy, from which its log loss suffers, and, where hiclass is installed, its
three classifiers built on that. They are linear everywhere. On the images all linear
models choose among the same five strengths, C from 0.001 to 10 and alpha = 1 / C.
Another set with many classes, reuters90, is not used: it has no tree, and several
classes a text.

On all rows of the images there are no Gaussian kernels: a product of the matrix of 10
000 rows with the scores of 63 classes is 6 billion multiplications, and a search takes
some thousands of such products. The rivals and *Mixing* were measured before the
others, on another machine, so that seconds tell no more than large differences;
*Mixing* was at a temperature of one.

The columns are those of Table 1 of Seeger (2006): accuracy; *rank*, the mean reciprocal
rank, which the paper calls precision; accuracy of the parents, which for clinc150 are
the domains; taxo-loss of the class that is most probable, and of the class of least
expected taxo-loss.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from time import process_time
from typing import Any

import numpy as np
from benchmarks.measure import machine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from okl import OutputKernelClassifier, OutputKernelClassifierCV
from okl.decisions import decide
from okl.kernels import Gaussian
from okl.metrics import mean_reciprocal_rank, parent_accuracy_score, taxo_loss
from okl.model_selection import GradientSearchCV
from okl.structures import Identity, Mixing, Tree
from reproductions.comparing import standard_error, with_error
from reproductions.labelled_trees import TEXTS, LabelledTree, labelled_tree
from reproductions.report import table, write_page
from reproductions.study import Job, Plan, Record, Study

NAME = "class_trees"
SETS = ("clinc150", "news20", "imclef07a", "imclef07d")
# Examples of a class, and how often they are drawn; the folds of every draw.
ALL = sys.maxsize
N_DRAWS, N_FOLDS = {3: 10, 8: 3, 20: 3, ALL: 1}, 3
ALPHAS = np.geomspace(1e-6, 0.1, 6)
RATIOS = (0.3, 1.0, 3.0, 10.0)  # of the variance of inner levels to that of the leaves
CS = np.geomspace(1, 1000, 4)
# Of linear models on images, whose rows are longer: C, and alpha = 1 / C.
IMAGE_CS = np.geomspace(1e-3, 10, 5)
_LOCAL, MIXING = "hiclass per ", "Mixing"
_LINEAR = ", linear"
METHODS = (
    "tree",
    "flat",
    "tree" + _LINEAR,
    "flat" + _LINEAR,
    MIXING,
    "LogisticRegression",
    *(_LOCAL + name for name in ("ParentNode", "Level", "Node")),
)
# Sets that are mixed, up to so many examples a class, and of how many draws; the
# functions, the iterations at most, and the bounds of alpha.
MIXED, N_MIXED = {"clinc150": 3, "news20": 8}, 3
N_FACTORS, MAX_ITER, BOUNDS = 10, 30, (1e-6, 1e2)
# Of the Gaussian kernels, times the number of columns.
GAMMAS = (0.05, 0.2, 0.8)
COLUMNS = ("accuracy", "rank", "parents", "taxo", "least_taxo", "log_loss", "seconds")


def drawn(labels: np.ndarray, size: int, seed: int) -> np.ndarray:
    """Return so many rows of each class, or all that it has."""
    rng = np.random.default_rng(seed)
    found = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    return np.concatenate([rng.permutation(rows)[:size] for rows in found])


def ours(
    kernels: list[Any],
    structures: list[Any],
    folds: Any,
    alphas: np.ndarray = ALPHAS,
    *,
    intercept: bool = False,
) -> Any:
    """Return the classifier that chooses among kernels, structures and alphas."""
    return OutputKernelClassifierCV(
        kernels=kernels,
        structures=structures,
        loss="softmax",
        alphas=alphas,
        cv=folds,
        scoring="neg_log_loss",
        fit_intercept=intercept,
        tol=1e-3,
    )


def of_tree(task: LabelledTree) -> list[Tree]:
    """Return the tree with each ratio of variances."""
    levels = max(path.count("/") for path in task.tree.classes_)
    return [
        Tree(task.tree, np.array([r / levels] * levels + [1.0]) / (1 + r), "level")
        for r in RATIOS
    ]


def fitted(
    method: str, task: LabelledTree, X: Any, y: np.ndarray, folds: list[Any]
) -> Any:
    """Return the model of a method."""
    Cs = CS if task.texts else IMAGE_CS
    if method == "LogisticRegression":
        return LogisticRegressionCV(
            Cs=Cs,
            cv=folds,
            scoring="accuracy",
            l1_ratios=(0.0,),
            max_iter=1000,
            use_legacy_attributes=False,
        ).fit(X, y)
    if method.startswith(_LOCAL):
        return Local(method.removeprefix(_LOCAL), Cs, folds, X, y)
    if method == MIXING:
        model = OutputKernelClassifier(
            "linear", Mixing(N_FACTORS, own=1.0), loss="softmax", alpha=1e-3
        ).set_params(fit_intercept=False, tol=1e-3)
        search = GradientSearchCV(model, {"alpha": BOUNDS}, cv=folds, max_iter=MAX_ITER)
        return search.fit(X, y)
    if method.endswith(_LINEAR):
        structures = of_tree(task) if method.startswith("tree") else [Identity()]
        return ours(["linear"], structures, folds, 1 / Cs, intercept=True).fit(X, y)
    kernels: list[Any] = ["linear"]
    if not task.texts:
        kernels = [Gaussian(gamma / X.shape[1]) for gamma in GAMMAS]
    flat = ours(kernels, [Identity()], folds)
    if method == "tree":
        if len(kernels) > 1:
            kernels = [flat.fit(X, y).kernel_]
        return ours(kernels, of_tree(task), folds).fit(X, y)
    return flat.fit(X, y)


class Local:
    """A classifier of hiclass over logistic regression, C chosen on the folds."""

    def __init__(
        self, name: str, Cs: np.ndarray, folds: list[Any], X: Any, y: np.ndarray
    ) -> None:
        import hiclass

        self._kind = getattr(hiclass, f"LocalClassifierPer{name}")
        scores = [np.mean([self._score(C, X, y, *fold) for fold in folds]) for C in Cs]
        self.C = float(Cs[int(np.argmax(scores))])
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


def judged(method: str, name: str, size: int, seed: int) -> Record:
    """Return the measures of a method on a split, and seconds of a processor."""
    task = labelled_tree(name)
    rows = drawn(task.y_train, size, seed)
    columns = task.columns().fit(task.train[rows])
    X, y = columns.transform(task.train[rows]), task.y_train[rows]
    splitter = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    folds = list(splitter.split(X, y))
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The alpha chosen")
        model = fitted(method, task, X, y, folds)
    seconds = process_time() - start
    new, truth, tree = columns.transform(task.test), task.y_test, task.tree
    predicted = model.predict(new)
    found = {
        "accuracy": 100 * float(np.mean(predicted == truth)),
        "parents": 100 * parent_accuracy_score(truth, predicted, tree=tree),
        "taxo": taxo_loss(truth, predicted, tree=tree),
        "seconds": round(seconds, 3),
    }
    if hasattr(model, "predict_proba"):
        chances, classes = model.predict_proba(new), model.classes_
        least = decide(chances, "taxo", classes=classes, tree=tree)
        found["rank"] = mean_reciprocal_rank(truth, chances, labels=classes)
        found["log_loss"] = float(log_loss(truth, chances, labels=classes))
        found["least_taxo"] = taxo_loss(truth, least, tree=tree)
    return found


def set_of(name: str, size: int) -> str:
    """Return how the results of a size are called."""
    return f"{name}, " + ("all rows" if size == ALL else f"{size} a class")


def n_draws(name: str, size: int, method: str) -> int:
    """Return how many draws a method is fitted to."""
    if method == MIXING:
        return N_MIXED if size <= MIXED.get(name, 0) else 0
    texts, linear = name in TEXTS, method.endswith(_LINEAR)
    gaussian = not texts and method in ("tree", "flat")
    if (texts and linear) or (gaussian and size == ALL):
        return 0
    return N_DRAWS[size]


def jobs(names: Sequence[str], methods: Sequence[str]) -> Iterator[Job]:
    """Yield what is to be computed, set by set, size by size and split by split."""
    for name in names:
        for size in N_DRAWS:
            for seed in range(max(N_DRAWS.values())):
                for method in methods:
                    if seed >= n_draws(name, size, method):
                        continue
                    key = set_of(name, size), seed, method
                    yield key, partial(judged, method, name, size, seed)


def write() -> None:
    """Write the page of what is there."""
    study, lines, parts = Study(NAME), [], []
    for name in SETS:
        for size in N_DRAWS:
            of = set_of(name, size)
            found = {
                method: np.array(
                    [[one.get(column, np.nan) for column in COLUMNS] for one in records]
                )
                for method in METHODS
                if (records := study.of(of, method, n_draws(name, size, method)))
            }
            pairs = [
                kind
                for kind in ("", _LINEAR)
                if {"tree" + kind, "flat" + kind} <= set(found)
            ]
            if not pairs:
                parts.append(f"{of}: not computed.")
                continue
            lines += [_line(of, method, found) for method in found]
            parts += [f"{of}{kind}: {_verdict(found, kind)}" for kind in pairs]
    header = ["set", "method", "accuracy, %", "tree above it", "rank", "parents, %"]
    header += ["tree above it", "taxo-loss", "at the least expected"]
    header += ["log loss", "seconds"]
    summary = "\n".join(f"- {part}" for part in parts)
    assert __doc__ is not None
    write_page(
        NAME,
        f"""# Classes in a tree

`python -m reproductions {NAME}`. {__doc__.split(chr(10) * 2, 1)[1]}
Figures are means and standard errors over {_draws()} of the training
rows, of *Mixing* over {N_MIXED}; all methods share them, and the test rows. *Tree above
it* is the difference to *tree* within a draw, to *tree, linear* where that is missing,
in points, bold if more than two standard errors from zero (a few draws give these but
roughly). Seconds are those of a processor, search and fit, on a busy machine.

{table(header, lines)}

Does the tree pay, against the flat model, and against the best of the others?

{summary}

Machine: {machine()}.
""",
    )


def _draws() -> str:
    counts = [f"{n} at {size} a class" for size, n in N_DRAWS.items() if size != ALL]
    return f"draws ({', '.join(counts)}; all rows are there once, with no error)"


def _line(of: str, method: str, found: dict[str, np.ndarray]) -> tuple[str, ...]:
    values = dict(zip(COLUMNS, found[method].T, strict=True))
    first = _first(found)
    shared = found[first][: len(found[method])]
    above = dict(zip(COLUMNS, (shared - found[method]).T, strict=True))
    seconds = values["seconds"].mean()

    def cell(name: str, form: str) -> str:
        return "–" if np.isnan(values[name][0]) else with_error(values[name], form=form)

    def ahead(name: str) -> str:
        return "" if method == first else with_error(above[name], form="+.1f")

    return (
        of,
        method,
        cell("accuracy", ".1f"),
        ahead("accuracy"),
        cell("rank", ".3f"),
        cell("parents", ".1f"),
        ahead("parents"),
        cell("taxo", ".3f"),
        cell("least_taxo", ".3f"),
        cell("log_loss", ".3f"),
        format(seconds, ".2f" if seconds < 1 else ".1f"),
    )


def _first(found: dict[str, np.ndarray]) -> str:
    """Return the model that others are compared with."""
    return "tree" if "tree" in found else "tree" + _LINEAR


def _verdict(found: dict[str, np.ndarray], kind: str) -> str:
    """Return in words what the tree of a kind adds to the others."""
    words = []
    tree, flat = found["tree" + kind], found["flat" + kind]
    others = [m for m in found if m == "LogisticRegression" or m.startswith(_LOCAL)]
    for what, column in (("classes", "accuracy"), ("parents", "parents")):
        place = COLUMNS.index(column)
        above = (tree - flat)[:, place]
        mean, error = above.mean(), np.inf
        if len(above) > 1:
            error = standard_error(above)
        says = "yes" if mean > 2 * error else "no" if mean < 0 else "not for certain"
        if len(above) == 1:
            says = "ahead, once" if mean > 0 else "not ahead, once"
        text = f"for {what} {says} ({with_error(above, form='+.1f').strip('*')})"
        if others:
            best = max(others, key=lambda method: found[method][:, place].mean())
            beyond = (tree - found[best])[:, place].mean()
            text += f", {beyond:+.1f} against {best}"
        words.append(text)
    return "; ".join(words) + "."


# Those of hiclass only where it is installed.
HERE = [m for m in METHODS if not m.startswith(_LOCAL) or find_spec("hiclass")]
PLAN = Plan(NAME, jobs, SETS, HERE, write, option="sets")
run = PLAN.run

if __name__ == "__main__":
    PLAN.main()
