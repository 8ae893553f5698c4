r"""The sparse penalty on a positive definite L, for Newton's method in L.

.. math:: R(L) = \tfrac12 \Big(\varepsilon \operatorname{tr} L^{-1}
          + \operatorname{tr} L + \lambda \sum_{i \ne j} |L_{ij}|\Big)

With the signs of its entries held, the objective is smooth. An entry is *free* if it
is not zero, or if the gradient is steep enough to move it away from zero; a Newton step
over the free entries is cut where an entry would change its sign. Zeros are therefore
exact, and near the optimum, where the signs are right, convergence is quadratic. Where
L is nearly singular, a step that was cut may leave the positive definite matrices. The
step is then computed anew with fewer free entries: without those that are zero and that
it would move against their signs. (An inner solver with soft thresholds needs ten times
the products: it does not see which entries are free.)

The barrier eps tr L^-1 is steep where eps is small. Newton's method then starts with a
larger eps.

The preconditioner is a diagonal: in the eigenbasis of L where most entries are free,
else in the basis of the outputs, where it costs no product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from okl.numerics.arrays import Array, namespace, symmetric
from okl.optimization.regions import Decomposed, Equations, Iterate, WithBarrier

# The preconditioner is in the eigenbasis if more than this part of entries is free.
_MOSTLY_FREE = 0.5
# Fixed-point rounds for the first scale, and when to stop them.
_SCALE_ROUNDS, _SCALE_CHANGE = 50, 0.1
# A warm start has a barrier of the first part of its largest eigenvalue squared. It is
# not near enough if that square is below the second part of the first scale squared.
_WARM_BARRIER, _NEAR = 1e-2, 1e-3


@dataclass(frozen=True)
class Orthant(WithBarrier):
    """Positive definite L whose absolute entries are penalised, by lambda >= 0."""

    weight: float

    by_entries: ClassVar[bool] = True

    def cold(
        self, size: int, power: Callable[[float], float], guess: float
    ) -> tuple[Orthant, float]:
        """Return the eigenvalue that L would have along the strongest direction alone.

        There the best L for given predictions is one number, (l^2 C'KC + eps)^(1/2).
        (That of the best multiple of the identity is far too small where one direction
        dominates.) The barrier starts at its square.
        """
        scale = guess + self.inverse**0.5
        for _ in range(_SCALE_ROUNDS):
            previous = scale
            scale = (scale**2 * power(scale) + self.inverse) ** 0.5
            if abs(scale - previous) <= _SCALE_CHANGE * previous:
                break
        return replace(self, barrier=scale**2), scale

    def warm(self, nearby: Decomposed) -> tuple[Orthant, Decomposed] | None:
        """Return the region with a lower barrier, and L with a larger diagonal for it.

        None where L is far below the scale that it should have.
        """
        values, vectors, matrix = nearby
        square = float(values[-1]) ** 2
        if square < _NEAR * self.barrier:
            return None
        barrier = max(self.inverse, _WARM_BARRIER * square)
        shift = barrier**0.5 - self.inverse**0.5
        identity = namespace(values).eye(values.shape[0], dtype=values.dtype)
        moved = Decomposed(values + shift, vectors, matrix + shift * identity)
        return replace(self, barrier=barrier), moved

    def entered(self, value: float, values: Array) -> Orthant:
        """Return the region with a barrier of at least eps."""
        return replace(self, barrier=max(self.inverse, self.barrier))

    def admits(self, values: Array) -> bool:
        """Tell whether L is positive definite."""
        return bool(values[0] > 0)

    def value(self, iterate: Iterate) -> float:
        """Return R(L) with the current barrier."""
        values, _, matrix = iterate.kernel
        xp = namespace(values)
        trace = float(xp.sum(values))
        absolute = float(xp.sum(xp.abs(matrix)))
        penalty = trace + self.weight * (absolute - trace)
        return penalty / 2 + self.held(values)

    def equations(self, iterate: Iterate, stuck: Array | None = None) -> Equations:
        """Return the equations over the free entries, less those stuck at zero."""
        (values, vectors, matrix), point = iterate
        assert matrix is not None
        xp = namespace(matrix)
        identity = xp.eye(values.shape[0], dtype=values.dtype)
        moment = point.moment + self.barrier * identity / values**2
        moment = symmetric(vectors @ moment @ vectors.T)

        # the sign that an entry has, or will have once it leaves zero
        signs = xp.where(matrix != 0, xp.sign(matrix), xp.sign(moment)) * (1 - identity)
        steep = xp.abs(moment) > self.weight
        free = (matrix != 0) | steep | (identity > 0)
        free = xp.astype(free if stuck is None else free & ~stuck, values.dtype)
        second_derivative = self.barrier_curvature(values)

        def hessian(direction: Array) -> Array:
            rotated = vectors.T @ direction @ vectors
            product = point.curvature(rotated) + second_derivative * rotated
            return free * symmetric(vectors @ product @ vectors.T)

        def cut(change: Array) -> Array:
            crosses = signs * (matrix + change) < 0
            return xp.where(crosses, -matrix, change) if self.weight > 0 else change

        def narrowed(change: Array) -> Equations | None:
            more = (matrix == 0) & (signs * change < 0)
            if self.weight == 0 or not bool(xp.any(more)):
                return None
            return self.equations(iterate, more if stuck is None else more | stuck)

        if float(xp.mean(free)) > _MOSTLY_FREE:
            precondition = _in_eigenbasis(iterate, free, second_derivative)
        else:
            precondition = _entrywise(iterate, moment, free, self.barrier)
        gradient = free * (identity - moment + self.weight * signs) / 2
        return Equations(gradient, hessian, precondition, cut, narrowed)


def _in_eigenbasis(
    iterate: Iterate, free: Array, second_derivative: Array
) -> Callable[[Array], Array]:
    """Return the inverse of the Hessian's diagonal in the eigenbasis of L."""
    vectors = iterate.kernel.vectors
    scale = 1 / (iterate.point.diagonal + second_derivative)
    return lambda right: (
        free * (vectors @ (scale * (vectors.T @ right @ vectors)) @ vectors.T)
    )


def _entrywise(
    iterate: Iterate, moment: Array, free: Array, barrier: float
) -> Callable[[Array], Array]:
    """Return a scaling of the entries, as for a g = tr(L^-1 P) with this gradient."""
    xp = namespace(free)
    values, vectors, _ = iterate.kernel
    inverse = (vectors / values) @ vectors.T
    # at least the share of the barrier, where g is not of the form tr(L^-1 P)
    held = barrier * xp.sum((vectors / values) ** 2, axis=1)
    slopes = xp.maximum(xp.linalg.diagonal(moment), held)
    scale = free / symmetric(xp.linalg.diagonal(inverse)[:, None] * slopes)
    return lambda right: scale * right
