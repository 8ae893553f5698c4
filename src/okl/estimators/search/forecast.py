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

import numpy as np
from joblib import effective_n_jobs
from scipy.linalg import eigh

from okl.estimators.search.alphas_of_outputs import is_for_each
from okl.estimators.search.forecast_learning import (
    PRODUCT,
    of_learning,
    of_learning_again,
)
from okl.estimators.search.forecast_memory import (
    grid_length,
    memory_of,
    n_columns,
    training_share,
)
from okl.estimators.search.stages import FIRST_ALPHAS, FIRST_ROWS, Search
from okl.estimators.search.to_be_learned import learnables
from okl.estimators.search.trials import Experiment
from okl.operators import RowBlocks
from okl.structures import Identity, Structure

# Rows of the decomposition that is timed.
_TIMED = 600
# A fit takes ten to twenty products with the kernel matrix with L known, fifty and more
# with L learned; what it does besides takes as long as three times as many. A product
# with a few columns takes as long as one with _FEW: it is spent on reading the matrix.
# With L learned, fits to labels take longer the more there are: twice as long with
# _LABELS of them; those of losses that bear outliers take the part _ROBUST.
_KNOWN, _LEARNED, _FEW, _LABELS, _ROBUST = 60.0, 240.0, 40, 20.0, 0.4
# In an eigenbasis, with L learned: products of coordinates with matrices of outputs.
_INSIDE = 400.0
# Seconds of a block of rows of a matrix that is not stored, however few they are.
_BLOCK = 4e-5
# Seconds of a score and a closed form, a fit in an eigenbasis, and one that takes
# products, with L known and with L learned, however small.
_SCORED, _INSIDE_FIT, _KNOWN_FIT, _LEARNED_FIT = 1e-3, 2e-3, 3e-3, 1e-2
# How many times as long a fit by products, L known, takes where the loss has kinks:
# of classes, by libsvm, and of numbers.
_KINKS, _KINKS_OF_NUMBERS = 3.0, 12.0


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
        seconds = sum(
            of_learning(search.learning, one, _unit()) for one in learnables(kernels)
        )
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
            seconds += of_learning_again(search.learning, _unit())
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
    kernel_matrix = n * size * experiment.X.shape[1] * PRODUCT
    if experiment.folds is None:
        products = n_alphas * known * 2 * n * size * m * PRODUCT
        work, n_fits = n * size**2 + products, n_alphas * known
        return _unit() * (kernel_matrix + work) + _SCORED * n_fits
    n_folds = len(experiment.folds)
    share = training_share(experiment)
    rows = share * n
    columns = min(size, rows)
    if decomposes:
        # of the block, and of held-out rows with its eigenvectors
        work = rows * columns**2 + (n - rows) * rows * columns * PRODUCT
        # outputs are reduced to as many as there are rows
        of_fit = _INSIDE * rows * min(m, rows) ** 2 * PRODUCT
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
        work = n_alphas * products * rows * columns * max(width, _FEW) * PRODUCT
        of_all_rows = 0.0
        kinks = _KINKS_OF_NUMBERS if "regression" in of_loss else _KINKS
        each = known * _KNOWN_FIT * (1.0 if "smooth" in of_loss else kinks)
        each += learned * _LEARNED_FIT
        if size >= n and n**2 * 8 > experiment.budget:  # evaluated for each product
            n_blocks = RowBlocks.n_blocks(int(rows), experiment.budget)
            each += products * n_blocks * _BLOCK
    of_folds = n_folds * (_unit() * work + each * n_alphas)
    at_once = min(effective_n_jobs(experiment.n_jobs), n_folds)
    return _unit() * (kernel_matrix + of_all_rows) + of_folds / at_once


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
