"""The resamples: how often each row counts in each of them.

The delete-a-group jackknife leaves out one of K random groups of rows at a time. Its
refits differ less than fits to other data would: with d_k their deviations from their
mean, the variance of the fit to all rows is estimated by (K - 1) / K sum_k d_k^2 [1]_.
The bootstrap [2]_ draws as many rows as there are, with replacement, and the variance
of its refits is the estimate.

Rows that belong together (groups) are drawn, or left out, together. Rows of different
strata (tasks, classes) are drawn separately, so that each stratum keeps its share. A
resample in which an output has no rows is drawn again.

References
----------
.. [1] Shao and Tu, "The jackknife and bootstrap", Springer, 1995, section 2.3.
.. [2] Efron and Tibshirani, "An introduction to the bootstrap", Chapman & Hall, 1993.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import column_or_1d

from okl.numerics.missing import is_missing

# Most draws until a resample has each part of the targets.
_ATTEMPTS = 100


@dataclass(frozen=True)
class Sampling:
    """The units that are drawn: rows, or groups of rows.

    Attributes
    ----------
    codes : array of int (n_samples,)
        The unit of each row, from zero.
    strata : list of arrays of int
        The units of each stratum.
    """

    codes: np.ndarray
    strata: list[np.ndarray]

    @classmethod
    def of(
        cls, n_samples: int, groups: np.ndarray | None, strata: np.ndarray | None
    ) -> Sampling:
        """Return the units: groups, without strata, or else rows with their strata."""
        if groups is not None:
            codes = np.unique(groups, return_inverse=True)[1]
            return cls(codes, [np.arange(codes.max() + 1)])
        rows = np.arange(n_samples)
        if strata is None:
            return cls(rows, [rows])
        return cls(rows, [rows[strata == code] for code in np.unique(strata)])

    @property
    def number(self) -> int:
        """The number of units."""
        return sum(map(len, self.strata))

    def bootstrap(self, rng: np.random.RandomState) -> np.ndarray:
        """Return how often each row is drawn (n_samples,)."""
        counts = np.zeros(self.number, dtype=int)
        for units in self.strata:
            drawn = rng.randint(len(units), size=len(units))
            counts[units] = np.bincount(drawn, minlength=len(units))
        return counts[self.codes]

    def jackknife(self, n_groups: int, rng: np.random.RandomState) -> np.ndarray:
        """Return the rows kept without each group in turn (n_groups, n_samples).

        The units of one stratum after the other are dealt to the groups in turn: sizes
        of groups, and their numbers of units of a stratum, differ by at most one.
        """
        order = np.concatenate([rng.permutation(units) for units in self.strata])
        group = np.empty(self.number, dtype=int)
        group[order] = np.arange(self.number) % n_groups
        return (group[self.codes] != np.arange(n_groups)[:, None]).astype(int)


def bootstrap(
    sampling: Sampling, n_resamples: int, seen: np.ndarray, rng: np.random.RandomState
) -> np.ndarray | None:
    """Return counts (n_resamples, n_samples), None if a part of Y keeps getting lost.

    Parameters
    ----------
    sampling : Sampling
    n_resamples : int
    seen : array of bool (n_samples, n_parts)
        The parts of the targets, as outputs or classes, that each row has. Every
        resample must have all parts.
    rng : RandomState
    """
    drawn = [
        _complete(lambda: sampling.bootstrap(rng)[None], seen)
        for _ in range(n_resamples)
    ]
    kept = [counts for counts in drawn if counts is not None]
    return np.concatenate(kept) if len(kept) == n_resamples else None


def jackknife(
    sampling: Sampling, n_resamples: int, seen: np.ndarray, rng: np.random.RandomState
) -> np.ndarray | None:
    """Return counts of ones and zeros; parameters as of `bootstrap`."""
    return _complete(lambda: sampling.jackknife(n_resamples, rng), seen)


def _complete(draw: Callable[[], np.ndarray], seen: np.ndarray) -> np.ndarray | None:
    parts = seen.astype(float)
    for _ in range(_ATTEMPTS):
        counts = draw()
        if np.all(counts @ parts > 0):
            return counts
    return None


# The ways to resample, and the factor from the standard deviation of the refits to the
# standard error, as a function of the number of refits.
METHODS: dict[str, tuple[Callable[..., np.ndarray | None], Callable[[int], float]]] = {
    "jackknife": (jackknife, lambda n: (n - 1) / n**0.5),
    "bootstrap": (bootstrap, lambda n: 1.0),
}


def counts_of(
    method: str,
    n_resamples: int,
    strata: np.ndarray | None,
    seen: np.ndarray,
    groups: Any,
    random_state: Any,
) -> np.ndarray:
    """Return how often each row is in each resample (n_resamples, n_samples).

    Raises
    ------
    ValueError
        If a row has no group, if there are fewer rows, or groups, than are to be left
        out, or if a part of the targets is lost in every draw.
    """
    grouped = None if groups is None else column_or_1d(np.asarray(groups))
    missing = [] if grouped is None else [is_missing(one) for one in grouped]
    if any(missing):
        raise ValueError(
            f"groups is missing in {sum(missing)} of {len(missing)} rows; a row that "
            "belongs to no other is a group of its own."
        )
    sampling = Sampling.of(len(seen), grouped, strata)
    what = "rows" if groups is None else "groups"
    if method == "jackknife" and n_resamples > sampling.number:
        raise ValueError(
            f"n_resamples={n_resamples} is more than the {sampling.number} {what} that "
            "can be left out; use fewer."
        )
    rng = check_random_state(random_state)
    counts = METHODS[method][0](sampling, n_resamples, seen, rng)
    if counts is None:
        rarest = int(seen.sum(axis=0).min())
        raise ValueError(
            f"Resamples of {what} keep losing an output, or a class: the rarest is in "
            f"{rarest} of {len(seen)} rows. Leave it out of the targets, or use "
            "another method, more resamples for the jackknife, or other groups."
        )
    return counts
