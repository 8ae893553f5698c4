"""Centred sparse rows: the means are kept apart, as to subtract them fills the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

# A product of two entries of sparse rows takes so many times that of dense ones, and
# the numbers of a dense block of rows.
_SLOWER, _AT_ONCE = 20.0, 2**20


@dataclass(frozen=True)
class CentredRows:
    """A = Phi - r mu', (n_samples, n_features).

    Attributes
    ----------
    sparse : SciPy sparse matrix (n_samples, n_features)
        Phi.
    means : array (n_features,) or None
        mu; None for zero.
    roots : array (n_samples,) or None
        r; None for one.
    """

    sparse: Any
    means: np.ndarray | None = None
    roots: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and features."""
        return self.sparse.shape[0], self.sparse.shape[1]

    @property
    def _r(self) -> np.ndarray:
        return np.ones(self.sparse.shape[0]) if self.roots is None else self.roots

    def forward(self, right: np.ndarray) -> np.ndarray:
        """Return A times an array (n_features, p) or (n_features,)."""
        product = self.sparse @ right
        if self.means is None:
            return product
        if self.roots is None:
            product -= self.means @ right
            return product
        r = self.roots if right.ndim == 1 else self.roots[:, None]
        return product - r * (self.means @ right)

    def adjoint(self, right: np.ndarray) -> np.ndarray:
        """Return A' times an array (n_samples, p)."""
        product = self.sparse.T @ right
        if self.means is None:
            return product
        return product - self.means[:, None] * (self._r @ right)

    def adjoint_of_squares(self, right: np.ndarray) -> np.ndarray:
        """Return (A o A)' times an array (n_samples, p), without negative entries."""
        product = self.sparse.multiply(self.sparse).T @ right
        if self.means is None:
            return product
        r, means = self._r[:, None], self.means[:, None]
        product = product - 2 * means * (self.sparse.T @ (r * right))
        product = product + means**2 * np.sum(r**2 * right, axis=0)
        return np.clip(product, 0.0, None)

    def squared_norms(self) -> np.ndarray:
        """Return the squared norms of the rows (n_samples,)."""
        squares = np.asarray(self.sparse.multiply(self.sparse).sum(axis=1)).ravel()
        if self.means is not None:
            r = self._r
            squares = squares - 2 * r * (self.sparse @ self.means)
            squares = squares + r**2 * (self.means @ self.means)
        return np.clip(squares, 0.0, None)

    def products(self, others: CentredRows) -> np.ndarray:
        """Return A B' for other rows B with the same means."""
        products = safe_sparse_dot(self.sparse, others.sparse.T, dense_output=True)
        if self.means is None:
            return products
        mine, theirs = self.sparse @ self.means, others.sparse @ self.means
        r = self._r
        products -= np.outer(mine - r * (self.means @ self.means), others._r)
        products -= np.outer(r, theirs)
        return products

    def gram(self) -> np.ndarray:
        """Return A'A (n_features, n_features)."""
        gram = _gram(self.sparse)
        if self.means is None:
            return gram
        r = self._r
        crossed = np.outer(self.sparse.T @ r, self.means)
        gram -= crossed
        gram -= crossed.T
        return gram + (r @ r) * np.outer(self.means, self.means)

    def scaled(self, roots: np.ndarray) -> CentredRows:
        """Return the rows multiplied by r; they must not have been so before."""
        sparse = self.sparse.multiply(roots[:, None]).tocsr()
        return replace(self, sparse=sparse, roots=roots)

    def restrict(self, rows: Any) -> CentredRows:
        """Return some rows."""
        roots = None if self.roots is None else self.roots[rows]
        return replace(self, sparse=self.sparse[rows], roots=roots)


def _gram(sparse: Any) -> np.ndarray:
    """Return A'A, by dense blocks of rows where these are so full that it is faster."""
    rows, (n, k) = sparse.tocsr(), sparse.shape
    products = np.sum(np.diff(rows.indptr).astype(float) ** 2)
    if products * _SLOWER < float(n) * k**2:
        return safe_sparse_dot(rows.T, rows, dense_output=True)
    gram, step = np.zeros((k, k)), max(_AT_ONCE // max(k, 1), 1)
    for first in range(0, n, step):
        block = rows[first : first + step].toarray()
        gram += block.T @ block
    return gram
