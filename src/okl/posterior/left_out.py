r"""What a model would have predicted of training rows, had they not been there.

Given the kernel, L and alpha, everything follows from the fit to all rows. With S_i
the posterior covariance of f(x_i) + b, N_i^-1 the diagonal matrix of the weights of the
targets observed in row i over alpha, and r_i their residuals (zero where nothing was
observed), the row left out has

.. math:: r_{(-i)} = (I - S_i N_i^{-1})^{-1} r_i, \qquad
          S_{(-i)} = (I - S_i N_i^{-1})^{-1} S_i,

and its targets the covariance S_(-i) + N_i. With a term of its own a row has the noise
N_i = L + diag(alpha / weights) on what was observed of it, L that of the term. Where
outputs have nothing in common, and along the eigenvectors of L where targets are
complete, matrices are numbers.

A weight thus says how exact a target is, here as in the model: a target of weight four
has half the noise, and is still one row. The same factor in all weights and in alpha
changes nothing but what a target of weight one is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from okl.coding.tasks import COLUMNS, Tasks
from okl.numerics.memory import blocks_of_rows
from okl.posterior.base import Posterior

# What a target may keep of its own residual, relative to it: below, the row left out
# says nothing that is more than rounding.
_LEAST = 1e-9


@dataclass(frozen=True)
class RowsLeftOut:
    """Rows left out one by one.

    Attributes
    ----------
    residuals : array (n_samples, n_outputs)
        Of the targets; NaN where none was observed, or nothing else tells of it. With
        tasks (n_samples, 1), as the other arrays.
    signal, variances : array (n_samples, n_outputs)
        The variances of f + b, and of the target, given its weight, by the model. A
        target that was not observed has weight one.
    noise : array (n_outputs,)
        The variance of the noise of weight one, by the model.
    told : array (n_samples, n_outputs)
        One over the variance of the independent noise of what is left out; zero where
        nothing was observed.
    """

    residuals: np.ndarray
    signal: np.ndarray
    variances: np.ndarray
    noise: np.ndarray
    told: np.ndarray

    @classmethod
    def of(
        cls,
        posterior: Posterior,
        X: Any,
        residuals: np.ndarray,
        weights: np.ndarray | None,
        noise: np.ndarray,
        tasks: Tasks | None = None,
    ) -> RowsLeftOut:
        """Leave rows out.

        Parameters
        ----------
        posterior : Posterior
            Of all rows.
        X : array or sparse matrix (n_samples, n_features)
            The training rows.
        residuals : array (n_samples, n_outputs)
            Targets less predictions, NaN where there is no target; (n_samples, 1) with
            tasks.
        weights : array (n_samples, n_outputs) or (n_samples, 1), or None
            Of targets, or rows; None for one.
        noise : array (n_outputs,)
            alpha, of each output: the variance of what is independent.
        tasks : Tasks, optional
            The task of each row, for data in long form.
        """
        seen = ~np.isnan(residuals)
        weights = np.where(seen, 1.0 if weights is None else weights, 0.0)
        seen = weights > 0
        outputs = COLUMNS if tasks is None else tasks
        shared = posterior.row_covariance
        told = weights / outputs.spread(noise)
        known = np.where(seen, residuals, 0.0)
        if tasks is not None or not posterior.couples:
            left, signal = _numbers(posterior(X, tasks), told, known)
        else:
            left, signal = _related(posterior, X, told, known)
        own = outputs.spread(noise) / np.where(seen, weights, 1.0)
        if shared is not None:
            own, noise = own + np.diagonal(shared), noise + np.diagonal(shared)
        # what nothing else tells of has an unbounded variance: any above half of the
        # largest that is possible, as rounding may leave that a little less
        seen &= signal < 0.5 * own / _LEAST
        left = np.where(seen, left, np.nan)
        return cls(left, signal, signal + own, noise, told)

    def without(self, entries: np.ndarray | None) -> RowsLeftOut:
        """Return the same where some entries (n_samples, n_outputs) do not count."""
        if entries is None:
            return self
        return replace(self, residuals=np.where(entries, np.nan, self.residuals))


def covariances_left_out(
    posterior: Posterior, X: Any, told: np.ndarray, residuals: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the residuals (n, m) and covariances (n, m, m) of rows left out.

    Parameters
    ----------
    posterior : Posterior
        Of all rows.
    X : array or sparse matrix (n, n_features)
        Training rows.
    told : array (n, m)
        One over the variance of independent noise, zero where nothing was observed.
    residuals : array (n, m)
        Zero where nothing was observed: there the result is minus the change of the
        prediction.
    """
    S = posterior.covariance(X)
    root = _root_of_precision(told, posterior.row_covariance)
    transposed = root.transpose(0, 2, 1)
    # (I - S R R')^-1 = I + S R (I - R'S R)^-1 R', the eigenvalues of that matrix
    # between zero and one
    values, V = np.linalg.eigh(np.eye(S.shape[1]) - transposed @ S @ root)
    inverse = (V / np.maximum(values, _LEAST)[:, None]) @ V.transpose(0, 2, 1)
    moved = S @ root @ inverse @ transposed
    left = residuals + np.einsum("itu,iu->it", moved, residuals)
    return left, S + moved @ S


def _root_of_precision(told: np.ndarray, shared: np.ndarray | None) -> np.ndarray:
    """Return R_i (n, m, m) with R_i R_i' = N_i^-1, zero for what was not observed.

    N_i^-1 = T (I + T L T)^-1 T, T^2 the precisions ``told`` on its diagonal, L what is
    shared, which holds for entries that were not observed too.
    """
    identity = np.eye(told.shape[1])
    if shared is None:
        return np.sqrt(told)[:, :, None] * identity
    patterns, which = np.unique(np.sqrt(told), axis=0, return_inverse=True)
    T = patterns[:, :, None] * identity
    values, V = np.linalg.eigh(identity + T @ shared @ T)
    return (T @ V / np.sqrt(values)[:, None])[which.ravel()]


def _numbers(
    S: np.ndarray, told: np.ndarray, residuals: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return residuals and variances of f + b of rows left out, entry by entry."""
    kept = np.maximum(1.0 - S * told, _LEAST)
    return residuals / kept, S / kept


def _related(
    posterior: Posterior, X: Any, told: np.ndarray, residuals: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return residuals and variances of f + b of rows left out, of related outputs."""
    axes = posterior.along_axes(X)
    if axes is not None and np.all(told == told[:, :1]):
        variances, V, off_axes = axes
        inside = residuals @ V
        rest = residuals - inside @ V.T
        left, own = _numbers(variances, told[:, :1], inside)
        of_rest, other = _numbers(np.asarray(off_axes), told[:, :1], rest)
        share = V * V
        return left @ V.T + of_rest, (own - other) @ share.T + other
    left, variances = np.empty_like(residuals), np.empty_like(residuals)
    m = residuals.shape[1]
    for rows in blocks_of_rows(len(residuals), 8 * 6 * m**2):
        left[rows], S = covariances_left_out(
            posterior, X[rows], told[rows], residuals[rows]
        )
        variances[rows] = np.diagonal(S, axis1=1, axis2=2)
    return left, variances
