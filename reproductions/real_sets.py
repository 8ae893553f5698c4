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


def real_sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, inputs (missing ones NaN) and targets of every set."""
    for name in ("sarcos4449", "parkinsons", "computer_survey"):
        with np.load(data_folder(name) / f"{name}.npz") as stored:
            X, Y = stored["X"], stored["Y"]
        # the survey has a row per person, who is an output here
        yield name, *_varying(X, Y.T if name == "computer_survey" else Y)
    for name in MULAN:
        with np.load(data_folder("mulan_mtr") / f"{name}.npz") as stored:
            yield name, *_varying(stored["X"], stored["Y"])


def _varying(X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both as floats, without the outputs that never change."""
    X, Y = X.astype(float), Y.astype(float)
    return X, Y[:, Y.std(axis=0) > 0]
