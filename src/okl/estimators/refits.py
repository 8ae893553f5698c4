"""Fits without some of the rows, where the output kernel follows each single target.

Rows that are left out tell how large errors are. Given L they are left out in closed
form (`okl.posterior.left_out`), although L was learned from them as well. Where all
outputs are observed in a row that matters little: the other rows say nearly the same
about L. Where rows have a target each, and tasks a few rows, the relation of a task to
others is fitted to those rows, predicts them as no others, and errors seem far smaller
than they are. There the model is fitted again, L included, to the other parts of the
rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from okl.operators import operator_of
from okl.problems import Formulation, Observed
from okl.selection.folds import N_FOLDS, Folds
from okl.selection.held_out import score_fold
from okl.structures import Structure

# Observed targets of a row, on average, from which L is taken as it is.
_SEVERAL = 1.5
# The tolerance of the fits, whose errors are to be right to a few percent.
_TOL = 1e-3
_SEED = 0


@dataclass(frozen=True)
class Refits:
    """The problem of a fit, to be solved for parts of its rows.

    Attributes
    ----------
    observed : Observed
        Normalised targets.
    structure : Structure
    alpha : float
    fit_intercept : bool
    max_iter : int
    """

    observed: Observed
    structure: Structure
    alpha: float
    fit_intercept: bool
    max_iter: int

    @classmethod
    def of(
        cls, formulation: Formulation, observed: Observed, alpha: float, max_iter: int
    ) -> Refits:
        """Return those of the fit to a formulation of the targets."""
        free = formulation.kernel_means is not None
        return cls(observed, formulation.problem.structure, alpha, free, max_iter)

    @property
    def needed(self) -> bool:
        """Whether L is learned from rows that have hardly more than a target each."""
        known = "known" in self.structure.capabilities
        if known or self.observed.n_outputs == 1 or self.observed.complete:
            return False
        return bool(np.mean(self._counts[self.observed.counted()]) < _SEVERAL)

    @property
    def _seen(self) -> np.ndarray:
        """Which targets count (n_samples, n_outputs), in long form (n_samples, 1)."""
        targets, weights = self.observed.targets, self.observed.weights
        return np.ones(targets.shape, bool) if weights is None else weights > 0

    @property
    def _counts(self) -> np.ndarray:
        """The number of targets of each row."""
        return np.broadcast_to(self._seen, self.observed.targets.shape).sum(axis=1)

    def residuals(self, kernel: Any, X: Any) -> np.ndarray:
        """Return targets less predictions of fits that did not see them.

        Parameters
        ----------
        kernel : Kernel
            Of the fit.
        X : array or sparse matrix (n_samples, n_features)
            The training rows.

        Returns
        -------
        array of the shape of the targets
            NaN where there is no target.
        """
        predicted = np.full(self.observed.targets.shape, np.nan)
        operator = operator_of(kernel, X, float("inf"))

        def keep(found: np.ndarray, rows: np.ndarray) -> float:
            predicted[rows] = found
            return 0.0

        for train, test in self._folds(np.asarray(X.sum(axis=1)).ravel()):
            score_fold(
                operator,
                self.observed,
                [self.structure],
                np.array([[self.alpha]]),
                train,
                test,
                keep,
                fit_intercept=self.fit_intercept,
                tol=_TOL,
                max_iter=self.max_iter,
            )
        return np.where(self._seen, self.observed.targets - predicted, np.nan)

    def _folds(self, sizes: np.ndarray) -> Folds:
        """Return random folds with as much of each output.

        The output of a row is that of its first target. Folds do not depend on the
        order of the rows, which are put into that of their targets, equal ones by
        numbers (n_samples,) of their inputs, before they are shuffled.
        """
        observed, rows = self.observed, self.observed.counted()
        column = np.argmax(np.broadcast_to(self._seen, observed.targets.shape), axis=1)
        outputs = column if observed.tasks is None else observed.tasks.codes
        own = observed.targets[np.arange(len(column)), column]
        order = rows[np.lexsort((sizes[rows], own[rows]))]
        order = order[np.random.default_rng(_SEED).permutation(len(order))]
        order = order[np.argsort(outputs[order], kind="stable")]
        number = np.arange(len(order)) % N_FOLDS
        return [
            (np.sort(order[number != k]), np.sort(order[number == k]))
            for k in range(min(N_FOLDS, len(order)))
        ]
