"""Columns in units of their own standard deviation, and kernels back in those of X.

A kernel that is learned starts where all columns count alike, whatever their units. It
is learned on standardised columns and then written in the units of X: widths are
multiplied by standard deviations, weights of columns divided by variances. Nothing has
to be standardised where it is used.

A column that is constant on the rows tells nothing of what it does elsewhere, and the
kernel does not look at it. Nor do the rows tell how far beyond them a linear trend
holds: it goes on for as long as they reach, and then stops. Otherwise an entry that is
wrong by a factor of a hundred would make a prediction as wrong.

A wrong entry among the rows themselves, such as 9999 for a value that is missing, would
be the unit of its column, beside which all others are equal. So the few entries that
are very far from the rest count as if they were less far.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from okl.kernels import (
    Columns,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Product,
    Sum,
)
from okl.operators.base import CENTERING_ROUNDING

# The part by which standard deviations may differ, and columns count as standardised.
_ALIKE = 0.1
# Entries further from the median than so many times the distance of the quartiles count
# as if they were that far, if they are at most this part of the column. More of them
# are a long tail, of which the quartiles do not tell.
_FAR, _FEW = 100.0, 0.02


@dataclass(frozen=True)
class StandardColumns:
    """Means and standard deviations of the columns that vary.

    Attributes
    ----------
    varying : array of bool (n_features,)
    means, deviations : array (n_varying,)
        The latter may be one number for all, see `in_one_unit`.
    limits : array (2, n_varying)
        Where linear trends stop.
    ends : array (2, n_varying)
        Beyond which entries count as if they were there; found from all rows with a
        weight, whatever its size.
    """

    varying: np.ndarray
    means: np.ndarray
    deviations: np.ndarray
    limits: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(
        cls, X: np.ndarray, weights: np.ndarray | None, *, centred: bool
    ) -> StandardColumns:
        """Measure the columns of X, around their means or around zero.

        Standard deviations are around the means in either case.
        """
        rounding = CENTERING_ROUNDING * np.finfo(np.float64).eps
        ends = _ends(X if weights is None else X[weights > 0], rounding)
        X = np.clip(X, *ends)
        first = X[0 if weights is None else np.argmax(weights)]
        distances = X - first  # a constant column is zero without rounding
        offsets = np.average(distances, axis=0, weights=weights)
        variances = np.average((distances - offsets) ** 2, axis=0, weights=weights)
        deviations = np.sqrt(variances)
        varying = deviations > rounding * np.abs(X).max(axis=0, initial=0.0)
        means = first + offsets if centred else np.zeros(X.shape[1])
        lowest, highest = X.min(axis=0), X.max(axis=0)
        limits = np.stack([2 * lowest - highest, 2 * highest - lowest])
        limits = np.clip(limits, *ends)
        of_varying = limits[:, varying], ends[:, varying]
        return cls(varying, means[varying], deviations[varying], *of_varying)

    @property
    def n_varying(self) -> int:
        """How many columns vary."""
        return len(self.means)

    @property
    def differ(self) -> bool:
        """Whether to standardise columns is more than to scale all of them alike."""
        return bool(np.ptp(self.deviations) > _ALIKE * self.deviations.max())

    def in_one_unit(self) -> StandardColumns:
        """Return columns that keep their unit, of variance one on average."""
        one = np.sqrt(np.mean(self.deviations**2))
        return replace(self, deviations=np.full_like(self.deviations, one))

    def rows(self, X: np.ndarray) -> np.ndarray:
        """Return the standardised columns that vary (n_samples, n_varying)."""
        return (np.clip(X[:, self.varying], *self.ends) - self.means) / self.deviations

    def in_units(self, kernel: Kernel) -> Kernel:
        """Return the kernel on X that a kernel on standardised columns stands for.

        The point at which a linear kernel is centred is left to the fit.
        """
        inside = self._rescaled(kernel)
        if np.all(self.varying):
            return inside
        return Columns(inside, np.flatnonzero(self.varying))

    def of_all(self, values: np.ndarray) -> np.ndarray:
        """Return one value for each column of X, zero for constant ones."""
        result = np.zeros(self.varying.shape)
        result[self.varying] = values
        return result

    def _rescaled(self, kernel: Any) -> Kernel:
        if isinstance(kernel, Sum | Product):
            return type(kernel)(
                self._rescaled(kernel.left), self._rescaled(kernel.right)
            )
        if isinstance(kernel, Matern):
            return Matern(kernel.length_scale * self.deviations, kernel.nu)
        if isinstance(kernel, Laplacian):
            return Laplacian(kernel.gamma / self.deviations)
        if isinstance(kernel, Gaussian):
            return Gaussian(kernel.gamma / self.deviations**2)
        if isinstance(kernel, Linear):
            return Linear(None, kernel.scales / self.deviations**2, self.limits)
        return kernel


def _ends(X: np.ndarray, rounding: float) -> np.ndarray:
    """Return where entries are very far from the rest (2, n_features).

    Quartiles that differ by rounding alone tell nothing.
    """
    low, middle, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
    ends = np.stack([middle - _FAR * (high - low), middle + _FAR * (high - low)])
    few = np.mean((ends[0] > X) | (ends[1] < X), axis=0) <= _FEW
    apart = high - low > rounding * np.abs(X).max(axis=0)
    return np.where(few & apart, ends, [[-np.inf], [np.inf]])
