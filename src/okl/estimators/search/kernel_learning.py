"""What the kernel of a search is learned from: some of the rows.

`okl.selection.learned_kernel` has the recipe, `learnable_targets.py` the targets.
At most `MOST_ROWS` rows are used, drawn with the seed, as an evaluation costs the cube
of their number; fewer where outputs were observed in different rows, each of which then
takes a factorisation of its own, or where memory is short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state

from okl.estimators.search.learnable_targets import (
    Distinct,
    as_matrix,
    folds_of,
    in_closed_form,
    learnable_in_all,
    lengths_of,
    of_learnable_outputs,
    of_mean_weight_one,
    why_not_learnable,
    with_likelihood,
    with_targets,
)
from okl.estimators.search.rows_of_tasks import RowsOfTasks
from okl.estimators.targets import TrainingTargets
from okl.kernels import Kernel, Learnable
from okl.problems import Observed
from okl.selection.folds import Folds
from okl.selection.learned_kernel import LearnedKernel, learn_kernel
from okl.selection.learning import n_arrays
from okl.selection.standard_columns import StandardColumns

# Rows that a kernel is learned from, in closed form and by fits to folds.
MOST_ROWS, MOST_ROWS_OF_FOLDS = 2000, 1000
# Rows with targets that there must be.
_FEWEST = 5
_CONSTANT = "all columns are constant"
# Arrays of the size of the kernel matrix that learning holds, if no kernel is named.
_ARRAYS = 16
_FLOAT = 8  # bytes


class NothingToLearnError(Exception):
    """No kernel can be learned; the text says why."""


@dataclass(frozen=True)
class KernelLearning:
    """What kernels are learned from.

    Attributes
    ----------
    X : array (n_some, n_features)
        The rows it is learned from.
    observed : Observed
        Their targets, as a matrix, of a loss that is smooth or bears outliers.
    folds : list of pairs of arrays
        Row numbers to train on and to test; empty for what is learned in closed form.
    fit_intercept : bool
    row_weights : array (n_some,) or None
    share : float
        Their number over that of all rows that count.
    constant : float or None
        What is added to a kernel, once it was learned, in the place of free intercepts.
    arrays : int
        Arrays of the size of the kernel matrix that learning holds at most.
    budget : float
        Bytes that they may take.
    of_tasks : RowsOfTasks or None
        Rows of tasks, of numbers.
    """

    X: np.ndarray
    observed: Observed
    folds: Folds
    fit_intercept: bool
    row_weights: np.ndarray | None
    share: float
    constant: float | None
    arrays: int
    budget: float
    of_tasks: RowsOfTasks | None

    @classmethod
    def of(
        cls,
        X: Any,
        targets: TrainingTargets,
        *,
        classes: bool,
        fit_intercept: bool,
        constant: float | None,
        random_state: Any,
        budget: float,
        named: Sequence[Kernel],
    ) -> KernelLearning:
        """Return what there is to learn from.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
        targets : TrainingTargets
        classes : bool
            Whether the targets are classes or labels.
        fit_intercept : bool
        constant : float or None
        random_state : int, RandomState or None
        budget : float
            Bytes that may be taken.
        named : sequence of Kernel
            Kernels that the user named; learning starts from their values.

        Raises
        ------
        NothingToLearnError
            For sparse rows, a loss of numbers that is neither smooth nor bears
            outliers, fewer than five rows with targets, where all columns or all
            targets are constant, and where no class has two rows.
        """
        observed = with_likelihood(targets.observed) if classes else targets.observed
        if issparse(X):
            raise NothingToLearnError("X is sparse")
        if not (in_closed_form(observed) or "smooth" in observed.loss.capabilities):
            raise NothingToLearnError(f"the loss {observed.loss} is not smooth")
        arrays = max([_ARRAYS, *(n_arrays([kernel]) for kernel in named)])
        rows = _drawn(observed, budget, arrays, random_state)
        drawn = observed.restrict(rows)
        distinct = _distinct(X[rows], drawn)
        merged = distinct.observed(drawn)
        matrix = as_matrix(merged)
        weights = targets.row_weights
        weights = distinct.weights(None if weights is None else weights[rows])
        lengths = lengths_of(X[rows[distinct.first]], weights)
        kept, some, folds = _learnable(matrix, lengths, random_state)
        learning = cls(
            X[rows[distinct.first[kept]]],
            of_mean_weight_one(some),
            folds,
            fit_intercept or constant is not None,
            None if weights is None else weights[kept],
            len(rows) / len(observed.counted()) * len(kept) / len(distinct.first),
            constant,
            arrays,
            budget,
            RowsOfTasks.of(
                X[rows[distinct.first]],
                merged,
                weights,
                len(rows) / len(observed.counted()),
                fit_intercept=fit_intercept and constant is None,
                random_state=random_state,
            ),
        )
        varies = StandardColumns.of(learning.X, learning.row_weights, centred=False)
        if not varies.n_varying:
            raise NothingToLearnError(_CONSTANT)
        return learning

    def run(self, learnable: Learnable) -> LearnedKernel:
        """Learn the kernel that a `Learnable` stands for.

        Raises
        ------
        ValueError
            If parameters that were named cannot be learned.
        """
        found = learn_kernel(
            self.X,
            self.observed,
            self.folds,
            learnable,
            fit_intercept=self.fit_intercept,
            row_weights=self.row_weights,
            constant=self.constant,
            budget=self.budget,
        )
        # the eigenvalues of K grow with the number of rows
        return replace(found, smallest=found.smallest * self.share)


def _drawn(
    observed: Observed, budget: float, arrays: int, random_state: Any
) -> np.ndarray:
    """Return the numbers of some of the rows that count, sorted."""
    rows = observed.counted()
    most = np.sqrt(budget / (_FLOAT * arrays))
    if in_closed_form(observed):
        most = min(most, MOST_ROWS * _saved(observed))
    else:
        most = min(most, MOST_ROWS_OF_FOLDS)
    if len(rows) <= most:
        return rows
    if most < _FEWEST:
        raise NothingToLearnError(
            f"memory is short: there is room for {int(most)} rows, and at least "
            f"{_FEWEST} are needed"
        )
    return np.sort(check_random_state(random_state).permutation(rows)[: int(most)])


def _distinct(X: np.ndarray, observed: Observed) -> Distinct:
    """Return the rows that differ, of which there must be enough."""
    distinct = Distinct.of(X, observed)
    n_distinct = len(distinct.first)
    if n_distinct >= _FEWEST:
        return distinct
    if np.all(X[:1] == X):  # rows differ in targets alone, of which few are distinct
        raise NothingToLearnError(_CONSTANT)
    raise NothingToLearnError(
        f"only {n_distinct} rows differ from each other, in X or in their targets, and "
        f"at least {_FEWEST} are needed"
    )


def _learnable(
    matrix: Observed, lengths: np.ndarray, random_state: Any
) -> tuple[np.ndarray, Observed, Folds]:
    """Return the numbers of rows to learn from, their outputs, and the folds."""
    kept, some = of_learnable_outputs(matrix)
    folds: Folds = []
    if some is not None and not in_closed_form(some):
        folds = folds_of(some, lengths[kept], random_state)
        some = learnable_in_all(some, folds)
        folds = folds if some is None else with_targets(some, folds)
    if some is None:
        raise NothingToLearnError(why_not_learnable(matrix))
    if len(kept) < _FEWEST:
        raise NothingToLearnError(
            f"{len(kept)} rows belong to outputs, or classes, with enough rows, and at "
            f"least {_FEWEST} are needed"
        )
    return kept, some, folds


def _saved(observed: Observed) -> float:
    """Return a factor for the number of rows, so that all factorisations cost the same.

    There is one of all rows, or one for each output where these were observed in rows
    of their own.
    """
    if observed.complete or observed.tasks is not None or observed.weights is None:
        return 1.0
    counts = (observed.weights > 0).sum(axis=0)
    return float(min(1.0, np.sum((counts / counts.max()) ** 3.0) ** (-1 / 3)))
