"""The default of `OutputKernelClassifierCV` beside its peers on sets of classes.

Rows are split anew for each of the splits of a set, by class: at most 500 rows to train
on, or nine tenths of a smaller set, and at most 1000 others to test on. *Log loss* is
the mean of minus the logarithm of the probability of the class that came, as
`sklearn.metrics.log_loss` has it, which takes a probability of zero for 2e-16; ± is the
standard error over splits, as if they were independent. Columns share their splits: a
difference between two of them is less uncertain than either.

**okl** is `OutputKernelClassifierCV`: the kernel is learned, the loss is the softmax,
outputs are independent, and alpha is chosen by the log loss of held-out rows at the
temperature that suits them best. **svc** is `SVC` with a Gaussian kernel, 4 values of C
times 3 of gamma by five folds, and probabilities by `CalibratedClassifierCV` of five
folds; **logistic** `LogisticRegressionCV`, by the log loss; **forest** and **extra
trees** have 500 trees; **boosting** is `HistGradientBoostingClassifier`; **process**
`GaussianProcessClassifier` with a Gaussian kernel by its approximate marginal
likelihood, one class against the rest; **frequencies** those of the classes. All else
is as in scikit-learn. Columns are standardised on the training rows. A dash stands for
a method that was too slow to be run. *Thirds* are sets of regression whose last target
was cut into three classes: like most tables of numbers, these have columns that matter
more than others.

The parts of this default were chosen by trials, some of them on these sets, so that
small differences here may be luck:

- the mean of a Matern and a Laplacian kernel by the first 25 splits of iris and wine;
- the temperature, its prior and the smallest alpha on seven other sets, and on other
  splits of usps, digits, iris and wine;
- when each column has a width of its own, and when one kernel takes the place of the
  mean, on sets drawn by `make_classification` and by hand, on other targets of
  parkinsons, sarcos4449, enb and rf1, on jura and scpf, and on other splits of all
  twelve sets (to keep the widths always is between 15 % better and 16 % worse on iris
  and wine, by the split, and worse on digits);
- that widths are learned from the start of the search as well, on drawn sets;
- that few rows choose a larger alpha, on 5 to 60 drawn rows, on 6 to 40 rows of six of
  these sets, and on the first 23 splits of iris and wine.

Widths of both kernels together were added for enb, on 24 further splits of it, and
judged on others of all sets: before, boosted trees were .6 points more accurate there,
with a larger log loss. On iris okl is less accurate than logistic regression, by one or
two of the 150 rows; with a linear kernel it is not. Some forty variants were tried on
other splits of iris and wine (more of the linear kernel, a nearly linear start, other
priors, weights and widths learned together, chosen by held-out rows or not). Those that
gain more than a standard error or two on iris lose elsewhere, and none was kept. The
last ones were a kernel that is three quarters linear, and the linear kernel alone,
where held-out rows prefer that. They gain .5 to 1 point on iris; where the linear
kernel is preferred on wine, its log loss is up to twice as large.

Sets had three splits at first, breast_cancer five, iris and wine fifty. Where the
distance from the best accuracy could not be told from half a point, they were given
more, in rounds: most of them ten, enb fifty and then a hundred, breast_cancer fifty,
iris and wine two hundred. After fifty splits okl had been .7 points behind on iris and
.4 on enb. The first splits stayed the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from time import process_time
from typing import Any

import numpy as np
from benchmarks.measure import machine
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from okl import OutputKernelClassifierCV
from reproductions.class_sets import class_sets, class_splits
from reproductions.comparing import with_error
from reproductions.ranking import about_standings, standings_table
from reproductions.report import marked, table, write_page
from reproductions.study import Job, Plan, Record, Study, column

NAME = "class_peers"
# The splits of each set.
SETS = {
    "iris": 200,
    "wine": 200,
    "breast_cancer": 50,
    "digits": 10,
    "satimage": 10,
    "usps": 10,
    "scene": 10,
    "scenes15": 10,
    "parkinsons, thirds": 10,
    "sarcos4449, thirds": 10,
    "enb, thirds": 100,
    "rf1, thirds": 10,
}
N_TREES = 500
# Sets of at most so many rows, of which the rows that are told wrongly are kept.
_FEW = 200
# The most rows times classes of the Gaussian process.
_PROCESS = 3000


def _grid(n_columns: int) -> GridSearchCV:
    gammas = np.array([0.25, 1.0, 4.0]) / n_columns
    return GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0, 100.0], "gamma": gammas})


def _process(n_columns: int) -> GaussianProcessClassifier:
    kernel = ConstantKernel(1.0, (1e-3, 1e4)) * RBF(n_columns**0.5, (1e-2, 1e3))
    return GaussianProcessClassifier(kernel, random_state=0)


# Of the number of columns, the classifier.
PEERS: dict[str, Callable[[int], Any]] = {
    "okl": lambda d: OutputKernelClassifierCV(
        "auto", "identity", loss="softmax", scoring="neg_log_loss"
    ),
    "svc": lambda d: CalibratedClassifierCV(_grid(d), ensemble=False),
    "logistic": lambda d: LogisticRegressionCV(
        scoring="neg_log_loss",
        max_iter=1000,
        l1_ratios=(0.0,),
        use_legacy_attributes=False,
    ),
    "forest": lambda d: RandomForestClassifier(N_TREES, random_state=0),
    "extra trees": lambda d: ExtraTreesClassifier(N_TREES, random_state=0),
    "boosting": lambda d: HistGradientBoostingClassifier(random_state=0),
    "process": _process,
    "frequencies": lambda d: DummyClassifier(strategy="prior"),
}


def judged(method: str, X: np.ndarray, y: np.ndarray, split: Any) -> Record:
    """Return what a method does on a split."""
    train, test = split
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # edges of grids, searches that end early
        model = make_pipeline(StandardScaler(), PEERS[method](X.shape[1]))
        model.fit(X[train], y[train])
    seconds = process_time() - start
    chances = model.predict_proba(X[test])
    # some make rows that sum to one up to single precision
    chances = chances / chances.sum(axis=1, keepdims=True)
    predicted = model.predict(X[test])
    record = {
        "log_loss": float(log_loss(y[test], chances, labels=model.classes_)),
        "accuracy": float(accuracy_score(y[test], predicted)),
        "seconds": round(seconds, 3),
    }
    if len(X) <= _FEW:
        record["wrong"] = test[predicted != y[test]].tolist()
    return record


def jobs(sets: Sequence[str], methods: Sequence[str]) -> Iterator[Job]:
    """Yield what is to be computed, split by split."""
    stored = {name: (X, y) for name, X, y in class_sets() if name in sets}
    for name in sets:
        X, y = stored[name]
        n_classes = len(np.unique(y))
        for number, split in enumerate(class_splits(X, y, SETS[name])):
            for method in methods:
                if method != "process" or len(split[0]) * n_classes <= _PROCESS:
                    yield (name, number, method), partial(judged, method, X, y, split)


def _by_row(name: str, rival: str, found: Mapping[str, Sequence[Record]]) -> str:
    """Return how far okl is behind where rows are what is independent, not splits."""
    if not all("wrong" in one for method in ("okl", rival) for one in found[method]):
        return ""
    X, y = next((X, y) for one, X, y in class_sets() if one == name)
    tested, more = np.zeros((2, len(X)))
    splits = class_splits(X, y, SETS[name])
    for (_, test), one, other in zip(splits, found["okl"], found[rival], strict=True):
        tested[test] += 1
        np.add.at(more, one["wrong"], 1)
        np.add.at(more, other["wrong"], -1)
    seen = tested > 0
    shares = 100 * more[seen] / tested[seen]
    behind, total = with_error(shares, form=".1f"), int(more.sum())
    worst = " and ".join(f"{int(more[j])} of row {j}" for j in np.argsort(-more)[:2])
    return f"""
