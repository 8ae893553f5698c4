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

# Rows that it is learned from at most, and tasks that there may be: an evaluation costs
# the cubes of these numbers.
MOST_ROWS, MOST_TASKS = 1000, 500


@dataclass(frozen=True)
class RowsOfTasks:
    """Some rows of all tasks.

    Attributes
    ----------
    X : array (n_some, n_features)
    observed : Observed
        Their targets, numbers in long form, divided by the root of their mean square:
        the priors of weights of kernels are around one.
    unit : float
        That mean square.
    criterion : RestrictedLikelihood
        Of these.
    row_weights : array (n_some,) or None
    share : float
        Their number over that of all rows that count.
    """

    X: np.ndarray
    observed: Observed
    unit: float
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

        None if they are not those of at most `MOST_TASKS` tasks, their loss is not the
        squared one, or there is nothing to learn from, as where every task has one row
        and an intercept.
        """
        if observed.tasks is None or "quadratic" not in observed.loss.capabilities:
            return None
        if observed.n_outputs > MOST_TASKS:
            return None
        n = len(X)
        if n > MOST_ROWS:
            rows = check_random_state(random_state).permutation(n)[:MOST_ROWS]
            rows.sort()
            X, observed, share = X[rows], observed.restrict(rows), share * len(rows) / n
            row_weights = None if row_weights is None else row_weights[rows]
        unit = float(np.average(observed.targets**2, weights=observed.weights))
        if unit > 0:
            observed = replace(observed, targets=observed.targets / np.sqrt(unit))
        try:
            criterion = RestrictedLikelihood(observed, fit_intercept=fit_intercept)
        except ValueError:
            return None
        weights = row_weights
        return cls(X, observed, unit, criterion, weights, share)

    def learn_again(
        self,
        learned: LearnedKernel,
        structure: Structure,
        output_kernel: np.ndarray | None,
        alpha: float,
        *,
        learns_structure: bool,
    ) -> tuple[LearnedKernel, Structure] | None:
        """Learn a kernel once more, for the relation of tasks that was found.

        Parameters
        ----------
        learned : LearnedKernel
        structure, output_kernel, alpha, learns_structure
            As in `learn_for_relation`.

        Returns
        -------
        LearnedKernel and Structure, or None
            None for a kernel that was named, and where the criterion has no value.
        """
        if learned.standard is None:
            return None
        try:
            found, relation = learn_for_relation(
                learned.standard.times(1.0 / self.unit),
                self.X,
                self.observed,
                self.criterion,
                structure,
                output_kernel,
                alpha / self.unit,
                learns_structure=learns_structure,
                row_weights=self.row_weights,
            )
        except np.linalg.LinAlgError:
            return None
        assert found.standard is not None
        standard = found.standard.times(self.unit)
        kernel = standard.on(self.X, self.row_weights)
        smallest = found.smallest * self.share
        found = replace(found, kernel=kernel, standard=standard, smallest=smallest)
        return found, relation
