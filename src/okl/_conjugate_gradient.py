"""Preconditioned conjugate gradients for the Newton steps."""

from __future__ import annotations

from collections.abc import Callable

from okl._array import Array, inner, namespace


def conjugate_gradient(
    product: Callable[[Array], Array],
    right: Array,
    precondition: Callable[[Array], Array],
    *,
    rtol: float,
    max_iter: int = 200,
    on_step: Callable[[float], None] | None = None,
) -> Array:
    """Solve ``product(x) = right`` for a symmetric operator, from x = 0.

    Stops when the preconditioned residual has fallen by ``rtol``, or where the
    operator has no positive curvature: then the last iterate, or at once the
    preconditioned right-hand side, is a descent direction all the same.

    Parameters
    ----------
    product, precondition : callable
        Symmetric linear maps on arrays of the shape of ``right``; the
        preconditioner is positive definite.
    right : array
        The right-hand side.
    rtol : float
        Relative residual to stop at.
    max_iter : int
        Most products.
    on_step : callable, optional
        Called with the length of each step after its product: what ``product``
        computed on the way can be added up beside the solution.
    """
    solution = namespace(right).zeros_like(right)
    residual = right
    direction = precondition(residual)
    size = first = inner(residual, direction)
    for iteration in range(max_iter):
        image = product(direction)
        curvature = inner(direction, image)
        if curvature <= 0:
            if iteration == 0 and on_step is not None:
                on_step(1.0)
            return direction if iteration == 0 else solution
        step = size / curvature
        if on_step is not None:
            on_step(step)
        solution = solution + step * direction
        residual = residual - step * image
        scaled = precondition(residual)
        previous, size = size, inner(residual, scaled)
        if size <= max(rtol**2 * first, 0.0):  # below zero by rounding
            break
        direction = scaled + (size / previous) * direction
    return solution
