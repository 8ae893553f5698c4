"""What a search is going to try: planned, and checked, before any fit.

The parameters of an estimator and what its ``fit`` was given become the kernels and
structures to try, the rows to hold out, and who judges their predictions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring

from okl.estimators.known_classes import structures_for
from okl.estimators.scoring import check_scorer
from okl.estimators.search.candidates import beyond, is_open
from okl.estimators.search.judge import Judge
from okl.estimators.search.kernels_to_try import KernelsToTry
from okl.estimators.search.routing import routed
from okl.estimators.search.stages import Search
from okl.estimators.search.trials import Experiment
from okl.estimators.targets import TrainingTargets
from okl.estimators.terms import check_terms
from okl.estimators.training import check_kernel_per_output
from okl.numerics.memory import memory_budget
from okl.selection.folds import of_known_tasks, refuse_empty, split


def planned(
    model: Any, X: Any, y: Any, sample_weight: Any, task: Any, params: dict[str, Any]
) -> tuple[Any, np.ndarray, TrainingTargets, Search]:
    """Check what was given to fit; return rows, targets and what is searched.

    Parameters
    ----------
    model : CrossValidated
        Its attributes that say what classes and outputs there are get set.
    X, y, sample_weight, task, params
        As its `fit` takes them.
    """
    X, y, targets = model._enter(X, y, model._checked_loss(), sample_weight, task)
    targets.require_classes(model)
    observed = targets.observed
    if (n_samples := len(observed.counted())) < 2:
        raise ValueError(
            f"{type(model).__name__} holds rows out and needs at least two that have "
            f"targets and weights above zero; got n_samples = {n_samples}."
        )
    structures = structures_for(model, observed)
    budget = memory_budget(model.max_memory)
    kernels, learning, unlearned = KernelsToTry.of(model, X, targets, budget)
    for kernel in kernels:
        check_kernel_per_output(kernel, structures, observed)
        for structure in structures:
            check_terms(kernel, structure, observed)
    judge, of_splitter = _judge(model, y, targets, params)
    one_out = Experiment(
        X,
        targets,
        judge,
        folds=None,
        alphas=model.alphas,
        eps=model.eps,
        fit_intercept=model._free_intercept,
        tol=model.tol,
        max_iter=model.max_iter,
        n_jobs=model.n_jobs,
        budget=budget,
        alpha_per_output=model.alpha_per_output,
        leaves_one_out=model.cv is None,
        search=model.search,
    )
    first = second = one_out
    in_closed_form = one_out.leaves_one_out and one_out.in_eigenbasis(kernels)
    if not (in_closed_form and all("known" in s.capabilities for s in structures)):
        second = _with_folds(model, one_out, of_splitter)
        first = one_out if in_closed_form else second
    unnamed = is_open(model.kernel, model.kernels)
    search = Search(
        kernels,
        structures,
        first,
        second,
        staged=model.search != "full",
        beyond=beyond if unnamed else None,
        learning=learning,
        unlearned=unlearned,
        goes_on=(unnamed and issparse(X) if learning is None else not learning.of_tasks)
        and len(kernels) == 1
        and model.eps is None
        and np.ndim(model.alphas) == 0,
    )
    return X, y, targets, search


def _judge(
    model: Any, y: np.ndarray, targets: TrainingTargets, params: dict[str, Any]
) -> tuple[Judge, dict[str, Any]]:
    """Return who judges held-out rows, and the metadata of the splitter."""
    scorer = check_scoring(model, scoring=model.scoring)
    check_scorer(model, scorer, y)
    tasks = targets.observed.tasks
    ids = {} if tasks is None else {"task": model.output_names_[tasks.codes]}
    of_splitter, of_scorer = routed(model, params, scorer, targets, ids)
    stand_in = model._stand_in(y, targets.observed.loss)
    judge = Judge(scorer, stand_in, y, of_scorer, tasks, targets.units)
    return judge.row_by_row(model.scoring), of_splitter


def _with_folds(
    model: Any, experiment: Experiment, of_splitter: dict[str, Any]
) -> Experiment:
    """Return an experiment that holds out the rows of folds."""
    observed, y = experiment.targets.observed, experiment.judge.y
    folds = split(
        model.cv,
        experiment.X,
        y,
        observed.counted(),
        stratify=is_classifier(model) and y.ndim == 1,
        random_state=model.random_state,
        metadata=of_splitter,
    )
    refuse_empty(folds, observed)
    if observed.tasks is not None and not is_classifier(model):
        one_unit = model._shares_intercepts
        folds = of_known_tasks(folds, observed, one_unit=one_unit)
    return replace(experiment, folds=folds, judge=experiment.judge.of_folds(folds))
