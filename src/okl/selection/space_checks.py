"""Hyperparameters that cannot be learned, found before any evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from okl.kernels import Row
from okl.parameters import HyperparameterSpace
from okl.selection.differences import MOST
from okl.selection.model import Model
from okl.selection.objective import Objective


def check_space(
    space: HyperparameterSpace,
    model: Model,
    X: Any,
    n_outputs: int,
    columns: Sequence[str] | None,
) -> None:
    """Raise ValueError if nothing is learned, or something without influence.

    Columns are the names of those of X, if they have any.
    """
    if space.size == 0:
        raise ValueError(
            f"There is nothing to learn: no continuous parameter of {model}, nor "
            "alpha, is among the parameters. Name one, or fit "
            "without a search."
        )
    left, right = np.random.default_rng(0).standard_normal((2, X.shape[0], n_outputs))
    slopes: dict[str, Any] = {name: 1.0 for name in space.names}
    slopes |= model.of_kernels(
        [
            {} if isinstance(term.kernel, Row) else term.kernel.gradient(X, left, right)
            for term in model.terms
        ]
    )
    # where the kernel matrix does not depend on a parameter, ``moved`` has other values
    still = space.unpack(np.zeros(space.size))
    moved = space.unpack((space.gradient(slopes) == 0).astype(np.float64))
    for name, value in moved.items():
        entries = np.flatnonzero(np.asarray(value) != still[name])
        if not len(entries):
            continue
        one = f"{name}[{entries[0]}]" if np.ndim(value) else name
        if columns is not None and np.shape(value) == (len(columns),):
            one += f", of the column {str(columns[entries[0]])!r},"
        raise ValueError(
            f"{one} has no influence on the kernel matrix where the search starts "
            f"({len(entries)} such entries in {name}): the columns of X that it "
            "belongs to are constant, or its starting value is far from their scale. "
            "Drop constant columns, start from another value, or keep it fixed by "
            f"parameters={{{name!r}: 'fixed'}}."
        )


def check_objective(objective: Objective, n_outputs: int) -> None:
    """Raise ValueError if it leaves what is valid, or would cost too much."""
    space, structure = objective.space, objective.model.judged_structure
    for corner in space.bounds.T:
        objective.at(corner).judged_structure.validate(n_outputs)
    if space.size > MOST and not objective.differentiates:
        raise ValueError(
            f"The L of {structure} is learned, and the derivative of held-out scores "
            f"is not available for it: finite differences in {space.size} parameters "
            f"({', '.join(space.names)}) would take {2 * space.size + 1} times the "
            f"fits of all folds for each gradient. At most {MOST} can be learned this "
            "way: name fewer as parameters, tie those of an array, or first learn the "
            "kernel with a structure that fixes L, such as 'identity', or with "
            "'frobenius'."
        )