Splits of a set share its rows. On {name}, with rows in the place of splits as what is
independent, okl is {behind} points behind {rival}. It makes {total} errors more,
{worst}.
"""


def write() -> None:
    """Write the page of what is there."""
    study = Study(NAME)
    shapes = {n: (len(X), X.shape[1], len(np.unique(y))) for n, X, y in class_sets()}
    losses, accuracies, rows, right, times, by_row = {}, {}, [], [], [], ""
    for name, n_splits in SETS.items():
        found = study.of_each(name, PEERS, n_splits)
        if "okl" not in found:
            continue
        loss = {one: column(found[one], "log_loss") for one in found}
        accuracy = {one: 100 * column(found[one], "accuracy") for one in found}
        losses[name] = {one: float(values.mean()) for one, values in loss.items()}
        accuracies[name] = {one: float(v.mean()) for one, v in accuracy.items()}
        n, d, m = shapes[name]
        texts = {one: with_error(values) for one, values in loss.items()}
        best = min(losses[name], key=losses[name].__getitem__)
        rows.append(
            (f"{name} ({n}, {d}, {m}; {n_splits})", *marked(texts, best, PEERS))
        )
        texts = {one: with_error(v, form=".1f") for one, v in accuracy.items()}
        most = accuracies[name]
        best = max(most, key=most.__getitem__)
        behind = most[best] - most["okl"]
        right.append((name, *marked(texts, best, PEERS), f"{behind:.1f}"))
        if behind > 0.5:
            by_row += _by_row(name, best, found)
        seconds = {o: f"{column(found[o], 'seconds').mean():.1f}" for o in found}
        times.append((name, *(seconds.get(one, "–") for one in PEERS)))
    write_page(
        NAME,
        f"""# Classes: the default beside its peers

`python -m reproductions {NAME}`. {__doc__.split(chr(10) * 2, 1)[1]}
## Log loss: ranks and ratios

{about_standings("okl", "log loss")}

{standings_table(losses, list(PEERS), "okl", "log loss")}

## Every set: log loss

In brackets rows, columns, classes and splits.

{table(["set", *PEERS], rows)}

## Every set: accuracy

In percent; in the last column how far okl is behind the best.

{table(["set", *PEERS, "behind"], right)}
{by_row}
Seconds of a processor for one fit, on a machine that other work used as well.

{table(["set", *PEERS], times)}

Machine: {machine()}.
""",
    )


PLAN = Plan(NAME, jobs, list(SETS), list(PEERS), write)
run = PLAN.run

if __name__ == "__main__":
    PLAN.main()
