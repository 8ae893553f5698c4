"""The default of `OutputKernelClassifierCV` for labels beside its peers.

The multi-label sets of Mulan, of which those with more than 30 labels keep the 30 that
most rows have: 30 of the 174 of cal500, of 374 of corel5k, of 159 of bibtex and of 983
of delicious. Rows are split anew for each of three splits: at most 500 rows to train
on, or two thirds of a smaller set, and at most 1000 others to test on. Columns are
standardised on the training rows, except words and other marks that are stored sparse
(corel5k, bibtex, delicious): these are passed as they are.

*Log loss* is the mean over rows and labels of minus the logarithm of the probability of
what came, there or not. Probabilities of all methods are clipped to 0.001 and 0.999,
half a tree of a forest of 500: otherwise a label that no tree foresaw would cost as
much as all other rows. *Ranking* is the label ranking average precision, in percent, of
test rows that have a label; *F1* the micro average, in percent, where a label is
predicted if its probability is above one half. ± is the standard error over splits, as
if they were independent; columns share their splits.

**okl** is the default: `OutputKernelClassifierCV().fit(X, Y)`. **independent** is the
same with `structures="identity"`. The others are scikit-learn's: **logistic**
`LogisticRegressionCV` for each label, by the log loss; **chain** `ClassifierChain` of
these, in one random order; **svc** `SVC` as it is for each label, probabilities by
`CalibratedClassifierCV` of five folds; **forest** and **extra trees** of 500 trees for
all labels at once; **boosting** `HistGradientBoostingClassifier` and **process**
`GaussianProcessClassifier` for each label, as on the [page of classes](class_peers.md);
**frequencies** the share of the training rows that have the label. For a label that
fewer than five training rows have, or do not have, all of them predict its frequency,
with half a row with the label and half a row without it added, as okl does where all
rows have the label, or none. All else is as in scikit-learn. A dash stands for a method
that was too slow to be run.

None of the peers has a clearly smaller log loss than okl. In the order of labels okl is
behind on bibtex: by a point and more behind extra trees and support vectors, and by
half a point behind a forest. In F1 it is behind support vectors on bibtex, trees and
support vectors on delicious, a chain on cal500, and extra trees on corel5k, there by
little more than two standard errors of three splits. No threshold was chosen for F1.

Relations between labels lower the log loss a little on five sets, on corel5k by no more
than the error, and raise it a little on three; the order and F1 change by about a point
at most, either way. Where rows are sparse a fit with relations takes two to six times
as long. A chain has a larger log loss than its single classifiers on six sets, and a
larger F1 on five.

Two parts of the default were chosen by trials on these sets: that each label has a
temperature of its own, on two further splits of all eight; and that sparse rows may
have the cosine kernel, on these splits of the three sparse sets, and on two splits of
the words of reuters90 and news20_w1000.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import process_time
from typing import Any

import numpy as np
from benchmarks.measure import machine
from scipy.sparse import issparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import (
    f1_score,
    hamming_loss,
    label_ranking_average_precision_score,
)
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from okl import OutputKernelClassifierCV
from reproductions.class_peers import PEERS as OF_CLASSES
from reproductions.comparing import Splits, with_error
from reproductions.label_sets import label_set
from reproductions.labels_learned import Frequencies, Learnable
from reproductions.ranking import about_standings, standings_table
from reproductions.report import marked, table, write_page
from reproductions.study import Job, Plan, Record, Study, column

NAME = "label_peers"
SETS = (
    "emotions",
    "scene",
    "yeast",
    "birds",
    "cal500",
    "corel5k",
    "bibtex",
    "delicious",
)
N_SPLITS, MOST_TRAIN, MOST_TEST = 3, 500, 1000
MOST_LABELS = 30
# Probabilities are this far from zero and one, half a tree of a forest.
LEAST = 1e-3
# The most training rows times labels of methods that are slow, on dense rows.
MOST = {"boosting": 10_000, "process": 3000}

# Of the number of columns, the classifier.
PEERS: dict[str, Callable[[int], Any]] = {
    "okl": lambda d: OutputKernelClassifierCV(),
    "independent": lambda d: OutputKernelClassifierCV(structures="identity"),
    "logistic": lambda d: _each("logistic", d),
    "chain": lambda d: Learnable(
        ClassifierChain(OF_CLASSES["logistic"](d), order="random", random_state=0)
    ),
    "svc": lambda d: Learnable(
        MultiOutputClassifier(CalibratedClassifierCV(SVC(), ensemble=False))
    ),
    "forest": lambda d: Learnable(OF_CLASSES["forest"](d)),
    "extra trees": lambda d: Learnable(OF_CLASSES["extra trees"](d)),
    "boosting": lambda d: _each("boosting", d),
    "process": lambda d: _each("process", d),
    "frequencies": lambda d: Frequencies(),
}
# What a page tells of each set: its title, the format, and whether more is better.
SCORES = {
    "log_loss": ("log loss", ".4f", False),
    "ranking": ("ranking", ".1f", True),
    "f1": ("F1", ".1f", True),
}


def _each(peer: str, n_columns: int) -> Learnable:
    return Learnable(MultiOutputClassifier(OF_CLASSES[peer](n_columns)))


def frequent(Y: np.ndarray) -> np.ndarray:
    """Return the labels that most rows have, in the order of Y."""
    order = np.argsort(-Y.sum(axis=0), kind="stable")
    return Y[:, np.sort(order[:MOST_LABELS])]


def splits_of(n_rows: int) -> Splits:
    n_train = min(MOST_TRAIN, round(2 / 3 * n_rows))
    return Splits(n_rows, n_train, min(MOST_TEST, n_rows - n_train), N_SPLITS)


def judged(method: str, X: Any, Y: np.ndarray, split: Any) -> Record:
    """Return what a method does on a split."""
    train, test = split
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # edges of grids, searches that end early
        if not issparse(X):
            X = StandardScaler().fit(X[train]).transform(X)
        model = PEERS[method](X.shape[1]).fit(X[train], Y[train])
        chances = model.predict_proba(X[test])
    return scores_of(chances, Y[test]) | {"seconds": round(process_time() - start, 3)}


def scores_of(chances: np.ndarray, truth: np.ndarray) -> Record:
    """Return how good probabilities are (n_samples, n_labels)."""
    likely = np.where(truth == 1, chances, 1 - chances).clip(LEAST, 1 - LEAST)
    some = truth.any(axis=1)
    ranking = label_ranking_average_precision_score(truth[some], chances[some])
    predicted = (chances > 0.5).astype(int)
    f1 = f1_score(truth, predicted, average="micro", zero_division=0.0)
    return {
        "log_loss": -float(np.log(likely).mean()),
        "ranking": 100 * float(ranking),
        "f1": 100 * float(f1),
        "hamming": 100 * float(hamming_loss(truth, predicted)),
    }


def jobs(sets: Sequence[str], methods: Sequence[str]) -> Iterator[Job]:
    """Yield what is to be computed, split by split."""
    for name in sets:
        X, Y = label_set(name)
        Y = frequent(Y)
        splits = splits_of(len(Y))
        size = splits.n_train * Y.shape[1]
        for number, split in enumerate(splits):
            for method in methods:
                if method in MOST and (issparse(X) or size > MOST[method]):
                    continue
                yield (name, number, method), partial(judged, method, X, Y, split)


def write() -> None:
    """Write the page of what is there."""
    study = Study(NAME)
    losses: dict[str, dict[str, float]] = {}
    tables: dict[str, list] = {score: [] for score in SCORES}
    times = []
    for name in SETS:
        found = study.of_each(name, PEERS, N_SPLITS)
        if "okl" not in found:
            continue
        X, Y = label_set(name)
        size = f"{name} ({len(Y)}, {X.shape[1]}, {frequent(Y).shape[1]})"
        for score, (_, form, more) in SCORES.items():
            values = {one: column(records, score) for one, records in found.items()}
            texts = {one: with_error(v, form=form) for one, v in values.items()}
            means = {one: float(v.mean()) for one, v in values.items()}
            best = (max if more else min)(means, key=means.__getitem__)
            tables[score].append((size, *marked(texts, best, PEERS)))
            if score == "log_loss":
                losses[name] = means
        seconds = {o: f"{column(found[o], 'seconds').mean():.1f}" for o in found}
        times.append((name, *(seconds.get(one, "–") for one in PEERS)))
    every = "\n\n".join(
        f"## Every set: {title}\n\n{table(['set', *PEERS], tables[score])}"
        for score, (title, _, _) in SCORES.items()
    )
    write_page(
        NAME,
        f"""# Labels: the default beside its peers

`python -m reproductions {NAME}`. {__doc__.split(chr(10) * 2, 1)[1]}
## Log loss: ranks and ratios

{about_standings("okl", "log loss")}

{standings_table(losses, list(PEERS), "okl", "log loss")}

In brackets below: rows, columns, and labels.

{every}

Seconds of a processor for one fit and its predictions, on a machine that other work
used as well.

{table(["set", *PEERS], times)}

Machine: {machine()}.
""",
    )


PLAN = Plan(NAME, jobs, list(SETS), list(PEERS), write)
run = PLAN.run

if __name__ == "__main__":
    PLAN.main()
