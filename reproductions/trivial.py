"""Rivals that anyone would try first, for studies to stand beside.

They learn no relations: a mean, interpolation in time, a classifier of scikit-learn,
outputs that are assumed alike, or one model per output, each with a kernel and an alpha
of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.neighbors import KNeighborsRegressor

from okl.problems import Inputs
from okl.structures import Identity
from reproductions.paths import predictions


class OneEach:
    """One model per output, fitted to the rows where the output was observed.

    Parameters
    ----------
    search : estimator
        Not fitted; every output gets a clone of it.
    """

    def __init__(self, search: Any) -> None:
        self.search = search

    def fit(self, X: np.ndarray, Y: np.ndarray) -> OneEach:
        """Fit a model to each column of Y, whose missing entries are NaN.

        Of one row the model is the mean: there is nothing to hold out.
        """
        self.models_ = []
        for y in Y.T:
            seen = ~np.isnan(y)
            model = clone(self.search) if seen.sum() > 1 else DummyRegressor()
            self.models_.append(model.fit(X[seen], y[seen]))
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return predictions (n_samples, n_outputs)."""
        return np.column_stack([model.predict(X) for model in self.models_])

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return the scores of the labels (n_samples, n_outputs)."""
        return np.column_stack([model.decision_function(X) for model in self.models_])


def training_mean(Y: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the means of the training targets, for so many rows."""
    return np.tile(np.nanmean(Y, axis=0), (n_rows, 1))


def smoothers(
    times: np.ndarray, train: np.ndarray
) -> dict[str, list[tuple[str, np.ndarray]]]:
    """Return rivals for curves, each a family of weights with the name of its setting.

    Weights (n_times, n_train) make the values of a curve at all times of those at the
    training times: their mean, a straight line between two of them, or the mean of the
    nearest k.
    """
    known, unit = times[train], np.eye(len(train))
    order = np.argsort(known)
    lines = [np.interp(times, known[order], column[order]) for column in unit]
    nearest = [
        (f"k = {k}", KNeighborsRegressor(k).fit(known[:, None], unit))
        for k in (2, 3, 5, 7, 10, 15, 20, 30)
    ]
    return {
        "mean over time": [("", np.full((len(times), len(train)), 1 / len(train)))],
        "interpolation": [("", np.column_stack(lines))],
        "nearest times": [(name, m.predict(times[:, None])) for name, m in nearest],
    }


def own_choices(held_out: np.ndarray, *others: np.ndarray) -> tuple[float, ...]:
    """Return mean errors where every output has the setting that is best for it alone.

    Errors are (n_settings, n_outputs); the least held-out one of an output is chosen.
    """
    best = held_out.argmin(axis=0)[None]
    chosen = (np.take_along_axis(e, best, axis=0) for e in (held_out, *others))
    return tuple(float(errors.mean()) for errors in chosen)


def alike(
    inputs: Inputs,
    cross: np.ndarray,
    train: np.ndarray,
    held_out: np.ndarray,
    rows: Any = slice(None),
) -> tuple[str, np.ndarray]:
    """Smooth the mean of all outputs, and what each differs from it, by themselves.

    Either has the alpha with the least error on the targets held out, which are those
    of some rows of ``cross``. That is the structure `Mean`, in closed form.

    Returns
    -------
    setting : str
        Which `Mean`, at which alpha.
    predictions : array (n_rows, n_outputs)
    """
    average, asked = (Y.mean(axis=1, keepdims=True) for Y in (train, held_out))
    found = []
    for known, truth in ((average, asked), (train - average, held_out - asked)):
        path = predictions(inputs, cross, known, Identity())
        tried = ((np.mean((P[rows] - truth) ** 2), alpha, P) for alpha, P, _ in path)
        found.append(min(tried, key=lambda point: point[0])[1:])
    (alpha, of_mean), (of_rest, rest) = found
    return f"`Mean({of_rest / alpha - 1:.3g})`, alpha {alpha:.3g}", of_mean + rest


def peak_accuracies(
    families: Mapping[str, Sequence[Any]],
    train: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
) -> dict[str, float]:
    """Return of every family the accuracy of the model that is best on the test rows.

    As in studies that give the best test accuracy along a path.
    """
    return {
        name: max(clone(model).fit(*train).score(*test) for model in family)
        for name, family in families.items()
    }
