"""What predicts the missing entries of new rows from inputs and from what is there.

Each rival is a function of a `Draw`, and returns the new rows with every entry
predicted, one table for each share of observed entries. Columns of inputs and outputs
are standardised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.impute import IterativeImputer, KNNImputer

from okl import OutputKernelImputer, OutputKernelRegressorCV
from reproductions.multitask_process import INSTALLED, HoledProcess

# Trees of a forest, of one that is fitted again in every round, and these rounds.
_TREES, _TREES_OF_ROUND, _ROUNDS = 100, 50, 5
# The most training targets of the multitask process, whose time is cubic in them.
MULTITASK, MOST_TARGETS = "multitask process", 500


@dataclass(frozen=True)
class Draw:
    """Training rows and new ones.

    Attributes
    ----------
    X, Y : array (n, d) and (n, m)
        Training rows, NaN where the set itself has no target.
    new : array (n_new, d)
    given : dict of float to array (n_new, m)
        By the share that was observed: the targets of new rows, NaN elsewhere.
    seed : int
    """

    X: np.ndarray
    Y: np.ndarray
    new: np.ndarray
    given: dict[float, np.ndarray]
    seed: int


Tables = dict[float, np.ndarray]


def _filled(draw: Draw, imputer: Any) -> Tables:
    """Fill in all rows together, inputs beside outputs."""
    known = np.hstack([draw.Y, draw.X])
    n, m = draw.Y.shape
    return {
        share: clone(imputer).fit_transform(
            np.vstack([known, np.hstack([given, draw.new])])
        )[n:, :m]
        for share, given in draw.given.items()
    }


def _by_output(draw: Draw, regressor: Any) -> Tables:
    """Fit each output to inputs and other outputs, with means for what is missing.

    Training rows miss as many of the other outputs as the new ones.
    """
    means, result = np.nanmean(draw.Y, axis=0), {}
    for share, given in draw.given.items():
        rng = np.random.default_rng(draw.seed)
        hidden = rng.random(draw.Y.shape) > share
        parts = [
            np.where(np.isnan(table), means, table)
            for table in (np.where(hidden, np.nan, draw.Y), given)
        ]
        result[share] = np.empty(given.shape)
        for j in range(given.shape[1]):
            train, new = (
                np.hstack([X, np.delete(part, j, axis=1)])
                for X, part in zip((draw.X, draw.new), parts, strict=True)
            )
            there = ~np.isnan(draw.Y[:, j])
            model = clone(regressor).fit(train[there], draw.Y[there, j])
            result[share][:, j] = model.predict(new)
    return result


def _process(draw: Draw) -> Tables:
    """Fit a Gaussian process with a width for each column to each output."""
    d = draw.X.shape[1] + draw.Y.shape[1] - 1
    width = RBF(np.full(d, d**0.5), (1e-2, 1e3))
    kernel = ConstantKernel(1.0, (1e-3, 1e4)) * width + WhiteKernel(0.1, (1e-6, 1e1))
    return _by_output(draw, GaussianProcessRegressor(kernel, normalize_y=True))


def _from_inputs(draw: Draw, *structures: str) -> Tables:
    """Predict from inputs, by the structure that does best in rows left out."""
    model = OutputKernelRegressorCV(structures=list(structures)).fit(draw.X, draw.Y)
    return dict.fromkeys(draw.given, model.predict(draw.new))


def _okl(draw: Draw) -> Tables:
    imputer = OutputKernelImputer().fit(draw.Y, X=draw.X)
    return {
        share: imputer.transform(given, X=draw.new)
        for share, given in draw.given.items()
    }


def _multitask(draw: Draw) -> Tables:
    process = HoledProcess().fit(draw.X, draw.Y)
    return {
        share: process.filled(draw.new, given) for share, given in draw.given.items()
    }


def runs_here(method: str, n_targets: int) -> bool:
    """Tell whether a method can be run, with so many targets in training rows."""
    return method != MULTITASK or (INSTALLED and n_targets <= MOST_TARGETS)


def _mean(draw: Draw) -> Tables:
    return {
        share: np.tile(np.nanmean(draw.Y, axis=0), (len(given), 1))
        for share, given in draw.given.items()
    }


METHODS: dict[str, Callable[[Draw], Tables]] = {
    "okl": _okl,
    "rounds, linear": lambda draw: _filled(draw, IterativeImputer(random_state=0)),
    "rounds, forest": lambda draw: _filled(
        draw,
        IterativeImputer(
            RandomForestRegressor(_TREES_OF_ROUND, random_state=0),
            max_iter=_ROUNDS,
            skip_complete=True,
            random_state=0,
        ),
    ),
    "neighbours": lambda draw: _filled(draw, KNNImputer()),
    "forest": lambda draw: _by_output(
        draw, RandomForestRegressor(_TREES, random_state=0)
    ),
    "process": _process,
    MULTITASK: _multitask,
    "from inputs": lambda draw: _from_inputs(draw, "identity"),
    "from inputs, chosen": lambda draw: _from_inputs(draw, "identity", "frobenius"),
    "mean": _mean,
}
