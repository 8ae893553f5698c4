"""The regressors that okl is compared with: scikit-learn's, each as it is meant to be.

Missing entries are replaced by means and columns are standardised, except for boosting,
which takes rows as they are. Targets are standardised for methods that do not do so
themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import MultiTaskElasticNetCV, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from okl import OutputKernelRegressorCV
from reproductions.multitask_process import INSTALLED, MultitaskProcess

GRID = {"alpha": np.logspace(-6, 1, 8), "gamma": np.logspace(-4, 0.5, 10)}
N_TREES = 500
# The most rows of a Gaussian process of one width, and entries of the array that those
# of a width for each column take.
_GP_ROWS, _GP_ENTRIES = 700, 12e6
# The most columns of the elastic net, and rows of the kernel ridge.
_LINES, _RIDGES = 100, 1500
# The most entries of the targets of the multitask process.
_MULTITASK = 1500
_FOLDS = KFold(5, shuffle=True, random_state=0)


@dataclass(frozen=True)
class Peer:
    """A method.

    Attributes
    ----------
    make : callable
        Of the number of columns: a regressor.
    takes : callable
        Of the numbers of training rows, columns and targets: whether it can be run.
    plain : bool
        Whether it is given the rows as they are.
    """

    make: Callable[[int], Any]
    takes: Callable[[int, int, int], bool] = lambda n, d, m: True
    plain: bool = False

    def pipeline(self, n_columns: int) -> Any:
        """Return the method with what comes before it."""
        model = self.make(n_columns)
        if self.plain:
            return model
        imputer = SimpleImputer(keep_empty_features=True)
        return make_pipeline(imputer, StandardScaler(), model)


def _of_standardised(regressor: Any) -> TransformedTargetRegressor:
    return TransformedTargetRegressor(regressor, transformer=StandardScaler())


def _process(widths: Any) -> MultiOutputRegressor:
    """Return a Gaussian process for each output, by marginal likelihood."""
    width = RBF(widths, (1e-2, 1e3))
    kernel = ConstantKernel(1.0, (1e-3, 1e4)) * width + WhiteKernel(0.1, (1e-6, 1e1))
    process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
    return MultiOutputRegressor(process)


PEERS: dict[str, Peer] = {
    "okl": Peer(lambda d: OutputKernelRegressorCV(kernel="auto")),
    "forest": Peer(lambda d: RandomForestRegressor(N_TREES, random_state=0)),
    "extra trees": Peer(lambda d: ExtraTreesRegressor(N_TREES, random_state=0)),
    "boosting": Peer(
        lambda d: MultiOutputRegressor(HistGradientBoostingRegressor(random_state=0)),
        plain=True,
    ),
    "ridge": Peer(lambda d: _of_standardised(RidgeCV(np.logspace(-4, 4, 33)))),
    "elastic net": Peer(
        lambda d: _of_standardised(MultiTaskElasticNetCV(cv=_FOLDS)),
        lambda n, d, m: d <= _LINES,
    ),
    "kernel ridge": Peer(
        lambda d: _of_standardised(
            GridSearchCV(
                KernelRidge(kernel="rbf"),
                GRID,
                cv=_FOLDS,
                scoring="neg_mean_squared_error",
            )
        ),
        lambda n, d, m: n <= _RIDGES,
    ),
    "processes": Peer(lambda d: _process(d**0.5), lambda n, d, m: n <= _GP_ROWS),
    "processes, widths": Peer(
        lambda d: _process(np.full(d, d**0.5)),
        lambda n, d, m: n * n * d <= _GP_ENTRIES,
    ),
    "multitask process": Peer(
        lambda d: _of_standardised(MultitaskProcess()),
        lambda n, d, m: INSTALLED and n * m <= _MULTITASK,
    ),
    "mean": Peer(lambda d: DummyRegressor()),
}
