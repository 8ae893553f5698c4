"""Many tasks of few rows: pupils of schools, recordings of people, a survey of people.

A draw takes some tasks at random and of each some rows to learn from; up to 20 other
rows of the same tasks are predicted. Inputs and targets are standardised on the rows
learned from.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.metrics import make_scorer
from sklearn.model_selection import StratifiedKFold

from okl import OutputKernelRegressorCV
from okl.metrics import mean_squared_error
from okl.structures import Frobenius, Identity, Mean
from reproductions.choosing import best_of_each
from reproductions.report import data_folder
from reproductions.study import Record

N_TEST, N_FOLDS, N_ALPHAS, TOLERANCE = 20, 3, 7, 1e-4
# Rows, their targets and tasks.
Long = tuple[np.ndarray, np.ndarray, np.ndarray]


def task_sets() -> Iterator[tuple[str, Long]]:
    """Yield the name, rows, targets and tasks of every set."""
    with np.load(data_folder("school") / "school.npz") as stored:
        X, y = stored["X"].astype(float), stored["y"].astype(float)
        yield "school", (X, y, stored["task"])
    with np.load(data_folder("parkinsons") / "parkinsons.npz") as stored:
        yield "parkinsons", (stored["X"], stored["Y"][:, 1], stored["subject"])
    with np.load(data_folder("computer_survey") / "computer_survey.npz") as stored:
        X, Y = stored["X"][:, 1:].astype(float), stored["Y"].astype(float)
    varied = np.flatnonzero(Y.std(axis=1) > 0)
    rows = np.tile(X, (len(varied), 1))
    yield "survey", (rows, Y[varied].ravel(), np.repeat(varied, len(X)))


def drawn_tasks(
    data: Long, seed: int, n_tasks: int, n_rows: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of training and of test rows."""
    rng, (_, _, ids) = np.random.default_rng(seed), data
    train: list[int] = []
    test: list[int] = []
    for task in rng.permutation(np.unique(ids))[:n_tasks]:
        own = rng.permutation(np.flatnonzero(ids == task))
        # the same rows are asked for however many are learned from
        test.extend(own[-min(N_TEST, max(len(own) // 5, 4)) :])
        train.extend(own[:n_rows])
    return np.array(train), np.array(test)


def few_rows(data: Long, seed: int, n_tasks: int, n_rows: int) -> Record:
    """Return the squared errors over the variance of the test targets."""
    X, y, ids = data
    train, test = drawn_tasks(data, seed, n_tasks, n_rows)
    varying = X[train].std(axis=0) > 0
    X = (X - X[train].mean(axis=0))[:, varying] / X[train].std(axis=0)[varying]
    y = (y - y[train].mean()) / y[train].std()
    inputs, targets, tasks = X[train], y[train], ids[train]
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    search = OutputKernelRegressorCV(
        alphas=N_ALPHAS,
        cv=list(folds.split(inputs, tasks)),
        scoring=make_scorer(mean_squared_error, greater_is_better=False),
        normalize_y=False,
        tol=TOLERANCE,
    )
    families: dict[str, Any] = {
        "one kernel": [Identity()],
        "mean structure": [Mean(gamma) for gamma in (1.0, 10.0, 100.0)],
        "learned": [Frobenius()],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = best_of_each(search, families, inputs, targets, task=tasks)
        models["chosen"] = search
        models["default"] = OutputKernelRegressorCV().fit(inputs, targets, task=tasks)
        found = {
            name: model.predict(X[test], task=ids[test])
            for name, model in models.items()
        }
        pooled = OutputKernelRegressorCV(structures="identity").fit(inputs, targets)
        found["pooled"] = pooled.predict(X[test])
        found["own kernels"] = np.empty(len(test))
        found["own mean"] = np.empty(len(test))
        for task in np.unique(tasks):
            mine, asked = tasks == task, ids[test] == task
            found["own mean"][asked] = targets[mine].mean()
            alone = OutputKernelRegressorCV(structures="identity")
            if len(np.unique(targets[mine])) == 1:
                found["own kernels"][asked] = targets[mine].mean()
                continue
            alone.fit(inputs[mine], targets[mine])
            found["own kernels"][asked] = alone.predict(X[test[asked]])
    found["mean"] = np.zeros(len(test))
    truth = y[test]
    return {
        name: float(np.mean((p - truth) ** 2) / truth.var())
        for name, p in found.items()
    }
