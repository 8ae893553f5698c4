r"""The linear system of a Newton step for a given L, kept for further right-hand sides.

With J the map from dual variables to predictions and W = V V' the second derivative of
the loss at some scores, it is

.. math:: (\alpha I + V' J V)\, g = \text{right},

symmetric and positive definite. With a free intercept the loss, minimised over it, is a
function of the predictions alone. Its second derivative is V Pi V', where Pi projects
on what V maps to columns that sum to zero, and the system is one on the range of Pi.

The steps of Newton's method solve this system, and so does every derivative of a model
by what it was fitted to. A solution therefore keeps the system at its last scores: one
more right-hand side costs one more solve. If the scores were moved by s and the model
refitted, alpha C would change by -alpha V g, g the solution for the right side V's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from okl.losses.base import Curvature
from okl.numerics.arrays import Array
from okl.operators import NystroemFactor
from okl.optimization.conjugate_gradient import (
    MAX_ITER,
    Step,
    conjugate_gradient,
    conjugate_steps,
)
from okl.problems import Problem
from okl.solvers.predictor.approximation import Prepared
from okl.solvers.predictor.low_rank_preconditioner import preconditioner


def projection(problem: Problem, curvature: Curvature) -> Callable[[Array], Array]:
    """Return Pi, the identity without an intercept."""
    if not problem.centered:
        return lambda right: right
    entries = problem.entries

    def balance(right: Array) -> Array:
        sums = entries.sums(curvature.factor(right))
        shift = entries.spread(entries.solve_total(curvature, sums))
        return right - curvature.adjoint(shift)

    return balance


@dataclass(frozen=True)
class HessianSystem:
    """alpha I + V' J V on the range of Pi.

    Its preconditioner is made from columns of K; without these it is a diagonal, or
    there is none.
    """

    prepared: Prepared
    curvature: Curvature  # W
    alpha: float
    columns: NystroemFactor | None

    @cached_property
    def project(self) -> Callable[[Array], Array]:
        """Pi."""
        return projection(self.prepared.problem, self.curvature)

    @cached_property
    def _approximate(self) -> Callable[[Array], Array]:
        return preconditioner(
            self.prepared.joint,
            self.columns,
            self.curvature,
            self.alpha,
            centered=self.prepared.problem.centered,
        )

    def product(self, direction: Array) -> tuple[Array, Array]:
        """Return the system times g, and J V g, which is added up with g."""
        image = self.prepared.joint @ self.curvature.factor(direction)
        back = self.project(self.curvature.adjoint(image))
        return self.alpha * direction + back, image

    def precondition(self, rows: Array) -> Array:
        """Return the approximate inverse times rows in the range of Pi."""
        if self.columns is None and not self.curvature.separable:
            return rows / self.alpha  # the projections would not change them
        return self.project(self.curvature.project(self._approximate(rows)))

    def steps(self, right: Array) -> Iterator[Step]:
        """Yield the steps of conjugate gradients, with their J V g."""
        return conjugate_steps(self.product, right, self.precondition)

    def solve(self, right: Array, *, rtol: float, max_iter: int = MAX_ITER) -> Array:
        """Return g (n_samples, n_outputs) to a relative residual."""
        return conjugate_gradient(
            lambda direction: self.product(direction)[0],
            self.project(right),
            self.precondition,
            rtol=rtol,
            max_iter=max_iter,
        )

    def answer(self, right: Array, *, rtol: float, max_iter: int = MAX_ITER) -> Array:
        """Return E = V g (n_samples, n_outputs), g the solution for V' right.

        If scores are moved by minus ``right`` and the model is refitted, its dual
        variables change by E. The columns sum to zero if there is an intercept.
        """
        curvature = self.curvature
        g = self.solve(curvature.adjoint(right), rtol=rtol, max_iter=max_iter)
        return curvature.factor(g)
