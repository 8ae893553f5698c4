r"""How sure the prediction of a new output is.

With s and the slope t of the penalty given, the function of a new output is kernel
ridge regression with the kernel s k + f'M f: the mean of a Gaussian process of h and
loadings b, with noise alpha. Its prediction is w'y for weights w of the rows R of the
new output. This takes the functions f for exact, but they are uncertain themselves: for
fixed b the error of b'f has the posterior covariance G(x, z) of b'(f + b_0), b_0 the
intercepts, in the process of the fit that was kept. The prediction therefore has the
error variance

.. math:: v(x) + G(x, x) - 2 w'G(R, x) + w'G(R, R) w,

where v is the variance of the Gaussian process above: exact for b, s and L given.

The size of all these variances is measured as in other fits: by the squared residuals
of rows left out one by one, with b, s and t held, over their expected values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from okl.estimators.kept_fit import KeptFit
from okl.estimators.new_targets import NewTargets
from okl.numerics.arrays import symmetric
from okl.numerics.memory import blocks_of_rows

# No other row tells of a row whose diagonal entry of P is below this part of the most
# it can be, weight / alpha.
_LEAST = 1e-9


@dataclass(frozen=True)
class NewOutputSpread:
    """The spread of one new output, in normalised units.

    Attributes
    ----------
    kept : KeptFit
    rows : array or sparse matrix (n_rows, n_features)
        The rows in which the new output was observed.
    targets, weights : array (n_rows,)
    loadings : array (q,)
        b, in the eigenvectors of L.
    own_variance : float
        s.
    inverse_penalty : array (q,)
        The diagonal of M.
    alpha : float
    """

    kept: KeptFit
    rows: Any
    targets: np.ndarray
    weights: np.ndarray
    loadings: np.ndarray
    own_variance: float
    inverse_penalty: np.ndarray
    alpha: float

    def variance(self, X: Any) -> np.ndarray:
        """Return the variance of function plus intercept at rows of X (n,)."""
        found = np.empty(X.shape[0])
        m = len(self.kept.scale)
        width = 8 * (4 * self.rows.shape[0] + 4 * m**2)
        for some in blocks_of_rows(X.shape[0], width):
            found[some] = self._variance(X[some])
        return self.factor * np.clip(found, 0.0, None)

    @cached_property
    def factor(self) -> float:
        """The mean squared error of rows left out, each relative to its variance."""
        P = self._projected
        own = np.diagonal(P)
        told = own > _LEAST * self.weights / self.alpha
        if not told.any():
            return 1.0
        u = P[told] / own[told, None]
        spread = 1 / own[told] + np.einsum("ij,jk,ik->i", u, self._held, u)
        return float(np.mean((u @ self.targets) ** 2 / spread))

    @property
    def noise(self) -> float:
        """The variance of the noise of a target of weight one."""
        return self.factor * self.alpha

    def weights_at(self, X: Any) -> np.ndarray:
        """Return the w (n, n_rows) of rows of X: predictions are w'y."""
        return self._told(X) @ self._projected + self._of_mean

    def _variance(self, X: Any) -> np.ndarray:
        told, P = self._told(X), self._projected
        functions = self.kept.functions(X)
        prior = self.own_variance * self.kept.kernel.diagonal(X)
        prior = prior + functions**2 @ self.inverse_penalty
        inside = prior - np.einsum("ij,jk,ik->i", told, P, told)
        if self.kept.free_intercept:
            inside += self._variance_of_mean - 2 * told @ self._of_mean
        w, posterior, direction = self.weights_at(X), self._posterior, self._direction
        between = posterior.along(X, self.rows, direction)
        own = np.einsum("j,ijk,k->i", direction, posterior.covariance(X), direction)
        held = np.einsum("ij,jk,ik->i", w, self._held, w)
        return inside + own - 2 * np.sum(w * between, axis=1) + held

    def _told(self, X: Any) -> np.ndarray:
        """Return the covariance of the function at X and at the rows (n, n_rows)."""
        functions = self.kept.functions(X)
        told = self.own_variance * self.kept.kernel(X, self.rows)
        return told + (functions * self.inverse_penalty) @ self._functions.T

    @cached_property
    def _functions(self) -> np.ndarray:
        return self.kept.functions(self.rows)

    @cached_property
    def _inverse(self) -> np.ndarray:
        """A^-1, A the covariance of targets, intercept apart."""
        A = self._told(self.rows) + np.diag(self.alpha / self.weights)
        return np.linalg.inv(symmetric(A))

    @cached_property
    def _projected(self) -> np.ndarray:
        """P: A^-1, with what the intercept takes up projected out."""
        P = self._inverse
        if not self.kept.free_intercept:
            return P
        sums = P.sum(axis=0)
        return P - np.outer(sums, sums) / sums.sum()

    @cached_property
    def _of_mean(self) -> np.ndarray:
        """The weights of the targets in the intercept (n_rows,)."""
        sums = self._inverse.sum(axis=0)
        return sums / sums.sum() * float(self.kept.free_intercept)

    @property
    def _variance_of_mean(self) -> float:
        return 1 / float(self._inverse.sum())

    @property
    def _posterior(self) -> Any:
        return self.kept.estimator._gaussian_process().posterior

    @property
    def _direction(self) -> np.ndarray:
        """b, as a combination of the outputs kept."""
        return self.kept.axes @ self.loadings

    @cached_property
    def _held(self) -> np.ndarray:
        """G(R, R)."""
        return self._posterior.along(self.rows, self.rows, self._direction)


def spreads(
    kept: KeptFit, given: NewTargets, loadings: np.ndarray, own_variances: np.ndarray
) -> list[NewOutputSpread]:
    """Return the spread of each new output, given loadings (n_new, q), s (n_new,)."""
    penalty, found = kept.penalty(len(own_variances)), []
    for j, (b, own) in enumerate(zip(loadings, own_variances, strict=True)):
        seen = np.flatnonzero(given.weights[:, j] > 0)
        inverse = penalty.inverse(penalty.slope(b, own))
        targets, weights = given.targets[seen, j], given.weights[seen, j]
        of_output = targets, weights, b, float(own), inverse, float(given.alphas[j])
        found.append(NewOutputSpread(kept, given.rows[seen], *of_output))
    return found
