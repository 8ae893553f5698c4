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
M D = sum_q K_q C dL_q says how L answers to a change D of C. It costs one product with
each K_q. Along a line only matrices (m, m) change, S + t A + t^2 B: the search for the
best t costs no product at all.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, inner, namespace
from okl.operators import JointSum, NystroemFactor
from okl.optimization.smooth import symmetric
from okl.output_kernels import OutputKernelTerms, SpectralKernel
from okl.problems import Problem
from okl.solvers.predictor.approximation import Approximation, Prepared
from okl.solvers.predictor.hessian import HessianSystem
from okl.solvers.predictor.term_preconditioner import TermColumns
from okl.structures.base import Response

# Relative residual of the equations of a step: far from the optimum, and at least; and
# the products from which on a better preconditioner is worth its while.
_FORCING, _CLOSEST, _EASY = 0.1, 1e-8, 80
# Newton steps for one model, and halvings and doublings along a line.
_STEPS, _SEARCH = 100, 60
# The slope along a line is small enough at this part of the first.
_FLAT = 1e-2


@dataclass(frozen=True)
class TermPoint:
    """Dual variables C, and what follows from them.

    Attributes
    ----------
    dual : array (n_samples, n_outputs)
        C.
    products : tuple of arrays (n_samples, n_outputs)
        K_q C.
    grams : array (n_terms, n_outputs, n_outputs)
        S_q = C'K_qC / 2.
    response : Response
        The best L_q for these, R*, and how it changes.
    """

    dual: Array
    products: tuple[Array, ...]
    grams: Array
    response: Response

    @classmethod
    def at(
        cls, problem: Problem, dual: Array, products: tuple[Array, ...] | None = None
    ) -> TermPoint:
        """Evaluate C, with products that are known or one with each K_q."""
        xp = namespace(dual)
        if products is None:
            products = tuple(K @ dual for K in _matrices(problem))
        grams = xp.stack([symmetric(dual.T @ product) / 2 for product in products])
        return cls(dual, products, grams, problem.structure.response(grams))

    @cached_property
    def predictions(self) -> Array:
        """F = sum_q K_q C L_q."""
        kernels = self.response.output_kernel
        return sum(product @ kernels[q] for q, product in enumerate(self.products))

    @cached_property
    def cost(self) -> float:
        """The sum of ||f||^2 / 2 and R: <S, L> twice, less R*."""
        return 2 * inner(self.grams, self.response.output_kernel) - self.response.value

    @cached_property
    def kernel(self) -> OutputKernelTerms:
        """The L_q."""
        matrices = self.response.output_kernel
        return OutputKernelTerms(
            tuple(
                SpectralKernel.from_matrix(matrices[q])
                for q in range(matrices.shape[0])
            )
        )


class Answering(JointSum):
    """J + M: how the predictions change with C, the best L_q following it.

    Attributes
    ----------
    n_products : int
        How many products there were.
    """

    def __init__(self, problem: Problem, point: TermPoint) -> None:
        operator: Any = problem.operator
        super().__init__(operator, point.kernel)
        self._point = point
        self.n_products = 0

    def __matmul__(self, change: Array) -> Array:
        """Return sum_q K_q (D L_q + C dL_q)."""
        self.n_products += 1
        return self.image(change, self.products(change))

    def products(self, change: Array) -> tuple[Array, ...]:
        """Return K_q D."""
        return tuple(K @ change for K in self.operator.terms)

    def image(self, change: Array, products: tuple[Array, ...]) -> Array:
        """Return the product, given those with the K_q."""
        point, xp = self._point, namespace(change)
        kernels = point.response.output_kernel
        moved = point.response.derivative(
            xp.stack([symmetric(product.T @ change) for product in point.products])
        )
        return sum(
            product @ kernels[q] + point.products[q] @ moved[q]
            for q, product in enumerate(products)
        )

    def block(self, rows: Array, outputs: Any) -> Array:
        """Return the part of J + M of some entries (k, k), of J alone if these are few.

        M is found by the response to each matrix with one entry, or two that mirror it.
        """
        block = super().block(rows, outputs)
        point, xp = self._point, namespace(block)
        n_terms, m, _ = point.grams.shape
        if n_terms * m * m > rows.shape[0]:
            return block
        answers, changes = [], []
        for r, product in enumerate(point.products):
            for d, e in itertools.product(range(m), range(m)):
                change = xp.zeros_like(point.grams)
                change[r, d, e] += 0.5
                change[r, e, d] += 0.5
                moved = point.response.derivative(change)
                image = sum(p @ moved[q] for q, p in enumerate(point.products))
                answers.append(image[rows, outputs])
                changes.append(xp.where(outputs == e, product[rows, d], 0.0))
        return block + xp.stack(answers, axis=1) @ xp.stack(changes)


