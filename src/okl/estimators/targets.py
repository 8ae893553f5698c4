"""Targets as they come in: names, classes, and the arrays the problems take."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from okl.losses import Loss
from okl.losses.base import Kind
from okl.metrics.missing import partly_observed


def set_output_names(estimator: Any, y: Any) -> None:
    """Keep the column names of a DataFrame; forget those of an earlier fit."""
    columns = getattr(y, "columns", None)
    if columns is not None and np.ndim(y) == 2:
        estimator.output_names_ = np.asarray([str(c) for c in columns], dtype=object)
    else:
        vars(estimator).pop("output_names_", None)


def regression_targets(y: Any) -> np.ndarray:
    """Return targets as (n_samples, n_outputs) float64."""
    if scipy.sparse.issparse(y):
        y = y.toarray()
    y = np.asarray(y, dtype=np.float64)
    return y[:, None] if y.ndim == 1 else y


def observed_targets(y: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Return targets (n_samples, n_outputs), and weights 0 where they are missing.

    A missing target, NaN, becomes zero; the weights are None if there is none.

    Raises
    ------
    ValueError
        If an output is nowhere observed.
    """
    targets = y[:, None] if y.ndim == 1 else y
    missing = np.isnan(targets)
    if not missing.any():
        return targets, None
    nowhere = np.flatnonzero(missing.all(axis=0))
    if len(nowhere):
        raise ValueError(
            "Input y contains NaN in every row of "
            f"{len(nowhere)} of {targets.shape[1]} outputs, the first is number "
            f"{nowhere[0]}; leave such outputs out."
        )
    return np.where(missing, 0.0, targets), (~missing).astype(np.float64)


def observed_labels(labels: np.ndarray, kind: Kind) -> np.ndarray | None:
    """Return weights 0 where label indicators are missing, None if none is.

    Raises
    ------
    ValueError
        If a label is nowhere observed.
    """
    return observed_targets(labels)[1] if kind == "multilabel" else None


def class_weights(
    class_weight: Any, labels: np.ndarray, classes: np.ndarray, kind: Kind
) -> np.ndarray | None:
    """Return the weight of each row (n_samples, 1), None if all are one.

    Raises
    ------
    ValueError
        For label indicators, which have no classes, or unknown classes.
    """
    if class_weight is None:
        return None
    if kind == "multilabel":
        raise ValueError(
            "class_weight is for one class per row, y has several labels per row; set "
            "class_weight=None."
        )
    return compute_sample_weight(class_weight, labels)[:, None]


def classification_kind(y: Any) -> tuple[Any, Kind]:
    """Return labels as an array, and the kind of classification they pose.

    Label indicators that were not observed are NaN.

    Raises
    ------
    ValueError
        For targets that are not classes, or several multiclass outputs.
    """
    if scipy.sparse.issparse(y):
        y = y.toarray()
    if partly_observed(y):
        _check_indicators(y[~np.isnan(y)])
        return y, "multilabel"
    check_classification_targets(y)
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    if kind == "multilabel-indicator":
        indicators = np.asarray(y)
        _check_indicators(indicators)
        return indicators.astype(np.intp), "multilabel"
    if kind == "multiclass-multioutput":
        raise ValueError(
            "y has several columns of classes. Give one column of classes, or "
            "a matrix of zeros and ones with one column per label; several multiclass "
            "targets need one classifier each."
        )
    labels = column_or_1d(y, warn=True)
    return labels, "binary" if len(np.unique(labels)) <= 2 else "multiclass"


def _check_indicators(observed: np.ndarray) -> None:
    """Refuse label indicators that are not zeros and ones."""
    values = np.unique(observed)
    if not np.all((values == 0) | (values == 1)):
        raise ValueError(
            "Label indicators must be 0 and 1, one column per label; got the "
            f"values {values.tolist()}. Pass y == {values[-1]} if that is the "
            "value of a label that is present."
        )


def encode(labels: np.ndarray, kind: Kind, loss: Loss) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes and the targets (n_samples, n_outputs).

    Raises
    ------
    ValueError
        If there is one class only.
    """
    if kind == "multilabel":
        n_labels = labels.shape[1]
        return np.arange(n_labels), loss.encode(labels, kind, n_labels)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only, {classes[0]!r}; a classifier needs at least two "
            "classes."
        )
    return classes, loss.encode(codes, kind, len(classes))
