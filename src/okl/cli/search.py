"""Every structure at its best alpha, compared on the same folds.

Beside the structures asked for, ``identity`` (outputs that share nothing) is always
searched, by the same cross-validation with as many alphas: the difference to it says
whether learning the relations paid. Each structure is then fitted on all rows at the
alpha of its best mean score, and the best of those asked for is the one to keep.

Folds are shuffled with a fixed seed, because tables are often sorted. Regression
targets are standardised like the features, since the errors of all outputs are added;
predictions come back in the units of the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from okl import (
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
)
from okl.cli.data import Data
from okl.cli.errors import UserError, refusing
from okl.cli.progress import FoldProgress
from okl.cli.settings import Settings
from okl.cli.units import StandardisedTargets
from okl.structures import Identity, Structure

_SHARED = ("loss", "fit_intercept", "tol", "max_iter")


@dataclass(frozen=True)
class Candidate:
    """One structure at its best alpha.

    Attributes
    ----------
    structure : Structure
        The structure.
    place : tuple of two ints
        Its row and the column of its alpha in the grid of the search.
    scores : array (n_folds,)
        The held-out scores.
    model : OutputKernelRegressor or OutputKernelClassifier
        Fitted on all rows; of regression targets, standardised ones.
    predictor : estimator
        The model, or around it what returns to the units of the targets.
    """

    structure: Structure
    place: tuple[int, int]
    scores: np.ndarray
    model: Any
    predictor: Any

    @property
    def score(self) -> float:
        """The mean score."""
        return float(self.scores.mean())


@dataclass(frozen=True)
class Outcome:
    """What the search found.

    Attributes
    ----------
    search : OutputKernelRegressorCV or OutputKernelClassifierCV
        The fitted search: grids, scores, resolved kernel.
    candidates : list of Candidate
        The structures asked for, then identity if it was not among them.
    chosen : Candidate
        The best of those asked for.
    """

    search: Any
    candidates: list[Candidate]
    chosen: Candidate

    @property
    def baseline(self) -> Candidate:
        """The candidate of identity."""
        return next(c for c in self.candidates if isinstance(c.structure, Identity))


def splitter(data: Data, n_folds: int) -> KFold | StratifiedKFold:
    """Return the folds: shuffled, and stratified where there is one class a row."""
    n_samples = len(data.features)
    if not 2 <= n_folds <= n_samples // 2:
        raise UserError(
            f"--cv {n_folds} does not fit: expected at least 2 folds, of at least two "
            f"rows each, and the table has {n_samples} rows."
        )
    kind = StratifiedKFold if data.single_classification else KFold
    return kind(n_folds, shuffle=True, random_state=0)


def search_structures(
    data: Data, X: np.ndarray, settings: Settings, n_folds: int
) -> Outcome:
    """Search structures and alphas on the encoded rows, and fit each structure.

    Raises
    ------
    UserError
        For parameters that the estimators refuse.
    """
    structures = list(settings.structures)
    if not any(isinstance(structure, Identity) for structure in structures):
        structures.append(Identity())
    regression = data.task == "regression"
    estimator = OutputKernelRegressorCV if regression else OutputKernelClassifierCV
    search = estimator(
        settings.kernel,
        structures,
        cv=splitter(data, n_folds),
        **settings.search,
    ).set_callbacks(FoldProgress())
    y = StandardScaler().fit_transform(data.y) if regression else data.y
    # Parameters are checked by the estimators, before they start to work.
    with refusing("cannot fit", ValueError, TypeError, MemoryError):
        ids = {} if data.ids is None else {"task": data.ids.values}
        search.fit(X, y, **ids)
        candidates = [
            _candidate(search, row, structure, X, data, ids)
            for row, structure in enumerate(structures)
        ]
    asked = candidates[: len(settings.structures)]
    return Outcome(search, candidates, max(asked, key=lambda c: c.score))


def _candidate(
    search: Any,
    row: int,
    structure: Structure,
    X: Any,
    data: Data,
    ids: Mapping[str, np.ndarray],
) -> Candidate:
    regression = data.task == "regression"
    means = search.scores_[row].mean(axis=-1)
    column = int(np.argmax(np.where(np.isnan(means), -np.inf, means)))
    shared: Mapping[str, Any] = {name: getattr(search, name) for name in _SHARED}
    kind = OutputKernelRegressor if regression else OutputKernelClassifier
    model = kind(
        search.kernel_,
        structure,
        float(search.alphas_[row, column]),
        **shared,
    )
    if regression:
        predictor = StandardisedTargets(model).fit(X, data.y, **ids)
        model = predictor.regressor_
    else:
        predictor = model.fit(X, data.y, **ids)
    scores = search.scores_[row, column]
    return Candidate(structure, (row, column), scores, model, predictor)
