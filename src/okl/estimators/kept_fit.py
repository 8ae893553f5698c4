"""What the extension by new outputs needs of a fitted regressor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from okl.estimators.border_penalty import BorderPenalty
from okl.estimators.regression import RegressionMixin
from okl.kernels import Kernel
from okl.solvers.predictor.added_output import AddedOutput, NewOutput

_TAKEN = (
    "OutputKernelExtension takes a fitted OutputKernelRegressor or "
    "OutputKernelRegressorCV, or a FrozenEstimator of one"
)


@dataclass(frozen=True)
class KeptFit:
    """Functions f and output kernel L of a fit, in normalised units.

    Attributes
    ----------
    estimator : regressor
        The fit.
    axes, eigenvalues : array (n_kept, q), (q,)
        L = V diag(l) V' on its range.
    scale : array (n_kept,)
        The scales of the outputs.
    alphas : float or array (n_kept,)
    trace_and_square : tuple of float
        What R is made of; see `okl.optimization.regions.Region`.
    """

    estimator: Any
    axes: np.ndarray
    eigenvalues: np.ndarray
    scale: np.ndarray
    alphas: Any
    trace_and_square: tuple[float, float]

    @classmethod
    def of(cls, estimator: Any) -> KeptFit:
        """Take all this from an estimator, which must be one that can be extended.

        Raises
        ------
        sklearn.exceptions.NotFittedError, TypeError, ValueError
            As `OutputKernelExtension.fit`.
        """
        if isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        if not isinstance(estimator, RegressionMixin):
            raise TypeError(
                f"{_TAKEN}; got {estimator!r}. For a pipeline or a search pass the "
                "fitted regressor inside it, and X as that regressor receives it."
            )
        check_is_fitted(estimator)
        estimator = estimator._as_fitted()
        structure = estimator.structure_
        single = isinstance(estimator.kernel_, Kernel) and not estimator._has_tasks
        if not single:
            given = "data in long form" if estimator._has_tasks else estimator.kernel_
            raise ValueError(
                f"{_TAKEN}, with one kernel for all outputs and targets in columns; "
                f"got one with {given}."
            )
        if "quadratic" not in estimator.loss_.capabilities:
            raise ValueError(f"{_TAKEN}, with loss='squared'; got {estimator.loss_}.")
        region = structure.region(np.size(estimator.y_scale_))
        of_penalty = None if region is None else region.trace_and_square
        if of_penalty is None:
            raise ValueError(
                f"{_TAKEN}, with structure='frobenius' or 'low_rank', whose output "
                f"kernel can be extended; got {structure}."
            )
        scale = np.atleast_1d(estimator.y_scale_)
        factor = estimator.output_kernel_factor_ / scale[:, None]
        axes, sizes, _ = np.linalg.svd(factor, full_matrices=False)
        used = sizes > np.finfo(np.float64).eps * len(scale) * sizes.max(initial=0.0)
        alphas = estimator._alpha_of_fit
        return cls(
            estimator, axes[:, used], sizes[used] ** 2, scale, alphas, of_penalty
        )

    @property
    def alpha(self) -> float:
        """The geometric mean of the alphas."""
        return float(np.exp(np.mean(np.log(self.alphas))))

    @property
    def kernel(self) -> Any:
        """The kernel as it was used."""
        return self.estimator.kernel_

    @property
    def free_intercept(self) -> bool:
        """Whether there are intercepts."""
        return self.estimator._free_intercept

    @property
    def normalize(self) -> bool:
        """Whether targets are normalised."""
        return bool(self.estimator.normalize_y)

    def _has_room(self, n_outputs: int) -> bool:
        """Whether a bound on the rank leaves an own part to so many new outputs."""
        most = self.estimator.structure_.max_rank(len(self.scale) + n_outputs)
        return bool(len(self.eigenvalues) + n_outputs <= most)

    def penalty(self, n_outputs: int) -> BorderPenalty:
        """Return what the border of each of so many new outputs costs."""
        own = self._has_room(n_outputs)
        return BorderPenalty(self.eigenvalues, *self.trace_and_square, own)

    def rows(self, X: Any) -> Any:
        """Check rows as the estimator does."""
        return self.estimator._validate_rows(X, reset=False)

    def functions(self, X: Any) -> np.ndarray:
        """Return f, without intercepts, in the eigenvectors of L (n_samples, q)."""
        return self.estimator._function.products(X, self.axes / self.scale[:, None])

    def with_rows(self, X: Any) -> Any:
        """Return the rows of the fit, and below them those of X."""
        both = [self.estimator.X_fit_, X]
        if scipy.sparse.issparse(X):
            return scipy.sparse.vstack(both, format="csr")
        return np.vstack(both)

    def with_outputs(
        self, names: Sequence[Any] | None, scale: np.ndarray
    ) -> tuple[list[str], np.ndarray]:
        """Return names and scales of the outputs kept, followed by those of new ones.

        Outputs without names are called by their numbers.
        """
        n_kept, n_outputs = len(self.scale), len(self.scale) + len(scale)
        numbers = [str(number) for number in range(n_outputs)]
        kept = getattr(self.estimator, "output_names_", numbers[:n_kept])
        new = numbers[n_kept:] if names is None else names
        return [*kept, *new], np.concatenate([self.scale, scale])

    def extended(
        self, X: Any, targets: np.ndarray, weights: np.ndarray, alphas: np.ndarray
    ) -> tuple[list[AddedOutput], np.ndarray, np.ndarray]:
        """Add new outputs, each to the outputs kept alone.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
        targets, weights : array (n_samples, n_new)
            Normalised; weights are zero where a target is missing.
        alphas : array (n_new,)

        Returns
        -------
        added : list of AddedOutput
        dual : array (n_samples, n_new)
            Their dual variables, zero where a target is missing.
        intercept : array (n_new,)
        """
        found = list(self._each(X, targets, weights, alphas))
        return (
            [output for output, _, _ in found],
            np.column_stack([dual for _, dual, _ in found]),
            np.array([intercept for _, _, intercept in found]),
        )

    def _each(
        self, X: Any, targets: np.ndarray, weights: np.ndarray, alphas: np.ndarray
    ) -> Iterator[tuple[AddedOutput, np.ndarray, float]]:
        """Solve for one output after the other.

        Rows are multiplied by the roots of their weights, and what the intercept takes
        up is projected out.
        """
        all_products, all_functions = self.kernel(X), self.functions(X)
        for column, of_rows, alpha in zip(targets.T, weights.T, alphas, strict=True):
            rows = np.flatnonzero(of_rows > 0)
            K, y = all_products[np.ix_(rows, rows)], column[rows]
            functions, roots = all_functions[rows], np.sqrt(of_rows[rows])
            axis = roots / np.linalg.norm(roots) * float(self.free_intercept)
            output = NewOutput(
                _seen(y, roots, axis),
                _seen(_seen(K, roots, axis).T, roots, axis),
                _seen(functions, roots, axis),
                self.eigenvalues,
                float(alpha),
                *self.trace_and_square,
                own_part=self._has_room(len(alphas)),
            ).solve()
            own = roots * (output.dual - axis * (axis @ output.dual))
            rest = y - functions @ output.loadings - output.own_variance * (K @ own)
            intercept = np.average(rest, weights=of_rows[rows])
            dual = np.zeros(len(column))
            dual[rows] = own
            yield output, dual, float(intercept) * float(self.free_intercept)


def _seen(array: np.ndarray, roots: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """Return rows multiplied by the roots of weights, with an axis projected out."""
    array = (array.T * roots).T
    return array - np.multiply.outer(axis, axis @ array)
