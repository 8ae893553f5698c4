"""Criteria of the squared loss and a given L, which need no fits.

With the eigenvectors V of L the columns of Y V are independent problems. Those with the
same eigenvalue, and the same rows and weights, share one inverse; all outputs do where
L = I and all targets were observed.

*Missing targets and weights of single entries* are no obstacle where L couples no
outputs: each output then has its own rows. Where L couples them weights must be those
of rows.

*Constant outputs* leave nothing to predict. They are left out where L couples no
outputs; and variances get a floor, noise of a millionth of the standard deviation of an
output, below which a smaller one is no better.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from okl.numerics.arrays import eigh
from okl.numerics.memory import require_memory
from okl.numerics.threads import threads_for
from okl.operators import Operator
from okl.operators.base import CENTERING_ROUNDING
from okl.problems import Observed
from okl.selection.criteria.base import Criterion, Evaluation
from okl.selection.criteria.projected_inverse import ProjectedInverse
from okl.structures import Structure

# The part of the variance of an output below which what noise is left does not count.
FLOOR = 1e-12
# With fewer rows there is nothing to choose by.
_FEWEST = 5
# Eigenvalues of L that differ by less than this part of the largest are one.
_SAME = 1e-12
# Arrays of the size of K while one inverse is made, and for the derivative.
_ARRAYS = 4


@dataclass(frozen=True)
class Decoupled:
    """Outputs in coordinates in which they do not depend on each other.

    Attributes
    ----------
    blocks : list of ProjectedInverse
        Each column of Y V is in one of them, but for constant outputs left out.
    basis : array (n_outputs, n_outputs) or None
        V, None for the identity.
    """

    blocks: list[ProjectedInverse]
    basis: np.ndarray | None

    def to_outputs(self, rows: np.ndarray) -> np.ndarray:
        """Return X V' for X (n, n_outputs)."""
        return rows if self.basis is None else rows @ self.basis.T

    def from_outputs(self, rows: np.ndarray) -> np.ndarray:
        """Return X V."""
        return rows if self.basis is None else rows @ self.basis


@dataclass(frozen=True)
class Derivative:
    """The derivative of a criterion in these coordinates.

    Attributes
    ----------
    value : float
    matrices : list of arrays (k, k)
        For each block G, up to the factor l / alpha.
    inside : array (n_outputs,) or (n_outputs, n_outputs)
        The derivative with respect to V'LV / alpha: its diagonal is enough where L
        couples no outputs.
    """

    value: float
    matrices: Sequence[np.ndarray]
    inside: np.ndarray


