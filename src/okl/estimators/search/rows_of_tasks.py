"""What a kernel of tasks is learned from once more, when their relation is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from okl.problems import Observed
from okl.selection.criteria import RestrictedLikelihood
from okl.selection.kernel_of_tasks import learn_for_relation
from okl.selection.learned_kernel import LearnedKernel
from okl.structures import Structure

# Rows that it is learned from at most: an evaluation costs the cube of their number.
MOST_ROWS = 1000


@dataclass(frozen=True)
class RowsOfTasks:
    """Some rows of all tasks.

    Attributes
    ----------
    X : array (n_some, n_features)
    observed : Observed
        Their targets, numbers in long form.
    criterion : RestrictedLikelihood
        Of these.
    row_weights : array (n_some,) or None
    share : float
        Their number over that of all rows that count.
    """

    X: np.ndarray
    observed: Observed
    criterion: RestrictedLikelihood
    row_weights: np.ndarray | None
    share: float

    @classmethod
    def of(
        cls,
        X: np.ndarray,
        observed: Observed,
        row_weights: np.ndarray | None,
        share: float,
        *,
        fit_intercept: bool,
        random_state: Any,
    ) -> RowsOfTasks | None:
        """Return at most `MOST_ROWS` of some rows, drawn with the seed.

        None if they are not those of tasks, their loss is not the squared one, or there
        is nothing to learn from, as where every task has one row and an intercept.
        """
        if observed.tasks is None or "quadratic" not in observed.loss.capabilities:
            return None
        n = len(X)
        if n > MOST_ROWS:
            rows = check_random_state(random_state).permutation(n)[:MOST_ROWS]
            rows.sort()
            X, observed, share = X[rows], observed.restrict(rows), share * len(rows) / n
            row_weights = None if row_weights is None else row_weights[rows]
        try:
            criterion = RestrictedLikelihood(observed, fit_intercept=fit_intercept)
        except ValueError:
            return None
        return cls(X, observed, criterion, row_weights, share)

    def learn_again(
        self,
        learned: LearnedKernel,
        structure: Structure,
        output_kernel: np.ndarray | None,
        alpha: float,
    ) -> LearnedKernel | None:
        """Learn a kernel once more, for the relation of tasks that was found.

        Parameters
        ----------
        learned : LearnedKernel
        structure, output_kernel, alpha
            As in `learn_for_relation`.

        Returns
        -------
        LearnedKernel or None
            None for one that was named, and where the criterion has no value.
        """
        if learned.standard is None:
            return None
        try:
            found = learn_for_relation(
                learned.standard,
                self.X,
                self.observed,
                self.criterion,
                structure,
                output_kernel,
                alpha,
                row_weights=self.row_weights,
            )
        except np.linalg.LinAlgError:
            return None
        return replace(found, smallest=found.smallest * self.share)
