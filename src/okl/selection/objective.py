"""What a search over hyperparameters minimises: a criterion minus the log priors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from okl.operators import Operator, operator_of
from okl.parameters import HyperparameterSpace
from okl.selection.criteria import Criterion
from okl.selection.criteria.base import Value
from okl.selection.differences import central_differences
from okl.selection.matrices import matrix_and_pullback, matrix_of
from okl.selection.model import Model


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
        return self.criterion.differentiates(self.model.judged_structure)

    @property
    def moves_kernel(self) -> bool:
        """Whether a parameter of a kernel is learned."""
        return any(
            name.startswith(f"{term.name}__")
            for name in self.space.names
            for term in self.model.terms
        )

    @property
    def forms_matrices(self) -> bool:
        """Whether arrays of the size of K are formed.

        Fits with a kernel that is not learned multiply by its features, if it has any.
        """
        if self.moves_kernel or not self.criterion.by_fits:
            return True
        return any(one.features(self.X) is None for one in self.model.kernels)

    @cached_property
    def _operator(self) -> Operator:
        """The kernel matrix, where no parameter of a kernel is learned."""
        of = matrix_of if self.forms_matrices else operator_of
        return of(self.model.judged_kernel, self.X)

    def at(self, theta: np.ndarray) -> Model:
        """Return new objects with the values that theta stands for."""
        return self.model.at(self.space.unpack(theta))

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

    def value(self, model: Model, *, cold: bool = False) -> Value:
        """Return the criterion of a model, with or without warm starts."""
        criterion = self.criterion.cold() if cold else self.criterion
        operator = self._operator
        if self.moves_kernel:
            operator = matrix_of(model.judged_kernel, self.X)
        return criterion.value(operator, model.alpha, model.judged_structure)

    def _value(self, theta: np.ndarray) -> float:
        """Return the criterion."""
        return self.value(self.at(theta)).value

    def _derivatives(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the criterion and its gradient."""
        model = self.at(theta)
        others = model.alpha, model.judged_structure
        derivatives: dict[str, Any] = {}
        if self.moves_kernel:
            groups = self.criterion.groups_of_rows(model.judged_structure)
            operator, pullback = matrix_and_pullback(
                model.judged_kernel, self.X, groups
            )
            found = self.criterion.evaluate(operator, *others)
            derivatives = model.of_kernels(pullback(found.terms))
        else:
            found = self.criterion.evaluate(self._operator, *others, of_kernel=False)
        derivatives["alpha"] = found.log_alpha
        derivatives |= model.of_structures(found.terms)
        return found.value, self.space.gradient(derivatives)
