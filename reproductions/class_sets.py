"""Classification sets: rows, and one class of several for each.

For some sets of regression the classes are the thirds of the last target: low, middle
and high.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import StratifiedShuffleSplit

from reproductions.real_sets import real_sets
from reproductions.report import data_folder

Rows = tuple[str, np.ndarray, np.ndarray]
# The most rows to train on, and to test on.
_MOST_TRAIN, _MOST_TEST = 500, 1000
_THIRDS = ("parkinsons", "sarcos4449", "enb", "rf1")


def class_splits(
    X: np.ndarray, y: np.ndarray, n_splits: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the numbers of training and of test rows, split by class."""
    n_train = min(_MOST_TRAIN, round(0.9 * len(X)))
    n_test = min(_MOST_TEST, len(X) - n_train)
    splits = StratifiedShuffleSplit(
        n_splits, train_size=n_train, test_size=n_test, random_state=0
    )
    return splits.split(X, y)


def class_sets() -> Iterator[Rows]:
    """Yield name, inputs and classes of every set, all rows of both parts of it."""
    for name, load in (
        ("iris", load_iris),
        ("wine", load_wine),
        ("breast_cancer", load_breast_cancer),
        ("digits", load_digits),
    ):
        yield name, *load(return_X_y=True)
    for name in ("satimage", "usps", "scenes15"):
        with np.load(data_folder(name) / f"{name}.npz") as stored:
            X, y = (
                np.concatenate([stored[f"{what}_train"], stored[f"{what}_test"]])
                for what in "Xy"
            )
        yield name, _small(X.astype(float)), y
    yield _scene()
    for name, X, Y in real_sets():
        if name in _THIRDS:
            known = np.isfinite(X).all(axis=1) & np.isfinite(Y[:, -1])
            bounds = np.quantile(Y[known, -1], [1 / 3, 2 / 3])
            yield f"{name}, thirds", X[known], np.searchsorted(bounds, Y[known, -1])


def _small(X: np.ndarray) -> np.ndarray:
    """Return rows of numbers; of images of 64 x 64 the means of squares of 4 x 4."""
    if X.ndim == 3:
        n = len(X)
        return X.reshape(n, 16, 4, 16, 4).mean(axis=(2, 4)).reshape(n, -1)
    return X


def _scene() -> Rows:
    """Return the images with one of six labels, as most have."""
    with np.load(data_folder("mulan_multilabel") / "scene.npz") as stored:
        X, Y = (
            np.concatenate([stored[f"{what}_train"], stored[f"{what}_test"]])
            for what in "XY"
        )
    one = Y.sum(axis=1) == 1
    return "scene", X[one].astype(float), Y[one].argmax(axis=1)
