"""Checks of what a problem is made of. A fit takes far longer than they do."""

from __future__ import annotations

from typing import Any

import numpy as np

from okl.numerics.arrays import namespace
from okl.operators import Operator


def check_operator(operator: Any) -> None:
    """Raise TypeError for what is no operator, such as a kernel matrix itself."""
    if not isinstance(operator, Operator):
        raise TypeError(
            "operator must be one of okl.operators, such as Dense(K) of a kernel "
            f"matrix K, got {type(operator).__name__}."
        )


def check_parts(
    targets: Any, loss: Any, structure: Any, weights: Any, n_samples: int
) -> None:
    """Raise TypeError or ValueError for what `formulate` cannot use."""
    for value, name, such in (
        (loss, "loss", "okl.losses, such as Squared()"),
        (structure, "structure", "okl.structures, such as Frobenius()"),
    ):
        if isinstance(value, str | type):  # estimators take names
            raise TypeError(f"{name} must be an object of {such}, got {value!r}.")
    _check_targets(targets, n_samples)
    shape = tuple(targets.shape)
    if weights is not None and tuple(weights.shape) not in {shape, (n_samples, 1)}:
        raise ValueError(
            f"weights have the shape {tuple(weights.shape)}; expected that of the "
            f"targets, {shape}, or ({n_samples}, 1) for weights of rows."
        )


def _check_targets(targets: Any, n_samples: int) -> None:
    xp = namespace(targets)
    shape = tuple(targets.shape)
    if len(shape) != 2 or shape[0] != n_samples:
        raise ValueError(
            f"targets have the shape {shape}, and the kernel matrix has {n_samples} "
            f"rows; expected ({n_samples}, n_outputs): one row per sample and one "
            "column per output."
        )
    if not xp.isdtype(targets.dtype, "real floating"):
        raise ValueError(
            f"targets must be floating point numbers, got {targets.dtype}: convert "
            "them, for instance to float64."
        )
    if not xp.all(xp.isfinite(targets)):
        # a ValueError that searches expect, as numbers of theirs may overflow
        raise np.linalg.LinAlgError(
            "targets have entries that are NaN or infinite; pass finite values, and "
            "for a missing target any number with weight zero."
        )
