r"""The mean and covariance of normal rows of which entries are missing.

Expectation and maximisation (Dempster, Laird & Rubin 1977): the missing entries of a
row are replaced by their mean given what was observed, and mean and covariance by those
of the filled rows, to which the covariance of what was replaced is added. With Omega
the inverse of the covariance and u what a row misses, that mean differs from the mean
of all rows by

.. math:: -\Omega_{uu}^{-1} \Omega_{uo} (z_o - \mu_o),

and that covariance is Omega_uu^-1: one small inverse for all rows of one pattern.

Correlations r are shrunk towards zero by the share

.. math:: \lambda = \sum_{j < k} \frac{(1 - r_{jk}^2)^2}{n_{jk} - 1}
          \Big/ \sum_{j < k} r_{jk}^2

(at most one; Schaefer & Strimmer 2005, with the variance that the correlation of
normal rows has, and n_jk rows), so that few rows give a covariance that can be
inverted. Two rows always lie on a straight line: all of their r is error, and their
term of the first sum is r_jk^2 instead. In each round n_jk is the number of all rows:
missing entries are filled in by correlations that were shrunk before, so that in the
end correlations are shrunk about as far as the rows that have both entries ask for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.utils import gen_batches

# Largest change of an entry of mean and covariance, in units of their columns, at the
# end; and the most rounds.
_TOLERANCE, _ROUNDS = 1e-4, 200
# The least share, for columns that repeat each other.
_LEAST = 1e-8
# A standard deviation that is rounding, relative to the mean.
_CONSTANT = 1e-12
# Entries of the small inverses that are formed at a time.
_ENTRIES = 4_000_000
# Makes a covariance fit for few rows, given how many rows have each pair of columns.
Shrinkage = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class RowDistribution:
    """The normal distribution of rows.

    Attributes
    ----------
    mean : array (m,)
    covariance : array (m, m)
    n_rounds : int
        Rounds of expectation and maximisation; one for complete rows.
    """

    mean: np.ndarray
    covariance: np.ndarray
    n_rounds: int

    @classmethod
    def of(
        cls,
        rows: np.ndarray,
        *,
        centre: bool = True,
        shrinkage: Shrinkage | None = None,
        tolerance: float | None = None,
    ) -> RowDistribution:
        """Find it for rows (n, m), NaN where an entry is missing.

        Every column has an entry; a row without any does not matter. Without ``centre``
        the mean is zero. Each round ends with a ``shrinkage`` of the covariance, by
        default with `shrunk`; the last one moves no entry by ``tolerance``, in units of
        columns.
        """
        seen = ~np.isnan(rows)
        told = seen.any(axis=1)
        rows, seen = rows[told], seen[told]
        counts = seen.sum(axis=0)
        known = np.where(seen, rows, 0.0)
        start = known.sum(axis=0) / counts if centre else np.zeros(rows.shape[1])
        known = np.where(seen, known - start, 0.0)
        scale = np.sqrt(np.sum(known**2, axis=0) / counts)
        varying = scale > _CONSTANT * np.abs(start)
        inside = _standardised(
            known[:, varying] / scale[varying],
            seen[:, varying],
            centre,
            shrunk if shrinkage is None else shrinkage,
            _TOLERANCE if tolerance is None else tolerance,
        )
        mean, covariance = start, np.zeros((rows.shape[1],) * 2)
        mean[varying] += scale[varying] * inside.mean
        scales = np.outer(scale[varying], scale[varying])
        covariance[np.ix_(varying, varying)] = scales * inside.covariance
        return cls(mean, covariance, inside.n_rounds)

    def filled(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return rows with what is expected of missing entries, and its variance.

        Arrays (n, m); the variance of what is there is zero.
        """
        seen = ~np.isnan(rows)
        filled, variance = np.where(seen, rows, self.mean), np.zeros(rows.shape)
        roots = np.sqrt(np.diagonal(self.covariance))
        varying = roots > 0
        if not varying.any():
            return filled, variance
        own, scale = seen[:, varying], roots[varying]
        known = np.where(own, (rows - self.mean)[:, varying] / scale, 0.0)
        correlation = self.covariance[np.ix_(varying, varying)] / np.outer(scale, scale)
        expected, _, spread = _Patterns.of(~own).expected(known, 0.0, correlation)
        filled[:, varying] = np.where(
            own, rows[:, varying], self.mean[varying] + scale * expected
        )
        variance[:, varying] = scale**2 * spread
        return filled, variance

    def from_others(self, rows: np.ndarray) -> np.ndarray:
        """Return what is expected of each entry given the others of its row.

        Array (n, m), NaN where the entry is missing. With P the inverse of the
        covariance of what a row has, entry j differs from that by
        (P (z - mean))_j / P_jj.
        """
        seen = ~np.isnan(rows)
        expected = np.where(seen, self.mean, np.nan)
        roots = np.sqrt(np.diagonal(self.covariance))
        varying = roots > 0
        own, scale = seen[:, varying], roots[varying]
        correlation = self.covariance[np.ix_(varying, varying)] / np.outer(scale, scale)
        known = np.where(own, (rows - self.mean)[:, varying] / scale, 0.0)
        index, moved = np.arange(len(scale)), np.empty_like(known)
        for some in gen_batches(len(rows), max(1, _ENTRIES // max(1, len(scale) ** 2))):
            inside = own[some].astype(np.float64)
            total = correlation * inside[:, :, None] * inside[:, None]
            total[:, index, index] = 1.0
            P = np.linalg.inv(total)
            pulled = np.einsum("ijk,ik->ij", P, known[some])
            moved[some] = known[some] - pulled / P[:, index, index]
        expected[:, varying] += scale * moved
        return expected


def _standardised(
    known: np.ndarray,
    seen: np.ndarray,
    centre: bool,
    shrinkage: Shrinkage,
    tolerance: float,
) -> RowDistribution:
    """Find the distribution of rows of about unit variance, zero where not seen."""
    pairs = seen.astype(np.float64).T @ seen
    # correlations of zero may be a fixed point: a start from half of those over pairs
    # of entries leads elsewhere, where they are strong enough
    patterns = _Patterns.of(~seen)
    mean = np.zeros(known.shape[1])
    covariance = (_available(known, pairs) + np.eye(len(pairs))) / 2
    n = np.full_like(pairs, len(known))
    n_rounds, change = 0, np.inf
    while change >= tolerance and n_rounds < _ROUNDS:
        n_rounds += 1
        filled, spread, _ = patterns.expected(known, mean, covariance)
        before = mean, covariance
        if centre:
            mean = filled.mean(axis=0)
        filled -= mean
        covariance = shrinkage((filled.T @ filled + spread) / len(known), n)
        moved = np.vstack([before[0] - mean, before[1] - covariance])
        change = float(np.max(np.abs(moved), initial=0.0)) if patterns.any else 0.0
    return RowDistribution(mean, covariance, n_rounds)


def shrunk(covariance: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return a covariance with correlations shrunk as far as ``pairs`` n_jk ask for.

    Variances stay as they are.
    """
    variances = np.diagonal(covariance)
    roots = np.sqrt(np.where(variances > 0, variances, 1.0))
    correlation = covariance / np.outer(roots, roots)
    upper = np.triu_indices(len(covariance), 1)
    r = correlation[upper]
    n = pairs[upper]
    errors = np.clip(1.0 - r**2, 0.0, 1.0) ** 2 / np.maximum(n - 1.0, 1.0)
    errors = np.where(n > 2, errors, r**2)  # a straight line goes through two points
    squares = np.sum(r**2)
    share = errors.sum() / squares if squares > 0 else 1.0
    result = covariance * (1.0 - np.clip(share, _LEAST, 1.0))
    np.fill_diagonal(result, variances)
    return result


def _available(known: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return correlations over the rows in which both were observed, made PSD."""
    values, V = np.linalg.eigh(known.T @ known / np.maximum(pairs, 1.0))
    matrix = (V * np.maximum(values, 1e-3)) @ V.T
    roots = np.sqrt(np.diagonal(matrix))
    return matrix / np.outer(roots, roots)


@dataclass(frozen=True)
class _Patterns:
    """Which entries are missing, pattern by pattern.

    Attributes
    ----------
    groups : tuple of (array (p, k), array, array)
        For each number k > 0 of missing entries the columns of the p patterns, the rows
        that have one of them, and which.
    """

    groups: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...]

    @classmethod
    def of(cls, missing: np.ndarray) -> _Patterns:
        """Sort the patterns of rows (n, m) by the number of what is missing."""
        masks, which = np.unique(missing, axis=0, return_inverse=True)
        which = which.ravel()
        sizes, groups = masks.sum(axis=1), []
        for k in np.unique(sizes[sizes > 0]).tolist():
            own = np.flatnonzero(sizes == k)
            columns = np.nonzero(masks[own])[1].reshape(len(own), k)
            at_once = max(1, _ENTRIES // k**2)
            for some in gen_batches(len(own), at_once):
                rows = np.flatnonzero(np.isin(which, own[some]))
                inside = np.searchsorted(own[some], which[rows])
                groups.append((columns[some], rows, inside))
        return cls(tuple(groups))

    @property
    def any(self) -> bool:
        """Whether anything is missing."""
        return bool(self.groups)

    def expected(
        self, known: np.ndarray, mean: np.ndarray | float, covariance: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows filled with what is expected, its covariance and its variance.

        Known (n, m) is zero where an entry is missing; the covariance is summed over
        rows, the variance is (n, m).
        """
        m = known.shape[1]
        spread, variance = np.zeros(m * m), np.zeros(known.shape)
        filled = known.copy()
        mean = np.broadcast_to(mean, m)
        if not self.any:
            return filled, spread.reshape(m, m), variance
        omega = np.linalg.inv(covariance)
        for columns, rows, inside in self.groups:
            small = np.linalg.inv(omega[columns[:, :, None], columns[:, None]])
            own = columns[inside]
            deviation = known[rows] - mean
            np.put_along_axis(deviation, own, 0.0, axis=1)
            pulled = np.take_along_axis(deviation @ omega, own, axis=1)
            expected = mean[own] - np.einsum("rkl,rl->rk", small[inside], pulled)
            filled[rows[:, None], own] = expected
            variance[rows[:, None], own] = np.einsum("pkk->pk", small)[inside]
            counts = np.bincount(inside, minlength=len(columns))
            where = columns[:, :, None] * m + columns[:, None]
            spread += np.bincount(
                where.ravel(), (small * counts[:, None, None]).ravel(), m * m
            )
        return filled, spread.reshape(m, m), variance
