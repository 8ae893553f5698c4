r"""Newton's method for a sparse positive definite L.

.. math:: \min_{L \succ 0}\; g(L) + \tfrac12 \Big(\varepsilon \operatorname{tr} L^{-1}
          + \operatorname{tr} L + \lambda \sum_{i \ne j} |L_{ij}|\Big)

for a smooth convex g. With the signs of its entries held, the objective is smooth. An
entry is *free* if it is not zero, or if the gradient is steep enough to move it away
from zero; a Newton step over the free entries, by conjugate gradients, is cut where an
entry would change its sign. So zeros are exact, and near the optimum, where the signs
are right, convergence is quadratic. (An inner solver with soft thresholds needs ten
times the products: it does not see which entries are free.)

The barrier eps tr L^-1 is stiff where eps is small. Newton then starts with a larger
eps and lowers it tenfold whenever a step promises little of what the barrier holds.

The preconditioner is a diagonal: in the eigenbasis of L where most entries are free,
else in the basis of the outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from okl.numerics.arrays import Array, eigh, inner, namespace
from okl.optimization.conjugate_gradient import conjugate_gradient
from okl.optimization.smooth import Point, Smooth, symmetric

# The barrier is lowered by this, once Newton promises less than this part of it.
_LOWERING, _CENTERED = 0.1, 0.1
# Conjugate gradients stop at this residual, or at the promise of the last step if
# that is smaller.
_FORCING = 1e-2
# From this part of free entries on the eigenbasis preconditions.
_MOSTLY_FREE = 0.5
# Line search: sufficient decrease, and when to give up.
_ARMIJO, _MAX_HALVINGS = 1e-4, 30
# A promise below the first part of the objective is not seen in its value, and one
# below the second not worth a step.
_UNSEEN, _ROUNDING = 1e-12, 1e-20


class Iterate(NamedTuple):
    """Where Newton stands.

    Attributes
    ----------
    matrix : array (m, m)
        L, with exact zeros.
    values, vectors : array (m,), (m, m)
        Its eigenvalues, ascending, and eigenvectors.
    point : Point
        g at L.
    """

    matrix: Array
    values: Array
    vectors: Array
    point: Point


def orthant_newton(
    smooth: Smooth, first: Array, *, weight: float, eps: float, first_eps: float
) -> Iterator[Iterate]:
    """Yield the iterates, the first one included, until rounding is in the way.

    Parameters
    ----------
    smooth : Smooth
        g.
    first : array (m, m)
        A positive definite L to start from.
    weight : float
        lambda >= 0.
    eps : float
        The barrier, > 0.
    first_eps : float
        The barrier to start with.
    """
    barrier = max(eps, first_eps)
    iterate = _evaluate(smooth, first)
    assert iterate is not None, "the first L must be positive definite"
    while True:
        yield iterate
        moved, promise = _step(smooth, iterate, weight, barrier)
        held = barrier * _sum(1 / iterate.values) / 2
        if barrier > eps and (moved is None or promise < _CENTERED * held):
            barrier = max(_LOWERING * barrier, eps)
        elif moved is None:
            return
        iterate = moved or iterate


def _evaluate(smooth: Smooth, matrix: Array) -> Iterate | None:
    """Return None where L is not positive definite."""
    values, vectors = eigh(matrix)
    if not float(values[0]) > 0:
        return None
    return Iterate(matrix, values, vectors, smooth.at(values, vectors))


def _sum(array: Array) -> float:
    return float(namespace(array).sum(array))


def _objective(iterate: Iterate, weight: float, barrier: float) -> float:
    xp = namespace(iterate.matrix)
    trace = _sum(iterate.values)
    penalty = trace + barrier * _sum(1 / iterate.values)
    penalty += weight * (_sum(xp.abs(iterate.matrix)) - trace)
    return iterate.point.value + penalty / 2


def _step(
    smooth: Smooth, iterate: Iterate, weight: float, barrier: float
) -> tuple[Iterate | None, float]:
    """Return the next iterate, None if there is none, and the decrease promised."""
    matrix, values, vectors, point = iterate
    xp = namespace(matrix)
    inverse = 1 / values
    diagonal = xp.eye(matrix.shape[0], dtype=matrix.dtype)
    moment = point.moment + barrier * diagonal * inverse**2
    moment = symmetric(vectors @ moment @ vectors.T)

    # the sign that an entry has, or will have once it leaves zero
    signs = xp.where(matrix != 0, xp.sign(matrix), xp.sign(moment)) * (1 - diagonal)
    steep = xp.abs(moment) > weight
    free = xp.astype((matrix != 0) | steep | (diagonal > 0), matrix.dtype)
    gradient = free * (diagonal - moment + weight * signs) / 2

    stiffness = barrier * inverse[:, None] * inverse * (inverse[:, None] + inverse) / 2

    def hessian(direction: Array) -> Array:
        rotated = vectors.T @ direction @ vectors
        product = point.curvature(rotated) + stiffness * rotated
        return free * symmetric(vectors @ product @ vectors.T)

    objective = _objective(iterate, weight, barrier)
    diagonally = _diagonal_preconditioner(iterate, moment, free)
    mostly_free = float(xp.mean(free)) > _MOSTLY_FREE
    rotated = _rotated_preconditioner(iterate, free, stiffness)
    direction = conjugate_gradient(
        hessian,
        -gradient,
        rotated if mostly_free else diagonally,
        rtol=_FORCING,
    )
    direction = symmetric(direction)  # rounding would add up
    promise = -inner(gradient, direction)
    if not promise > _ROUNDING * abs(objective):
        return None, 0.0
    unseen = _UNSEEN * abs(objective)

    def search(direction: Array, slack: float) -> Iterate | None:
        """Backtrack until the objective falls enough."""
        for halvings in range(_MAX_HALVINGS):
            trial = matrix + 0.5**halvings * direction
            if weight > 0:
                trial = xp.where(signs * trial < 0, xp.zeros_like(trial), trial)
            moved = _evaluate(smooth, trial)
            if moved is not None:
                decrease = objective - _objective(moved, weight, barrier)
                expected = inner(gradient, matrix - trial)
                if decrease >= max(_ARMIJO * expected, 0.0) - slack:
                    return moved
        return None

    moved = search(direction, unseen if promise <= unseen else 0.0)
    if moved is None and promise > unseen:
        # Cutting entries at zero may turn a Newton step uphill; a step that scales
        # each entry by itself goes down whatever is cut.
        moved = search(-diagonally(gradient), 0.0)
    return moved, promise


def _rotated_preconditioner(
    iterate: Iterate, free: Array, stiffness: Array
) -> Callable[[Array], Array]:
    """Return the inverse of the Hessian's diagonal in the eigenbasis of L."""
    vectors = iterate.vectors
    scale = 1 / (iterate.point.diagonal + stiffness)
    return lambda right: (
        free * (vectors @ (scale * (vectors.T @ right @ vectors)) @ vectors.T)
    )


def _diagonal_preconditioner(
    iterate: Iterate, moment: Array, free: Array
) -> Callable[[Array], Array]:
    """Return a scaling of the entries, as if g were a tr(L^-1 P) of this gradient."""
    xp = namespace(free)
    inverse = (iterate.vectors / iterate.values) @ iterate.vectors.T
    scale = free / symmetric(
        xp.linalg.diagonal(inverse)[:, None] * xp.linalg.diagonal(moment)
    )
    return lambda right: scale * right
