"""What a search over hyperparameters minimises: a criterion, and minus the priors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from okl.kernels import Kernel, PerOutput
from okl.operators import Operator, operator_of
from okl.parameters import HyperparameterSpace
from okl.selection.criteria import Criterion
from okl.selection.differences import central_differences
from okl.selection.matrices import matrix_and_pullback, matrix_of
from okl.structures import Structure


class Model(NamedTuple):
    """What a criterion judges."""

    kernel: Kernel | PerOutput
    structure: Structure
    alpha: Any  # a number, or one for each output


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

    @property
    def differentiates(self) -> bool:
        """Whether the criterion has derivatives, so that no differences are needed."""
        return self.criterion.differentiates(self.model.structure)

    @property
    def moves_kernel(self) -> bool:
        """Whether a parameter of the kernel is learned."""
        return any(name.startswith("kernel__") for name in self.space.names)

    @property
    def forms_matrices(self) -> bool:
        """Whether arrays of the size of K are formed.

        Fits with a kernel that is not learned multiply by its features, if it has any.
        """
        kernel = self.model.kernel
        if self.moves_kernel or not self.criterion.by_fits:
            return True
        kernels = kernel.kernels if isinstance(kernel, PerOutput) else [kernel]
        return any(one.features(self.X) is None for one in kernels)

    @cached_property
    def _operator(self) -> Operator:
        """The kernel matrix, where no parameter of the kernel is learned."""
        of = matrix_of if self.forms_matrices else operator_of
        return of(self.model.kernel, self.X)

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
        if self.differentiates:
            criterion, gradient = self._derivatives(theta)
        else:
            criterion = self._value(theta)
            gradient = central_differences(self._value, theta, self.space.bounds)
        value = criterion
        if self.priors:
            log_prior, slope = self.space.log_prior(theta)
            value, gradient = value - log_prior, gradient - slope
        if not (np.isfinite(value) and np.all(np.isfinite(gradient))):
            raise np.linalg.LinAlgError(
                f"The criterion is {value}, or its gradient is not finite. Start from "
                "another alpha, or scale of the kernel."
            )
        return Point(theta.copy(), float(value), criterion, gradient)

    def operator(self, kernel: Kernel | PerOutput) -> Operator:
        """Return the matrix of a kernel, the same one where none of it is learned."""
        if not self.moves_kernel:
            return self._operator
        return matrix_of(kernel, self.X)

    def _value(self, theta: np.ndarray) -> float:
        """Return the criterion."""
        kernel, structure, alpha = self.at(theta)
        return self.criterion.value(self.operator(kernel), alpha, structure).value

    def _derivatives(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the criterion and its gradient."""
        kernel, structure, alpha = self.at(theta)
        derivatives: dict[str, Any] = {}
        if self.moves_kernel:
            operator, pullback = matrix_and_pullback(kernel, self.X)
            found = self.criterion.evaluate(operator, alpha, structure)
            derivatives = within("kernel", pullback(found))
        else:
            found = self.criterion.evaluate(
                self._operator, alpha, structure, of_kernel=False
            )
        derivatives["alpha"] = found.log_alpha
        derivatives |= within("structure", found.term.of_structure)
        return found.value, self.space.gradient(derivatives)


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
