"""Preconditioned conjugate gradients for the Newton steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from okl.numerics.arrays import Array, epsilon, inner, namespace

MAX_ITER = 200
# How many roundings of the largest curvature one that is not there may seem to have.
_ROUNDINGS = 16


class Step(NamedTuple):
    """One iteration, which adds length * direction to the solution.

    What is left is the preconditioned residual after the step, relative to that at the
    start; 0 if there is no further step.
    """

    length: float
    direction: Array
    product: Array  # what came with the product of the direction
    left: float


def conjugate_gradient(
    product: Callable[[Array], Array],
    right: Array,
    precondition: Callable[[Array], Array],
    *,
    rtol: float,
    max_iter: int = MAX_ITER,
) -> Array:
    """Solve ``product(x) = right`` for a symmetric operator, from x = 0.

    Stops when the preconditioned residual has fallen by ``rtol``, or where the
    operator has no positive curvature: then the last iterate, or at once the
    preconditioned right-hand side, is a descent direction all the same.

    The product and the preconditioner, which is positive definite, are symmetric linear
    maps on arrays of the shape of ``right``; there are at most ``max_iter`` products.
    """
    solution = namespace(right).zeros_like(right)

    def alone(direction: Array) -> tuple[Array, Array]:
        image = product(direction)
        return image, image

    for step in conjugate_steps(alone, right, precondition, max_iter=max_iter):
        solution = solution + step.length * step.direction
        if step.left <= rtol:
            break
    return solution


def conjugate_steps(
    product: Callable[[Array], tuple[Array, Array]],
    right: Array,
    precondition: Callable[[Array], Array],
    *,
    max_iter: int = MAX_ITER,
) -> Iterator[Step]:
    """Yield the steps of conjugate gradients, whose sum is the solution.

    With each product ``product`` returns something that it computed on the way, linear
    in the direction as well, which can be added up with the solution; and so the
    solution can be tried out, and improved.

    Curvature is measured by the squared length of the direction under the inverse of
    the preconditioner. Below the rounding error of the largest met so far it counts as
    none: steps along it would grow without end.
    """
    residual = right
    direction = precondition(residual)
    size = first = extent = inner(residual, direction)
    largest, rounding = 0.0, _ROUNDINGS * epsilon(right)
    for iteration in range(max_iter):
        image, along = product(direction)
        curvature = inner(direction, image)
        if extent <= 0 or curvature <= rounding * largest * extent:
            if iteration == 0:
                yield Step(1.0, direction, along, 0.0)
            return
        largest = max(largest, curvature / extent)
        length = size / curvature
        residual = residual - length * image
        scaled = precondition(residual)
        previous, size = size, inner(residual, scaled)
        over = size <= 0 or first <= 0  # by rounding
        yield Step(length, direction, along, 0.0 if over else (size / first) ** 0.5)
        if over:
            return
        direction = scaled + (size / previous) * direction
        # the new part is at right angles to the old direction
        extent = size + (size / previous) ** 2 * extent
