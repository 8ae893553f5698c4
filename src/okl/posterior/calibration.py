r"""How large errors are, and how those of outputs correlate, from rows left out.

A fit determines the ratio of noise and signal, alpha, and not their size. With s_j the
factor that both have in output j, the residual r_ij of a left-out row has the variance
s_j v_ij, v_ij being that of the model (for the weight of the target), so that

.. math:: s_j = \operatorname{mean}_i \frac{r_{ij}^2}{v_{ij}},

the noise of output j is s_j a_j, a_j that of the model: alpha, and what a term of the
row adds to it. The posterior covariance of outputs j and k is that of the model times
sqrt(s_j s_k). It is the estimate of leave-one-out likelihood (Rasmussen & Williams
2006, section 5.4.2), a variance for each output profiled out.

If L was learned from the rows that are left out, fits without them have larger errors.
What their mean square is above the mean of s_j v_ij is e_j, the variance that comes of
not knowing L; it is the same for all rows of an output.

Errors of outputs are correlated as well. Their correlations R are found as follows:

- If L is diagonal, signal and noise share R: f has the covariance
  k(x, x') R_jk sqrt(s_j s_k l_j l_k). Where all targets are observed the predictions of
  that process are those of independent outputs, whatever R is. R is the correlation
  of the standardised residuals r_ij / sqrt(s_j v_ij), shrunk or that of few factors.
- Else L has the covariance of the signal, and R is the correlation of the noise alone:
  residuals have the covariance S_(-i) + N, N_jk = R_jk sqrt(s_j a_j s_k a_k), found by
  expectation and maximisation, with S_(-i) given, and shrunk at the end (shrunk in each
  round it would go to zero wherever half of the targets are missing).
- If the covariance of noise was given (for the term of a row), R is its correlation.
  Where that was learned R is measured all the same, as the penalty makes it too flat.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from okl.coding.tasks import COLUMNS, Tasks
from okl.numerics.memory import require_memory
from okl.posterior.base import Posterior
from okl.posterior.held_out_entries import best_of_errors
from okl.posterior.incomplete_rows import shrunk
from okl.posterior.left_out import RowsLeftOut, covariances_left_out
from okl.posterior.variances_of_tasks import with_that_of_others

_TOLERANCE, _ROUNDS = 1e-3, 50
# Rounding errors of a number of rows.
_EXACT = 1e-9


@dataclass(frozen=True)
class Calibration:
    """The size of errors.

    Attributes
    ----------
    factors : array (n_outputs,)
        s_j; one for an output of which no row says anything.
    noise : array (n_outputs,)
        s_j a_j.
    standardised : array (n_samples, n_outputs) or (n_samples, 1)
        Residuals over their standard deviations, the square roots of s_j v_ij + e_j;
        NaN where nothing was observed.
    excess : array (n_outputs,)
        e_j, zero unless residuals of fits without the rows were given.
    """

    factors: np.ndarray
    noise: np.ndarray
    standardised: np.ndarray
    excess: np.ndarray

    @classmethod
    def of(
        cls,
        left_out: RowsLeftOut,
        tasks: Tasks | None = None,
        scale: np.ndarray | None = None,
        *,
        own_intercepts: bool = True,
        refitted: np.ndarray | None = None,
    ) -> Calibration:
        """Measure it on rows left out.

        Parameters
        ----------
        left_out : RowsLeftOut
            With L as it is.
        tasks : Tasks, optional
            In long form, where variances are drawn to those of the other tasks.
        scale : array (n_tasks,), optional
            What targets were divided by.
        own_intercepts : bool, default=True
            Whether each task has a free intercept.
        refitted : array (n_samples, n_outputs) or (n_samples, 1), optional
            Residuals of fits without the rows, in which L is another one.
        """
        outputs = COLUMNS if tasks is None else tasks
        how = {
            "own_intercepts": own_intercepts,
            "one_unit": scale is None or bool(np.ptp(scale) == 0),
        }
        rows = left_out.residuals / np.sqrt(left_out.variances)
        total = outputs.sums(np.isfinite(rows).astype(np.float64))
        factors = np.where(total > 0, outputs.sums(np.nan_to_num(rows**2)), 1.0)
        factors /= np.where(total > 0, total, 1.0)
        if tasks is not None:
            unit = left_out.noise * (1.0 if scale is None else scale**2)
            factors = with_that_of_others(factors * unit, total, **how) / unit
        noise = factors * left_out.noise
        if refitted is None:
            spread = np.sqrt(outputs.spread(np.where(factors > 0, factors, 1.0)))
            return cls(factors, noise, rows / spread, np.zeros_like(factors))
        refitted = np.where(np.isnan(rows), np.nan, refitted)
        variances = outputs.spread(factors) * left_out.variances
        known = np.where(np.isnan(rows), 0.0, variances)
        counted = np.where(total > 0, total, 1.0)
        squares = outputs.sums(np.nan_to_num(refitted**2)) / counted
        unit = np.ones_like(factors)
        if tasks is not None:
            unit = unit if scale is None else scale**2  # the targets have one
            squares = with_that_of_others(squares * unit, total, **how) / unit
        excess = np.clip(squares - outputs.sums(known) / counted, 0.0, None)
        if np.any(told := total > 0):  # what no row tells of is as the others
            excess = np.where(told, excess, np.mean((excess * unit)[told]) / unit)
        variances = variances + outputs.spread(excess)
        spread = np.sqrt(np.where(variances > 0, variances, 1.0))
        return cls(factors, noise, refitted / spread, excess)

    def excess_covariance(self, scale: np.ndarray) -> np.ndarray:
        """Return that of not knowing L (m, m), targets in units of ``scale`` (m,)."""
        return np.diag(self.excess * scale**2)

    def quantiles(self, coverage: float, tasks: Tasks | None = None) -> np.ndarray:
        """Return a quantile of the size of standardised residuals (n_outputs,).

        It is the smallest number that at least ``coverage (n + 1)`` of the n rows of an
        output do not exceed; with fewer rows than that takes, the one of all outputs
        together; with one row that of a normal distribution.
        """
        sizes = np.abs(self.standardised)
        if tasks is None:
            columns = list(sizes.T)
        else:
            columns = [sizes[tasks.codes == task, 0] for task in range(tasks.n_tasks)]
        columns = [column[~np.isnan(column)] for column in columns]
        enough = coverage / (1.0 - coverage)
        together = _quantile(np.concatenate(columns), coverage)
        return np.array(
            [
                _quantile(column, coverage) if len(column) >= enough else together
                for column in columns
            ]
        )


def _quantile(sizes: np.ndarray, coverage: float) -> float:
    """Return a quantile of sizes; the largest at most."""
    if len(sizes) == 0:  # one row: nothing is left out
        return float(norm.ppf((1.0 + coverage) / 2.0))
    wanted = math.ceil(coverage * (len(sizes) + 1.0) - _EXACT)
    return float(np.sort(sizes)[min(max(wanted, 1), len(sizes)) - 1])


def correlation_of_errors(
    posterior: Posterior,
    X: Any,
    residuals: np.ndarray,
    left_out: RowsLeftOut,
    calibration: Calibration,
    tasks: Tasks | None = None,
) -> np.ndarray:
    """Return R (n_outputs, n_outputs), shrunk as few rows ask for.

    In long form it is the identity: no row has two targets.

    Raises
    ------
    MemoryError
        If the covariances of the training rows, which related outputs take, cannot fit.
    """
    m = len(calibration.factors)
    if tasks is not None:
        return np.eye(m)
    if posterior.row_covariance is not None and posterior.row_is_given:
        N = posterior.row_covariance.copy()
        np.fill_diagonal(N, left_out.noise)
        return _correlation(N)
    if not posterior.couples:
        told = ~np.isnan(calibration.standardised).all(axis=0)
        R = np.eye(m)
        found = best_of_errors(calibration.standardised[:, told])
        R[np.ix_(told, told)] = _correlation(found.covariance)
        return R
    require_memory(
        6 * 8 * len(residuals) * m**2,
        f"How errors of {m} outputs go together in {len(residuals)} rows",
        "Use structure='identity', or fit on fewer rows.",
    )
    known = np.where(np.isnan(left_out.residuals), 0.0, residuals)
    told = np.where(np.isnan(left_out.residuals), 0.0, left_out.told)
    rows, S = covariances_left_out(posterior, X, told, known)
    roots = np.sqrt(calibration.factors)
    S *= np.outer(roots, roots)
    if posterior.row_covariance is None:  # as if all had noise of weight one
        weights = np.sqrt(told * left_out.noise)
        rows, S = rows * weights, S * weights[:, :, None] * weights[:, None]
    return _of_noise(rows, S, told > 0, calibration.noise)


def _of_noise(
    rows: np.ndarray, S: np.ndarray, seen: np.ndarray, noise: np.ndarray
) -> np.ndarray:
    """Return the correlation of noise, from residuals (n, m) of covariance S + N.

    Entries that were not seen do not count, nor do rows with fewer than two.
    """
    m = len(noise)
    varying = noise > 0
    seen = seen & varying
    told = seen.sum(axis=1) > 1
    if not told.any():
        return np.eye(m)
    rows, S, inside = rows[told], S[told], seen[told].astype(np.float64)
    both = inside[:, :, None] * inside[:, None]
    rows = np.where(inside > 0, rows, 0.0)
    deviations = np.sqrt(noise)
    R = np.eye(m)
    for _ in range(_ROUNDS):
        N = R * np.outer(deviations, deviations)
        total = (S + N) * both
        total[:, range(m), range(m)] += 1.0 - inside
        P = np.linalg.inv(total) * both
        expected = np.einsum("itu,iu->it", P, rows) @ N
        summed = expected.T @ expected - N @ P.sum(axis=0) @ N
        before, R = R, _correlation(N + summed / len(rows))
        if np.max(np.abs(R - before)) < _TOLERANCE:
            break
    return shrunk(R, inside.T @ inside)


def _correlation(covariance: np.ndarray) -> np.ndarray:
    """Return correlations, which are zero for what does not vary."""
    variances = np.diagonal(covariance)
    roots = np.sqrt(np.where(variances > 0, variances, 1.0))
    correlation = covariance / np.outer(roots, roots)
    np.fill_diagonal(correlation, 1.0)
    return correlation
