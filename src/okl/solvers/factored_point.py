r"""The objective as a function of a factor of L: trace structure, squared loss.

With L = B B' and the best f for it,

.. math:: \varphi(B) = \tfrac{\alpha}{2} (\langle C, Y \rangle + \|B\|_F^2),
          \qquad \nabla\varphi = \alpha (I - C'KC) B, \qquad KCBB' + \alpha C = Y.

In the full eigenbasis of L the Sylvester solve behind a Hessian product is a division,
and a product costs five matrix products. Below full rank (E'E / alpha + I)^-1,
E = KCB, the step in B of the published alternation, preconditions it; at full rank it
does not pay.
"""

from __future__ import annotations

from dataclasses import dataclass

from okl.numerics.arrays import Array, eigh, inner, namespace, solve_definite
from okl.optimization.conjugate_gradient import conjugate_gradient
from okl.output_kernels import SpectralKernel

# Eigenvalues of L below this (relative) count as zero.
RANK_CUT = 1e-13
_FORCING = 0.1


@dataclass(frozen=True)
class FactoredPoint:
    """An output kernel L and the best f for it, in the full eigenbasis of L.

    Attributes
    ----------
    basis : array (r, r)
        V, from these coordinates to the outputs of the problem.
    weights : array (r,)
        The eigenvalues of L, descending.
    targets, dual, scaled : array (k, r)
        YV, CV and KCV.
    divisor : array (k, r)
        d l' + alpha.
    moment : array (r, r)
        S = C'KC.
    objective : float
        phi(B).
    """

    basis: Array
    weights: Array
    targets: Array
    dual: Array
    scaled: Array
    divisor: Array
    moment: Array
    objective: float

    @classmethod
    def of(
        cls, d: Array, targets: Array, basis: Array, output_kernel: Array, alpha: float
    ) -> FactoredPoint:
        """Rotate into the eigenbasis of L (r, r) and solve for f."""
        xp = namespace(targets)
        values, rotation = eigh((output_kernel + output_kernel.T) / 2)
        weights = xp.flip(values)
        # what rounding leaves of a zero would act like a direction of its own
        rounding = weights <= RANK_CUT * weights[0]
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
            (moment + moment.T) / 2,
            alpha / 2 * (inner(dual, targets) + total),
        )

    @property
    def rank(self) -> int:
        """The number of eigenvalues above rounding."""
        xp = namespace(self.weights)
        return int(xp.sum(xp.astype(self.weights > 0, xp.int64)))

    def output_kernel(self) -> SpectralKernel:
        """Return L in the outputs of the problem."""
        rank = self.rank
        return SpectralKernel(self.weights[:rank], self.basis[:, :rank])

    def gradient(self) -> Array:
        """Return the gradient in B (r, rank) over alpha, (I - S) B."""
        xp = namespace(self.weights)
        size, rank = self.weights.shape[0], self.rank
        identity = xp.eye(size, rank, dtype=self.moment.dtype)
        return (identity - self.moment[:, :rank]) * xp.sqrt(self.weights[:rank])

    def preconditioner(self, alpha: float) -> Array:
        """Return (E'E / alpha + I)^-1 below full rank, else I."""
        xp = namespace(self.weights)
        rank = self.rank
        identity = xp.eye(rank, dtype=self.weights.dtype)
        if rank == self.weights.shape[0]:
            return identity
        predicted = self.scaled[:, :rank] * xp.sqrt(self.weights[:rank])
        return solve_definite(predicted.T @ predicted / alpha + identity, identity)

    def newton_step(
        self, gradient: Array, inverse: Array, alpha: float, gap: float
    ) -> tuple[Array, float]:
        """Return a descent direction in B (r, rank) and the slope along it.

        The direction solves Newton's equations the better, the smaller the gap.
        """
        xp = namespace(self.weights)
        rank = gradient.shape[1]
        roots = xp.sqrt(self.weights[:rank])
        predicted = self.scaled[:, :rank] * roots  # E = KCB

        def hessian(direction: Array) -> Array:
            # -dC = K C (X B' + B X') / (d l' + alpha)
            change = predicted @ direction.T
            change[:, :rank] += (self.scaled @ direction) * roots
            change = change / self.divisor
            product = direction - self.moment @ direction
            product += change.T @ predicted
            product += self.scaled.T @ (change[:, :rank] * roots)
            return product

        direction = conjugate_gradient(
            hessian,
            -gradient,
            lambda right: right @ inverse,
            rtol=min(_FORCING, gap**0.5),
        )
        return direction, alpha * inner(gradient, direction)
