"""The function that a fit learned: from rows to scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from okl.coding.tasks import Tasks
from okl.estimators.units import Units
from okl.kernels import Kernel, KernelTerms, PerOutput
from okl.operators import multiply_own, multiply_rows


@dataclass(frozen=True)
class ScoreFunction:
    """f(x) + b = k(x, X_fit) Theta + b.

    Attributes
    ----------
    kernel : Kernel, PerOutput, KernelTerms or "precomputed"
        With its data-dependent parameters resolved.
    rows : array, sparse matrix or None
        X_fit; None for a precomputed kernel.
    dual_coef : array (n_samples, n_outputs), or what multiplies like one
        Theta; of several kernels `TermCoefficients`.
    intercept : array (n_outputs,) or None
        b; None for zero.
    feature_coef : array (n_features, n_outputs) or None
        W, where f(x) = phi(x)'W for the features of the kernel is more exact.
    """

    kernel: Kernel | PerOutput | KernelTerms | str
    rows: Any
    dual_coef: Any
    intercept: np.ndarray | None
    feature_coef: np.ndarray | None = None

    def in_units(self, units: Units) -> ScoreFunction:
        """Return the function of targets as given, from that of normalised ones."""
        intercept, inside = self.intercept, self.feature_coef
        if intercept is not None:
            intercept = units.intercept(intercept)
        elif np.any(units.mean):
            intercept = units.mean.copy()
        return replace(
            self,
            dual_coef=units.coefficients(self.dual_coef),
            intercept=intercept,
            feature_coef=None if inside is None else units.coefficients(inside),
        )

    def __call__(self, X: Any) -> np.ndarray:
        """Return the scores of rows (n, n_outputs); of K(X, X_fit) if precomputed."""
        products = self.products(X)
        return products if self.intercept is None else products + self.intercept

    def of_training_rows(self, X: Any, rows: Any) -> np.ndarray:
        """Return the scores that were fitted to training rows, given by number.

        X are these rows. To the scores of new rows the term of a `Row` is added, whose
        scores are its coefficients.
        """
        scores = self(X)
        if isinstance(self.kernel, KernelTerms) and self.kernel.has_rows:
            scores = scores + self.dual_coef.parts[-1][rows]
        return scores

    def of_own_tasks(self, X: Any, tasks: Tasks) -> np.ndarray:
        """Return for each row the score of its own task only, (n, 1).

        After a fit in long form, which never has coefficients of features.
        """
        kernel = self.kernel
        assert not isinstance(kernel, PerOutput | KernelTerms)
        assert self.feature_coef is None
        scores = multiply_own(kernel, X, self.rows, self.dual_coef, tasks)
        if self.intercept is None:
            return scores
        return scores + tasks.spread(self.intercept)

    def products(self, X: Any, axes: np.ndarray | None = None) -> np.ndarray:
        """Return f(X) (n, n_outputs), or f(X) times axes (n_outputs, q).

        The coefficients are multiplied by the axes first: with many outputs there is
        no array of all of them.
        """
        kernel, inside = self.kernel, self.feature_coef
        coefficients = self.dual_coef if inside is None else inside
        if axes is not None:
            coefficients = coefficients @ axes
        if isinstance(kernel, str):
            return X @ coefficients
        if inside is not None:
            assert isinstance(kernel, Kernel)
            return kernel.features(X) @ coefficients
        return multiply_rows(kernel, X, self.rows, coefficients)
