"""The scores of all candidates of a search, as one table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from okl.estimators.search.trial import Trial
from okl.kernels import KernelTerms
from okl.structures import Structure


class Results:
    """Collects trials; `table` is in the form of `GridSearchCV.cv_results_`.

    Parameters
    ----------
    calibration : str
        What a calibration of the model is called.

    Attributes
    ----------
    largest_gap : float
        The largest relative gap among the fits that ended at ``max_iter``, else 0.
    """

    def __init__(self, calibration: str) -> None:
        self.largest_gap = 0.0
        self._calibration = calibration
        self._rows: list[tuple[int, Any, Any, Any, np.ndarray]] = []
        self._calibrations: list[Any] = []
        self._chosen: list[np.ndarray] = []

    def add(self, stage: int, trial: Trial, structures: list[Structure]) -> None:
        """Add every structure and alpha of a trial."""
        self.largest_gap = max(self.largest_gap, trial.largest_gap)
        if trial.calibrations is not None:
            found = trial.calibrations
            if trial.targets.one_dimensional:  # a number, not one for each output
                found = found.reshape(found.shape[:2])
            for row in found:
                self._calibrations.extend(row)
        at_each = np.arange(trial.alphas.shape[1])
        self._chosen.extend(at_each == column for column in trial.columns)
        kernel: Any = trial.kernel
        shown: list[Any] = list(structures)
        if isinstance(kernel, KernelTerms):
            # as they were given
            kernel = list(kernel.kernels)
            shown = [list(one.structures) for one in shown]
        for structure, alphas, scores in zip(
            shown, trial.alphas, trial.scores, strict=True
        ):
            for alpha, splits in zip(alphas, scores, strict=True):
                self._rows.append(
                    (stage, kernel, structure, trial.alpha(alpha), splits)
                )

    def table(self) -> dict[str, Any]:
        """Return one array a column, one entry a candidate.

        A candidate has as many splits as its stage had folds, one where rows were left
        out one by one; the others are NaN. Candidates of the last stage have a rank,
        those of the first come after all of them. For each kernel and structure one
        alpha is marked as the chosen one. Where candidates were scored at calibrations
        of their own, there is a column of these: of outputs, an array.
        """
        stages, kernels, structures, alphas, splits = zip(*self._rows, strict=True)
        n_splits = max(len(scores) for scores in splits)
        scores = np.full((len(splits), n_splits), np.nan)
        for row, own in zip(scores, splits, strict=True):
            row[: len(own)] = own
        stage = np.array(stages)
        mean = np.array([own.mean() for own in splits])
        last = stage == 2
        rank = np.full(len(stage), int(last.sum()) + 1)
        filled = np.where(np.isnan(mean[last]), -np.inf, mean[last])
        rank[last] = rankdata(-filled, method="min")
        found = self._calibrations
        return {
            "stage": stage,
            "param_kernel": _objects(kernels),
            "param_structure": _objects(structures),
            "param_alpha": _numbers(alphas),
            "params": [
                {"kernel": kernel, "structure": structure, "alpha": alpha}
                for _, kernel, structure, alpha, _ in self._rows
            ],
            **({self._calibration: _numbers(found)} if found else {}),
            **{f"split{j}_test_score": scores[:, j] for j in range(n_splits)},
            "mean_test_score": mean,
            "std_test_score": np.array([own.std() for own in splits]),
            "rank_test_score": rank,
            "chosen_alpha": np.concatenate(self._chosen),
        }


def _numbers(values: Sequence[Any]) -> np.ndarray:
    """Return an array of numbers, of objects where one is an array."""
    if all(np.ndim(value) == 0 for value in values):
        return np.array(values)
    return _objects(values)


def _objects(values: Sequence[Any]) -> np.ndarray:
    """Return an array of objects, whatever they are."""
    array = np.empty(len(values), dtype=object)
    for number, value in enumerate(values):
        array[number] = value
    return array
