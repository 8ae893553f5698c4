"""Training targets with holes, and a new output with few rows, on eleven sets.

A draw takes 100 training rows and 200 new ones at random. A share of the training
targets of every output is then removed: at random for each output, or in one block, the
rows between two values of the first input (a gap in time, a strip of land). Every
output keeps the same number of rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.metrics import make_scorer
from sklearn.model_selection import StratifiedKFold

from okl import OutputKernelExtension, OutputKernelImputer, OutputKernelRegressorCV
from okl.metrics import mean_squared_error
from okl.structures import Frobenius, Identity
from reproductions.choosing import best_of_each
from reproductions.partly_observed import tables
from reproductions.real_sets import real_sets
from reproductions.study import Record
from reproductions.trivial import OneEach, training_mean

N_TRAIN, N_NEW = 100, 200
# Beside those of `partly_observed`.
MORE = ("parkinsons", "edm")
# Of the outputs of a new row, where some are observed.
GIVEN = 0.5
RIDGES = np.logspace(-3, 3, 13)
N_FOLDS, N_ALPHAS, TOLERANCE = 3, 10, 1e-4
BY_ERROR = make_scorer(mean_squared_error, greater_is_better=False)


@dataclass(frozen=True)
class Draw:
    """Training rows, ordered by the first input, and new rows, with all targets.

    Columns are standardised on the training rows.
    """

    X: np.ndarray
    Y: np.ndarray
    new: np.ndarray
    truth: np.ndarray

    def error(self, found: np.ndarray, where: np.ndarray | bool = True) -> float:
        """Return squared error over variance in the new rows, a mean over outputs."""
        off = np.where(where, (found - self.truth) ** 2, np.nan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # an output given in full
            shares = np.nanmean(off, axis=0) / np.nanvar(self.truth, axis=0)
        return float(np.nanmean(shares))


def holed_sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, inputs and outputs of every set."""
    yield from tables()
    for name, X, Y in real_sets():
        if name in MORE:
            yield name, X, Y


def drawn(X: np.ndarray, Y: np.ndarray, seed: int) -> Draw:
    """Return a draw of a set."""
    order = np.random.default_rng(seed).permutation(len(X))
    train = order[: min(N_TRAIN, 3 * len(X) // 4)]
    new = order[len(train) :][:N_NEW]
    train = train[np.argsort(X[train, 0], kind="stable")]
    varying = X[train].std(axis=0) > 0
    X = (X - X[train].mean(axis=0))[:, varying] / X[train].std(axis=0)[varying]
    Y = (Y - np.nanmean(Y[train], axis=0)) / np.nanstd(Y[train], axis=0)
    return Draw(X[train], Y[train], X[new], Y[new])


def at_random(rng: np.random.Generator, shape: tuple[int, int], n: int) -> np.ndarray:
    """Return a mask that hides n rows of each output, drawn one by one."""
    return rng.random(shape).argsort(axis=0).argsort(axis=0) < n


def in_blocks(rng: np.random.Generator, shape: tuple[int, int], n: int) -> np.ndarray:
    """Return a mask that hides n neighbouring rows of each output."""
    first = rng.integers(shape[0] - n + 1, size=shape[1])
    row = np.arange(shape[0])[:, None]
    return (row >= first) & (row < first + n)


PATTERNS = {"random": at_random, "block": in_blocks}


def holed(
    X: np.ndarray, Y: np.ndarray, seed: int, pattern: str, missing: float
) -> Record:
    """Return the errors where a share of the training targets is missing."""
    draw, rng = drawn(X, Y, seed), np.random.default_rng(1000 + seed)
    n_hidden = round(missing * len(draw.Y))
    hidden = PATTERNS[pattern](rng, draw.Y.shape, n_hidden)
    seen = np.where(hidden, np.nan, draw.Y)
    asked = rng.random(draw.truth.shape) > GIVEN
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # edges of grids, few rows
        search = _search(seen)
        families = {"one kernel": [Identity()], "learned": [Frobenius()]}
        models: dict[str, Any] = best_of_each(search, families, draw.X, seen)
        own = OneEach(OutputKernelRegressorCV(structures="identity"))
        models |= {"chosen": search, "own kernels": own.fit(draw.X, seen)}
        found = {name: model.predict(draw.new) for name, model in models.items()}
        found["mean"] = training_mean(seen, len(draw.new))
        known = np.where(asked, np.nan, draw.truth)
        ways = {"given": "one kernel", "given, learned": "learned"}
        filled = {
            name: OutputKernelImputer(models[model])
            .fit(seen, X=draw.X)
            .transform(known, X=draw.new)
            for name, model in ways.items()
        }
        bare = OutputKernelImputer().fit(seen)
        filled["given, no inputs"] = bare.transform(known)
    for name in ("own kernels", "one kernel", "learned", "mean"):
        filled[f"{name}, asked"] = found[name]
    return {name: draw.error(table) for name, table in found.items()} | {
        name: draw.error(table, asked) for name, table in filled.items()
    }


def _search(seen: np.ndarray) -> OutputKernelRegressorCV:
    """Return a search by squared error, whose folds all have observed targets.

    The default, the mean R^2 over outputs, needs two targets of an output in each fold.
    """
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    cv = list(folds.split(seen, (~np.isnan(seen)).any(axis=1)))
    return OutputKernelRegressorCV(
        structures="identity",
        alphas=N_ALPHAS,
        cv=cv,
        scoring=BY_ERROR,
        tol=TOLERANCE,
    )


def new_output(X: np.ndarray, Y: np.ndarray, seed: int, n_rows: int) -> Record:
    """Return the errors of an output that few rows have, the others being complete."""
    draw = drawn(X, Y, seed)
    n, m = draw.Y.shape
    j = int(np.random.default_rng(0).permutation(m)[seed % m])
    there = np.flatnonzero(~np.isnan(draw.Y[:, j]))
    rows = np.random.default_rng(2000 + seed).permutation(there)[:n_rows]
    few, others = draw.X[rows], np.delete(draw.Y, j, axis=1)
    y = draw.Y[rows, j]
    seen = draw.Y.copy()
    seen[np.setdiff1d(np.arange(n), rows), j] = np.nan
    given = draw.truth.copy()
    given[:, j] = np.nan

    def beside(table: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        return np.hstack([inputs, np.nan_to_num(np.delete(table, j, axis=1))])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = OutputKernelRegressorCV(structures="identity").fit(few, y)
        fit = OutputKernelRegressorCV(structures="frobenius").fit(draw.X, others)
        extension = OutputKernelExtension(fit).fit(few, y)
        imputer = OutputKernelImputer(_search(seen)).fit(seen, X=draw.X)
        ridge = RidgeCV(RIDGES).fit(beside(draw.Y, draw.X)[rows], y)
        found = {
            "own kernels": own.predict(draw.new),
            "extension": extension.predict(draw.new),
            "given": imputer.transform(given, X=draw.new)[:, j],
            "ridge, given": ridge.predict(beside(draw.truth, draw.new)),
            "mean": np.full(len(draw.new), y.mean()),
        }
    spread = np.nanvar(draw.truth[:, j])
    return {
        name: float(np.nanmean((p.ravel() - draw.truth[:, j]) ** 2) / spread)
        for name, p in found.items()
    }
