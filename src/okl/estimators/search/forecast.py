"""Roughly how long a search takes, and in what memory, before it begins.

With the squared loss and complete targets most time goes into decompositions of kernel
matrices, each in proportion to the cube of the number of rows; otherwise into products
with them, some for each fit. Both are counted here and multiplied by what a small
decomposition takes on this machine: the guess is mostly right to a factor of three (see
`benchmarks/forecasts.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from time import perf_counter, process_time
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.linalg import eigh

from okl.estimators.search.alphas_of_outputs import is_for_each
from okl.estimators.search.forecast_memory import (
    grid_length,
    memory_of,
    n_columns,
    training_share,
)
from okl.estimators.search.kernel_learning import KernelLearning
from okl.estimators.search.stages import FIRST_ALPHAS, FIRST_ROWS, Search
from okl.estimators.search.to_be_learned import learnables
from okl.estimators.search.trials import Experiment
from okl.kernels import Learnable
from okl.operators import RowBlocks
from okl.selection.learning import n_parts
from okl.selection.likeliest_kernel import (
    ROWS_PER_WIDTH,
    SOME_ROWS,
    learns_widths,
    widths_may_fit_noise,
)
from okl.structures import Identity, Structure

# Rows of the decomposition that is timed; a multiplication and addition in a product of
# matrices takes a tenth of a decomposition's share of one entry cubed.
_TIMED, _PRODUCT = 600, 0.1
# A fit takes ten to twenty products with the kernel matrix with L known, fifty and more
# with L learned; what it does besides takes as long as three times as many. A product
# with a few columns takes as long as one with _FEW: it is spent on reading the matrix.
# With L learned, fits to labels take longer the more there are: twice as long with
# _LABELS of them; those of losses that bear outliers take the part _ROBUST.
_KNOWN, _LEARNED, _FEW, _LABELS, _ROBUST = 60.0, 240.0, 40, 20.0, 0.4
# In an eigenbasis, with L learned: products of coordinates with matrices of outputs.
_INSIDE = 400.0
# Evaluations of a likelihood while a kernel is learned: of one width for all columns
# (as many as of all widths, where a kernel of tasks is learned once more),
# of a width for each, from a second start as well, and from all rows in the end. How
# many decompositions each is worth, and products with one column, for the kernel and
# its derivatives, what a column of X adds to the distances, and a target to arrays of
# targets, besides its part of four products. For other losses each takes as long as
# four fits to every fold, for the value and the derivative, and some milliseconds for
# each fold at least. Where the outputs are classes of one row they share its second
# derivative: fits take more steps the more there are, twice as long with _CLASSES.
_ONE_WIDTH, _EVALUATIONS, _SECOND_START, _LAST_EVALUATIONS = 30.0, 90.0, 30.0, 15.0
_FACTORISED, _DIFFERENTIATED, _DISTANCES, _TARGET = 0.5, 1500.0, 6.0, 300.0
_EVALUATIONS_OF_FOLDS, _OF_FOLD, _FOLD_SECONDS, _CLASSES = 70.0, 4.0, 4e-3, 50.0
# Learning a kernel that was named takes as long as that if it has so many parts.
_PARTS = 8.0
# Seconds of a block of rows of a matrix that is not stored, however few they are.
_BLOCK = 4e-5
# Seconds of a score and a closed form, a fit in an eigenbasis, and one that takes
# products, with L known and with L learned, however small.
_SCORED, _INSIDE_FIT, _KNOWN_FIT, _LEARNED_FIT = 1e-3, 2e-3, 3e-3, 1e-2
# How many times as long a fit by products, L known, takes where the loss has kinks.
_KINKS = 3.0


@dataclass(frozen=True)
class Forecast:
    """What a search is about to take; ``print`` shows it as a sentence.

    Attributes
    ----------
    seconds : float
        Mostly right to a factor of three, on a machine with nothing else to do.
    memory : int
        Bytes of the arrays that exist at the peak, beside X and y.
    plan : str
        What is searched, in words.
    """

    seconds: float
    memory: int
    plan: str

    @classmethod
    def of(cls, search: Search) -> Forecast:
        """Estimate a search that is ready to run."""
        first, second = search.first, search.second
        n, kernels = second.X.shape[0], search.kernels
        decomposes = second.in_eigenbasis(kernels)
        sizes = sorted(
            n_columns(kernel, second.X, decomposes=decomposes) for kernel in kernels
        )
        seconds = _of_learning(search.learning)
        seconds *= sum(_parts(one) for one in learnables(kernels)) / _PARTS
        if search.has_first_stage:
            few, alphas = min(n, FIRST_ROWS), grid_length(first)
            sizes_there = [min(size, few) for size in sizes]
            if first.folds is not None:
                alphas = min(alphas, FIRST_ALPHAS)
            for size in sizes_there:
                seconds += _of_trial(first, few, size, [Identity()], alphas, decomposes)
        chosen, structures = sizes[-search.n_finalists :], search.structures
        alphas = grid_length(second)
        for size in chosen:
            seconds += _of_trial(second, n, size, structures, alphas, decomposes)
            of_folds = not (decomposes and second.leaves_one_out)
            if is_for_each(second.alpha_per_output) and of_folds:
                seconds += _of_trial(second, n, size, [Identity()], alphas, decomposes)
        if search.learns_again:
            seconds += _of_learning_again(search.learning)
            seconds += _of_trial(
                second, n, chosen[-1], structures[-1:], alphas, decomposes
            )
        known = any("known" in s.capabilities for s in structures)
        if decomposes and second.folds is not None and not known:
            seconds += _unit() * n * chosen[-1] ** 2  # of the fit to all rows
        memory = memory_of(search, chosen, decomposes)
        return cls(seconds, int(memory), _plan(search))

    def __str__(self) -> str:
        """Return plan, time and memory."""
        size = max(self.memory / 2**20, 1.0)
        return f"{self.plan}; {_duration(self.seconds)}, up to {size:.0f} MiB of memory"


def _plan(search: Search) -> str:
    n_kernels, n_structures = len(search.kernels), len(search.structures)
    stages = f"{n_kernels} kernel{'s' * (n_kernels > 1)} "
    if search.learning is not None:
        learned = f"learned from {search.learning.X.shape[0]} rows"
        n_learned = len(learnables(search.kernels))
        among = f"({'one' if n_learned == 1 else n_learned} of them {learned}) "
        stages += f"{learned} " if n_kernels == 1 else among
    if search.has_first_stage:
        stages += f"with independent outputs, then the best {search.n_finalists} "
    folds = search.second.folds
    held_out = f"on {len(folds)} folds" if folds else "with rows left out one by one"
    return (
        f"{stages}with {n_structures} structure{'s' * (n_structures > 1)} at "
        f"{grid_length(search.second)} alphas {held_out}"
    )


def _of_trial(
    experiment: Experiment,
    n: int,
    size: int,
    structures: list[Structure],
    n_alphas: int,
    decomposes: bool,
) -> float:
    """Return the seconds of a kernel with some structures at some alphas."""
    m = experiment.targets.observed.n_outputs
    learned = sum("known" not in s.capabilities for s in structures)
    known = len(structures) - learned
    kernel_matrix = n * size * experiment.X.shape[1] * _PRODUCT
    if experiment.folds is None:
        products = n_alphas * known * 2 * n * size * m * _PRODUCT
        work, n_fits = n * size**2 + products, n_alphas * known
        return _unit() * (kernel_matrix + work) + _SCORED * n_fits
    n_folds = len(experiment.folds)
    share = training_share(experiment)
    rows = share * n
    columns = min(size, rows)
    if decomposes:
        # of the block, and of held-out rows with its eigenvectors
        work = rows * columns**2 + (n - rows) * rows * columns * _PRODUCT
        # outputs are reduced to as many as there are rows
        of_fit = _INSIDE * rows * min(m, rows) ** 2 * _PRODUCT
        work += n_alphas * learned * of_fit
        of_all_rows = float(n * size**2 * bool(known))  # for the grid
        each = known * _SCORED + learned * (_SCORED + _INSIDE_FIT)
    else:
        of_loss = experiment.targets.observed.loss.capabilities
        of_tasks = experiment.targets.observed.tasks is not None
        width = 1 if of_tasks else m
        of_labels = "regression" not in of_loss and not of_tasks
        longer = 1 + of_labels * m / _LABELS
        longer *= _ROBUST if "robust" in of_loss else 1.0
        products = known * _KNOWN + learned * _LEARNED * longer
        work = n_alphas * products * rows * columns * max(width, _FEW) * _PRODUCT
        of_all_rows = 0.0
        smooth = "smooth" in of_loss
        each = known * _KNOWN_FIT * (1.0 if smooth else _KINKS)
        each += learned * _LEARNED_FIT
        if size >= n and n**2 * 8 > experiment.budget:  # evaluated for each product
            n_blocks = RowBlocks.n_blocks(int(rows), experiment.budget)
            each += products * n_blocks * _BLOCK
    of_folds = n_folds * (_unit() * work + each * n_alphas)
    at_once = min(effective_n_jobs(experiment.n_jobs), n_folds)
    return _unit() * (kernel_matrix + of_all_rows) + of_folds / at_once


def _parts(learnable: Learnable) -> float:
    """Return how many parts count for a kernel that is learned."""
    return _PARTS if learnable.kernel is None else n_parts(learnable.kernel)


def _of_learning(learning: KernelLearning | None) -> float:
    """Return the seconds that a kernel takes to be learned."""
    if learning is None:
        return 0.0
    n, m = learning.observed.targets.shape
    if learning.folds:
        of_classes = "differences" in learning.observed.loss.capabilities
        longer = 1 + of_classes * m / _CLASSES
        work = _OF_FOLD * _KNOWN * longer * n**2 * m * _PRODUCT
        each = len(learning.folds) * (_unit() * work + _FOLD_SECONDS)
        of_kernel = _unit() * _of_kernel_and_derivatives(n, learning.X.shape[1])
        return _EVALUATIONS_OF_FOLDS * (each + of_kernel)
    # targets of a loss that bears outliers are drawn in, and drawn in again
    times = 1 + ("robust" in learning.observed.loss.capabilities)
    return times * _of_closed_form(learning)


def _of_closed_form(learning: KernelLearning) -> float:
    """Return the seconds that a kernel takes to be learned by the squared loss."""
    (n, m), weights = learning.observed.targets.shape, learning.observed.weights
    d, sizes = learning.X.shape[1], np.array([n])
    evaluations = _evaluations(n, d)
    if not learning.observed.complete and weights is not None:
        # a factorisation for each output, which has rows of its own
        return evaluations * _of_likelihood((weights > 0).sum(axis=0), d, 1)
    enough = max(SOME_ROWS, ROWS_PER_WIDTH * d)
    if n < 2 * enough:
        return evaluations * _of_likelihood(sizes, d, m)
    of_some = _evaluations(n // (n // enough), d)
    of_some *= _of_likelihood(sizes / (n // enough), d, m)
    return of_some + _LAST_EVALUATIONS * _of_likelihood(sizes, d, m)


def _of_learning_again(learning: KernelLearning | None) -> float:
    """Return the seconds that a kernel of tasks takes once more."""
    assert learning is not None
    assert learning.of_tasks is not None
    n, d = learning.of_tasks.X.shape
    return _ONE_WIDTH * _of_likelihood(np.array([n]), d, 1)


def _evaluations(n_samples: int, n_features: int) -> float:
    """Return how often a likelihood is evaluated while a kernel is learned."""
    if not learns_widths(n_samples, n_features):
        return _ONE_WIDTH
    again = widths_may_fit_noise(n_samples, n_features)
    return _EVALUATIONS + again * _SECOND_START


def _of_likelihood(sizes: np.ndarray, n_features: int, n_outputs: int) -> float:
    """Return the seconds of a likelihood, of so many rows for each factorisation.

    Each is of the targets of so many outputs.
    """
    work = _FACTORISED * sizes**3.0
    work += _of_kernel_and_derivatives(sizes, n_features)
    work += n_outputs * sizes * (_TARGET + 4 * _PRODUCT * sizes)
    return _unit() * float(np.sum(work))


def _of_kernel_and_derivatives(n_samples: Any, n_features: int) -> Any:
    """Return the work on a kernel that is learned, and on its derivatives."""
    return (_DIFFERENTIATED * _PRODUCT + _DISTANCES * n_features) * n_samples**2.0


@cache
def _unit() -> float:
    """Return the seconds of a decomposition, for each row cubed."""
    matrix = np.random.default_rng(0).normal(size=(_TIMED, _TIMED))
    matrix = matrix @ matrix.T
    eigh(matrix[:9, :9])  # the first call loads the library
    seconds = []  # other programs slow the clock, threads add up in processor time
    for _ in range(3):
        start, busy = perf_counter(), process_time()
        eigh(matrix)
        seconds += [perf_counter() - start, process_time() - busy]
    return min(seconds) / _TIMED**3


def _duration(seconds: float) -> str:
    if seconds < 10:
        return "some seconds"
    if seconds < 90:
        return f"roughly {round(seconds, -1):.0f} seconds"
    minutes = seconds / 60
    if minutes < 90:
        return f"roughly {minutes:.0f} minutes"
    return f"roughly {minutes / 60:.0f} hours"
