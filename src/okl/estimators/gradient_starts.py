"""Searches by gradient from several starts, of which the best end counts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from time import time
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from okl.estimators.fold_notes import notes_of_classes
from okl.estimators.known_classes import structures_for
from okl.estimators.search.routing import of_splitter
from okl.estimators.search.steps import Step
from okl.estimators.terms import check_terms, kernel_and_structure, starting_model
from okl.estimators.training import (
    check_kernel_per_output,
    check_rows,
    is_precomputed,
)
from okl.kernels import CallableKernel, Kernel
from okl.numerics.memory import memory_budget
from okl.problems import Observed, OutputAlphas
from okl.selection.criteria import Criterion, choose_criterion
from okl.selection.folds import split
from okl.selection.learning import Learned, Record, learn
from okl.selection.model import Model

# With fewer rows there is nothing to choose by.
_FEWEST = 5


@dataclass(frozen=True)
class Starts:
    """What is searched, from the given values and from draws of the priors.

    Attributes
    ----------
    X, observed, criterion
        As in `learn`.
    model : Model
        Where the first search starts.
    options : dict
        Further ones of `learn`.
    max_time : float or None
        Seconds for all of them together.
    n_jobs : int or None
        Starts in parallel, the first one aside.
    """

    X: Any
    observed: Observed
    model: Model
    criterion: Criterion
    options: dict[str, Any]
    max_time: float | None
    n_jobs: int | None

    def run(self, n_restarts: int, random_state: Any, step: Step) -> list[Learned]:
        """Search from the given values, then from some draws.

        A draw where the criterion cannot be evaluated, or for which no time is left,
        adds nothing.

        Parameters
        ----------
        n_restarts : int
        random_state : RandomState
            Of the draws.
        step : callable
            As `steps_of` returns it: each search is a step, and the iterations of the
            first one are steps of its own.
        """
        end = None if self.max_time is None else time() + self.max_time
        with step("search", None) as within:

            def watch(iteration: int, record: Record) -> None:
                with within("iteration"):
                    pass

            found = [self._learn(self.max_time, watch=watch)]
        if n_restarts == 0:  # joblib warns of workers without jobs
            return found
        seeds = random_state.randint(np.iinfo(np.int32).max, size=n_restarts)
        jobs = (delayed(self._again)(int(seed), end) for seed in seeds)
        results = Parallel(n_jobs=self.n_jobs, return_as="generator")(jobs)
        for _ in range(n_restarts):
            with step("restart"):
                again = next(results)
            found += [] if again is None else [again]
        return found

    def _again(self, seed: int, end: float | None) -> Learned | None:
        """Search from a draw, until the clock shows ``end``."""
        left = None if end is None else end - time()
        if left is not None and left <= 0:
            return None
        try:
            return self._learn(left, rng=np.random.default_rng(seed))
        except np.linalg.LinAlgError:
            return None

    def _learn(self, max_time: float | None, **options: Any) -> Learned:
        return learn(
            self.X,
            self.observed,
            self.model.kernel,
            self.model.structure,
            self.model.alpha,
            self.criterion.cold(),
            max_time=max_time,
            **self.options,
            **options,
        )


def starts_of(
    search: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    task: Any,
    params: dict[str, Any],
) -> Starts:
    """Check what was given to fit of a search; return what is searched.

    Parameters
    ----------
    search : GradientSearchCV
        With parameters that were checked.
    X, y, sample_weight, task, params
        As its `fit` takes them.
    """
    model = clone(search.estimator)
    loss = model._checked_loss()
    X, y, targets = model._enter(X, y, loss, sample_weight, task)
    targets.require_classes(search)
    observed, weights = targets.observed, targets.row_weights
    _check(model, X, observed)
    alpha = _starting_alpha(model.alpha, observed, search.alpha_per_output)
    names = getattr(model, "feature_names_in_", None)
    start = starting_model(model, alpha, X, weights, names)
    if search.parameters is None:
        _warn_of_held(start)
    labels = is_classifier(model) and y.ndim == 1
    free = model._free_intercept
    folds = split(
        search.cv,
        X,
        y,
        observed.counted(),
        stratify=labels,
        random_state=search.random_state,
        metadata=of_splitter(search, params),
    )
    criterion = choose_criterion(
        search.criterion,
        observed,
        start.judged_structure,
        folds,
        n_features=X.shape[1],
        fit_intercept=free,
        one_kernel=isinstance(start.judged_kernel, Kernel),
        names=model._names_of_outputs,
    )
    if labels and criterion.by_fits:
        for text in notes_of_classes(observed, folds, y, fit_intercept=free):
            warnings.warn(text, UserWarning, stacklevel=2)
    # where the fit to some fold can have no intercept, no fit has one: else kernels
    # would be centred, which is another model
    training = [observed.restrict(train) for train, _ in folds]
    free = free and not any(one.forbids_intercept for one in training)
    options = {
        "fit_intercept": free,
        "parameters": search.parameters,
        "priors": search.priors,
        "row_weights": weights,
        "max_iter": search.max_iter,
        "budget": memory_budget(model.max_memory),
        "columns": names,
    }
    return Starts(
        X, observed, start, criterion, options, search.max_time, search.n_jobs
    )


def _check(model: Any, X: Any, observed: Observed) -> None:
    """Raise an error for what no search by gradient takes."""
    if (n_samples := len(observed.counted())) < _FEWEST:
        raise ValueError(
            f"Learning hyperparameters takes at least {_FEWEST} rows with a target and "
            f"a weight above zero, got n_samples = {n_samples}. Set the "
            "hyperparameters instead of learning them."
        )
    check_rows(X)
    (structure,) = structures_for(model, observed)
    kernel, _ = kernel_and_structure(model.kernel, model.structure)
    check_kernel_per_output(kernel, [structure], observed)
    check_terms(kernel, structure, observed)
    if is_precomputed(kernel):
        raise ValueError(
            "kernel='precomputed' has no parameters to learn. Use "
            "OutputKernelRegressorCV or OutputKernelClassifierCV to choose alpha."
        )


def _starting_alpha(alpha: Any, observed: Observed, per_output: bool) -> Any:
    """Return the alpha that a search starts from, an array if each output has one.

    Raises
    ------
    ValueError
        If there is not one for each output, or the loss is no sum over outputs.
    """
    if per_output and np.ndim(alpha) == 0:
        alpha = np.full(observed.n_outputs, float(alpha))
    OutputAlphas.of(alpha, observed)
    return np.asarray(alpha, dtype=np.float64) if np.ndim(alpha) else float(alpha)


def trace_table(found: Sequence[Learned]) -> dict[str, np.ndarray]:
    """Return the records of all searches, one column each, as ``cv_results_``."""
    rows = [
        {"start": number, "iteration": iteration, **record}
        for number, learned in enumerate(found)
        for iteration, record in enumerate(learned.trace)
    ]
    table = {name: np.asarray([row[name] for row in rows]) for name in rows[0]}
    counts = ("evaluations", "products")
    return table | {name: table[name].astype(np.intp) for name in counts}


def _warn_of_held(model: Model) -> None:
    """Warn of the parameters of scikit-learn's kernels, which stay as they are."""
    parts = [
        part
        for kernel in model.kernels
        for part in (kernel, *kernel.get_params(deep=True).values())
    ]
    held = {
        f"{part.function!r}"
        for part in parts
        if isinstance(part, CallableKernel) and getattr(part.function, "n_dims", 0) > 0
    }
    if held:
        warnings.warn(
            f"The parameters of {', '.join(sorted(held))} are not learned: the "
            "gradients of scikit-learn's kernels are not used. Give kernels of "
            "okl.kernels, such as Gaussian, or name the parameters to be learned.",
            UserWarning,
            stacklevel=3,
        )


def warn_of_end(best: Learned, depth: int) -> None:
    """Warn if a search ended early, or its end is not well known.

    The warning points at the caller ``depth`` calls up.
    """
    if not best.success:
        slope = best.trace[-1]["gradient_norm"]
        warnings.warn(
            f"The search over hyperparameters ended early: {best.message} The largest "
            f"entry of the gradient is {slope:.2g}.",
            ConvergenceWarning,
            stacklevel=depth + 1,
        )
    if best.largest_gap > 0:
        warnings.warn(
            "A fit to a fold stopped at a relative duality gap of "
            f"{best.largest_gap:.2g}, so the criterion is only known to that accuracy. "
            "Set narrower bounds for alpha, or for the weight of the kernel.",
            ConvergenceWarning,
            stacklevel=depth + 1,
        )
