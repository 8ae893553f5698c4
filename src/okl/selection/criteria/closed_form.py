"""Criteria of the squared loss and a given L, which need no fits.

With the eigenvectors V of L the columns of Y V are independent problems. Those with the
same eigenvalue, alpha, rows and weights share one inverse; all outputs do where L = I
and all targets were observed. Many that differ by eigenvalue or alpha alone share one
decomposition instead (`shared_basis.py`), as do all where the kernel stays the same: it
is kept from one evaluation to the next.

*An alpha for each output* is one for each inverse where L couples no outputs. Where it
does, outputs are multiplied by D, alpha_j = alpha / D_jj^2: V and the eigenvalues are
then those of D L D.

*Missing targets and weights of single entries* are no obstacle where L couples no
outputs: each output then has its own rows. Where L couples them weights must be those
of rows.

*Constant outputs* leave nothing to predict. They are left out where L couples no
outputs; and variances get a floor, that of noise of a millionth of the standard
deviation of an output: less noise counts as no better.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from okl.numerics.arrays import eigh
from okl.numerics.memory import require_memory
from okl.numerics.threads import threads_for
from okl.operators import Operator
from okl.operators.base import CENTERING_ROUNDING
from okl.problems import Observed
from okl.selection.criteria.base import (
    Criterion,
    Evaluation,
    TermDerivative,
    check_criteria_are_for,
)
from okl.selection.criteria.decoupled import (
    Decoupled,
    Derivative,
    alike_columns,
    patterns,
    summed,
    unjoined,
)
from okl.selection.criteria.projected_inverse import ProjectedInverse
from okl.selection.criteria.shared_basis import SharedBasis
from okl.structures import Structure

# The part of the variance of an output below which less noise counts as no better.
FLOOR = 1e-12
# With fewer rows there is nothing to choose by.
_FEWEST = 5
# Arrays of the size of K while one inverse is made, and for the derivative.
_ARRAYS = 4
# Inverses that take as long as one decomposition, with what each of them needs then.
_FEW = 8


class ClosedFormCriterion(Criterion):
    """Base of the criteria in closed form.

    Parameters
    ----------
    observed : Observed
        Targets, normalised, with the squared loss.
    fit_intercept : bool
    """

    def __init__(self, observed: Observed, *, fit_intercept: bool) -> None:
        check_criteria_are_for(observed)
        if "quadratic" not in observed.loss.capabilities:
            raise ValueError(
                f"{type(self).__name__} needs the squared loss, got {observed.loss}. "
                "Use 'folds_likelihood'."
            )
        targets, weights = observed.targets, observed.weights
        if weights is None:
            weights = np.ones((len(targets), 1))
        self.fit_intercept = fit_intercept
        self._last: tuple[Operator, SharedBasis] | None = None
        self._weights = weights
        _check_rows(weights)
        self.targets = np.where(weights > 0, targets, 0.0)
        self.totals = np.broadcast_to(weights.sum(axis=0), targets.shape[1:]).copy()
        largest = np.abs(self.targets).max(axis=0)
        if fit_intercept:
            means = (weights * self.targets).sum(axis=0) / self.totals
            self.targets = np.where(weights > 0, self.targets - means, 0.0)
        variances = (weights * self.targets**2).sum(axis=0) / self.totals
        rounding = CENTERING_ROUNDING * np.finfo(float).eps * largest
        self.constant = variances <= rounding**2
        if np.all(self.constant):
            raise ValueError(
                "All outputs are constant: every kernel predicts them. Fit without a "
                "search over the kernel."
            )
        self.targets[:, self.constant] = 0.0
        self.floors = np.where(self.constant, 0.0, FLOOR * variances)

    def groups_of_rows(self) -> list[np.ndarray] | None:
        """Return groups of rows that no output joins; each has some tasks, say."""
        return self._groups

    @cached_property
    def _groups(self) -> list[np.ndarray] | None:
        return None if self._weights.shape[1] == 1 else unjoined(self._weights > 0)

    @cached_property
    def _patterns(self) -> np.ndarray:
        """A number for each output, the same for outputs of the same weights."""
        return patterns(self._weights, self.targets.shape[1])

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
        known = structure.known(self.targets)
        if known is None or not operator.shared:
            raise ValueError(
                f"{type(self).__name__} needs a structure that fixes the output "
                f"kernel, and one kernel for all outputs; got {structure}. Use "
                "'folds_likelihood'."
            )
        alpha = np.asarray(alpha, dtype=float)
        if known.couples and self._weights.shape[1] > 1:
            raise ValueError(
                "With missing targets or weights of single entries "
                f"{type(self).__name__} has no closed form for {structure}, which "
                "relates outputs. Use 'folds_likelihood'."
            )
        n = operator.n_samples
        basis, scales, overall = None, np.ones(known.n_outputs), 1.0
        ratios = known.diagonal() / alpha
        if known.couples:
            # alphas of outputs are other units of these: see `okl.structures.scaled`
            overall = float(np.exp(np.mean(np.log(alpha))))
            scales = np.sqrt(overall / np.broadcast_to(alpha, known.n_outputs))
            values, basis = eigh(scales[:, None] * known.matrix() * scales)
            ratios = np.clip(values, 0.0, None) / overall
        with threads_for(float(n) ** 3 / 6):
            model = self._decouple(operator, basis, scales, ratios, of_kernel)
            found = self._differentiate(model)
            left = (
                summed(model.blocks, found.parts, n) if of_kernel else np.empty((n, 0))
            )
        log_alpha, of_structure = -found.inside * ratios, {}
        if basis is not None:
            of_matrix = basis @ found.inside @ basis.T
            # H with dJ = tr(H dL)
            of_output_kernel = scales[:, None] * of_matrix * scales / overall
            of_structure = structure.gradient(of_output_kernel)
            log_alpha = -np.sum(of_matrix * ((basis * ratios) @ basis.T), axis=0)
            units = self._of_units(found, basis, scales)
            log_alpha += (units.mean() - units) / 2
        return Evaluation(
            found.value,
            (TermDerivative(left, None if of_kernel else left, of_structure),),
            log_alpha if alpha.ndim else float(log_alpha.sum()),
        )

    def _of_units(
        self, found: Derivative, basis: np.ndarray, scales: np.ndarray
    ) -> np.ndarray:
        """Return the derivatives by a factor of each output, where L couples them.

        The factor multiplies targets of the output, and divides its judged residuals.
        """
        assert found.of_targets is not None
        of_outputs = found.of_targets @ basis.T
        return np.sum(of_outputs * self.targets * scales, axis=0) - found.of_residuals

    def mean_squares(self, sums: np.ndarray) -> np.ndarray:
        """Return mean squared residuals from weighted sums, with their floors.

        For a constant output one is added instead: it has no scale of its own.
        """
        means = sums / np.where(self.totals > 0, self.totals, 1.0)
        return means + np.where(self.constant, 1.0, self.floors)

    @abstractmethod
    def _differentiate(self, model: Decoupled) -> Derivative:
        """Return the value and its derivative."""

    def _require_memory(self, operator: Operator) -> None:
        n = operator.n_samples
        require_memory(
            (_ARRAYS + 1) * 8 * n**2,
            f"{type(self).__name__} of {n} rows",
            "Choose the kernel on fewer rows.",
        )

    def _kernel(self, operator: Operator, rows: np.ndarray) -> np.ndarray:
        """Return K of some rows, as an array, centred if the intercept is free."""
        kernel = np.asarray(operator.block(rows))
        if self.fit_intercept:
            means = kernel.mean(axis=0)
            kernel -= means
            kernel -= (means - means.mean())[:, None]
        return kernel

    def _decouple(
        self,
        operator: Operator,
        basis: np.ndarray | None,
        scales: np.ndarray,
        ratios: np.ndarray,
        of_kernel: bool,
    ) -> Decoupled:
        """Invert once for all columns that share ratio, rows and weights.

        Where these are many, decompose once for all ratios instead.
        """
        targets = self.targets if basis is None else self.targets * scales @ basis
        columns = np.arange(targets.shape[1])
        if basis is None:
            columns = columns[~self.constant]
        weights = np.broadcast_to(self._weights, targets.shape)
        groups = alike_columns(ratios, self._patterns, columns)
        same_rows = self._weights.shape[1] == 1
        if same_rows and (len(groups) > _FEW or not of_kernel):
            shared = self._shared_basis(operator)
            inverses = [
                shared.inverse(
                    outputs,
                    float(ratios[outputs].mean()),
                    targets[np.ix_(shared.rows, outputs)],
                )
                for outputs in groups
            ]
            return Decoupled(inverses, basis, targets, scales)
        self._require_memory(operator)
        blocks: list[ProjectedInverse] = []
        for outputs in groups:
            own = weights[:, outputs[0]]
            rows = np.flatnonzero(own > 0)
            if blocks and np.array_equal(rows, blocks[-1].rows):
                kernel = blocks[-1].kernel
            else:
                kernel = self._kernel(operator, rows)
            blocks.append(
                ProjectedInverse.of(
                    outputs,
                    rows,
                    own[rows],
                    kernel,
                    float(ratios[outputs].mean()),
                    targets[np.ix_(rows, outputs)],
                    free_intercept=self.fit_intercept,
                )
            )
        return Decoupled(blocks, basis, targets, scales)

    def _shared_basis(self, operator: Operator) -> SharedBasis:
        """Decompose a kernel, unless the last evaluation was of the same operator."""
        last = self._last
        if last is None or last[0] is not operator:
            self._require_memory(operator)
            own = self._weights[:, 0]
            rows = np.flatnonzero(own > 0)
            kernel = self._kernel(operator, rows)
            free = self.fit_intercept
            shared = SharedBasis.of(rows, own[rows], kernel, free_intercept=free)
            self._last = last = operator, shared
        return last[1]


def _check_rows(weights: np.ndarray) -> None:
    """Raise ValueError if an output has too few rows."""
    counts = (weights > 0).sum(axis=0)
    if counts.min() >= _FEWEST:
        return
    whose = f" of output {int(counts.argmin())}" if len(counts) > 1 else ""
    raise ValueError(
        f"Choosing a kernel takes at least {_FEWEST} rows with a target and a weight "
        f"above zero{whose}; got {int(counts.min())}. Set the parameters of the kernel "
        "instead."
    )
