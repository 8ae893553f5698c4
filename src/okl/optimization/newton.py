r"""Newton's method in an output kernel L, inside a region of symmetric matrices.

.. math:: \min_L\; g(L) + R(L)

for a smooth convex g and a penalty R with a domain, a `WithBarrier`
(`okl.optimization.regions`). The region says what a Newton step sees: the gradient and
the second derivative of the sum, a preconditioner, and how a step is cut so that it
stays inside. The rest is the same for all: conjugate gradients, a line search, and a
barrier that is lowered tenfold whenever a step promises less than the barrier adds to
the objective.
"""

from __future__ import annotations

from collections.abc import Iterator

from okl.numerics.arrays import Array, eigh, inner, namespace, symmetric
from okl.optimization.conjugate_gradient import conjugate_gradient
from okl.optimization.regions import Decomposed, Equations, Iterate, WithBarrier
from okl.optimization.smooth import Smooth

# Line search: the sufficient decrease, the most halvings, and the most where there are
# narrower equations to solve instead.
_ARMIJO, _MAX_HALVINGS, _FEW_HALVINGS = 1e-4, 40, 2
# Rounding hides a promised decrease below the first part of the objective; one below
# the second is not worth a step.
_UNSEEN, _ROUNDING = 1e-12, 1e-20


def newton(
    smooth: Smooth, region: WithBarrier, first: Decomposed, *, rtol: float = 0.1
) -> Iterator[Iterate]:
    """Yield the iterates, the first one included, until rounding ends the descent.

    It starts from an L inside the region. Conjugate gradients stop at the relative
    residual ``rtol``.
    """
    values, vectors, matrix = first
    if matrix is None and region.by_entries:
        matrix = symmetric((vectors * values) @ vectors.T)
    iterate = Iterate(Decomposed(values, vectors, matrix), smooth.at(values, vectors))
    region = region.entered(iterate.point.value, values)
    while True:
        yield iterate
        moved, promise = _step(smooth, iterate, region, rtol)
        stuck = moved is None
        if stuck or promise < region.held(iterate.kernel.values):
            lowered = region.lowered()
            if stuck and lowered is None:
                return
            region = lowered or region
        iterate = moved or iterate


def _step(
    smooth: Smooth, iterate: Iterate, region: WithBarrier, rtol: float
) -> tuple[Iterate | None, float]:
    """Return the next iterate, None if there is none, and the decrease promised."""
    objective = iterate.point.value + region.value(iterate)
    unseen = _UNSEEN * abs(objective)

    def search(
        equations: Equations, direction: Array, slack: float, halvings: int
    ) -> Iterate | None:
        """Backtrack until the objective falls enough."""
        for halving in range(halvings):
            change = equations.cut(0.5**halving * direction)
            moved = _moved(smooth, iterate, region, change)
            if moved is not None:
                decrease = objective - moved.point.value - region.value(moved)
                expected = -inner(equations.gradient, change)
                if decrease >= max(_ARMIJO * expected, 0.0) - slack:
                    return moved
        return None

    found = region.equations(iterate)
    while True:
        direction = symmetric(  # rounding would add up
            conjugate_gradient(
                found.hessian, -found.gradient, found.precondition, rtol=rtol
            )
        )
        promise = -inner(found.gradient, direction)
        if not promise > _ROUNDING * abs(objective):
            return None, 0.0
        slack = unseen if promise <= unseen else 0.0
        # A cut changes the direction of a step, which may then leave the bounds of a
        # barrier however short it is. The narrower equations are solved in that case.
        fewer = None if found.narrowed is None else found.narrowed(direction)
        halvings = _MAX_HALVINGS if fewer is None else _FEW_HALVINGS
        moved = search(found, direction, slack, halvings)
        if moved is not None or fewer is None:
            break
        found = fewer
    return moved, promise


def _moved(
    smooth: Smooth, iterate: Iterate, region: WithBarrier, change: Array
) -> Iterate | None:
    """Return where a change leads to, None if that is outside."""
    values, vectors, matrix = iterate.kernel
    if matrix is None:
        identity = namespace(change).eye(change.shape[0], dtype=change.dtype)
        values, axes = eigh(identity * values + change)
        vectors = vectors @ axes
    else:
        matrix = matrix + change
        values, vectors = eigh(matrix)
    if not region.admits(values):
        return None
    return Iterate(Decomposed(values, vectors, matrix), smooth.at(values, vectors))
