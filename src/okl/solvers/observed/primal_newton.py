r"""Few observed targets, entries of L penalised: Newton's method in L.

The best f for an L, and its derivatives by L, take one factorisation
(`okl.solvers.observed.observed_value`). Newton's method in L then works as with
complete targets (`okl.solvers.output_kernel.output_kernel_newton`), and takes some
twenty steps, at any alpha.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from okl.optimization.newton import newton
from okl.optimization.regions import Iterate, WithBarrier
from okl.problems import Problem, unit_kernel
from okl.solvers.monitor import SAFETY, Monitor
from okl.solvers.observed.observed_value import ObservedPoint, ObservedValue
from okl.solvers.output_kernel.value_function import spectral_of
from okl.solvers.predictor.approximation import Prepared
from okl.solvers.request import Request
from okl.solvers.solution import Solution, certified


class PreparedObserved(NamedTuple):
    """A problem, and the one that is solved: of the target matrix, if in long form."""

    problem: Problem
    inside: Prepared

    @classmethod
    def of(cls, problem: Problem, inside: Problem) -> PreparedObserved:
        """Prepare without columns of K, since the system is factorised."""
        return cls(problem, Prepared.of(inside, unit_kernel(inside), 0))

    def certified(
        self,
        monitor: Monitor,
        request: Request,
        *,
        start: Any,
        rank_limited: bool = False,
    ) -> Solution:
        """Return the best iterate with its certificate, and a start for others."""
        problem, (kernel, point) = self.problem, monitor.best
        output_kernel = spectral_of(kernel)
        dual = problem.entries.from_matrix(point.dual)
        theta = problem.balanced_theta(dual, output_kernel)
        predictions = problem.entries.predictions(theta)
        _, intercept = problem.at_best_intercept(predictions)
        return certified(
            problem,
            theta,
            output_kernel,
            request,
            history=monitor.history,
            start=start,
            intercept=intercept,
            rank_limited=rank_limited,
            predictions=predictions,
        )


def primal_newton(prepared: PreparedObserved, request: Request) -> Solution:
    """Iterate from where a neighbouring alpha ended, or from a scaled identity."""
    alpha, tol, max_iter, start = request
    inside = prepared.inside.problem
    region = inside.structure.region(inside.n_outputs)
    assert isinstance(region, WithBarrier)  # on entries
    function = ObservedValue(prepared.inside, alpha)
    monitor = Monitor(inside.gap_scale, SAFETY * tol, max_iter)
    for iterate in newton(function, *function.first_iterate(region, start)):
        monitor.add(*_bounds(function, iterate), iterate)
        if monitor.done:
            break
    return prepared.certified(monitor, request, start=monitor.best[0])


def _bounds(function: ObservedValue, iterate: Iterate) -> tuple[float, float]:
    """Return primal and dual value of an L, the best f for it and a multiple of C."""
    problem, alpha, (kernel, point) = function.problem, function.alpha, iterate
    assert isinstance(point, ObservedPoint)  # the function makes no others
    structure, V = problem.structure, kernel.vectors
    whole = spectral_of(kernel)
    bound = structure.dual_bound(V @ point.moment @ V.T / 2, whole)
    dual = problem.dual_loss(bound.factor * alpha * point.dual)
    primal = point.value + structure.penalty_of(whole)
    return alpha * primal, dual - alpha * bound.value
