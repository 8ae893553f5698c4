"""What is typical of the numbers of an output: their centre, and their size about it.

A mean and a root mean square are those of a squared loss. A few targets far away decide
both: five in a hundred that are off by thirty standard deviations make the root mean
square seven times as large. For a loss that is to bear such targets the centre is the
median, and the size a quantile of the distances from it (with the median distance three
numbers of which two are nearly the same would have next to no size). Of normal targets
all are the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from okl.coding.tasks import Sharing, Tasks
from okl.numerics.quantiles import (
    NINE_TENTHS,
    OF_NORMAL,
    THREE_QUARTERS,
    weighted_quantile,
)

# The mean distance of normal numbers, in deviations, and the part of the deviation by
# it that is the least.
_MEAN_OF_NORMAL, _LEAST = 0.7978845608028654, 0.05


class Typical(ABC):
    """What is typical of numbers: rows (n, n_outputs), in long form (n, 1).

    Weights are of that shape or (n, 1), or None; outputs say which rows belong together
    (`okl.coding.tasks`).
    """

    @abstractmethod
    def centre(
        self, rows: np.ndarray, weights: np.ndarray | None, outputs: Sharing
    ) -> np.ndarray:
        """Return the middle of the numbers of each output (n_outputs,)."""

    @abstractmethod
    def size(
        self, rows: np.ndarray, weights: np.ndarray | None, outputs: Sharing
    ) -> np.ndarray:
        """Return how far from zero the numbers of each output are (n_outputs,)."""

    @abstractmethod
    def of_sizes(self, sizes: np.ndarray, weights: np.ndarray) -> float:
        """Return the size of several outputs together."""


class Means(Typical):
    """The mean, and the root mean square."""

    def centre(
        self, rows: np.ndarray, weights: np.ndarray | None, outputs: Sharing
    ) -> np.ndarray:
        """Return means."""
        if weights is None:
            return outputs.sums(rows) / outputs.sums(np.ones((len(rows), 1)))
        return outputs.sums(weights * rows) / outputs.sums(weights)

    def size(
        self, rows: np.ndarray, weights: np.ndarray | None, outputs: Sharing
    ) -> np.ndarray:
        """Return root mean squares."""
        return np.sqrt(self.centre(rows**2, weights, outputs))

    def of_sizes(self, sizes: np.ndarray, weights: np.ndarray) -> float:
        """Return the root mean square."""
        largest = sizes.max()  # by which squares are finite
        squares = (sizes / largest) ** 2
        return float(largest * np.sqrt(np.average(squares, weights=weights)))


class Quantiles(Typical):
    """The median, and a quantile of distances that is the deviation of normal numbers.

    Where three quarters of the numbers are nearly the same, as those of something that
    is mostly idle, the others would be many thousands of such deviations away: it is at
    least a twentieth of the mean distance, by which a deviation is estimated as well. A
    tenth of the numbers may be anywhere: in that mean no distance counts as more than
    nine tenths of the numbers have; where these are all the same, more than half of the
    others have.
    """

    def centre(
        self, rows: np.ndarray, weights: np.ndarray | None, outputs: Sharing
    ) -> np.ndarray:
        """Return medians."""
        return _quantiles(rows, 0.5, weights, outputs)

    def size(
        self, rows: np.ndarray, weights: np.ndarray | None, outputs: Sharing
    ) -> np.ndarray:
        """Return the quantiles of absolute values."""
        distances = np.abs(rows)
        found = _quantiles(distances, THREE_QUARTERS, weights, outputs) / OF_NORMAL
        far = _quantiles(distances, NINE_TENTHS, weights, outputs)
        others = (distances > 0) * (1.0 if weights is None else weights)
        far = np.where(far > 0, far, _quantiles(distances, 0.5, others, outputs))
        distances = np.minimum(distances, outputs.spread(far))
        mean = MEANS.centre(distances, weights, outputs)
        return np.maximum(found, _LEAST * mean / _MEAN_OF_NORMAL)

    def of_sizes(self, sizes: np.ndarray, weights: np.ndarray) -> float:
        """Return the median."""
        return float(weighted_quantile(sizes[:, None], 0.5, weights[:, None])[0])


def _quantiles(
    rows: np.ndarray, quantile: float, weights: np.ndarray | None, outputs: Sharing
) -> np.ndarray:
    """Return the quantile of each output (n_outputs,); one without rows has zero."""
    if not isinstance(outputs, Tasks):
        return weighted_quantile(rows, quantile, weights)
    found = np.zeros(outputs.n_tasks)
    for task, own in outputs.groups():
        some = None if weights is None else weights[own]
        found[task] = weighted_quantile(rows[own], quantile, some)[0]
    return found


MEANS, QUANTILES = Means(), Quantiles()
