"""Real regression sets with several outputs and no missing target."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from reproductions.report import data_folder

MULAN = (
    "edm",
    "enb",
    "jura",
    "andro",
    "slump",
    "oes10",
    "atp1d",
    "atp7d",
    "osales",
    "scpf",
    "rf1",
    "sf1",
    "sf2",
)


# of the 190 in the computer survey
N_PERSONS = 60


def real_sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, inputs (missing ones NaN) and targets of every set."""
    for name in ("sarcos4449", "parkinsons"):
        with np.load(data_folder(name) / f"{name}.npz") as stored:
            yield name, *_varying(stored["X"], stored["Y"])
    yield "computer_survey", *_varying(*_survey())
    for name in MULAN:
        with np.load(data_folder("mulan_mtr") / f"{name}.npz") as stored:
            yield name, *_varying(stored["X"], stored["Y"])


def _survey() -> tuple[np.ndarray, np.ndarray]:
    """Return the computers and what some persons, drawn at random, think of them."""
    with np.load(data_folder("computer_survey") / "computer_survey.npz") as stored:
        persons = np.random.default_rng(0).permutation(len(stored["Y"]))[:N_PERSONS]
        return stored["X"], stored["Y"][persons].T


def _varying(X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both as floats, without the outputs that never change."""
    X, Y = X.astype(float), Y.astype(float)
    return X, Y[:, Y.std(axis=0) > 0]
