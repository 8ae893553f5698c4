"""Preconditioned conjugate gradients for the Newton steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from okl.numerics.arrays import Array, epsilon, inner, namespace

MAX_ITER = 200
# A curvature of at most so many rounding errors of the largest one counts as zero.
_ROUNDINGS = 16


class Step(NamedTuple):
    """One iteration, which adds length * direction to the solution.

    ``left`` is the norm of the preconditioned residual after the step, relative to that
    at the start; 0 if there is no further step.
    """

    length: float
    direction: Array
    product: Array  # what ``product`` returned with the image of the direction
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

    It stops when the norm of the preconditioned residual has fallen by the factor
    ``rtol``, or before a direction without positive curvature. If that is the first
    one it is returned. Either way the result is a descent direction.

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

    ``product`` returns the image of a direction and something else that it computed on
    the way, also linear in the direction. A caller can add up the latter as it adds up
    the solution, to evaluate the solution so far, or to improve on it.

    Curvature is measured relative to the squared length of the direction in the norm of
    the inverse of the preconditioner. If it is below the rounding error of the largest
    curvature met so far it counts as zero: steps along it would grow without bound.
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
        # the new part is orthogonal to the old direction in the norm of the extent
        extent = size + (size / previous) ** 2 * extent
