"""Derivatives of a kernel matrix by the logarithms of the kernel's parameters.

A criterion J of a kernel matrix, such as a marginal likelihood or the error of held-out
rows, has a derivative dJ = sum_ij W_ij dK_ij with some weights W. The derivative of the
matrix by a parameter is therefore never needed, only its inner product with W, one
number for each parameter. This is reverse-mode automatic differentiation: a kernel maps
W to these numbers, and sums and products of kernels pass weights on to their parts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from okl.parameters.component import Component
from okl.parameters.hyperparameter import Hyperparameter

Matrix = Any  # a dense array or a SciPy sparse matrix, (n_samples, n_features)
Derivatives = dict[str, Any]  # from names to floats or arrays
Evaluated = tuple[np.ndarray, Callable[[np.ndarray], Derivatives]]

# The blocks of rows that `gradient` takes at a time have about so many entries, which
# stay in a processor's cache, but at least so many rows, to make up for preparing a
# block.
BLOCK_ENTRIES = 2**18
BLOCK_ROWS = 64


class Differentiable(Component, ABC):
    """Base of the kernels: their continuous parameters and derivatives by these.

    All of it is for kernels whose parameters are numbers, after ``resolve``. By default
    there are no parameters.
    """

    @abstractmethod
    def __call__(self, X: Matrix, Z: Matrix | None = None) -> np.ndarray:
        """Return the fresh matrix k(x_i, z_j), (n_samples, n_other); Z is X if None."""

    @property
    def is_psd(self) -> bool:
        """Whether every matrix is positive semi-definite by construction.

        If it is False, the matrix is checked at fit time.
        """
        return True

    def hyperparameters(
        self, X: Matrix, weights: np.ndarray | None = None
    ) -> list[Hyperparameter]:
        """Return the parameters that can be learned, those of parts included.

        A parameter that is zero, or None, stays what it is and is not among them.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            The training rows: priors and bounds are relative to the scale of their
            columns.
        weights : array (n_samples,), optional
            How much each row counts; None for one each.

        Returns
        -------
        list of Hyperparameter
        """
        return []

    def value_and_pullback(self, X: Matrix, Z: Matrix | None = None) -> Evaluated:
        """Return the matrix, and a function from weights of its entries to derivatives.

        It is for weights that depend on the matrix: no kernel is evaluated twice. The
        function holds an array or two of the size of the matrix for each kernel that is
        combined.

        Returns
        -------
        K : array (n_samples, n_other)
            Not to be written to: the function uses it.
        pullback : callable
            ``pullback(W)`` with W (n_samples, n_other) is ``gradient(X, W, Z=Z)``.
        """
        return self(X, Z), _nothing

    def gradient(
        self,
        X: Matrix,
        left: np.ndarray,
        right: np.ndarray | None = None,
        Z: Matrix | None = None,
    ) -> Derivatives:
        """Return the derivatives of sum_ij W_ij k(x_i, z_j) by the logs of parameters.

        The rows are taken in blocks: with thin factors no array has the size of the
        matrix, with a full W no array but W has.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            The rows of the matrix.
        left : array (n_samples, q), or (n_samples, n_other) if right is None
            Left factor of the weights W = left right', or W itself.
        right : array (n_other, q), optional
            Right factor: the sum is then that of left_k' K right_k over k.
        Z : array or sparse matrix (n_other, n_features), optional
            The columns of the matrix; X if None.

        Returns
        -------
        dict
            From the names in ``hyperparameters(X)`` to floats, or arrays in the shape
            of the parameter.

        Raises
        ------
        ValueError
            If the weights do not have these shapes.
        """
        n, n_other = np.shape(X)[0], np.shape(X if Z is None else Z)[0]
        left, right = _checked_weights(left, right, (n, n_other))
        n_rows = max(BLOCK_ROWS, BLOCK_ENTRIES // max(1, n_other, np.shape(X)[1]))
        # A user's function may treat a row and an equal row differently, as white noise
        # does: its matrix then cannot be computed block by block.
        if n_rows >= n or (Z is None and not self.is_psd):
            W = left if right is None else left @ right.T
            return self.value_and_pullback(X, Z)[1](W)
        if sparse.issparse(X):
            X = X.tocsr()
        total: Derivatives = {}
        for start in range(0, n, n_rows):
            rows = slice(start, start + n_rows)
            W = left[rows] if right is None else left[rows] @ right.T
            part = self.value_and_pullback(X[rows], X if Z is None else Z)[1](W)
            for name, value in part.items():
                total[name] = total[name] + value if name in total else value
        return total


def within(part: str, derivatives: Derivatives) -> Derivatives:
    """Return the derivatives of a part of a kernel by their names in the kernel."""
    return {f"{part}__{name}": value for name, value in derivatives.items()}


def within_pair(left: Derivatives, right: Derivatives) -> Derivatives:
    """Return the derivatives of two parts, ``left`` and ``right``."""
    return within("left", left) | within("right", right)


def _nothing(W: np.ndarray) -> Derivatives:
    return {}


def _checked_weights(
    left: Any, right: Any, shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray | None]:
    left = np.asarray(left, dtype=np.float64)
    if right is None:
        if left.shape != shape:
            raise ValueError(
                "left without right holds the weights of all entries and must have "
                f"the shape {shape} of the kernel matrix, got {left.shape}."
            )
        return left, None
    right = np.asarray(right, dtype=np.float64)
    n, n_other = shape
    fits = left.ndim == right.ndim == 2 and left.shape[1] == right.shape[1]
    if not fits or (left.shape[0], right.shape[0]) != shape:
        raise ValueError(
            f"left and right must have shapes ({n}, q) and ({n_other}, q), one row per "
            f"row of X and of Z, got {left.shape} and {right.shape}."
        )
    return left, right
