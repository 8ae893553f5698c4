"""Roughly how long a kernel takes to be learned, before that begins.

Work is counted in shares of a decomposition of a kernel matrix, which takes one for
each row cubed, and which is timed (`okl.estimators.search.forecast`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from okl.estimators.search.kernel_learning import KernelLearning
from okl.kernels import Learnable
from okl.selection.frequent_classes import sizes_to_learn_from
from okl.selection.learning import n_parts
from okl.selection.likeliest_kernel import (
    ROWS_PER_WIDTH,
    SOME_ROWS,
    learns_widths,
    widths_may_fit_noise,
)

# A multiplication and addition in a product of matrices takes a tenth of a
# decomposition's share of one entry cubed.
PRODUCT = 0.1
# Evaluations of a likelihood while a kernel is learned: of one width for all columns
# (as many as of all widths, where a kernel of tasks is learned once more),
# of a width for each, from a second start as well, and from all rows in the end. How
# many decompositions each is worth, and products with one column, for the kernel and
# its derivatives, what a column of X adds to the distances, and a target to arrays of
# targets, besides its part of four products. For other losses each takes _OF_FOLD
# products for every fold, for the value and the derivative, and some milliseconds at
# least. Where the outputs are classes of one row they share its second derivative: fits
# take more steps the more there are, twice as long with _CLASSES. Of very many classes
# a kernel that is made is learned from some, and in the end from all.
_ONE_WIDTH, _EVALUATIONS, _SECOND_START, _LAST_EVALUATIONS = 30.0, 90.0, 30.0, 15.0
_FACTORISED, _DIFFERENTIATED, _DISTANCES, _TARGET = 0.5, 1500.0, 6.0, 300.0
_EVALUATIONS_OF_FOLDS, _LAST_OF_FOLDS = 70.0, 8.0
_OF_FOLD, _FOLD_SECONDS, _CLASSES = 240.0, 4e-3, 50.0
# Learning a kernel that was named takes as long as that if it has so many parts.
_PARTS = 8.0


def of_learning(
    learning: KernelLearning | None, learnable: Learnable, unit: float
) -> float:
    """Return the seconds that a kernel takes to be learned.

    ``unit`` are those of a decomposition, for each row cubed.
    """
    if learning is None:
        return 0.0
    kernel, every = learnable.kernel, learning.observed.targets.shape
    if learning.folds:
        named = kernel is not None
        some = every if named else sizes_to_learn_from(learning.observed)
        seconds = _EVALUATIONS_OF_FOLDS * _of_folds(learning, some, unit)
        if some != every:
            seconds += _LAST_OF_FOLDS * _of_folds(learning, every, unit)
    else:
        # targets of a loss that bears outliers are drawn in, and drawn in again
        times = 1 + ("robust" in learning.observed.loss.capabilities)
        seconds = times * _of_closed_form(learning, unit)
    return seconds if kernel is None else seconds * n_parts(kernel) / _PARTS


def _of_folds(learning: KernelLearning, size: tuple[int, ...], unit: float) -> float:
    """Return the seconds of an evaluation by folds, of so many rows and classes."""
    n, m = size
    of_classes = "differences" in learning.observed.loss.capabilities
    longer = 1 + of_classes * m / _CLASSES
    work = _OF_FOLD * longer * n**2 * m * PRODUCT
    each = len(learning.folds) * (unit * work + _FOLD_SECONDS)
    return each + unit * _of_kernel_and_derivatives(n, learning.X.shape[1])


def _of_closed_form(learning: KernelLearning, unit: float) -> float:
    """Return the seconds that a kernel takes to be learned by the squared loss."""
    (n, m), weights = learning.observed.targets.shape, learning.observed.weights
    d, sizes = learning.X.shape[1], np.array([n])
    evaluations = _evaluations(n, d)
    if not learning.observed.complete and weights is not None:
        # a factorisation for each output, which has rows of its own
        return unit * evaluations * _of_likelihood((weights > 0).sum(axis=0), d, 1)
    enough = max(SOME_ROWS, ROWS_PER_WIDTH * d)
    if n < 2 * enough:
        return unit * evaluations * _of_likelihood(sizes, d, m)
    of_some = _evaluations(n // (n // enough), d)
    of_some *= _of_likelihood(sizes / (n // enough), d, m)
    return unit * (of_some + _LAST_EVALUATIONS * _of_likelihood(sizes, d, m))


def of_learning_again(learning: KernelLearning | None, unit: float) -> float:
    """Return the seconds that a kernel of tasks takes once more."""
    assert learning is not None
    assert learning.of_tasks is not None
    n, d = learning.of_tasks.X.shape
    return unit * _ONE_WIDTH * _of_likelihood(np.array([n]), d, 1)


def _evaluations(n_samples: int, n_features: int) -> float:
    """Return how often a likelihood is evaluated while a kernel is learned."""
    if not learns_widths(n_samples, n_features):
        return _ONE_WIDTH
    again = widths_may_fit_noise(n_samples, n_features)
    return _EVALUATIONS + again * _SECOND_START


def _of_likelihood(sizes: np.ndarray, n_features: int, n_outputs: int) -> float:
    """Return the work on a likelihood, of so many rows for each factorisation.

    Each is of the targets of so many outputs.
    """
    work = _FACTORISED * sizes**3.0
    work += _of_kernel_and_derivatives(sizes, n_features)
    work += n_outputs * sizes * (_TARGET + 4 * PRODUCT * sizes)
    return float(np.sum(work))


def _of_kernel_and_derivatives(n_samples: Any, n_features: int) -> Any:
    """Return the work on a kernel that is learned, and on its derivatives."""
    return (_DIFFERENTIATED * PRODUCT + _DISTANCES * n_features) * n_samples**2.0
