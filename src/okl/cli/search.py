"""The search: each structure with its own best kernel and alpha, on the same folds.

Besides the structures asked for, ``identity`` (independent outputs) is always searched,
on the same folds with the same kernels and as many alphas: the difference to it shows
whether learning the relations improved predictions. Each structure is then fitted on
all rows with the kernel of its best mean score, at the alpha that the search would
choose.

Targets are normalised by the estimators; predictions are in the units of the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from okl import (
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
)
from okl.cli.data import Data
from okl.cli.errors import UserError, refusing
from okl.cli.folds import default_folds, given_folds
from okl.cli.progress import FoldProgress
from okl.cli.settings import Settings
from okl.estimators.search.candidates import for_tasks
from okl.estimators.search.forecast import Forecast
from okl.estimators.shared_intercepts import SHARED, of_single_fit
from okl.selection.folds import Folds, split
from okl.structures import Frobenius, Identity, Structure

_SHARED = (
    "fit_intercept",
    "normalize_y",
    "class_weight",
    "tol",
    "max_iter",
    "max_memory",
)


@dataclass(frozen=True, eq=False)
class Candidate:
    """One structure with its best kernel, at its best alpha.

    Attributes
    ----------
    structure : Structure
        The structure.
    alphas : array (n_alphas,)
        The grid of alphas with this kernel; geometric means if outputs have their own.
    path : array (n_alphas, n_folds)
        The held-out scores at these alphas.
    column : int
        The position of the alpha that was chosen.
    model : OutputKernelRegressor or OutputKernelClassifier
        The model fitted on all rows, with the temperature of the alpha where it has
        probabilities, and its shift where it predicts a quantile.
    """

    structure: Structure
    alphas: np.ndarray
    path: np.ndarray
    column: int
    model: Any

    @property
    def alpha(self) -> float:
        """The alpha, or the geometric mean of the alphas of outputs."""
        return float(self.alphas[self.column])

    @property
    def scores(self) -> np.ndarray:
        """The held-out scores at the alpha (n_folds,)."""
        return self.path[self.column]

    @property
    def score(self) -> float:
        """The mean score."""
        return float(self.scores.mean())


@dataclass(frozen=True)
class Outcome:
    """The result of the search.

    Attributes
    ----------
    search : OutputKernelRegressorCV or OutputKernelClassifierCV
        The fitted search.
    candidates : list of Candidate
        The structures asked for, then identity if it was not among them.
    ids : dict of str to array
        The task of each row, for tables in long form.
    folds : list of pairs of arrays
        Numbers of the rows to train on and to test, on which structures were compared.
    """

    search: Any
    candidates: list[Candidate]
    ids: Mapping[str, np.ndarray]
    folds: Folds

    @property
    def baseline(self) -> Candidate:
        """The candidate of identity."""
        return next(c for c in self.candidates if isinstance(c.structure, Identity))

    @property
    def n_outputs(self) -> int:
        """The number of outputs of independent outputs."""
        return len(self.baseline.model.output_kernel_)


def prepare(data: Data, settings: Settings, n_folds: int | None) -> Any:
    """Return the search, not fitted.

    Raises
    ------
    UserError
        For parameters that do not apply to the task.
    """
    named = bool(settings.structures) or settings.kernels is not None
    tasks = None if named or data.ids is None else np.unique(data.ids.values)
    usual: list[Structure] = [] if data.has_one_output else [Frobenius()]
    if tasks is not None:
        usual = for_tasks(len(tasks))
    structures = list(settings.structures) or usual
    if not any(isinstance(structure, Identity) for structure in structures):
        structures.append(Identity())
    regression = data.task == "regression"
    estimator = OutputKernelRegressorCV if regression else OutputKernelClassifierCV
    foreign = sorted(set(settings.search) - set(estimator().get_params(deep=False)))
    if foreign:
        other = "classes" if regression else "numbers"
        raise UserError(
            f"--set {foreign[0]} is for targets that are {other}, and here the "
            f"task is {data.task}; leave it out."
        )
    seed = settings.search.get("random_state", 0)
    if n_folds is None:
        folds = default_folds(data, seed)
    else:
        folds = given_folds(data, n_folds, seed)
    # without a number of folds kernels are compared by leave-one-out, where that is
    # exact and there are no groups, but structures on folds, so that differences are
    # paired
    given = all("known" in structure.capabilities for structure in structures)
    given = given or n_folds is not None or data.groups is not None
    given = given or seed is None  # without a seed, folds cannot be redrawn
    # a structure that is left out could not be compared
    parameters = dict(settings.search)
    if parameters.get("search", "staged") == "staged":
        parameters["search"] = "compare"
    # as the estimator does if no structure is named
    if tasks is not None and parameters.get("fit_intercept", True) is True:
        parameters["fit_intercept"] = SHARED
    return estimator(
        structures=structures,
        kernels=settings.kernels,
        cv=folds if given else None,
        **parameters,
    )


def forecast(data: Data, X: np.ndarray, search: Any) -> Forecast:
    """Return a forecast of the time of the search, without the fits after it.

    Raises
    ------
    UserError
        For parameters that the estimators refuse.
    """
    with _refused():
        return search.forecast(X, data.y, **_ids(data))


def search_structures(data: Data, X: np.ndarray, search: Any) -> Outcome:
    """Search kernels, structures and alphas on the encoded rows; fit each structure.

    Raises
    ------
    UserError
        For parameters that the estimators refuse.
    """
    search = search.set_callbacks(FoldProgress())
    ids = _ids(data)
    with _refused():
        search.fit(X, data.y, **ids)
        candidates = [
            _candidate(search, row, X, data.y, ids)
            for row in range(len(search.structures))
        ]
    folds = search.cv
    if folds is None:
        # as in the estimator: rows without a target are in no fold
        folds = split(
            None,
            X,
            np.asarray(data.y),
            np.flatnonzero(data.observed),
            stratify=data.single_classification,
            random_state=search.random_state,
            metadata={},
        )
    return Outcome(search, candidates, ids, folds)


def _refused() -> AbstractContextManager[None]:
    """Turn errors of the estimators about their arguments into a `UserError`."""
    return refusing("cannot fit", ValueError, TypeError, MemoryError)


def _ids(data: Data) -> dict[str, np.ndarray]:
    return {} if data.ids is None else {"task": data.ids.values}


def _candidate(
    search: Any, row: int, X: Any, y: Any, ids: Mapping[str, np.ndarray]
) -> Candidate:
    """Fit a structure with the kernel of its best mean score, at its alpha."""
    table = search.cv_results_
    last = np.flatnonzero(table["stage"] == 2)
    # for each kernel every structure, for each structure every alpha
    shape = (-1, len(search.structures), search.alphas_.shape[1])
    of_structure = last.reshape(shape)[:, row, :]
    means = table["mean_test_score"][of_structure]
    scores = np.where(np.isnan(means), -np.inf, means)
    places = of_structure[np.argmax(scores.max(axis=-1))]
    column = int(np.argmax(table["chosen_alpha"][places]))
    n_folds = search.scores_.shape[-1]
    path = np.stack(
        [table[f"split{fold}_test_score"][places] for fold in range(n_folds)], axis=-1
    )
    structure = table["param_structure"][places[0]]
    parameters = search.get_params(deep=False)
    parameters["fit_intercept"] = of_single_fit(search)
    kind = (
        OutputKernelRegressor
        if isinstance(search, OutputKernelRegressorCV)
        else OutputKernelClassifier
    )
    alphas = table["param_alpha"][places]
    overall = np.array([np.exp(np.mean(np.log(alpha))) for alpha in alphas])
    model = kind(
        table["param_kernel"][places[0]],
        structure,
        alphas[column],
        loss=search.loss_,
        **{name: parameters[name] for name in _SHARED if name in parameters},
    )
    for name in ("temperature", "shift"):
        if name in table:
            model.set_params(**{name: table[name][places[column]]})
        elif hasattr(search, f"{name}_"):  # one that was set
            model.set_params(**{name: getattr(search, f"{name}_")})
    model.fit(X, y, **ids)
    return Candidate(structure, overall, path, column, model)