@dataclass(frozen=True)
class TermModel:
    """A quadratic model of the loss at some scores.

    Attributes
    ----------
    problem : Problem
        Of several kernels.
    alpha : float
    predictions : array (n_samples, n_outputs)
        F_0, without the intercept.
    gradient : array (n_samples, n_outputs)
        a, with sums of zero if there is an intercept.
    curvature : Curvature
        V V'.
    columns : TermColumns
        Of the K_q, for the preconditioner.
    """

    problem: Problem
    alpha: float
    predictions: Array
    gradient: Array
    curvature: Curvature
    columns: TermColumns

    def minimise(self, start: Array, *, gap: float) -> TermPoint:
        """Return the point whose duality gap is at most this, or where rounding ends.

        Parameters
        ----------
        start : array (n_samples, n_outputs)
            C to begin near.
        gap : float
            Of the model, absolute.
        """
        curvature, alpha = self.curvature, self.alpha
        first = self.gradient / alpha
        columns, least = self.columns.few, float("inf")
        inside = self._system(None, columns).project(curvature.solve(start - first))
        point = TermPoint.at(self.problem, first + curvature.factor(inside))
        for _ in range(_STEPS):
            system = self._system(point, columns)
            residual = self._residual(system, point, inside)
            left = inner(residual, residual) / 2
            if left <= gap or left == 0:
                break
            forcing = _FORCING * min(1.0, max(left / least, (gap / left) ** 0.5))
            least = min(least, left)
            joint: Any = system.prepared.joint
            direction = system.solve(-residual, rtol=max(forcing, _CLOSEST))
            if joint.n_products > _EASY:
                columns = self.columns.more
            moved = self._along(system, point, inside, direction, residual)
            if moved is None:
                break
            inside, point = moved
        return point

    def _residual(
        self, system: HessianSystem, point: TermPoint, inside: Array
    ) -> Array:
        """Return alpha g + V'(F - F_0), with what the intercept takes off."""
        ahead = point.predictions - self.predictions
        return self.alpha * inside + system.project(self.curvature.adjoint(ahead))

    def _system(
        self, point: TermPoint | None, columns: NystroemFactor
    ) -> HessianSystem:
        problem = self.problem
        joint: Any = None if point is None else Answering(problem, point)
        kernel: Any = None if point is None else point.kernel
        approximation = Approximation(joint, 0, problem.centered)
        prepared = Prepared(problem, kernel, joint, approximation)
        return HessianSystem(prepared, self.curvature, self.alpha, columns)

    def _along(
        self,
        system: HessianSystem,
        point: TermPoint,
        inside: Array,
        direction: Array,
        residual: Array,
    ) -> tuple[Array, TermPoint] | None:
        """Return g and its point where the slope of psi is about zero.

        None where rounding leaves no way down.
        The slope grows along the line: it is bracketed, and the bracket made smaller.
        """
        joint: Any = system.prepared.joint
        change = self.curvature.factor(direction)
        products = joint.products(change)
        xp = namespace(change)
        mixed = xp.stack([symmetric(p.T @ change) for p in point.products])
        squares = xp.stack([symmetric(change.T @ p) / 2 for p in products])
        alpha, structure = self.alpha, self.problem.structure
        linear = alpha * inner(inside, direction) - inner(change, self.predictions)
        quadratic = alpha * inner(direction, direction)

        def slope(step: float) -> float:
            grams = point.grams + step * mixed + step**2 * squares
            best = structure.response(grams).output_kernel
            return linear + step * quadratic + inner(best, mixed + 2 * step * squares)

        first = inner(residual, direction)
        if not first < 0:
            return None
        step = _root(slope, first)
        moved = tuple(
            old + step * new for old, new in zip(point.products, products, strict=True)
        )
        there = TermPoint.at(self.problem, point.dual + step * change, moved)
        return inside + step * direction, there


def _root(slope: Callable[[float], float], first: float) -> float:
    """Return about where an increasing function is zero, negative at zero."""
    low, at_low, high = 0.0, first, 1.0
    for _ in range(_SEARCH):
        at_high = slope(high)
        if abs(at_high) <= -_FLAT * first:
            return high
        if at_high > 0:
            break
        low, at_low, high = high, at_high, 2 * high
    for _ in range(_SEARCH):
        share = min(max(-at_low / (at_high - at_low), 0.1), 0.9)
        step = low + share * (high - low)
        here = slope(step)
        if abs(here) <= -_FLAT * first:
            return step
        if here > 0:
            high, at_high = step, here
        else:
            low, at_low = step, here
    return low


def _matrices(problem: Problem) -> tuple[Any, ...]:
    operator: Any = problem.operator
    return operator.terms
