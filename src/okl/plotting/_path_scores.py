"""What a search tried and found: structures, mean scores and the chosen point."""

from __future__ import annotations

from typing import Any

import numpy as np


def mean_and_standard_error(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Average over folds, without the missing scores.

    Parameters
    ----------
    scores : ndarray of shape (..., n_folds)
        The scores; those that are not finite are missing.

    Returns
    -------
    mean : ndarray of shape (...)
        Mean of the scores present, NaN where there is none.
    standard_error : ndarray of shape (...)
        Standard error of the mean, zero where a single score is present.
    """
    present = np.isfinite(scores)
    count = present.sum(axis=-1)
    mean = np.where(present, scores, 0).sum(axis=-1) / np.maximum(count, 1)
    deviations = np.where(present, scores - mean[..., np.newaxis], 0)
    variance = (deviations**2).sum(axis=-1) / np.maximum(count - 1, 1)
    error = np.sqrt(variance / np.maximum(count, 1))
    return np.where(count > 0, mean, np.nan), error


def on_most_folds(scores: np.ndarray) -> np.ndarray:
    """Return the scores without those of alphas that have scores of fewer folds.

    Folds mostly differ by more than alphas do: the mean over some folds is no point of
    the curve of means over all. A structure that was dropped after the first fold keeps
    its scores there.

    Parameters
    ----------
    scores : ndarray of shape (n_structures, n_alphas, n_folds)
        Those that are not finite are missing.

    Returns
    -------
    ndarray of the same shape
        The scores, with NaN for those left out.
    """
    counts = folds_present(scores)
    whole = counts == counts.max(axis=1, initial=0, keepdims=True)
    return np.where(whole[..., np.newaxis], scores, np.nan)


def folds_present(scores: np.ndarray) -> np.ndarray:
    """Count the folds with a score (n_structures, n_alphas)."""
    return np.isfinite(scores).sum(axis=-1)


def structure_labels_of(estimator: Any) -> list[str]:
    """Name the structures that a search compared, in the order of its ``alphas_``.

    They are read from ``cv_results_``, as ``structures`` may be None. Its last stage
    has every structure at every alpha for each kernel; that of tasks that was learned
    once more has its relation in the place of one of them.

    Parameters
    ----------
    estimator : estimator
        A fitted search.

    Returns
    -------
    list of str
        The text of each structure.
    """
    table, (n_structures, n_alphas) = estimator.cv_results_, estimator.alphas_.shape
    stage = table["stage"] == 2
    best = int(np.nanargmax(table["mean_test_score"][stage]))
    first = best - best % (n_structures * n_alphas)
    own = table["param_structure"][stage][first:]
    return [str(one) for one in own[: n_structures * n_alphas : n_alphas]]


def chosen_point(estimator: Any) -> tuple[int, int]:
    """Return the structure with the best mean score, and the position of its alpha.

    Parameters
    ----------
    estimator : estimator
        A fitted search.
    """
    means = np.mean(estimator.scores_, axis=-1)
    row = int(np.nanargmax(means)) // means.shape[1]
    # for an alpha per output the grid has the geometric means
    overall = np.exp(np.mean(np.log(estimator.alpha_)))
    nearest = np.argmin(np.abs(np.log(estimator.alphas_[row] / overall)))
    return row, int(nearest)
