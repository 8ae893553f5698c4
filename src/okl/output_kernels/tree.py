r"""The output kernel of classes in a tree, L = Phi_L D Phi_L'.

Every node p of a tree adds a function of its own, independent of the others and with
variance d_p; the function of a leaf is the sum along its path. What two leaves share is
the variance of the nodes above both:

.. math:: L_{st} = \sum_{p \text{ above } s \text{ and } t} d_p.

A product with L takes two passes over the nodes (Seeger 2006, section 4): add up the
entries of the leaves below each node, multiply by d_p, and add up the results along the
path to each leaf. In NumPy the passes are products with sparse matrices
(`okl.output_kernels.tree_product`). A product with the inverse is as cheap
(`okl.output_kernels.tree_inverse`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from okl.numerics.arrays import Array, inner, namespace
from okl.output_kernels.matrix_free import MatrixFree
from okl.output_kernels.tree_inverse import bounds_eigenvalues, resolvent
from okl.output_kernels.tree_product import TreeProduct
from okl.trees import Levels

# Relative distance of the bound of the largest eigenvalue.
_CLOSE = 1e-6


@dataclass(frozen=True)
class TreeKernel(MatrixFree):
    """L of the leaves of a tree, never formed.

    Attributes
    ----------
    levels : Levels
        The tree.
    variances : array (n_nodes,)
        d, not negative. If it is positive at all leaves, L is positive definite, and
        its inverse as cheap as a product; else L may be singular, and is decomposed for
        its inverse.
    """

    levels: Levels
    variances: Array

    @property
    def n_outputs(self) -> int:
        """The number of leaves."""
        return self.levels.n_leaves

    @property
    def rank(self) -> int:
        """The number of nodes: B = Phi_L D^(1/2) has a column for each of them."""
        return self.levels.n_nodes

    @property
    def nodes(self) -> tuple[Levels, Array]:
        """The tree, and the variances."""
        return self.levels, self.variances

    @cached_property
    def _is_definite(self) -> bool:
        """Whether all leaves have variances."""
        xp = namespace(self.variances)
        return bool(xp.all(xp.take(self.variances, xp.asarray(self.levels.leaves)) > 0))

    @cached_property
    def couples(self) -> bool:
        """Whether a node above several leaves has a variance."""
        xp = namespace(self.variances)
        sizes = self.levels.below(
            xp.ones_like(self.variances[: self.n_outputs])[None, :]
        )
        return bool(xp.any((sizes[0, :] > 1) & (self.variances > 0)))

    @cached_property
    def largest_eigenvalue(self) -> float:
        """A close upper bound, by bisection from the mean and the largest row sum."""
        xp = namespace(self.variances)
        ones = xp.ones_like(self.variances[: self.n_outputs])
        sums = self.multiply(ones[None, :])
        low, high = float(xp.mean(sums)), float(xp.max(sums))
        while high - low > _CLOSE * high:
            middle = (low + high) / 2
            is_above = bounds_eigenvalues(self.levels, self.variances, middle)
            low, high = (low, middle) if is_above else (middle, high)
        return high

    def adjoint(self, rows: Array) -> Array:
        """Return ``rows Phi_L D^(1/2)`` (n, n_nodes)."""
        return self.levels.below(rows) * namespace(rows).sqrt(self.variances)

    def forward(self, inside: Array) -> Array:
        """Return ``inside D^(1/2) Phi_L'`` (n, n_outputs)."""
        return self.levels.along(inside * namespace(inside).sqrt(self.variances))

    @cached_property
    def _product(self) -> Callable[[Array], Array]:
        few = TreeProduct.of(self.levels, self.variances)
        if few is not None:
            return few.multiply
        by_depth = self.levels.by_depth(self.variances[None, :])

        def two_passes(rows: Array) -> Array:
            sums = self.levels.sums(rows)
            scaled = [one * d for one, d in zip(sums, by_depth, strict=True)]
            return self.levels.path_sums(scaled)

        return two_passes

    def multiply(self, rows: Array) -> Array:
        """Return ``rows L`` (n, n_outputs), in two passes over the nodes."""
        return self._product(rows)

    def diagonal(self) -> Array:
        """Return the sums of the variances along each path (n_outputs,)."""
        return self.levels.along(self.variances[None, :])[0, :]

    def quotient(self, rows: Array, products: Array) -> float:
        """Return <rows L^+, products>, in two passes over the nodes."""
        if not self._is_definite:
            return super().quotient(rows, products)
        return inner(self.solve(rows, rows), products)

    def solve(self, rows: Array, outside: Array) -> Array:
        """Return ``rows L^-1``; a definite L has all of the space as its range."""
        if not self._is_definite:
            return super().solve(rows, outside)
        one = namespace(rows).ones_like(rows[:1, 0])
        return self.resolvent(rows, one, 0.0)

    def resolvent(self, rows: Array, scales: Array, shift: float) -> Array:
        """Return each row times ``(shift I + scale L)^-1`` (n, n_outputs).

        Parameters
        ----------
        rows : array (n, n_outputs)
        scales : array (n,) or (1,)
            One for each row, or for all, not negative.
        shift : float
            Not negative; zero for the inverse of a definite L, with scales of one.
        """
        return resolvent(self.levels, self.variances, rows, scales, shift)
