"""What a search tried and found: structures, mean scores, the point chosen."""

from __future__ import annotations

from collections.abc import Sequence
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
        Its standard error, zero where a single score is present.
    """
    present = np.isfinite(scores)
    count = present.sum(axis=-1)
    mean = np.where(present, scores, 0).sum(axis=-1) / np.maximum(count, 1)
    deviations = np.where(present, scores - mean[..., np.newaxis], 0)
    variance = (deviations**2).sum(axis=-1) / np.maximum(count - 1, 1)
    error = np.sqrt(variance / np.maximum(count, 1))
    return np.where(count > 0, mean, np.nan), error


def on_most_folds(scores: np.ndarray) -> np.ndarray:
    """Return the scores without those of alphas that fewer folds tell of than others.

    Folds differ in how hard they are, mostly by more than alphas do: the mean over some
    of them is no point of the curve of all. A structure that was left after the first
    fold keeps its scores there.

    Parameters
    ----------
    scores : ndarray of shape (n_structures, n_alphas, n_folds)
        Those that are not finite are missing.

    Returns
    -------
    ndarray of the same shape
        With NaN in their place.
    """
    counts = folds_present(scores)
    whole = counts == counts.max(axis=1, initial=0, keepdims=True)
    return np.where(whole[..., np.newaxis], scores, np.nan)


def folds_present(scores: np.ndarray) -> np.ndarray:
    """Count the folds with a score (n_structures, n_alphas)."""
    return np.isfinite(scores).sum(axis=-1)


def structure_labels_of(estimator: Any) -> list[str]:
    """Name the structures that a cross-validated estimator searched.

    Parameters
    ----------
    estimator : estimator
        A fitted cross-validated estimator. Its ``structures`` is one structure or a
        list of them, each an object or a name.

    Returns
    -------
    list of str
        ``structure_labels_`` if present, else how each structure prints.
    """
    labels = getattr(estimator, "structure_labels_", None)
    if labels is None:
        labels = estimator.structures
        labels = labels if isinstance(labels, list | tuple) else [labels]
    return [str(label) for label in labels]


def chosen_point(estimator: Any, labels: Sequence[str]) -> tuple[int, int] | None:
    """Find the point of the grid that a cross-validated estimator chose.

    Parameters
    ----------
    estimator : estimator
        A fitted cross-validated estimator.
    labels : sequence of length n_structures
        Names of the structures it searched.

    Returns
    -------
    tuple of two ints, or None
        Structure and position in its grid; None if ``alpha_`` is not in the grid.
    """
    mean, _ = mean_and_standard_error(np.asarray(estimator.scores_, dtype=float))
    # of alphas of outputs the grid has the geometric mean
    overall = np.exp(np.mean(np.log(estimator.alpha_)))
    eligible = np.isclose(estimator.alphas_, overall) & np.isfinite(mean)
    # A structure given by its name does not print as the object it stands for.
    structure = estimator.structure_
    names = str(structure), getattr(structure, "name", None)
    chosen = [label in names for label in labels]
    if any(chosen):
        eligible &= np.array(chosen)[:, np.newaxis]
    if not eligible.any():
        return None
    best = np.argmax(np.where(eligible, mean, -np.inf))
    row, column = np.unravel_index(best, mean.shape)
    return int(row), int(column)
