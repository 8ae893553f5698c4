"""New rows of which some outputs are observed: one model for all patterns, and rivals.

A draw takes training rows and new rows of a set at random; of the new rows each output
is observed with a probability of 20, 50 or 80 %, and the others are to be predicted,
from the inputs and from what was observed. The error is the squared error of an output
over its variance in the new rows, the mean over outputs, and over five draws ± its
standard error.

**okl** is `OutputKernelImputer()`, nothing set, fitted once to the training rows for
all shares and patterns. **rounds, linear** is `IterativeImputer()` (with
`BayesianRidge`), **rounds, forest** that of a random forest of 50 trees, five rounds,
and **neighbours** `KNNImputer`: fitted to training and new rows together, anew for each
share, inputs beside outputs. **forest** (100 trees) and **process** (a
`GaussianProcessRegressor` with noise and a width for each column, by marginal
likelihood) are one model for each output and each share, whose inputs are the other
outputs too, with means for what is missing, in as many entries of the training rows.
Trivial rivals: **from inputs** is `OutputKernelRegressorCV(structures="identity")`,
independent outputs with a kernel learned for them, and **mean** that of the training
targets. Columns of inputs and outputs are standardised for all.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from time import process_time

import numpy as np
from benchmarks.measure import machine

from reproductions.comparing import with_error
from reproductions.completing_rivals import METHODS, Draw
from reproductions.multitask_process import INSTALLED
from reproductions.ranking import standings
from reproductions.real_sets import real_sets
from reproductions.report import data_folder, table, write_page
from reproductions.study import Key, Record, Study, pursue

NAME = "partly_observed"
SHARES, N_DRAWS = (0.2, 0.5, 0.8), 5
# The most training rows, and new ones.
N_TRAIN, N_NEW = 200, 200
MULAN = ("slump", "andro", "enb", "sarcos4449", "rf1")
SETS = ("metals", "exchange rates", "weather", "EEG", *MULAN)
TRIVIAL = ("from inputs", "mean")


def tables() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, inputs and outputs of every set."""
    signals = data_folder("signals")
    with np.load(signals / "jura.npz", allow_pickle=True) as stored:
        yield "metals", stored["xy"], stored["Y"].astype(float)
    with np.load(signals / "exchange2007.npz", allow_pickle=True) as stored:
        days = stored["julian_day"].astype(float)
        yield "exchange rates", days[:, None], stored["Y"].astype(float)
    with np.load(signals / "weather_solent.npz", allow_pickle=True) as stored:
        kept = [
            j
            for j, name in enumerate(stored["target_names"])
            if str(name).endswith(("WSPD", "ATMP"))
        ]
        Y = stored["Y"][:, kept].astype(float)
        yield "weather", np.arange(len(Y), dtype=float)[:, None], Y
    with np.load(signals / "eeg_smni.npz", allow_pickle=True) as stored:
        frontal = np.isin(
            stored["channel_names"], ["F1", "F2", "F3", "F4", "F5", "F6", "FZ"]
        )
        Y = stored["Y"][0][:, frontal].astype(float)
        yield "EEG", np.arange(len(Y), dtype=float)[:, None], Y
    for name, X, Y in real_sets():
        if name in MULAN:
            yield name, np.where(np.isnan(X), np.nanmean(X, axis=0), X), Y


def drawn(X: np.ndarray, Y: np.ndarray, seed: int) -> tuple[Draw, np.ndarray]:
    """Return a draw and the targets of its new rows."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    n_train = min(N_TRAIN, 3 * len(X) // 4)
    train, new = order[:n_train], order[n_train:][:N_NEW]
    varying = X[train].std(axis=0) > 0
    X = (X - X[train].mean(axis=0))[:, varying] / X[train].std(axis=0)[varying]
    Y = (Y - np.nanmean(Y[train], axis=0)) / np.nanstd(Y[train], axis=0)
    chance = rng.random(Y[new].shape)
    given = {share: np.where(chance < share, Y[new], np.nan) for share in SHARES}
    return Draw(X[train], Y[train], X[new], given, seed), Y[new]


def errors(method: str, X: np.ndarray, Y: np.ndarray, seed: int) -> Record:
    """Return the errors over variance of a method by share, and seconds."""
    draw, truth = drawn(X, Y, seed)
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # edges of bounds, rounds that end early
        found = METHODS[method](draw)
    seconds = process_time() - start
    variance = np.nanvar(truth, axis=0)
    shares = []
    for share in SHARES:
        squares = np.where(
            np.isnan(draw.given[share]), (found[share] - truth) ** 2, np.nan
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an output that is observed everywhere
            shares.append(float(np.nanmean(np.nanmean(squares, axis=0) / variance)))
    return {"errors": shares, "seconds": round(seconds, 2)}


def jobs(
    sets: list[str], methods: list[str]
) -> Iterator[tuple[Key, Callable[[], Record]]]:
    """Yield what is to be computed, set by set."""
    for name, X, Y in tables():
        for seed in range(N_DRAWS):
            for method in methods:
                if name in sets:
                    yield (name, seed, method), partial(errors, method, X, Y, seed)
