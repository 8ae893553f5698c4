"""What a search over hyperparameters minimises: a criterion, and minus the priors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from okl.kernels import Kernel
from okl.operators import Dense
from okl.parameters import HyperparameterSpace
from okl.selection.criteria import Criterion
from okl.structures import Structure


class Model(NamedTuple):
    """What a criterion judges."""

    kernel: Kernel
    structure: Structure
    alpha: float


class Point(NamedTuple):
    """An evaluation of the objective."""

    theta: np.ndarray
    value: float
    criterion: float
    gradient: np.ndarray


@dataclass(frozen=True)
class Objective:
    """The criterion minus the log density of the priors, as a function of theta."""

    X: Any
    model: Model
    criterion: Criterion
    space: HyperparameterSpace
    priors: bool

    def at(self, theta: np.ndarray) -> Model:
        """Return new objects with the values that theta stands for."""
        values = self.space.unpack(theta)
        kernel, structure = clone(self.model.kernel), clone(self.model.structure)
        kernel.set_params(**part_of("kernel", values))
        structure.set_params(**part_of("structure", values))
        return Model(kernel, structure, values.get("alpha", self.model.alpha))

    def __call__(self, theta: np.ndarray) -> Point:
        """Return value and gradient.

        Raises
        ------
        numpy.linalg.LinAlgError
            If a matrix cannot be factorised, or they are not finite.
        """
        kernel, structure, alpha = self.at(theta)
        K, pullback = kernel.value_and_pullback(self.X)
        operator = Dense(K, owned=False, trusted=kernel.is_psd)
        found = self.criterion.evaluate(operator, alpha, structure)
        derivatives = within("kernel", pullback(found.weights()))
        derivatives["alpha"] = found.log_alpha
        if found.output_weights is not None:
            own = structure.gradient(found.output_weights)
            derivatives |= within("structure", own)
        value, gradient = found.value, self.space.gradient(derivatives)
        if self.priors:
            log_prior, slope = self.space.log_prior(theta)
            value, gradient = value - log_prior, gradient - slope
        if not (np.isfinite(value) and np.all(np.isfinite(gradient))):
            raise np.linalg.LinAlgError(
                f"The criterion is {value}, or its gradient is not finite. Start from "
                "another alpha, or scale of the kernel."
            )
        return Point(theta.copy(), float(value), found.value, gradient)


def part_of(part: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a part by their names in it."""
    prefix = f"{part}__"
    return {
        name.removeprefix(prefix): value
        for name, value in values.items()
        if name.startswith(prefix)
    }


def within(part: str, derivatives: Mapping[str, Any]) -> dict[str, Any]:
    """Return the derivatives of a part by their names outside of it."""
    return {f"{part}__{name}": value for name, value in derivatives.items()}
