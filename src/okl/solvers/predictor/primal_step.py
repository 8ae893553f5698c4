r"""A Newton step as the minimum of a quadratic model of the primal objective.

Let a be the negative gradient of the loss, r = a - alpha C, and W the second derivative
of the loss minimised over the intercept. The model is least for the change E of C with

.. math:: \alpha E + W D = r, \qquad D = J E.

As a map of D, the change of predictions, the left side is symmetric and positive
definite. Each iteration of conjugate gradients lowers the model: wherever they are
stopped, the step is one of descent, so that a rough solution will do. (One that climbs
the dual need not be: `okl.solvers.predictor.newton_step`.)

*By products.* The preconditioner is J, which is no preconditioner in the norm of the
functions. E is updated along with D and an iteration takes one product; the first takes
none where J a is known from the gap. Where an entry has no weight, W is zero and E is
r / alpha: two more products take away the dual variables that a start has there. That
may raise the model, and iterations go on until it is lower than where the step began.

*Few features.* Where K is that of few features the unknowns are their weights
(`okl.solvers.predictor.weight_step`).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

from okl.numerics.arrays import Array, inner, namespace
from okl.operators import JointOperator
from okl.optimization.conjugate_pairs import conjugate_pairs
from okl.solvers.predictor.approximation import Prepared
from okl.solvers.predictor.newton_point import (
    MAX_HALVINGS,
    Direction,
    NewtonPoint,
    drift_of,
    line_search,
)
from okl.solvers.predictor.weight_step import has_few_features, weight_step

# The relative preconditioned residual of a step: the root of what is aimed at, but at
# most _FORCING and at least _LEAST.
_FORCING, _LEAST = 0.1, 1e-8
# Up to this part of all of them, dual variables of entries without weight are rounding,
# as is what is left of a preconditioned residual.
_NOTHING = 1e-13
# An iteration seldom leaves less than this part of the preconditioned residual.
_FALL = 0.5
# The most products where a caller names no other number.
_PRODUCTS = 500


def primal_step(
    prepared: Prepared,
    point: NewtonPoint,
    alpha: float,
    aim: float,
    *,
    held: float = 0.0,
    most: int = _PRODUCTS,
) -> NewtonPoint | None:
    """Return the next point, None where no step lowers the objective.

    The relative residual is to fall to the root of ``aim``. Also None as soon as
    ``most`` products are unlikely to be enough. ``held`` is added to the alpha of the
    equations, to keep the step short.
    """
    problem, entries = prepared.problem, prepared.problem.entries
    curvature = problem.curvature(point.scores)

    def bend(ahead: Array) -> Array:
        """Return W times a change of predictions."""
        if problem.centered:
            sums = entries.sums(curvature.product(ahead))
            ahead = ahead - entries.spread(entries.solve_total(curvature, sums))
        return curvature.product(ahead)

    residual = point.gradient - alpha * point.dual
    rtol = min(_FORCING, max(aim**0.5, _LEAST))
    found: tuple[Array, Array, int] | None
    if has_few_features(prepared):
        found = *weight_step(prepared, curvature, residual, alpha, rtol), 0
    else:
        joint, held = prepared.joint, alpha + held
        image = point.image_by(joint) - alpha * point.predictions
        start = _start(prepared, point, bend, residual, image, held)
        found = _by_products(joint, bend, residual, start, held, rtol=rtol, most=most)
    if found is None:
        return None
    change, ahead, products = found
    drift = drift_of(problem, curvature, ahead)
    direction = Direction(change, ahead, drift, -inner(residual, ahead))
    moved = line_search(problem, point, direction, alpha, MAX_HALVINGS)
    return None if moved is None else moved._replace(products=products)


class _Start(NamedTuple):
    """E and D to begin with, and the residual of the equations there with its image."""

    change: Array
    ahead: Array
    residual: Array
    image: Array


def _start(
    prepared: Prepared,
    point: NewtonPoint,
    bend: Callable[[Array], Array],
    residual: Array,
    image: Array,
    alpha: float,
) -> _Start:
    """Return E at the entries without weight, and zero elsewhere; the image is J r.

    With a free intercept it is not zero elsewhere, but such that E sums to zero.
    """
    xp, joint, weights = namespace(residual), prepared.joint, prepared.problem.weights
    zero = 0.0 * residual
    if weights is None:
        return _Start(zero, zero, residual, image)
    unweighted = xp.where(weights > 0, zero, point.dual)
    if xp.max(xp.abs(unweighted)) <= _NOTHING * xp.max(xp.abs(point.dual)):
        return _Start(zero, zero, residual, image)
    change = xp.where(weights > 0, zero, residual) / alpha
    if prepared.problem.centered:
        entries = prepared.problem.entries
        seen = xp.where(weights > 0, xp.ones_like(zero), zero)
        means = entries.sums(change) / xp.clip(entries.sums(seen), 1.0, None)
        change = change - seen * entries.spread(means)
    ahead = joint @ change
    residual = residual - alpha * change - bend(ahead)
    return _Start(change, ahead, residual, joint @ residual)


def _by_products(
    joint: JointOperator,
    bend: Callable[[Array], Array],
    right: Array,
    start: _Start,
    alpha: float,
    *,
    rtol: float,
    most: int,
) -> tuple[Array, Array, int] | None:
    """Return E, D and how many products they took, None if it would be too many."""
    steps = conjugate_pairs(
        lambda along, ahead: alpha * along + bend(ahead),
        lambda residual: (residual, joint @ residual),
        (start.change, start.ahead, start.residual),
        (start.residual, start.image),
    )
    # where no residual is left but rounding there is no step
    for taken, step in enumerate(islice(steps, most), 1):
        # minus twice the model, zero without a step
        lower = inner(right + step.residual, step.image) >= 0
        if step.left <= rtol**2 and lower:
            return step.inside, step.image, taken
        if step.left <= _NOTHING**2:  # and the model is higher than at the beginning
            break
        if step.left * _FALL ** (2 * (most - taken)) > rtol**2:
            break
    return None
