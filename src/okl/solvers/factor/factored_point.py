r"""The objective as a function of a factor of L: trace structure, squared loss.

With L = B B' and the best f for it,

.. math:: \varphi(B) = \tfrac{\alpha}{2} (\langle C, Y \rangle + \|B\|_F^2),
          \qquad \nabla\varphi = \alpha (I - C'KC) B, \qquad KCBB' + \alpha C = Y.

In the full eigenbasis of L the Sylvester solve behind a Hessian product is a division,
and a product costs five matrix products. There the second derivatives by single entries
of B have a closed form, which makes the preconditioner. L does not change where B is
rotated, to B R with an orthogonal R. Steps leave out these directions, in which the
second derivative is zero at the optimum and of any sign on the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from okl.numerics.arrays import Array, count, eigh, inner, namespace, symmetric
from okl.optimization.conjugate_gradient import conjugate_gradient
from okl.output_kernels import SpectralKernel

# Eigenvalues of L below this (relative) count as zero.
RANK_CUT = 1e-13
# A second derivative is the difference of two terms, and at least this part of each.
_LEAST = 1e-2
# Most products of a step, which is a descent direction wherever it is stopped.
_PRODUCTS = 60


@dataclass(frozen=True)
class FactoredPoint:
    """An output kernel L and the best f for it, in the full eigenbasis of L."""

    basis: Array  # V (r, r), from these coordinates to the outputs of the problem
    weights: Array  # the eigenvalues of L (r,), descending
    targets: Array  # YV (k, r)
    dual: Array  # CV
    scaled: Array  # KCV
    divisor: Array  # d l' + alpha
    moment: Array  # S = C'KC (r, r)
    objective: float  # phi(B)

    @classmethod
    def of(
        cls, d: Array, targets: Array, basis: Array, output_kernel: Array, alpha: float
    ) -> FactoredPoint:
        """Solve for f in the eigenbasis of L (r, r), of which the PSD part counts."""
        xp = namespace(targets)
        values, rotation = eigh(symmetric(output_kernel))
        weights = xp.flip(values)
        # what rounding leaves of a zero would act like a direction of its own
        rounding = weights <= max(RANK_CUT * float(weights[0]), 0.0)
        weights = xp.where(rounding, xp.zeros_like(weights), weights)
        rotation = xp.flip(rotation, axis=1)
        return cls.at(d, targets @ rotation, basis @ rotation, weights, alpha)

    @classmethod
    def at(
        cls, d: Array, targets: Array, basis: Array, weights: Array, alpha: float
    ) -> FactoredPoint:
        """Solve for f, given the eigenvalues of L in descending order."""
        divisor = d * weights + alpha
        dual = targets / divisor
        scaled = d * dual
        moment = dual.T @ scaled
        total = float(namespace(weights).sum(weights))
        return cls(
            basis,
            weights,
            targets,
            dual,
            scaled,
            divisor,
            symmetric(moment),
            alpha / 2 * (inner(dual, targets) + total),
        )

    @cached_property
    def rank(self) -> int:
        """The number of eigenvalues above rounding."""
        return count(self.weights > 0)

    def output_kernel(self) -> SpectralKernel:
        """Return L in the outputs of the problem."""
        rank = self.rank
        return SpectralKernel(self.weights[:rank], self.basis[:, :rank])

    def coefficients(self) -> Array:
        """Return Theta = C L (k, n_outputs) in the outputs of the problem."""
        rank = self.rank
        inside = self.dual[:, :rank] * self.weights[:rank]
        return inside @ self.basis[:, :rank].T

    @cached_property
    def gradient(self) -> Array:
        """Return the gradient in B (r, rank) over alpha, (I - S) B."""
        xp = namespace(self.weights)
        size, rank = self.weights.shape[0], self.rank
        identity = xp.eye(size, rank, dtype=self.moment.dtype)
        return (identity - self.moment[:, :rank]) * xp.sqrt(self.weights[:rank])

    @cached_property
    def curvature(self) -> Array:
        """Return about the second derivative in each entry of B (r, rank) over alpha.

        It is exact outside the range of L, where it is positive. Inside, changes of
        pairs of entries that only rotate B have none, and get that of the symmetric
        change.
        """
        xp = namespace(self.weights)
        rank = self.rank
        crossed = xp.matmul(self._inverse.T, self.scaled * self.scaled)
        crossed = (crossed + crossed.T)[:, :rank]
        convex = (self.weights[:, None] + self.weights[:rank]) * crossed
        rest = 1 - xp.linalg.diagonal(self.moment)[:, None]
        return xp.maximum(convex + rest, _LEAST * (convex + xp.abs(rest)))

    @cached_property
    def _inverse(self) -> Array:
        return 1 / self.divisor

    def newton_step(
        self, alpha: float, *, rtol: float, above: Array | None = None
    ) -> tuple[Array, float]:
        """Return a descent direction in B (r, rank) and the slope along it.

        The direction solves Newton's equations to this relative residual, unless that
        takes too many products, with I - S + UU' in place of I - S where U (r, p) is
        given as ``above``.
        """
        xp = namespace(self.weights)
        rank, kept = self.rank, self.weights[: self.rank]
        roots = xp.sqrt(kept)
        sums = kept[:, None] + kept
        rest = xp.eye(self.weights.shape[0], dtype=roots.dtype) - self.moment
        if above is not None:
            rest = rest + above @ above.T

        def hessian(direction: Array) -> Array:
            product = rest @ direction
            product += self._fall_of_moment(direction * roots) * roots
            return product

        def precondition(right: Array) -> Array:
            # the part with a symmetric B'V: the rest rotates B, and leaves L as it is
            change = right / self.curvature
            inside = change[:rank, :] * roots
            change[:rank, :] = (inside + inside.T) / sums * roots
            return change

        right = -self.gradient
        direction = conjugate_gradient(
            hessian, right, precondition, rtol=rtol, max_iter=_PRODUCTS
        )
        return direction, alpha * inner(self.gradient, direction)

    def _fall_of_moment(self, half: Array) -> Array:
        """Return the first columns of -dS (r, rank) where L grows by H + H'.

        Of H only the first columns (r, rank) are given, the others are zero. With these
        -dC = K C (H + H') / (d l' + alpha), and -dS = G + G' with G = (K C)'(-dC).
        """
        xp, rank = namespace(half), half.shape[1]
        scaled = self.scaled
        if 2 * rank < half.shape[0]:  # few columns: two products with these
            change = scaled[:, :rank] @ half.T
            change[:, :rank] += scaled @ half
            change *= self._inverse
            return change.T @ scaled[:, :rank] + scaled.T @ change[:, :rank]
        others = xp.zeros((half.shape[0], half.shape[0] - rank), dtype=half.dtype)
        half = xp.concat([half, others], axis=1)
        change = scaled @ (half + half.T)
        change *= self._inverse
        crossed = scaled.T @ change
        return crossed[:, :rank] + crossed[:rank, :].T
