"""Labels as they are given to ``fit``: classes, label indicators, or one task a row.

Here they are checked, and the kind of classification that they pose is found.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from okl.coding.labels import Kind
from okl.coding.tasks import Tasks
from okl.estimators.long_form import enter_long_form
from okl.estimators.output_names import set_output_names
from okl.estimators.targets import observed_targets
from okl.estimators.weights import checked_weights, combined
from okl.losses import Loss
from okl.metrics.indicators import partly_observed, without_objects
from okl.numerics.missing import refuse_masked


def validated_labels(
    model: Any, X: Any, y: Any, task: Any, loss: Loss
) -> tuple[Any, np.ndarray, Kind, Tasks | None]:
    """Check X, y and task; return X, the labels, their kind and the tasks."""
    _refuse_lists(y)
    names, y = y, without_objects(y)
    _check_classes(y)
    if partly_observed(y):
        X, y = model._validate_numbers(X, y)
    else:
        X, y = model._validate_rows(X, reset=True, y=y, multi_output=True)
    labels, kind = _classification_kind(y)
    set_output_names(model, names if kind == "multilabel" else None)
    if task is None:
        return X, labels, kind, None
    if kind != "binary":
        raise ValueError(
            f"With task every row has one of two classes; got {kind} y. Leave task "
            "out, or fit one classifier for each class."
        )
    loss = model._loss_of(loss, by_output=True)
    if "multilabel" not in loss.capabilities:
        raise ValueError(
            f"The loss {loss.name or loss!r} has several outputs for two classes, "
            "and with task each task is one output; use another loss, such as "
            "'logistic'."
        )
    labels, tasks = enter_long_form(model, labels, task)
    return X, labels, kind, tasks


def label_weights(
    labels: np.ndarray, kind: Kind, sample_weight: Any
) -> np.ndarray | None:
    """Return the weights of rows, or of labels: zero where one is missing.

    Raises
    ------
    ValueError
        If a label is nowhere observed, or the weights cannot be used.
    """
    if kind == "multilabel":
        return observed_targets(labels, sample_weight)[1]
    return combined(checked_weights(sample_weight, labels.shape))


def _classification_kind(y: Any) -> tuple[Any, Kind]:
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
            "a matrix of zeros and ones with one column per label, such as "
            "(frame == 'yes').astype(int) of labels that are text; several multiclass "
            "targets need one classifier each. (Labels with NaN become such columns in "
            "scikit-learn's cross_val_predict(method='predict_proba'): predict the "
            "folds one by one instead.)"
        )
    labels = column_or_1d(y, warn=True)
    return labels, "binary" if len(np.unique(labels)) <= 2 else "multiclass"


def _refuse_lists(y: Any) -> None:
    """Refuse a list, or set, of labels for each row: numbers of them may differ.

    Raises
    ------
    ValueError
        With the first of them.
    """
    nested = isinstance(y, list | tuple)
    dtype = getattr(y, "dtype", None)
    objects = isinstance(dtype, np.dtype) and dtype.kind == "O" and y.ndim == 1
    if not (nested or objects):
        return
    found = [row for row in y if isinstance(row, list | tuple | set | frozenset)]
    lists = not any(isinstance(row, set | frozenset) for row in found)
    if nested and lists and len(found) == len(y) and len({*map(len, found)}) == 1:
        return  # a matrix
    if found:
        raise ValueError(
            f"y has a list of labels for a row, such as {found[0]!r}; give a matrix of "
            "zeros and ones with one column per label, which "
            "sklearn.preprocessing.MultiLabelBinarizer makes of such lists."
        )


def _check_classes(y: Any) -> None:
    """Refuse classes that are missing: masked, None or NaN; and objects but text.

    Raises
    ------
    ValueError
        With the row of the first that is missing, or the first object.
    """
    if np.ma.is_masked(y) and np.ndim(y) == 1:
        row = int(np.flatnonzero(np.ma.getmaskarray(y))[0])
        raise _missing_class(row, "masked")
    refuse_masked(y, "y")
    values = np.asarray(y) if hasattr(y, "to_numpy") else y
    if isinstance(values, np.ndarray) and values.dtype.kind == "f" and values.ndim:
        missing = np.isnan(values)
        if values.size == len(values) and missing.any():
            raise _missing_class(int(missing.argmax()), "Input y contains NaN")
    dtype = getattr(y, "dtype", None)
    plain = isinstance(dtype, np.dtype) and dtype.kind != "O"
    if plain or getattr(y, "ndim", 1) != 1:
        return
    labels = np.asarray(y, dtype=object)
    if labels.ndim != 1:
        return
    for row, label in enumerate(labels):
        if label is None or type(label).__name__ == "NAType" or label != label:  # noqa: PLR0124
            raise _missing_class(row, repr(label))
    others = [label for label in labels if not isinstance(label, str)]
    if others and isinstance(dtype, np.dtype):  # else what scikit-learn reads
        raise ValueError(
            "Unknown label type: y has classes that are objects and no text, such as "
            f"{others[0]!r}; make all of them text or whole numbers, by y.astype(str) "
            "or y.astype(int)."
        )


def _missing_class(row: int, shown: str) -> ValueError:
    return ValueError(
        f"The class of row {row} of y is missing ({shown}); classes cannot be. Leave "
        "such rows out, or give missing ones a name of their own."
    )


def _check_indicators(observed: np.ndarray) -> None:
    """Refuse label indicators that are not zeros and ones."""
    values = np.unique(observed)
    if not np.all((values == 0) | (values == 1)):
        raise ValueError(
            "Label indicators must be 0 and 1, one column per label; got the "
            f"values {values.tolist()}. Pass y == {values[-1]} if that is the "
            "value of a label that is present."
        )
