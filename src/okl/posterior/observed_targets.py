r"""What an observed normal vector of targets tells of f + b at other rows.

With A the covariance of the targets y, k that of y and of f at a new row, and P the
prior covariance of f, the posterior one is P - k'A^-1 k; the Cholesky factor R of A
makes it P - (R^-1 k)'(R^-1 k). Intercepts with a flat prior, one for each output, are
found by generalised least squares: with H the matrix that takes them to the targets,
their precision is Q = H'A^-1 H, and the covariance of f + b has the further term
(I - H'A^-1 k)' Q^-1 (I - H'A^-1 k).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg


@dataclass(frozen=True)
class ObservedTargets:
    """The covariance of targets, factorised.

    Attributes
    ----------
    root : array (n_observed, n_observed)
        R, lower.
    drift : array (n_observed, m) or None
        R^-1 H; None without intercepts.
    """

    root: np.ndarray
    drift: np.ndarray | None

    @classmethod
    def of(
        cls,
        covariance: np.ndarray,
        outputs: np.ndarray,
        n_outputs: int,
        free_intercept: bool,
    ) -> ObservedTargets:
        """Factorise A (n_observed, n_observed), which is overwritten.

        Outputs (n_observed,) are the numbers of those that the targets are of.

        Raises
        ------
        numpy.linalg.LinAlgError
            If the noise is at rounding level beside the kernels.
        """
        root, drift = cholesky_root(covariance.T), None
        if free_intercept:
            own = outputs[:, None] == np.arange(n_outputs)
            drift = whitened(root, own.astype(np.float64))
        return cls(root, drift)

    @cached_property
    def drift_root(self) -> np.ndarray:
        """The Cholesky factor of Q, with free intercepts."""
        assert self.drift is not None
        return cholesky_root(self.drift.T @ self.drift)

    def variances(
        self, prior: np.ndarray, told: np.ndarray, outputs: np.ndarray
    ) -> np.ndarray:
        """Return the variance of f + b of rows (n,), of one output each.

        Parameters
        ----------
        prior : array (n,)
            P of the output of each row.
        told : array (n_observed, n)
            k of it.
        outputs : array of int (n,)
        """
        told = whitened(self.root, told)
        variances = prior - np.sum(told * told, axis=0)
        if self.drift is not None:
            left = np.eye(self.drift.shape[1])[:, outputs] - self.drift.T @ told
            half = whitened(self.drift_root, left)
            variances += np.sum(half * half, axis=0)
        return variances

    def covariance(self, prior: np.ndarray, told: np.ndarray) -> np.ndarray:
        """Return the covariance of f + b of rows (n, m, m).

        Parameters
        ----------
        prior : array (n, m, m)
            P of each row.
        told : array (n_observed, n, m)
            k of each row.
        """
        n, m = prior.shape[:2]
        told = whitened(self.root, told.reshape(-1, n * m))
        covariance = prior - gram_by_row(told.reshape(-1, n, m))
        if self.drift is not None:
            left = np.tile(np.eye(m), n) - self.drift.T @ told
            half = whitened(self.drift_root, left)
            covariance += gram_by_row(half.reshape(-1, n, m))
        return covariance

    def along(
        self,
        prior: np.ndarray,
        told: np.ndarray,
        other: np.ndarray,
        direction: np.ndarray,
    ) -> np.ndarray:
        """Return the covariance of a combination of f + b between rows (n, n_other).

        Parameters
        ----------
        prior : array (n, n_other)
            The prior covariance of the combination of f.
        told, other : array (n_observed, n) and (n_observed, n_other)
            Its covariance with the targets.
        direction : array (m,)
            The coefficients, which the intercepts have too.
        """
        told, other = whitened(self.root, told), whitened(self.root, other)
        found = prior - told.T @ other
        if self.drift is not None:
            root = self.drift_root
            left = whitened(root, direction[:, None] - self.drift.T @ told)
            right = whitened(root, direction[:, None] - self.drift.T @ other)
            found += left.T @ right
        return found


def gram_by_row(columns: np.ndarray) -> np.ndarray:
    """Return the products of columns (k, n, m) of the same row, (n, m, m)."""
    by_row = columns.transpose(1, 2, 0)
    return by_row @ by_row.transpose(0, 2, 1)


def grams(left: np.ndarray, right: np.ndarray, r: int) -> np.ndarray:
    """Return the products of blocks of r columns (n, k r) each, (k, r, r)."""
    first, second = (a.reshape(len(a), -1, r).transpose(1, 0, 2) for a in (left, right))
    return first.transpose(0, 2, 1) @ second


def inverse_of(root: np.ndarray) -> np.ndarray:
    """Return the inverse of the matrix with this Cholesky factor."""
    inverse, _ = scipy.linalg.lapack.dpotri(root, lower=True)
    below = np.tril(inverse, -1)
    return below + below.T + np.diag(np.diagonal(inverse))


def whitened(root: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return R^-1 times columns, R a lower triangle."""
    return scipy.linalg.solve_triangular(root, columns, lower=True, check_finite=False)


def cholesky_root(matrix: np.ndarray) -> np.ndarray:
    """Return the Cholesky factor of a matrix, of which the lower triangle is read.

    A matrix in Fortran's order is overwritten.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is singular up to rounding.
    """
    try:
        return scipy.linalg.cholesky(
            matrix, lower=True, overwrite_a=True, check_finite=False
        )
    except np.linalg.LinAlgError as error:
        raise np.linalg.LinAlgError(
            "The system of the standard deviation is singular up to rounding: alpha is "
            "too small relative to the kernels. Fit with a larger alpha."
        ) from error
