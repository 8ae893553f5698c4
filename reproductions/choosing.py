"""Each candidate at its best kernel, alpha and parameters, by one search for all."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from okl import (
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
)
from okl.structures import Structure

SINGLE = {
    OutputKernelRegressorCV: OutputKernelRegressor,
    OutputKernelClassifierCV: OutputKernelClassifier,
}


def best_of_each(
    search: OutputKernelRegressorCV | OutputKernelClassifierCV,
    candidates: Mapping[str, Sequence[Structure]],
    X: np.ndarray,
    Y: np.ndarray,
    **ids: np.ndarray,
) -> dict[str, Any]:
    """Return a model of every candidate, fitted to all rows.

    The search, not fitted, says how: its kernels, alphas, folds and score serve all
    structures of all candidates. Each candidate then gets the kernel, the alpha and, of
    its own structures, the one with the best mean score over the folds. Ids may be the
    task of each row, for data in long form.
    """
    structures = [s for family in candidates.values() for s in family]
    search.set_params(structures=structures, search="compare").fit(X, Y, **ids)
    tried = search.cv_results_
    # of each kernel every structure, of each structure every alpha
    last = np.flatnonzero(tried["stage"] == 2).reshape(
        -1, len(structures), search.alphas_.shape[1]
    )
    single = SINGLE[type(search)]
    given = search.get_params(deep=False)
    # a temperature is chosen by the search, and moves no prediction but probabilities;
    # a shift moves quantiles, which no study predicts
    chosen = {"kernel", "structure", "alpha", "temperature", "shift"}
    names = set(single().get_params(deep=False)) - chosen
    shared = {name: given[name] for name in names if name in given}
    models, first = {}, 0
    for name, family in candidates.items():
        places = last[:, first : first + len(family)].ravel()
        best = places[np.nanargmax(tried["mean_test_score"][places])]
        models[name] = single(**tried["params"][best], **shared).fit(X, Y, **ids)
        first += len(family)
    return models


@contextmanager
def noted_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Collect warnings in place of showing them, those of fits above tolerance all."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        yield caught


def certified(caught: Sequence[warnings.WarningMessage]) -> str:
    """Say whether all fits were certified to the tolerance of the estimators."""
    above = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    if not above:
        return "Every model is certified to 1e-6."
    several = f"{len(above)} warnings are about, the first"
    about = several if len(above) > 1 else "one warning is about"
    return f"Every model is certified to 1e-6, but for what {about}: {above[0].message}"
