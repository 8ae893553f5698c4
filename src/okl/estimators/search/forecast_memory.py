"""In what memory a search runs, roughly: the largest of what it has at one time."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import issparse

from okl.estimators.search.alphas_of_outputs import seeks_alphas
from okl.estimators.search.kernel_learning import KernelLearning
from okl.estimators.search.stages import Search
from okl.estimators.search.trials import Experiment
from okl.kernels import Kernel, KernelTerms, PerOutput, entries_at_peak
from okl.numerics.arrays import n_matrices_of_eigh
from okl.operators.sparse_features import sparse_work
from okl.solvers.predictor.apart_preconditioner import MOST_ENTRIES

_FLOAT = 8  # bytes
# Fits of other losses than the squared one have a low-rank factor of the kernel matrix
# of so many columns, twice. All fits have other workspace of _WORKSPACE entries, these
# _OF_PRODUCTS more. Learning a kernel takes copies of X besides, and of the targets.
_RANK, _WORKSPACE, _OF_PRODUCTS = 500, 2**17, 2**19
_COPIES, _COPIES_OF_TARGETS = 8, 18
# Arrays of the size of the targets that a search holds, and columns of coefficients of
# several alphas at a time; matrices of outputs in Newton's method for L.
_TARGETS, _COLUMNS, _OUTPUT_MATRICES = 10, 1024, 12


def memory_of(search: Search, sizes: list[int], decomposes: bool) -> float:
    """Return the bytes at the peak.

    Parameters
    ----------
    search : Search
    sizes : list of int
        The columns of each kernel of the second stage, as `n_columns` has them, sorted.
    decomposes : bool
        Whether trials have closed forms in an eigenbasis.
    """
    learning = _of_learning(search.learning)
    return max(_of_second_stage(search, sizes, decomposes), learning)


def grid_length(experiment: Experiment) -> int:
    """Return how many alphas are tried."""
    alphas = experiment.alphas
    return int(alphas) if np.ndim(alphas) == 0 else len(alphas)  # type: ignore


def n_columns(kernel: Any, X: Any, *, decomposes: bool) -> int:
    """Return the columns of what is decomposed, or multiplied: n, or of few features.

    Where products are all that is done, of sparse features those of a matrix whose
    products take as long.
    """
    n = X.shape[0]
    if isinstance(kernel, str | PerOutput | KernelTerms):
        return n
    features = kernel.features(X if issparse(X) else X[:1])
    if features is None:
        return n
    if issparse(features) and not decomposes:
        return min(ceil(sparse_work(features) / n), n)
    return min(features.shape[1], n)


def _n_terms(kernel: Any) -> int:
    """Return how many matrices a kernel has."""
    if isinstance(kernel, KernelTerms):
        return len(kernel.kernels)
    return len(kernel.terms()) if isinstance(kernel, PerOutput) else 1


def _of_learning(learning: KernelLearning | None) -> float:
    """Return the bytes at the peak while a kernel is learned."""
    if learning is None:
        return 0.0
    (n, d), m = learning.X.shape, learning.observed.n_outputs
    if learning.of_tasks is not None:
        n = max(n, learning.of_tasks.X.shape[0])
    return _FLOAT * n * (learning.arrays * n + _COPIES * d + _COPIES_OF_TARGETS * m)


def _of_second_stage(search: Search, sizes: list[int], decomposes: bool) -> float:
    """Return the bytes at its peak."""
    experiment = search.second
    n = experiment.X.shape[0]
    m = experiment.targets.observed.n_outputs
    matrix = n * sizes[-1]
    known = ["known" in s.capabilities for s in search.structures]
    # with the vectors, where all rows are decomposed for the grid, the scores, or the
    # alphas of outputs
    of_outputs = experiment.leaves_one_out and seeks_alphas(
        experiment.alpha_per_output,
        search.structures,
        experiment.targets.observed,
    )
    kept = 1 + (decomposes and (any(known) or of_outputs))
    # with L known other losses than the squared one need products only
    quadratic = "quadratic" in experiment.targets.observed.loss.capabilities
    by_products = all(known) and not quadratic
    # a decomposition takes a copy of the matrix, and its own workspace
    at_once = 1 if by_products else 1 + n_matrices_of_eigh(n)
    if experiment.folds is not None:
        share = training_share(experiment)
        of_eigh = 0 if by_products else n_matrices_of_eigh(int(share * n))
        jobs = min(effective_n_jobs(experiment.n_jobs), len(experiment.folds))
        of_fold = (1 + of_eigh) * share**2 + 2 * share * (1 - share)
        at_once = max(at_once, kept + jobs * of_fold)
    # the best kernel so far is kept beside the one that is tried
    kept *= len(sizes) > 1
    matrices = kept + at_once
    matrix *= max(_n_terms(kernel) for kernel in search.kernels)
    if not decomposes and _FLOAT * matrix > experiment.budget:
        matrices = experiment.budget / (_FLOAT * matrix)  # evaluated in blocks
    columns = _TARGETS * m + min(_COLUMNS, 2 * m * grid_length(experiment))
    others = _WORKSPACE + n * columns
    if experiment.calibrates:  # held-out scores, kept until all folds are fitted
        others += n * m * grid_length(experiment) * len(search.structures)
    if not quadratic:
        others += 2 * n * min(sizes[-1], _RANK) + _OF_PRODUCTS
        others += _of_each_output(search, sizes[-1])
    if any(
        not s.capabilities & {"known", "rotation_invariant"} for s in search.structures
    ):
        others += _OUTPUT_MATRICES * m**2
    # before all that the matrix is evaluated, if it fits
    evaluated = [
        kept * matrix + entries_at_peak(kernel, n)
        for kernel in search.kernels
        if isinstance(kernel, Kernel)
        and n_columns(kernel, experiment.X, decomposes=decomposes) == n
        and _FLOAT * n**2 <= experiment.budget
    ]
    return _FLOAT * max([matrices * matrix + others, *evaluated])


def _of_each_output(search: Search, n_columns: int) -> float:
    """Return the most entries of systems of outputs that an output kernel relates."""
    experiment = search.second
    observed, n = experiment.targets.observed, experiment.X.shape[0]
    related = any("identity" not in s.capabilities for s in search.structures)
    # for no softmax loss, which couples outputs itself
    apart = observed.loss.capabilities & {"regression", "multilabel"}
    several = any(isinstance(kernel, KernelTerms) for kernel in search.kernels)
    if not (related and apart) or several or observed.tasks is not None:
        return 0.0
    if n_columns < n:  # products are quick
        return 0.0
    left = max(experiment.budget / _FLOAT - n**2, 0.0)
    return min(observed.n_outputs * n**2, MOST_ENTRIES, left)


def training_share(experiment: Experiment) -> float:
    """Return the part of the rows that the largest training part of a fold has."""
    assert experiment.folds is not None
    return max(len(train) for train, _ in experiment.folds) / experiment.X.shape[0]
