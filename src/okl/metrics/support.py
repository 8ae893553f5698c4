"""Scores of the relations found: which pairs of outputs are related.

The *support* of an output kernel L is the set of pairs i < j with L_ij != 0. Where the
true support is known, as in a simulation, an estimate of it is a binary classification
of the pairs, and its precision, recall and F1 are scikit-learn's. The diagonal does not
count.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal

import numpy as np
import scipy.sparse
from sklearn.metrics import f1_score, precision_score, recall_score

from okl.numerics.validation import check_gram

ZeroDivision = Literal["warn"] | float


def support_precision_score(
    true: Any,
    estimated: Any,
    *,
    threshold: float = 0.0,
    zero_division: ZeroDivision = "warn",
) -> float:
    """Return the fraction of the estimated relations that are true ones.

    Parameters
    ----------
    true : array-like or sparse matrix (n_outputs, n_outputs)
        The true output kernel, or any symmetric matrix with its support, such as the
        adjacency matrix of a graph.
    estimated : array-like or sparse matrix (n_outputs, n_outputs)
        The estimated output kernel.
    threshold : float, default=0.0
        Entries of `estimated` whose absolute value is at most this fraction of the
        largest off the diagonal count as zero; with 0, only exact zeros do. A matrix
        computed from its eigenvectors has rounding instead of zeros: use 1e-10 for it.
    zero_division : {"warn", 0.0, 1.0, np.nan}, default="warn"
        What to return if no relation is estimated; "warn" is 0.0 and a warning, as in
        `sklearn.metrics.precision_score`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the matrices are not square, symmetric, finite and of one shape, have fewer
        than two outputs, or if the threshold is not in [0, 1).

    Examples
    --------
    >>> from okl.metrics import support_precision_score
    >>> true = [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    >>> support_precision_score(true, [[2, 1, 0.5], [1, 2, 0], [0.5, 0, 2]])
    0.5
    """
    labels = _supports(true, estimated, threshold)
    return float(precision_score(*labels, zero_division=zero_division))


def support_recall_score(
    true: Any,
    estimated: Any,
    *,
    threshold: float = 0.0,
    zero_division: ZeroDivision = "warn",
) -> float:
    """Return the fraction of the true relations that are estimated.

    Parameters
    ----------
    true, estimated, threshold
        As in `support_precision_score`.
    zero_division : {"warn", 0.0, 1.0, np.nan}, default="warn"
        What to return if there is no true relation; "warn" is 0.0 and a warning.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        As `support_precision_score`.

    Examples
    --------
    >>> from okl.metrics import support_recall_score
    >>> true = [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    >>> support_recall_score(true, [[2, 1, 0.5], [1, 2, 0], [0.5, 0, 2]])
    1.0
    """
    labels = _supports(true, estimated, threshold)
    return float(recall_score(*labels, zero_division=zero_division))


def support_f1_score(
    true: Any,
    estimated: Any,
    *,
    threshold: float = 0.0,
    zero_division: ZeroDivision = "warn",
) -> float:
    """Return the harmonic mean of precision and recall of the relations.

    Parameters
    ----------
    true, estimated, threshold
        As in `support_precision_score`.
    zero_division : {"warn", 0.0, 1.0, np.nan}, default="warn"
        What to return if there is no relation, true or estimated; "warn" is 0.0 and a
        warning.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        As `support_precision_score`.

    Examples
    --------
    >>> from okl.metrics import support_f1_score
    >>> support_f1_score([[1, 1], [1, 1]], [[3, -1], [-1, 3]])
    1.0
    """
    labels = _supports(true, estimated, threshold)
    return float(f1_score(*labels, zero_division=zero_division))


def _supports(
    true: Any, estimated: Any, threshold: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each pair i < j, whether it is in either support."""
    number = isinstance(threshold, Real) and not isinstance(threshold, bool)
    if not number or not 0 <= threshold < 1:
        raise ValueError(
            "threshold must be a number in [0, 1), a fraction of the largest entry off "
            f"the diagonal, got {threshold!r}."
        )
    true = _checked(true, "The true output kernel")
    estimated = _checked(estimated, "The estimated output kernel")
    if true.shape != estimated.shape:
        raise ValueError(
            "The true and the estimated output kernel must have the same shape; got "
            f"{true.shape} and {estimated.shape}."
        )
    if len(true) < 2:
        raise ValueError(
            f"Relations need at least two outputs; got matrices of shape {true.shape}."
        )
    pairs = np.triu_indices(len(true), k=1)
    strengths = np.abs(estimated[pairs])
    return true[pairs] != 0, strengths > threshold * np.max(strengths)


def _checked(matrix: Any, name: str) -> np.ndarray:
    """Return a matrix as float64 after checking that it is symmetric and finite."""
    if scipy.sparse.issparse(matrix):
        matrix = matrix.toarray()
    matrix = np.asarray(matrix, dtype=np.float64)
    if not np.all(np.isfinite(matrix)):
        raise ValueError(f"{name} has NaN or infinite entries; replace them.")
    check_gram(matrix, name)
    return matrix