class ClosedFormCriterion(Criterion):
    """Base of the criteria in closed form.

    Parameters
    ----------
    observed : Observed
        Targets, normalised, with the squared loss.
    fit_intercept : bool
    """

    def __init__(self, observed: Observed, *, fit_intercept: bool) -> None:
        if "quadratic" not in observed.loss.capabilities or observed.tasks is not None:
            form = "" if observed.tasks is None else " and data in long form"
            raise ValueError(
                f"{type(self).__name__} needs the squared loss and a target matrix; "
                f"got the loss {observed.loss}{form}. Use the likelihood of folds."
            )
        targets, weights = observed.targets, observed.weights
        if weights is None:
            weights = np.ones((len(targets), 1))
        self.fit_intercept = fit_intercept
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

    @property
    def weights(self) -> np.ndarray:
        """The weights of all entries (n_samples, n_outputs)."""
        return np.broadcast_to(self._weights, self.targets.shape)

    def evaluate(
        self, operator: Operator, alpha: Any, structure: Structure
    ) -> Evaluation:
        """Return the value at a kernel, with its derivatives."""
        known = structure.known(self.targets)
        if known is None or not operator.shared:
            raise ValueError(
                f"{type(self).__name__} needs a given output kernel and one kernel for "
                f"all outputs; got {structure}. Use the likelihood of folds."
            )
        alpha = np.asarray(alpha, dtype=float)
        if known.couples and (alpha.ndim or self._weights.shape[1] > 1):
            raise ValueError(
                f"{structure} relates outputs: with one alpha for each output, missing "
                f"targets or weights of single entries {type(self).__name__} has no "
                "closed form. Use the likelihood of folds."
            )
        n = operator.n_samples
        kernel = self._kernel(operator)
        basis, eigenvalues = None, known.diagonal()
        if known.couples:
            values, basis = eigh(known.matrix())
            eigenvalues = np.clip(values, 0.0, None)
        with threads_for(float(n) ** 3 / 6):
            model = self._decouple(kernel, basis, eigenvalues / alpha)
            found = self._differentiate(model)
            left = _sum(model.blocks, found.matrices, n)
        inside = found.inside if basis is None else np.diagonal(found.inside)
        log_alpha = -inside * eigenvalues / alpha
        return Evaluation(
            found.value,
            left,
            None,
            log_alpha if alpha.ndim else float(log_alpha.sum()),
            None if basis is None else basis @ found.inside @ basis.T / alpha,
        )

    def mean_squares(self, sums: np.ndarray) -> np.ndarray:
        """Return mean squared residuals from weighted sums, with their floors.

        That of a constant output is one plus them: it has no scale of its own.
        """
        means = sums / np.where(self.totals > 0, self.totals, 1.0)
        return means + np.where(self.constant, 1.0, self.floors)

    @abstractmethod
    def _differentiate(self, model: Decoupled) -> Derivative:
        """Return the value and its derivative."""

    def _kernel(self, operator: Operator) -> np.ndarray:
        """Return K as an array of its own, centred if the intercept is free."""
        n = operator.n_samples
        require_memory(
            (_ARRAYS + 1) * 8 * n**2,
            f"{type(self).__name__} of {n} rows",
            "Choose the kernel on fewer rows.",
        )
        kernel = np.array(operator.block(np.arange(n)))
        if self.fit_intercept:
            means = kernel.mean(axis=0)
            kernel -= means
            kernel -= (means - means.mean())[:, None]
        return kernel

    def _decouple(
        self, kernel: np.ndarray, basis: np.ndarray | None, ratios: np.ndarray
    ) -> Decoupled:
        """Invert once for all columns that share eigenvalue, rows and weights."""
        targets = self.targets if basis is None else self.targets @ basis
        columns = np.arange(targets.shape[1])
        if basis is None:
            columns = columns[~self.constant]
        weights = np.broadcast_to(self._weights, targets.shape)
        blocks = []
        for outputs in _alike(ratios, self._weights, columns):
            own = weights[:, outputs[0]]
            rows = np.flatnonzero(own > 0)
            some = kernel if len(rows) == len(kernel) else kernel[np.ix_(rows, rows)]
            blocks.append(
                ProjectedInverse.of(
                    outputs,
                    rows,
                    own[rows],
                    some,
                    float(ratios[outputs].mean()),
                    targets[np.ix_(rows, outputs)],
                    free_intercept=self.fit_intercept,
                )
            )
        return Decoupled(blocks, basis)


def _sum(
    blocks: Sequence[ProjectedInverse], matrices: Sequence[np.ndarray], n: int
) -> np.ndarray:
    """Return the sum of matrices on the rows of each block, in the memory of one."""
    total = None
    for block, matrix in zip(blocks, matrices, strict=True):
        part = np.multiply(matrix, block.ratio, out=matrix)
        if len(block.rows) < n:
            total = np.zeros((n, n)) if total is None else total
            total[np.ix_(block.rows, block.rows)] += part
        elif total is None:
            total = part
        else:
            total += part
    assert total is not None
    return total


def _alike(
    ratios: np.ndarray, weights: np.ndarray, columns: np.ndarray
) -> list[np.ndarray]:
    """Return the columns with the same ratio, up to rounding, and the same weights."""
    order = np.argsort(ratios)
    steps = np.diff(ratios[order]) > _SAME * ratios.max()
    level = np.empty(len(ratios), dtype=int)
    level[order] = np.concatenate([[0], np.cumsum(steps)])
    pattern = np.zeros(len(ratios), dtype=int)
    if weights.shape[1] > 1:
        _, pattern = np.unique(weights, axis=1, return_inverse=True)
    keys = level * (pattern.max() + 1) + pattern.ravel()
    return [columns[keys[columns] == key] for key in np.unique(keys[columns])]


def _check_rows(weights: np.ndarray) -> None:
    """Raise ValueError if an output has too few rows."""
    counts = (weights > 0).sum(axis=0)
    if counts.min() >= _FEWEST:
        return
    whose = f" of output {int(counts.argmin())}" if len(counts) > 1 else ""
    raise ValueError(
        f"To choose a kernel takes at least {_FEWEST} rows with a target and a weight "
        f"above zero{whose}; got {int(counts.min())}. Set its parameters instead."
    )
