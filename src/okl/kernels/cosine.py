"""The cosine kernel: the cosine of the angle between rows, whatever their length.

It is the linear kernel of rows divided by their norms, for counts of words and other
rows of which only the proportions matter.
"""

from __future__ import annotations

import numpy as np
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import row_norms

from okl.kernels._pairs import inner_products, pairs
from okl.kernels.base import Kernel, Matrix


class Cosine(Kernel):
    """Cosine kernel, k(x, z) = x'z / (||x|| ||z||), zero for rows of zeros.

    It is `sklearn.metrics.pairwise.cosine_similarity`, the ``metric="cosine"`` of
    scikit-learn. Some texts on Gaussian processes use the same name for the cosine of a
    distance; for periodic functions use `Periodic`. It has no parameters.
    """

    name = "cosine"

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> np.ndarray:
        """Return the cosines of all pairs of rows."""
        X, Z = pairs(X, Z)
        first = self.features(X)
        return inner_products(first, first if Z is X else self.features(Z))

    def diagonal(self, X: Matrix) -> np.ndarray:
        """Return ones, zero for rows of zeros."""
        X, _ = pairs(X)
        return row_norms(self.features(X), squared=True)

    def features(self, X: Matrix) -> Matrix:
        """Return the rows divided by their norms, sparse if they are sparse."""
        return normalize(X)
