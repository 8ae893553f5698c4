"""A kernel on some columns of X: features of different kinds in one matrix.

``Columns(Gaussian(), slice(0, 10)) + Columns(Linear(), slice(10, None))`` compares
the first ten features by their distance and the others by their inner product. Columns
of a data frame may be given by name: ``Columns(Gaussian(), ["age", "height"])``.

Kernels are evaluated on arrays, without names. Estimators therefore replace names by
numbers when they are fitted, by the names of the columns of X (`number_columns`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from okl.kernels._pairs import pairs
from okl.kernels.base import Kernel, Matrix, check_is_kernel
from okl.kernels.differentiable import Evaluated, within
from okl.parameters.component import Component
from okl.parameters.hyperparameter import Hyperparameter


class Columns(Kernel):
    """Kernel on selected columns, k(x, z) = kernel(x[columns], z[columns]).

    Parameters
    ----------
    kernel : Kernel
        The kernel on the selected columns, tuned as ``kernel__gamma``.
    columns : slice, int, array-like of int, or mask of shape (n_features,)
        Which columns, at least one; negative numbers count from the end. In an
        estimator that is fitted to a data frame also a name, or a list of names.
    """

    def __init__(self, kernel, columns):
        self.kernel = kernel
        self.columns = columns

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> np.ndarray:
        """Return the matrix of the kernel on the selected columns."""
        return self.kernel(self._select(X), None if Z is None else self._select(Z))

    def diagonal(self, X: Matrix) -> np.ndarray:
        """Return the diagonal of the kernel on the selected columns."""
        return self.kernel.diagonal(self._select(X))

    @property
    def is_psd(self) -> bool:
        """Whether the inner kernel is positive semi-definite by construction."""
        return self.kernel.is_psd

    def resolve(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Return the same columns with the kernel resolved on them."""
        kernel = check_is_kernel(self.kernel, "kernel of Columns")
        return Columns(kernel.resolve(self._select(X), weights), self.columns)

    def of_one_width(self, n_features: int) -> list[np.ndarray]:
        """Return the groups of the kernel, as column numbers of X."""
        selected = self._select(np.arange(n_features)[None, :])[0].astype(np.intp)
        groups = self.kernel.of_one_width(len(selected))
        return [selected[group] for group in groups]

    def centered(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Centre the kernel on the selected columns."""
        return Columns(self.kernel.centered(self._select(X), weights), self.columns)

    def features(self, X: Matrix) -> Matrix | None:
        """Return the features of the kernel on the selected columns, if any."""
        return self.kernel.features(self._select(X))

    def hyperparameters(
        self, X: Matrix, weights: np.ndarray | None = None
    ) -> list[Hyperparameter]:
        """Return the parameters of the kernel on the selected columns."""
        inner = self.kernel.hyperparameters(self._select(X), weights)
        return [one.within("kernel") for one in inner]

    def value_and_pullback(self, X: Matrix, Z: Matrix | None = None) -> Evaluated:
        """Return the value and pullback of the kernel on the selected columns."""
        others = None if Z is None else self._select(Z)
        K, inner = self.kernel.value_and_pullback(self._select(X), others)
        return K, lambda W: within("kernel", inner(W))

    def numbered(self, names: Sequence[str]) -> Columns:
        """Return the same columns by numbers, given the names of all columns.

        Raises
        ------
        ValueError
            For a name that is not among them.
        """
        wanted = _text(self.columns)
        if wanted is None:
            return self
        unknown = [name for name in wanted if name not in names]
        if unknown:
            raise ValueError(
                f"columns of Columns has {unknown[0]!r}, which is none of the columns "
                f"of X: {', '.join(map(repr, names))}."
            )
        numbers = [j for name in wanted for j, n in enumerate(names) if n == name]
        return Columns(self.kernel, numbers)

    def _select(self, X: Matrix) -> Matrix:
        X, _ = pairs(X)
        return X[:, self._selected(X.shape[1])]

    def _selected(self, n_features: int) -> np.ndarray:
        """Return the numbers of the columns."""
        columns = self.columns
        try:
            if not isinstance(columns, slice):
                columns = np.asarray(columns)
            selected = np.atleast_1d(np.arange(n_features)[columns])
        except (IndexError, ValueError) as error:  # ValueError: a ragged list
            for number in _numbers(columns):
                if not -n_features <= number < n_features:
                    raise ValueError(
                        f"columns of Columns has the number {number}, and the "
                        f"{n_features} columns of X have the numbers 0 to "
                        f"{n_features - 1}."
                    ) from error
            raise ValueError(self._message(n_features)) from error
        if selected.ndim != 1 or not selected.size:
            raise ValueError(self._message(n_features))
        return selected

    def _message(self, n_features: int) -> str:
        how = (
            "by a slice, by column numbers or by a boolean mask of length "
            f"{n_features}, got {self.columns!r}."
        )
        if _text(self.columns) is not None:
            how = (
                f"got {self.columns!r}, but X has no names: fit an estimator to a data "
                "frame whose column names are strings, or give column numbers."
            )
        return (
            f"columns of Columns must select at least one of the {n_features} columns "
            f"of X, {how}"
        )


def number_columns(part: Any, names: Sequence[str] | None) -> Any:
    """Return a kernel in which names of columns are replaced by their numbers.

    Parameters
    ----------
    part : Kernel, PerOutput, or any parameter of one
        Kernels within parts and lists are treated as well.
    names : sequence of str or None
        The names of the columns of X; with None the kernel is returned as it is.

    Raises
    ------
    ValueError
        For a name that no column has.
    """
    if names is None:
        return part
    if isinstance(part, list | tuple) and any(isinstance(p, Component) for p in part):
        return [number_columns(inner, names) for inner in part]
    if not isinstance(part, Component):
        return part
    if isinstance(part, Columns):
        part = part.numbered(names)
        # the kernel inside is evaluated on these columns only
        names = [names[j] for j in part._selected(len(names))]
    params = part.get_params(deep=False).items()
    return type(part)(**{key: number_columns(value, names) for key, value in params})


def _numbers(columns: Any) -> list[int]:
    """Return the column numbers in an array of integers, else an empty list."""
    if not isinstance(columns, np.ndarray) or columns.dtype.kind not in "iu":
        return []
    return columns.ravel().tolist()


def _text(columns: Any) -> list[str] | None:
    """Return the names of columns, None for anything but text."""
    try:
        names = [columns] if isinstance(columns, str) else list(columns)
    except TypeError:  # a slice or a number
        return None
    return names if names and all(isinstance(name, str) for name in names) else None
