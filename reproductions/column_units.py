"""Classes: columns in the unit that they share, and standardised.

Pixels share a unit, and those at the edge of an image hardly vary. Standardised they
count as much as the others, and their noise, too. The search of classes learns a first
kernel, of one width, on standardised columns and on columns divided by one number, and
goes on with the latter where held-out rows are clearly likelier. Here that choice is
judged, on columns as they are in the sets and on columns that were standardised before,
where there is no choice.

Training rows are at most 500, or nine tenths of a smaller set, and at most 1000 others
are predicted; splits are by class. **okl** is `OutputKernelClassifierCV()`, **svc** is
`SVC` with a Gaussian kernel, 4 values of C times 3 of gamma (around `"scale"`) by five
folds, and probabilities by `CalibratedClassifierCV` of five folds; **standardised** are
the same after `StandardScaler`. *Taken* counts the splits in which okl took columns as
they are, as its log loss tells. ± is the standard error over splits, as if they were
independent; columns share their splits.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from benchmarks.measure import machine
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from okl import OutputKernelClassifierCV
from reproductions.class_sets import class_sets, class_splits
from reproductions.comparing import with_error
from reproductions.report import marked, table, write_page
from reproductions.study import Job, Plan, Record, Study, column

NAME = "column_units"
# The splits of each set.
SETS = {
    "iris": 20,
    "wine": 20,
    "breast_cancer": 10,
    "digits": 5,
    "satimage": 5,
    "usps": 5,
    "scene": 5,
    "scenes15": 5,
    "parkinsons, thirds": 5,
    "sarcos4449, thirds": 5,
    "enb, thirds": 10,
    "rf1, thirds": 5,
}
# The part by which log losses differ where the choice made a difference.
_DIFFERENT = 1e-3
METHODS = ("okl", "okl, standardised", "svc", "svc, standardised")


def _model(method: str, X: np.ndarray) -> Any:
    if method.startswith("okl"):
        return OutputKernelClassifierCV()
    gammas = np.array([0.25, 1.0, 4.0]) / (X.shape[1] * X.var())
    grid = GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0, 100.0], "gamma": gammas})
    return CalibratedClassifierCV(grid, ensemble=False)


def judged(method: str, X: np.ndarray, y: np.ndarray, split: Any) -> Record:
    """Return what a method does on a split."""
    train, test = split
    if method.endswith("standardised"):
        X = StandardScaler().fit(X[train]).transform(X)
    model = _model(method, X[train])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # edges of grids
        model.fit(X[train], y[train])
    chances = model.predict_proba(X[test])
    return {
        "log_loss": float(log_loss(y[test], chances, labels=model.classes_)),
        "accuracy": float(accuracy_score(y[test], model.predict(X[test]))),
    }


def jobs(sets: Sequence[str], methods: Sequence[str]) -> Iterator[Job]:
    """Yield what is to be computed, split by split."""
    stored = {name: (X, y) for name, X, y in class_sets() if name in sets}
    for name in sets:
        X, y = stored[name]
        for number, split in enumerate(class_splits(X, y, SETS[name])):
            for method in methods:
                yield (name, number, method), partial(judged, method, X, y, split)


def write() -> None:
    """Write the page of what is there."""
    study = Study(NAME)
    losses, right = [], []
    for name, n_splits in SETS.items():
        found = study.of_each(name, METHODS, n_splits)
        if len(found) < len(METHODS):
            continue
        ours = [column(found[one], "log_loss") for one in METHODS[:2]]
        taken = int(np.sum(np.abs(ours[0] - ours[1]) > _DIFFERENT * ours[1]))
        label = f"{name} ({n_splits})"
        for lines, what, factor, form, best_of in (
            (losses, "log_loss", 1, ".3f", min),
            (right, "accuracy", 100, ".1f", max),
        ):
            values = {one: factor * column(found[one], what) for one in METHODS}
            means = {one: v.mean() for one, v in values.items()}
            best = best_of(means, key=means.__getitem__)
            texts = {one: with_error(v, form=form) for one, v in values.items()}
            lines.append((label, *marked(texts, best, METHODS), taken))
    write_page(
        NAME,
        f"""# Classes: columns in one unit, and standardised

`python -m reproductions {NAME}`. {__doc__.split(chr(10) * 2, 1)[1]}
{FINDINGS}

## Log loss

In brackets the number of splits.

{table(["set", *METHODS, "taken"], losses)}

## Accuracy

In percent.

{table(["set", *METHODS, "taken"], right)}

Machine: {machine()}.
""",
    )


FINDINGS = """The unit is kept on usps and digits: log losses are 8 and 25 % lower than
on standardised columns, accuracies .9 and .8 points higher. It is kept on four splits
of sarcos, too, where the log loss is 2 % higher, less than its error, and on few
others, which changes little: the choice is made before columns have widths of their
own. Support vectors gain as much accuracy by it on digits and usps, where they are as
accurate as okl; on iris, with columns as they are, they are more accurate by 1.3 points
(with an error of one). Their log losses are larger on all sets."""
PLAN = Plan(NAME, jobs, list(SETS), list(METHODS), write)
run = PLAN.run

if __name__ == "__main__":
    PLAN.main()
