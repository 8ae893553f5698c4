"""Labels as they are given to ``fit``: classes, label indicators, or one task a row."""

from __future__ import annotations

from typing import Any

import numpy as np

from okl.coding.labels import Kind
from okl.coding.tasks import Tasks
from okl.estimators.long_form import enter_long_form
from okl.estimators.targets import (
    check_classes,
    classification_kind,
    set_output_names,
)
from okl.losses import Loss
from okl.metrics.indicators import partly_observed, without_objects


def validated_labels(
    model: Any, X: Any, y: Any, task: Any, loss: Loss
) -> tuple[Any, np.ndarray, Kind, Tasks | None]:
    """Check X, y and task; return X, the labels, their kind and the tasks."""
    names, y = y, without_objects(y)
    check_classes(y)
    if partly_observed(y):
        X, y = model._validate_numbers(X, y)
    else:
        X, y = model._validate_rows(X, reset=True, y=y, multi_output=True)
    labels, kind = classification_kind(y)
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
