"""The units of regression targets, on which what is learned is not to depend.

The losses of all outputs are added, so that an output counts the more the larger the
numbers it is written in: metres or millimetres would decide what is learned. The fit
therefore takes normalised targets, (y - mean) / scale for each output, and the model is
mapped back, so that it predicts in the units that were given. With D the diagonal
matrix of the scales, the coefficients of the normalised targets become Theta D, the
intercept b D + mean, and the output kernel, a covariance of outputs, D L D. Which
number is the mean, and which the scale, `typical_numbers.py` says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from okl.coding.tasks import COLUMNS, Tasks
from okl.estimators.typical_numbers import MEANS, QUANTILES, Typical
from okl.losses import Loss
from okl.operators.base import CENTERING_ROUNDING
from okl.problems import Observed

_EPS = np.finfo(np.float64).eps


@dataclass(frozen=True)
class Units:
    """Where the zero of each output is, and what counts as one.

    Attributes
    ----------
    mean : array (n_outputs,)
        What is subtracted from the targets.
    scale : array (n_outputs,)
        What they are divided by afterwards.
    constant : array of bool (n_outputs,)
        The outputs of which rounding is all that is left after that. Their scale is
        one, that of a task the one of all others; normalised they are zero.
    """

    mean: np.ndarray
    scale: np.ndarray
    constant: np.ndarray

    @classmethod
    def as_given(cls, n_outputs: int) -> Units:
        """Return the units in which targets stay as they are."""
        return cls(
            np.zeros(n_outputs), np.ones(n_outputs), np.zeros(n_outputs, dtype=bool)
        )

    @classmethod
    def of(
        cls,
        targets: np.ndarray,
        weights: np.ndarray | None,
        tasks: Tasks | None = None,
        *,
        free_intercept: bool,
        typical: Typical = MEANS,
    ) -> Units:
        """Measure targets: what weighs nothing, or is missing, does not count.

        With an intercept, mean and scale are the mean of each output and the standard
        deviation about it (divided by the sum of the weights, so that weight two is the
        same as the row twice). Without one nothing can absorb a mean: they are zero and
        the root mean square. An output that is constant up to rounding, or without an
        intercept zero, has a scale of one. A task that is constant, of a single row for
        instance, has the root mean square of the other tasks about their means. With
        `Quantiles` it is a median in place of each mean, and a quantile of distances.

        Parameters
        ----------
        targets : array (n_samples, n_outputs)
            In long form (n_samples, 1).
        weights : array (n_samples, n_outputs) or (n_samples, 1), or None
            Of each target, or row; zero where a target is missing. Every output has
            one that is positive.
        tasks : Tasks, optional
            The task of each row, for data in long form: each task is an output.
        free_intercept : bool
            Whether the model has an intercept.
        typical : Typical, default=MEANS
            What is typical of numbers.
        """
        outputs = COLUMNS if tasks is None else tasks
        rest = targets if weights is None else np.where(weights > 0, targets, 0.0)
        # to numbers of about one, by powers of two, which round nothing: squares of
        # very large or small targets would not be finite, or zero
        _, exponents = np.frexp(_largest(rest, tasks))
        unit = np.ldexp(1.0, exponents - 1)
        rest = rest / outputs.spread(unit)
        largest, mean = _largest(rest, tasks), np.zeros_like(unit)
        # twice: rounding takes a part of the mean of targets far from zero
        for _ in range(2 if free_intercept else 0):
            more = typical.centre(rest, weights, outputs)
            mean += more
            rest -= outputs.spread(more)
            if weights is not None:
                rest[np.broadcast_to(weights == 0, rest.shape)] = 0.0
        constant = _largest(rest, tasks) <= CENTERING_ROUNDING * _EPS * largest
        size = unit * typical.size(rest, weights, outputs)
        size[constant] = 1.0
        if tasks is not None and np.any(constant) and not np.all(constant):
            total = tasks.sums(np.ones_like(targets) if weights is None else weights)
            size[constant] = typical.of_sizes(size[~constant], total[~constant])
        return cls(unit * mean, size, constant)

    @classmethod
    def of_all_tasks(
        cls, observed: Observed, *, normalize: bool, typical: Typical
    ) -> Units:
        """Return the mean of all targets, and their deviation or one, for each task."""
        targets, weights = observed.targets, observed.weights
        one = cls.of(targets, weights, free_intercept=True, typical=typical)
        if not normalize:
            one = replace(one, scale=np.ones(1))
        return cls(*(np.repeat(of, observed.n_outputs) for of in vars(one).values()))

    def normalised(
        self,
        targets: np.ndarray,
        weights: np.ndarray | None,
        tasks: Tasks | None = None,
    ) -> np.ndarray:
        """Return (targets - mean) / scale; zero for what weighs nothing."""
        outputs = COLUMNS if tasks is None else tasks
        rest = targets - outputs.spread(self.mean)
        rest /= outputs.spread(self.scale)
        zero = outputs.spread(self.constant)
        if weights is not None:
            zero = zero | (weights == 0)
        if np.any(zero):
            rest[np.broadcast_to(zero, rest.shape)] = 0.0
        return rest

    def predictions(self, scores: np.ndarray, tasks: Tasks | None = None) -> np.ndarray:
        """Return scores (n, n_outputs) of normalised targets in the units given.

        Here and below, with tasks there is one number a row, that of its own: (n, 1).
        """
        outputs = COLUMNS if tasks is None else tasks
        return scores * outputs.spread(self.scale) + outputs.spread(self.mean)

    def scores(self, predictions: np.ndarray, tasks: Tasks | None = None) -> np.ndarray:
        """Return predictions (n, n_outputs) in the units given as normalised ones."""
        outputs = COLUMNS if tasks is None else tasks
        return (predictions - outputs.spread(self.mean)) / outputs.spread(self.scale)

    def coefficients(self, theta: Any) -> Any:
        """Return Theta D for Theta (n_samples, n_outputs) of normalised targets."""
        return theta * self.scale

    def intercept(self, intercept: np.ndarray) -> np.ndarray:
        """Return D b + mean for b (n_outputs,) of normalised targets."""
        return intercept * self.scale + self.mean

    def output_kernel(self, matrix: np.ndarray) -> np.ndarray:
        """Return D L D for L (n_outputs, n_outputs): zeros stay, and the symmetry."""
        scaled = np.outer(self.scale, self.scale)
        scaled *= matrix
        return scaled

    def deviations(
        self, deviations: np.ndarray, tasks: Tasks | None = None
    ) -> np.ndarray:
        """Return standard deviations (n, n_outputs) in the units given."""
        outputs = COLUMNS if tasks is None else tasks
        return deviations * outputs.spread(self.scale)


def typical_of(loss: Loss) -> Typical:
    """Return what is typical of numbers for a loss: no means with outliers."""
    return QUANTILES if "robust" in loss.capabilities else MEANS


def in_units(
    observed: Observed, *, normalize: bool, free_intercept: bool, shared: bool
) -> tuple[Units, Observed]:
    """Return the units of targets of a fit, and the targets in them.

    Parameters
    ----------
    observed : Observed
        Targets as they were given.
    normalize : bool
        Whether they have a scale other than one.
    free_intercept : bool
    shared : bool
        Whether all tasks have one mean and one scale.
    """
    targets, weights, tasks = observed.targets, observed.weights, observed.tasks
    typical = typical_of(observed.loss)
    if shared:
        units = Units.of_all_tasks(observed, normalize=normalize, typical=typical)
    elif normalize:
        units = Units.of(
            targets, weights, tasks, free_intercept=free_intercept, typical=typical
        )
    else:
        return Units.as_given(observed.n_outputs), observed
    return units, replace(observed, targets=units.normalised(targets, weights, tasks))


def _largest(rows: np.ndarray, tasks: Tasks | None) -> np.ndarray:
    """Return the largest absolute value of each output (n_outputs,)."""
    if tasks is None:
        return np.maximum(rows.max(axis=0), -rows.min(axis=0))
    largest = np.zeros(tasks.n_tasks)
    np.maximum.at(largest, tasks.codes, np.abs(rows[:, 0]))
    return largest
