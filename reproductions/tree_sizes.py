"""Documents in a tree, of the sizes of the paper's sections D and B.

`okl.datasets.make_text_tree` draws them: sparse counts of words, rows of unit length,
and a tree that is known. Seeger (2006, section 8.2) has 1140 patents and 160 classes in
section D, 9794 and 1172 in section B, and learns variances, from 5 on and most often
larger. In **tree** all levels have the same variance, which together are 10 on each
path (alpha = 0.1 times a sum of one); each class in **flat** has that variance of 10,
too. Both are fitted to a relative gap of 1e-3. At the size of section D **tree,
learned** learns a variance of each level, and **flat, learned** alpha, by the gradient
of the likelihood of three folds (`GradientSearchCV`); seconds are those of search and
fit. The rivals are trivial: the class whose mean row is nearest, and the class with
most rows. Further drawn documents are the test rows.

The words of a document determine its upper levels with certainty: with the same
variance for all levels the lowest one has too small a share, and the tree is worse than
the flat model. With learned variances the two are alike: on these documents a tree adds
nothing but the probabilities of its nodes.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator, Sequence
from functools import cache, partial
from time import process_time
from typing import Any

import numpy as np
from benchmarks.measure import machine
from sklearn.dummy import DummyClassifier
from sklearn.neighbors import NearestCentroid

from okl import ClassTree, OutputKernelClassifier
from okl.datasets import make_text_tree
from okl.metrics import level_accuracy_score
from okl.model_selection import GradientSearchCV
from okl.operators import counted_products
from okl.structures import Identity, Tree
from reproductions.comparing import with_error
from reproductions.report import table, write_page
from reproductions.study import Job, Plan, Record, Study

NAME = "tree_sizes"
TOL, ALPHA = 1e-3, 0.1
# Training rows, nodes of each depth, test rows, draws, and the paper's seconds for the
# tree and the flat model.
SECTIONS: dict[str, tuple[int, tuple[int, ...], int, int, tuple[float, float]]] = {
    "D": (1140, (7, 20, 160), 1000, 3, (118.5, 56.3)),
    "B": (9794, (34, 113, 1172), 2000, 1, (8657.0, 3751.0)),
}
FITTED = ("tree", "flat")
# What is learned, at the size of section D.
LEARNED = {"tree, learned": "structure__variances", "flat, learned": "alpha"}
METHODS = (*FITTED, *LEARNED, "nearest mean", "most rows")


@cache
def documents(section: str, seed: int) -> tuple[Any, np.ndarray, ClassTree]:
    """Return training rows and, after them, test rows; and the tree."""
    n_train, nodes, n_test, *_ = SECTIONS[section]
    return make_text_tree(n_train + n_test, nodes, random_state=seed)


def model_of(method: str, tree: ClassTree) -> Any:
    """Return the classifier of a method."""
    if method == "nearest mean":
        return NearestCentroid()
    if method == "most rows":
        return DummyClassifier()
    level = np.full(tree.depth, 1 / tree.depth)
    structure = Tree(tree, level) if method.startswith("tree") else Identity()
    options: dict[str, Any] = {"alpha": ALPHA, "tol": TOL, "fit_intercept": False}
    model = OutputKernelClassifier("linear", structure, loss="softmax", **options)
    if method not in LEARNED:
        return model
    return GradientSearchCV(model, [LEARNED[method]], cv=3)


def judged(section: str, seed: int, method: str) -> Record:
    """Return the accuracy at each level, and what the fit took."""
    X, y, tree = documents(section, seed)
    n_train = SECTIONS[section][0]
    model = model_of(method, tree)
    start = process_time()
    with counted_products() as count:
        model.fit(X[:n_train], y[:n_train])
    seconds = process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    predicted = model.predict(X[n_train:])
    levels = [
        100 * level_accuracy_score(y[n_train:], predicted, tree=tree, level=level)
        for level in range(1, tree.depth + 1)
    ]
    found: Record = {"seconds": round(seconds, 2), "levels": levels}
    if method in (*FITTED, *LEARNED):
        fitted = model.best_estimator_ if method in LEARNED else model
        gap = float(fitted.certificate_.relative_gap)
        steps = int(fitted.n_iter_)
        found |= {"gap": gap, "steps": steps, "products": count.total}
        found["peak"] = round(peak, 2)
    return found


def jobs(sections: Sequence[str], methods: Sequence[str]) -> Iterator[Job]:
    """Yield what is to be computed."""
    for section in sections:
        for seed in range(SECTIONS[section][3]):
            for method in methods:
                if method in LEARNED and section != "D":
                    continue
                yield (section, seed, method), partial(judged, section, seed, method)


def write() -> None:
    """Write the page of what is there."""
    study, lines, missing = Study(NAME), [], []
    for section, (n_train, nodes, _, n_draws, paper) in SECTIONS.items():
        theirs = dict(zip(FITTED, paper, strict=True))
        for method in METHODS:
            records = study.of(section, method, n_draws)
            if records is None and method in LEARNED and section != "D":
                continue
            if records is None:
                missing.append(f"{method} at the size of section {section}")
                continue
            levels = np.array([record["levels"] for record in records])
            mean = {
                name: np.mean([record[name] for record in records])
                for name in ("seconds", "gap", "products", "steps", "peak")
                if name in records[0]
            }
            lines.append(
                (
                    f"{section}: {n_train} rows, {nodes[-1]} classes",
                    method,
                    *(
                        with_error(values, form=".1f")
                        if n_draws > 1
                        else f"{values[0]:.1f}"
                        for values in levels.T
                    ),
                    f"{mean['seconds']:.3g}",
                    theirs.get(method, ""),
                    f"{mean['gap']:.1e}" if "gap" in mean else "",
                    f"{mean['products']:.0f}" if "gap" in mean else "",
                    f"{mean['steps']:.0f}" if "gap" in mean else "",
                    f"{mean['peak']:.2g}" if "gap" in mean else "",
                )
            )
    header = ["size of section", "method", "level 1, %", "level 2, %", "classes, %"]
    header += ["seconds", "in the paper", "relative gap", "products with K"]
    header += ["steps", "peak, GiB"]
    unfinished = f"\nNot there: {', '.join(missing)}.\n" if missing else ""
    assert __doc__ is not None
    write_page(
        NAME,
        f"""# Trees of the paper's sizes

`python -m reproductions {NAME}`. {__doc__.split(chr(10) * 2, 1)[1]}

Level 1 are the children of the root. Figures are means and, with several draws, their
standard errors. Seconds are those of a processor, on a busy machine; those of the paper
are of processors of 2006, and of other documents. The peak is that of the process until
then. Relative gaps are means.

{table(header, lines)}
{unfinished}
Machine: {machine()}.
""",
    )


PLAN = Plan(NAME, jobs, tuple(SECTIONS), METHODS, write, option="sections")
run = PLAN.run

if __name__ == "__main__":
    PLAN.main()
