"""How sure the learned relations are, by refits with fixed hyperparameters."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_consistent_length

from okl.estimators.long_form import checked_ids
from okl.estimators.output_names import weights_in_order
from okl.estimators.weights import checked_weights
from okl.inspection.held import check_learned, with_hyperparameters_held
from okl.inspection.refits import fitted_to, output_kernels_of, parts_of, refit
from okl.inspection.relations import OutputKernelStability
from okl.inspection.resampling import METHODS, counts_of
from okl.kernels import Row
from okl.numerics.memory import require_memory
from okl.numerics.validation import (
    check_choice,
    check_count,
    check_n_jobs,
    check_probability,
)


def output_kernel_stability(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    method: str = "jackknife",
    n_resamples: int = 20,
    level: float = 0.95,
    sample_weight: Any = None,
    task: Any = None,
    groups: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> OutputKernelStability:
    r"""Estimate how much the entries of a learned output kernel depend on the rows.

    The estimator is fitted to all rows and to ``n_resamples`` resamples of them. With
    s_ij the standard deviation of an entry over the refits, its standard error is

    .. math::

        \frac{n - 1}{\sqrt n}\, s_{ij} \;\;\text{(jackknife)} \qquad
        s_{ij} \;\;\text{(bootstrap)}, \qquad n = \mathtt{n\_resamples},

    and its interval is the entry in the fit to all rows, plus and minus the standard
    error times a quantile of Student's distribution with n - 1 degrees of freedom.

    Hyperparameters are held. A search is replaced by the estimator that it chose, with
    its kernel, structure and alpha; a kernel that depends on the rows, as with
    ``gamma="scale"``, is that of the fit to all rows; and the steps of a pipeline
    before the last one transform as they were fitted. Targets are normalised anew in
    each refit.

    Parameters
    ----------
    estimator : estimator
        An `OutputKernelRegressor` or `OutputKernelClassifier`, which need not be
        fitted. Or, fitted: one of their ``...CV``, a `GradientSearchCV` or a search of
        scikit-learn over one, or a pipeline that ends in one of these.
    X, y : array-like
        The rows and targets, as its ``fit`` takes them; targets may be NaN where they
        were not observed.
    method : {"jackknife", "bootstrap"}, default="jackknife"
        ``"jackknife"`` leaves out one of ``n_resamples`` random groups of rows at a
        time; ``"bootstrap"`` draws as many rows as there are with replacement. See the
        notes.
    n_resamples : int, default=20
        Number of refits, at least two.
    level : float, default=0.95
        Coverage of the intervals, and the probability that no relation called stable
        is in truth zero.
    sample_weight : array (n_samples,) or (n_samples, n_outputs), default=None
        As in ``fit``; a row that is drawn keeps its weight.
    task : array (n_samples,), default=None
        For data in long form, the task of each row: rows are drawn within tasks.
    groups : array (n_samples,), default=None
        Rows that belong together (of one person, one day, one place): they are drawn,
        or left out, together. None takes rows as independent of each other.
    random_state : int, RandomState instance or None, default=0
        Seed of the resamples.
    n_jobs : int, default=None
        Number of parallel refits, by joblib; the result does not depend on it.

    Returns
    -------
    OutputKernelStability

    Raises
    ------
    TypeError
        For an estimator that cannot be refitted in this way.
    ValueError
        For invalid parameters or shapes, for a single output, for an output kernel that
        is known before the fit, for targets with an output or class that is lost in
        every resample drawn, or for the bootstrap with a `Row`, whose value copies of a
        row would share.
    MemoryError
        If an array with all entries of all refits does not fit.

    Warns
    -----
    ConvergenceWarning
        If refits ended above their tolerance.

    Notes
    -----
    The uncertainty is that of drawing other rows of the same kind, with the functions,
    the kernel and alpha given. Intervals therefore include neither the shrinkage by
    alpha nor the choice of alpha. Two unrelated functions are rarely orthogonal where
    few columns explain them: on these inputs they have a relation, which is stable, but
    may not have it on others. And what moves outputs together besides the inputs leaks
    into the output kernel if the kernel is flexible, and is stable as well;
    ``kernel=[k, Row()]`` separates the two.

    A resample of the bootstrap has copies of rows, whose noise a flexible kernel takes
    for signal: its standard errors are then too small. Those of the jackknife are a
    little too large.

    Examples
    --------
    >>> import numpy as np
    >>> from okl import OutputKernelRegressor
    >>> from okl.inspection import output_kernel_stability
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 3))
    >>> Y = X @ [[1, -1, 0], [1, -1, 0], [0, 0, 1]] + 0.1 * rng.normal(size=(80, 3))
    >>> sure = output_kernel_stability(OutputKernelRegressor("linear"), X, Y)
    >>> sure.stable[0]
    array([ True,  True, False])
    """
    check_choice(method, "method", METHODS)
    check_count(n_resamples, "n_resamples", 2)
    check_n_jobs(n_jobs)
    level = check_probability(level, "level")
    model, X = with_hyperparameters_held(estimator, X)
    check_learned(model)
    if method == "bootstrap" and _has_rows(model.kernel):
        raise ValueError(
            "The bootstrap copies rows, and copies would share the value that Row() "
            'gives each row; use method="jackknife".'
        )
    if y is None:
        raise ValueError(
            "y is None; pass the targets whose relations are to be judged."
        )
    y = y.toarray() if issparse(y) else y
    check_consistent_length(X, y, sample_weight, task, groups)
    task = None if task is None else checked_ids(task, y)
    weights = None
    if sample_weight is not None:
        sample_weight = weights_in_order(model, sample_weight, y)
        weights = checked_weights(sample_weight, np.shape(y))
    strata, seen = parts_of(y, weights, task, classes=is_classifier(model))
    counts = counts_of(method, n_resamples, strata, seen, groups, random_state)

    fitted = partial(fitted_to, model, X, y, weights, task)
    first = fitted(np.ones(len(seen), dtype=int))
    model.kernel = first.kernel_  # gamma="scale" stays that of all rows
    estimate, _ = output_kernels_of(first)
    if estimate.shape[-1] == 1:
        raise ValueError(
            "There is one output, so there are no relations to be sure of."
        )
    draws, n_failed = _refits(fitted, counts, estimate, n_jobs)
    summary = partial(
        OutputKernelStability.of,
        inflation=METHODS[method][1](n_resamples),
        level=level,
        method=method,
        n_failed=n_failed,
        output_names=first._names_of_outputs,
    )
    total, *terms = zip(estimate, draws, strict=True)
    return summary(*total, terms=[summary(*term, terms=[]) for term in terms])


def _refits(
    fitted: Callable[[np.ndarray], Any],
    counts: np.ndarray,
    estimate: np.ndarray,
    n_jobs: int | None,
) -> tuple[np.ndarray, int]:
    """Return the output kernels of refits, and how many of these failed.

    Parameters
    ----------
    fitted : callable
        Returns an estimator fitted to rows, given how often each counts.
    counts : array (n_resamples, n_samples)
    estimate : array (n_terms, 2, m, m)
        The output kernels of the fit to all rows.
    n_jobs : int or None

    Returns
    -------
    draws : array (n_terms, n_resamples, 2, m, m)
    n_failed : int
    """
    require_memory(
        3 * estimate.nbytes * len(counts),
        f"The output kernels of {len(counts)} refits with {estimate.shape[-1]} outputs",
        "Use fewer resamples.",
    )
    with warnings.catch_warnings():  # warnings were given once, for the fit to all rows
        warnings.simplefilter("ignore")
        refits = Parallel(n_jobs)(delayed(refit)(fitted, count) for count in counts)
    n_failed = sum(failed for _, failed in refits)
    if n_failed:
        warnings.warn(
            f"{n_failed} of {len(counts)} refits ended above the tolerance, so that "
            "part of the variation comes from the solver; raise max_iter.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return np.stack([kernels for kernels, _ in refits], axis=1), n_failed


def _has_rows(kernel: Any) -> bool:
    return isinstance(kernel, list | tuple) and isinstance(kernel[-1], Row)
