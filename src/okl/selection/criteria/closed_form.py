"""Criteria of the squared loss and a given L, which need no fits.

Targets are made independent where they can be (`decoupling.py`): in the eigenvectors of
L, if all were observed, or output by output, if L couples none. Otherwise those that
were observed are one column (`joined.py`), as are the rows of tasks.

*An alpha for each output* is one for each inverse where L couples no outputs. Where it
does, outputs are multiplied by D, alpha_j = alpha / D_jj^2: what relates them is D L D.

*Missing targets and weights of single entries* are no obstacle where L couples no
outputs: each output then has its own rows. Where L couples them the criteria that leave
out one row at a time need weights of rows, or tasks, of which each row has one.

*Tasks* have one variance of the noise, and one mean squared error, whatever L is: a
task may have a single row.

*Constant outputs* leave nothing to predict. They are left out where L couples no
outputs; and variances get a floor, that of noise of a millionth of the standard
deviation of an output: less noise counts as no better.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from okl.numerics.threads import threads_for
from okl.operators import Operator
from okl.operators.base import CENTERING_ROUNDING
from okl.output_kernels import OutputKernel
from okl.problems import Observed
from okl.selection.criteria.base import (
    Criterion,
    Evaluation,
    TermDerivative,
    check_criteria_are_for,
)
from okl.selection.criteria.decoupled import Decoupled, Derivative, unjoined
from okl.selection.criteria.decoupling import Decoupling
from okl.selection.criteria.joined import Joined
from okl.selection.criteria.output_units import OutputUnits
from okl.structures import Structure

# The part of the variance of an output below which less noise counts as no better.
FLOOR = 1e-12
# With fewer rows there is nothing to choose by.
_FEWEST = 5


class ClosedFormCriterion(Criterion):
    """Base of the criteria in closed form.

    Parameters
    ----------
    observed : Observed
        Targets, normalised, with the squared loss; tasks may be.
    fit_intercept : bool

    Attributes
    ----------
    leaves_out_rows : bool
        Whether rows are left out whole, for which a row with several targets cannot be
        taken apart.
    """

    leaves_out_rows: ClassVar[bool] = True

    def __init__(self, observed: Observed, *, fit_intercept: bool) -> None:
        if "quadratic" not in observed.loss.capabilities:
            check_criteria_are_for(observed)
            raise ValueError(
                f"{type(self).__name__} needs the squared loss, got {observed.loss}. "
                "Use 'folds_likelihood'."
            )
        self.fit_intercept = fit_intercept
        self.of_tasks = observed.tasks is not None
        targets, self._weights = _as_matrix(observed)
        if self.of_tasks and fit_intercept:
            several = (self._weights > 0).sum(axis=0) > 1
            if not np.any(several):
                raise ValueError(
                    "Every task has one row, which is its own intercept, so that no "
                    "row says anything of a kernel. Pass fit_intercept='shared' or "
                    "False."
                )
            self._weights *= several
        weights = self._weights
        _check_rows(weights)
        self.targets = np.where(weights > 0, targets, 0.0)
        self.totals = np.broadcast_to(weights.sum(axis=0), targets.shape[1:]).copy()
        totals = np.where(self.totals > 0, self.totals, 1.0)
        largest = np.abs(self.targets).max(axis=0)
        if fit_intercept:
            means = (weights * self.targets).sum(axis=0) / totals
            self.targets = np.where(weights > 0, self.targets - means, 0.0)
        variances = (weights * self.targets**2).sum(axis=0) / totals
        rounding = CENTERING_ROUNDING * np.finfo(float).eps * largest
        self.constant = variances <= rounding**2
        if np.all(self.constant):
            raise ValueError(
                "All outputs are constant: every kernel predicts them. Fit without a "
                "search over the kernel."
            )
        self.targets[:, self.constant] = 0.0
        self.floors = np.where(self.constant, 0.0, FLOOR * variances)

    def order(self, structure: Structure, n_samples: int) -> int:
        """Return how many targets are factorised together."""
        known = structure.known(self.targets)
        joins = self._weights.shape[1] > 1 and known is not None and known.couples
        return max(n_samples, int(np.sum(self._weights > 0))) if joins else n_samples

    def groups_of_rows(self, structure: Structure) -> list[np.ndarray] | None:
        """Return groups of rows that no output joins; each has some outputs, say."""
        if self._groups is None:
            return None
        known = structure.known(self.targets)
        return None if known is None or known.couples else self._groups

    @cached_property
    def _groups(self) -> list[np.ndarray] | None:
        return None if self._weights.shape[1] == 1 else unjoined(self._weights > 0)

    @cached_property
    def _decoupling(self) -> Decoupling:
        return Decoupling(
            self.targets, self._weights, self.constant, fit_intercept=self.fit_intercept
        )

    @property
    def weights(self) -> np.ndarray:
        """The weights of all entries (n_samples, n_outputs)."""
        return np.broadcast_to(self._weights, self.targets.shape)

    def evaluate(
        self,
        operator: Operator,
        alpha: Any,
        structure: Structure,
        *,
        of_kernel: bool = True,
    ) -> Evaluation:
        """Return the value at a kernel, with its derivatives."""
        alpha = np.asarray(alpha, dtype=float)
        known, units, joins = self._relation(operator, alpha, structure)
        size = np.count_nonzero(self._weights) if joins else operator.n_samples
        with threads_for(float(size) ** 3 / 6):
            model = self._model(operator, units, joins=joins, of_kernel=of_kernel)
            found = self._differentiate(model)
            left, of_relation = model.gradients(found, of_kernel=of_kernel)
        of_structure: dict[str, Any] = {}
        if of_relation is None:
            log_alpha = -found.inside * units.ratios
        else:
            if known.couples:
                of_structure = structure.gradient(units.of_output_kernel(of_relation))
            # along a factor that multiplies the targets of an output, and divides its
            # judged residuals
            of_scales = model.of_targets(found) * self.targets * units.scales
            of_scales = of_scales.sum(axis=0) - found.of_residuals
            log_alpha = units.of_log_alpha(of_relation, of_scales)
        return Evaluation(
            found.value,
            (TermDerivative(left, None if of_kernel else left, of_structure),),
            log_alpha if alpha.ndim else float(log_alpha.sum()),
        )

    def _relation(
        self, operator: Operator, alpha: np.ndarray, structure: Structure
    ) -> tuple[OutputKernel, OutputUnits, bool]:
        """Return L, the units of its outputs, and whether targets are one column."""
        known = structure.known(self.targets)
        if known is None or not operator.shared:
            raise ValueError(
                f"{type(self).__name__} needs a structure that fixes the output "
                f"kernel, and one kernel for all outputs; got {structure}. Use "
                "'folds_likelihood'."
            )
        joins = self._joins(known, structure)
        units = OutputUnits.of(known, alpha, couples=joins or known.couples)
        return known, units, joins

    def _model(
        self, operator: Operator, units: OutputUnits, *, joins: bool, of_kernel: bool
    ) -> Decoupled | Joined:
        """Return the targets in coordinates in which they are independent."""
        if not joins:
            return self._decoupling.of(operator, units, of_kernel=of_kernel)
        return Joined.of(
            operator,
            units,
            self.targets,
            self._weights,
            free_intercept=self.fit_intercept,
        )

    def _joins(self, known: OutputKernel, structure: Structure) -> bool:
        """Tell whether all targets have to be one column.

        Raises
        ------
        ValueError
            If they do, but cannot be.
        """
        if self._weights.shape[1] == 1:
            return False
        if self.of_tasks:
            return True
        if not known.couples:
            _check_outputs(self._weights)
            return False
        if self.leaves_out_rows:
            raise ValueError(
                "With missing targets or weights of single entries "
                f"{type(self).__name__} has no closed form for {structure}, which "
                "relates outputs. Use 'restricted_likelihood', 'folds_error' or "
                "'folds_likelihood'."
            )
        return True

    def mean_squares(self, sums: np.ndarray) -> np.ndarray:
        """Return mean squared residuals from weighted sums, with their floors.

        For a constant output one is added instead: it has no scale of its own. Tasks
        share one.
        """
        if self.of_tasks:
            mean = sums.sum() / self.totals.sum() + self.floors.mean()
            return np.full_like(sums, mean)
        means = sums / np.where(self.totals > 0, self.totals, 1.0)
        return means + np.where(self.constant, 1.0, self.floors)

    @abstractmethod
    def _differentiate(self, model: Decoupled | Joined) -> Derivative:
        """Return the value and its derivative."""


def _as_matrix(observed: Observed) -> tuple[np.ndarray, np.ndarray]:
    """Return targets and weights, tasks as columns with one entry in each row."""
    targets, weights, tasks = observed.targets, observed.weights, observed.tasks
    if weights is None:
        weights = np.ones((len(targets), 1))
    if tasks is None:
        return targets, weights
    return tasks.scatter(targets), tasks.scatter(weights)


def _check_rows(weights: np.ndarray) -> None:
    """Raise ValueError if there are too few rows."""
    counted = int(np.count_nonzero((weights > 0).any(axis=1)))
    if counted < _FEWEST:
        _refuse(counted, "")


def _check_outputs(weights: np.ndarray) -> None:
    """Raise ValueError if an output has too few rows."""
    counts = (weights > 0).sum(axis=0)
    if counts.min() < _FEWEST:
        _refuse(int(counts.min()), f" of output {int(counts.argmin())}")


def _refuse(n_rows: int, whose: str) -> None:
    raise ValueError(
        f"Choosing a kernel takes at least {_FEWEST} rows with a target and a weight "
        f"above zero{whose}; got {n_rows}. Set the parameters of the kernel "
        "instead."
    )
