"""Products with rows of features, a few rows at a time.

What is computed for a row from the weights W of the features, its scores and all that
follows from them, is as long as there are outputs, and of all rows together far larger
than the rows are. So products are taken for as many rows as stay in the cache. A
constant feature is appended for an intercept, as the last row of W.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from okl.operators.centred_rows import CentredRows
from okl.operators.counting import count_product
from okl.operators.dense_rows import DenseRows

# Numbers of a few rows: about half a megabyte.
_AT_ONCE = 2**16


@dataclass(frozen=True)
class FeatureRows:
    """Phi (n_samples, n_features), with a constant column appended if asked for.

    Attributes
    ----------
    rows : CentredRows or DenseRows
        Not scaled.
    constant : bool
        Whether the constant column is there.
    n_outputs : int
        The columns of W.
    """

    rows: CentredRows | DenseRows
    constant: bool
    n_outputs: int

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of W, the constant included."""
        return self.rows.shape[1] + self.constant, self.n_outputs

    @cached_property
    def slices(self) -> list[slice]:
        """The numbers of the rows that are multiplied at once."""
        n, step = self.rows.shape[0], max(1, _AT_ONCE // self.n_outputs)
        return [slice(first, min(first + step, n)) for first in range(0, n, step)]

    @cached_property
    def single(self) -> FeatureRows:
        """The same rows in single precision."""
        return replace(self, rows=self.rows.single())

    @cached_property
    def _some(self) -> list[Any]:
        return [self.rows.some(some) for some in self.slices]

    def forward(self, weights: np.ndarray) -> np.ndarray:
        """Return Phi W (n_samples, n_outputs)."""
        return self.mapped(weights, lambda _, product: product)

    def mapped(
        self,
        weights: np.ndarray,
        change: Callable[[int, np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """Return what becomes of Phi W, changed some rows at a time.

        ``change(number, product)`` takes the rows of the slice of that number.
        """
        count_product()
        found = np.empty((self.rows.shape[0], self.n_outputs), weights.dtype)
        inside, added = self._split(weights)
        for number, (some, rows) in enumerate(
            zip(self.slices, self._some, strict=True)
        ):
            product = rows @ inside
            if added is not None:
                product += added
            found[some] = change(number, product)
        return found

    def adjoint(self, right: np.ndarray) -> np.ndarray:
        """Return Phi' times an array (n_samples, n_outputs)."""
        return self._with_constant(self.rows.adjoint(right), right)

    def adjoint_of_squares(self, right: np.ndarray) -> np.ndarray:
        """Return (Phi o Phi)' times an array (n_samples, n_outputs)."""
        return self._with_constant(self.rows.adjoint_of_squares(right), right)

    def _split(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the weights of stored features, and what is added to each row."""
        inside = weights[:-1] if self.constant else weights
        added = weights[-1] if self.constant else None
        if self.rows.means is not None:
            means = self.rows.means @ inside
            added = -means if added is None else added - means
        return inside, added

    def _with_constant(self, product: np.ndarray, right: np.ndarray) -> np.ndarray:
        if not self.constant:
            return product
        return np.concatenate([product, np.sum(right, axis=0)[None, :]])
