"""The variance of predictions at new rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils import gen_batches

from okl.coding.tasks import COLUMNS, Tasks
from okl.kernels import Kernel
from okl.output_kernels import OutputKernel
from okl.posterior.coordinates import Coordinates, coordinates_of
from okl.posterior.moments import EntryMoments, RowMoments


@dataclass(frozen=True)
class PredictiveVariance:
    r"""Variance of f(x) + b, noise not added, with L and the kernel given.

    For targets that are complete, and weights w_i of rows, with K_w = W^(1/2) K
    W^(1/2) = U diag(d) U', L = V diag(l) V' and a = U'W^(1/2) k(x),

    .. math:: \operatorname{var} f_t(x) = \sum_j V_{tj}^2\, l_j \Big( k(x, x)
              - \sum_i \frac{a_i^2\, l_j}{d_i l_j + \alpha} \Big)
              + \frac{\alpha}{\sum_i w_i};

    the last term, and K and k(x) seen from the weighted mean of the training rows,
    are the free intercept's. Else see `okl.posterior.moments`.

    Attributes
    ----------
    kernel : Kernel
        With its data-dependent parameters resolved.
    rows : array or sparse matrix (n_samples, n_features)
        Training rows.
    output_kernel : OutputKernel
        L.
    alpha : float
        The noise variance of an entry of weight one.
    weights : array (n_samples, n_outputs) or (n_samples, 1), or None
        Of each entry, or row; 0 where it was not observed, None for one everywhere.
    free_intercept : bool
        Whether there is an intercept, with a flat prior.
    tasks : Tasks or None
        For data in long form the task of each row; weights are (n_samples, 1) then.
    """

    kernel: Kernel
    rows: Any
    output_kernel: OutputKernel
    alpha: float
    weights: np.ndarray | None
    free_intercept: bool
    tasks: Tasks | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the decomposition behind: it is larger than the model."""
        return {k: v for k, v in vars(self).items() if k != "_prepared"}

    def __call__(self, X: Any, tasks: Tasks | None = None) -> np.ndarray:
        """Return the variance at rows of X, (n, n_outputs), or (n, 1) of own tasks.

        The first call decomposes the kernel matrix of the training rows, which later
        ones use. Rows are taken in blocks that fit into scikit-learn's
        ``working_memory``.

        Raises
        ------
        MemoryError
            If that decomposition cannot fit.
        """
        coordinates, moments = self._prepared
        own = self.output_kernel.diagonal()
        n_columns = len(own) if tasks is None else 1
        budget = int(get_config()["working_memory"] * 2**20)
        # k(x, x_i), phi, and what becomes of both
        size = 8 * (self.rows.shape[0] + 3 * len(coordinates.eigenvalues) + 1)
        variance = np.empty((X.shape[0], n_columns))
        for rows in gen_batches(X.shape[0], max(1, budget // size)):
            phi, prior = coordinates(X[rows])
            asked = None if tasks is None else tasks.restrict(rows)
            variance[rows] = moments(phi, asked)
            if not coordinates.complete:
                variance[rows] += prior[:, None] * (asked or COLUMNS).spread(own)
        return np.clip(variance, 0.0, None, out=variance)

    @cached_property
    def _prepared(self) -> tuple[Coordinates, RowMoments | EntryMoments]:
        rows, weights = self.rows, self.weights
        if weights is None:
            weights = np.ones((rows.shape[0], 1))
        if self.tasks is not None:  # a target matrix with one entry a row
            weights = self.tasks.scatter(weights)
        seen = weights.any(axis=1)
        if not seen.all():
            rows, weights = rows[seen], weights[seen]
        by_row = bool(np.all(weights == weights[:, :1]))
        # weights of entries leave the coordinates as they are
        of_rows = weights[:, 0] if by_row else np.ones(len(weights))
        heaviest = 1.0 if by_row else float(weights.max())
        largest = heaviest * self.output_kernel.largest_eigenvalue
        coordinates = coordinates_of(
            self.kernel,
            rows,
            of_rows,
            centre=self.free_intercept,
            # smaller eigenvalues tell less than rounding does
            floor=np.finfo(float).eps * self.alpha / largest if largest else np.inf,
        )
        kind: type[RowMoments] | type[EntryMoments]
        kind = RowMoments if by_row else EntryMoments
        moments = kind.of(
            coordinates,
            self.output_kernel,
            self.alpha,
            weights,
            free_intercept=self.free_intercept,
        )
        return coordinates, moments
