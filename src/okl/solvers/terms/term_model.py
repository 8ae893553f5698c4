r"""Several kernels, a quadratic model of the loss: all L_q and f from one smooth dual.

At scores F_0 a loss is, to second order, V_0 - <a, F - F_0> + |V'(F - F_0)|^2 / 2, with
a minus its gradient and W = V V' its second derivative; for the squared loss it is just
that. The dual variables of the model are C = a / alpha + V g, and its dual, divided by
-alpha, is

.. math:: \psi(g) = \tfrac{\alpha}{2} |g|^2 - \langle C, F_0 \rangle
          + \sum_q R_q^*(\tfrac12 C' K_q C),

smooth, strongly convex and free of constraints. Where R_q* has two derivatives
(`Structure.response`) Newton's method minimises it: the best L_q for C is the gradient
of R_q*, the predictions are F = sum_q K_q C L_q, and the duality gap of the model is
exactly half the squared length of alpha g + V'(F - F_0).

The system of a step has the form of that with L given, alpha I + V'(J + M) V, where
M D = sum_q K_q C dL_q, and dL_q is the change of the best L_q where C changes by D. A
product with it costs one with each K_q. Along a line only the matrices S_q = C'K_qC / 2
change, as S_q + t A_q + t^2 B_q: the search for the best t costs no product at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, inner, namespace
from okl.optimization.conjugate_gradient import MAX_ITER
from okl.optimization.crossing import increasing_root
from okl.problems import Problem
from okl.solvers.predictor.active_system import ActiveSystem
from okl.solvers.predictor.approximation import Approximation, Prepared
from okl.solvers.predictor.hessian import HessianSystem, projection
from okl.solvers.terms.term_point import Answering, Line, TermPoint

# The relative residual of the equations of a step: at most _FORCING, at least _CLOSEST.
_FORCING, _CLOSEST = 0.1, 1e-8
# It is multiplied by _CLOSER after two steps in a row that were shorter than _SHORT:
# one alone may be, as the first one from zero is.
_CLOSER, _SHORT = 0.1, 0.3
# Newton steps for one model.
_STEPS = 100
# A line is followed until the slope is this part of the first; a step is none if it is
# so small a part of its direction, and of C. The last steps to an optimum are whole
# ones that hardly change C; the first from zero may be a tiny part of its direction.
_FLAT, _NONE = 1e-2, 1e-9


@dataclass(frozen=True)
class TermModel:
    """A quadratic model of the loss at some scores."""

    problem: Problem  # of several kernels
    alpha: float
    predictions: Array  # F_0 (n_samples, n_outputs), without the intercept
    gradient: Array  # a, with sums of zero if there is an intercept
    curvature: Curvature  # V V'
    approximation: Approximation  # of the K_q, for the preconditioner

    def minimise(self, start: Array, *, gap: float) -> TermPoint:
        """Return a point of the model whose gap is at most ``gap``, or rounding.

        The steps start near the C given; the gap is absolute.
        """
        least, closer, short = float("inf"), 1.0, False
        inside, point = self._first(start)
        for _ in range(_STEPS):
            residual = self._residual(point, inside)
            left = inner(residual, residual) / 2
            if left <= gap or left == 0:
                break
            forcing = _FORCING * min(1.0, max(left / least, (gap / left) ** 0.5))
            least = min(least, left)
            rtol = max(closer * forcing, _CLOSEST)
            direction = self._direction(point, -residual, rtol)
            moved = self._along(point, inside, direction, residual)
            if moved is None:
                break
            inside, point, step = moved
            again, short = short, step < _SHORT
            closer = _CLOSER * closer if short and again else 1.0
        return point

    def _first(self, start: Array) -> tuple[Array, TermPoint]:
        """Return a g whose dual variables are about a given C, and its point."""
        first = self.gradient / self.alpha
        inside = self._project(self.curvature.solve(start - first))
        dual = first + self.curvature.factor(inside)
        return inside, TermPoint.at(self.problem, dual)

    @cached_property
    def _project(self) -> Callable[[Array], Array]:
        return projection(self.problem, self.curvature)

    def _residual(self, point: TermPoint, inside: Array) -> Array:
        """Return alpha g + V'(F - F_0), less the part that the intercept takes up."""
        ahead = point.predictions - self.predictions
        return self.alpha * inside + self._project(self.curvature.adjoint(ahead))

    def _direction(self, point: TermPoint, right: Array, rtol: float) -> Array:
        """Solve the system of a step, by a factorisation where one kernel allows it."""
        curvature, joint = self.curvature, Answering(self.problem, point)
        prepared = Prepared(self.problem, point.kernel, joint, self.approximation)
        if len(joint.terms) > 1 or not curvature.separable:
            columns = self.approximation.columns
            system = HessianSystem(prepared, curvature, self.alpha, columns)
            return system.solve(right, rtol=rtol)
        active = ActiveSystem(prepared, curvature, self.alpha, most_products=MAX_ITER)
        return curvature.solve(active.solve(curvature.solve(right), rtol=rtol))

    def _along(
        self, point: TermPoint, inside: Array, direction: Array, residual: Array
    ) -> tuple[Array, TermPoint, float] | None:
        """Return g and its point where the slope of psi is about zero, and how far.

        None where rounding leaves no way down. The slope grows along the line.
        """
        change = self.curvature.factor(direction)
        line = Line.of(self.problem, point, change)
        alpha, structure = self.alpha, self.problem.structure
        linear = alpha * inner(inside, direction) - inner(change, self.predictions)
        quadratic = alpha * inner(direction, direction)

        def slope(length: Array) -> Array:
            step = float(length)
            best = structure.response(line.grams(step)).output_kernel
            value = linear + step * quadratic
            value += inner(best, line.mixed + 2 * step * line.squares)
            return value + 0.0 * length

        first = inner(residual, direction)
        if not first < 0:
            return None
        start = namespace(change).asarray(first, dtype=change.dtype)
        step = float(increasing_root(slope, start, flat=_FLAT))
        if step <= _NONE:
            size = step**2 * inner(change, change)
            if size <= _NONE**2 * inner(point.dual, point.dual):
                return None
        return inside + step * direction, line.at(self.problem, step), step
