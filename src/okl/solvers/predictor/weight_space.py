"""A kernel matrix by its few features: weights in the place of dual variables."""

from __future__ import annotations

from dataclasses import dataclass

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, epsilon, namespace
from okl.output_kernels import OutputKernel

# The matrices of the nodes may take so many arrays of the size of features and scores.
_ARRAYS = 8
# What an elimination takes for each node, in cubes of the number of features.
_CUBES = 3


@dataclass(frozen=True)
class WeightSpace:
    """K = Phi Phi' with few features, and what leads back to dual variables.

    Attributes
    ----------
    features : array (n_samples, k)
        Phi.
    left, values, right : array
        The singular value decomposition of Phi, with a free intercept of the centred
        Phi, without what is rounding.
    """

    features: Array
    left: Array
    values: Array
    right: Array

    @classmethod
    def of(cls, features: Array, *, centered: bool) -> WeightSpace:
        """Decompose the features."""
        xp = namespace(features)
        inside = features - xp.mean(features, axis=0) if centered else features
        left, values, right = xp.linalg.svd(inside, full_matrices=False)
        least = epsilon(features) * max(features.shape) * float(xp.max(values))
        kept = int(xp.sum(xp.astype(values > least, xp.int64)))
        return cls(features, left[:, :kept], values[:kept], right[:kept, :])

    def serves(self, kernel: OutputKernel, curvature: Curvature) -> bool:
        """Tell whether outputs are coupled by a row and a tree only, and fit."""
        n, k = self.features.shape
        if curvature.shared is None or kernel.rank == 0:
            return False
        if kernel.couples and kernel.nodes is None:
            return False
        n_outputs = curvature.shared.shape[1]
        return _n_nodes(kernel, n_outputs) * k**2 <= _ARRAYS * n * (k + n_outputs)

    def cost(self, kernel: OutputKernel, n_outputs: int) -> float:
        """Return what the better preconditioner takes to make, in products."""
        n, k = self.features.shape
        nodes = _n_nodes(kernel, n_outputs)
        return k / 4 + _CUBES * nodes * k**2 / (2 * n * n_outputs)

    def dual(self, weights: Array) -> Array:
        """Return the smallest C with Phi' C equal to an array (k, n_outputs)."""
        return self.left @ ((self.right @ weights) / self.values[:, None])


def _n_nodes(kernel: OutputKernel, n_outputs: int) -> int:
    nodes = kernel.nodes if kernel.couples else None
    return n_outputs if nodes is None else nodes[0].n_nodes
