"""Notes on the outcome of a search: each becomes a warning, once.

A choice at the edge of its grid may be better beyond it; an output kernel of zero
predicts means; an output that the training part of a fold does not have cannot be
learned there, and lowers the score of every candidate, or is left out of it; and where
no kernel can be learned, the short list is tried in its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from okl.estimators.fold_notes import notes_of_classes, notes_of_outputs
from okl.estimators.search.stages import Search
from okl.estimators.search.task_scales import notes_of_scales
from okl.estimators.search.to_be_learned import learned_parts
from okl.estimators.search.trial import Trial
from okl.estimators.search.trials import Experiment
from okl.kernels import KernelTerms

# The ends of a grid of alphas, and what to think of a choice there.
_LARGEST = (
    "largest",
    "Try larger alphas, unless the inputs carry little information about the targets: "
    "then a model close to their mean may predict held-out rows best.",
)
_SMALLEST = (
    "smallest",
    "Try smaller alphas, unless there are few rows: then a model that hardly smoothes "
    "may predict held-out rows best by chance, and intervals are too short.",
)


def notes(
    model: Any, trial: Trial, largest_gap: float, search: Search, y: np.ndarray
) -> Iterator[tuple[type[Warning], str]]:
    """Yield categories and messages for a fitted search.

    Parameters
    ----------
    model : OutputKernelRegressorCV or OutputKernelClassifierCV
        Refitted.
    trial : Trial
        Of the kernel chosen.
    largest_gap : float
        Of all fits that ended at ``max_iter``.
    search : Search
        What was searched.
    y : array
        Targets as they were given.
    """
    if largest_gap > 0:
        yield (
            ConvergenceWarning,
            "Some fits of the cross-validation ended at max_iter with relative "
            f"duality gaps up to {largest_gap:.2g}, above tol; their scores are "
            "those of approximate models. Increase max_iter or tol.",
        )
    if model.rank_ == 0:
        yield (
            UserWarning,
            "The output kernel that was chosen is zero: predictions do not depend on X "
            "(they are the intercepts). Nothing in X predicted held-out targets at the "
            "alphas tried; other kernels might.",
        )
    else:
        # the grid ends where a kernel that was learned says it may
        learned = learned_parts(trial.kernel, search.learned)
        yield from _edge(trial, low_enough=model.eps is None and bool(learned))
    yield from _unseen(model, search.second, y)
    if model._shares_intercepts and not is_classifier(model):
        observed = search.second.targets.observed
        for text in notes_of_scales(observed, model.output_names_):
            yield UserWarning, text
    if search.unlearned:
        yield (
            UserWarning,
            f"No kernel was learned: {search.unlearned}. The short list of kernels was "
            "tried instead, on standardised columns.",
        )


def _edge(trial: Trial, *, low_enough: bool) -> Iterator[tuple[type[Warning], str]]:
    row, column = trial.chosen
    means, alphas = trial.means[row], trial.alphas[row]
    last = len(alphas) - 1
    if last == 0 or column not in (0, last):
        return
    if column == last and low_enough:
        return
    rows = isinstance(trial.kernel, KernelTerms) and trial.kernel.has_rows
    if rows and column == last:  # the L of rows is that of noise, whatever alpha is
        return
    others = np.delete(means, column)
    if np.any(others == means[column]):  # as good inside the grid
        return
    end, meaning = _LARGEST if column == 0 else _SMALLEST
    chosen = f"The alpha chosen, {alphas[column]:.3g}, is the {end} of its grid"
    yield UserWarning, f"{chosen}; a better one may lie beyond. {meaning}"


def _unseen(
    model: Any, experiment: Experiment, y: np.ndarray
) -> Iterator[tuple[type[Warning], str]]:
    folds, observed = experiment.folds, experiment.targets.observed
    if folds is None:
        return
    if is_classifier(model) and y.ndim == 1 and observed.tasks is None:
        free = experiment.fit_intercept
        texts = notes_of_classes(observed, folds, y, fit_intercept=free)
    else:
        names = getattr(model, "output_names_", None)
        judged = is_classifier(model) or observed.tasks is None
        how = {"judged": judged, "one_unit": not judged and model._shares_intercepts}
        texts = notes_of_outputs(observed, folds, names, **how)
    for text in texts:
        yield UserWarning, text
