r"""Learned output kernel, squared loss: Newton's method in L alone.

The best predictor is eliminated: its cost is a smooth convex function phi of L
(`okl.solvers.output_kernel.value_function`), and

.. math:: \varphi(L) + \alpha R(L)

is minimised over the `okl.optimization.regions.Region` of the structure: bounded
eigenvalues, or orthants of signs of entries. In the eigenbasis of L the second
derivative of phi is nearly diagonal: conjugate gradients, preconditioned by the
diagonal, need a few products a step, whatever the condition. Where nothing bounds L,
Newton's method works in the dual variables (`okl.solvers.output_kernel.dual_newton`).
For a structure that has an update but no region f and L are found in turn
(`okl.solvers.output_kernel.alternation`).
"""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType
from typing import ClassVar

from okl.numerics.arrays import namespace
from okl.numerics.memory import require_memory
from okl.optimization.newton import newton
from okl.optimization.regions import Decomposed, Free, Region, WithBarrier
from okl.problems import Problem, Rotated
from okl.solvers.base import Solver
from okl.solvers.monitor import SAFETY, Monitor
from okl.solvers.output_kernel.alternation import alternate
from okl.solvers.output_kernel.dual_newton import dual_newton
from okl.solvers.output_kernel.value_function import (
    NewtonIterate,
    ValueFunction,
    first_iterate,
    spectral_of,
)
from okl.solvers.predictor.spectral import best_coefficients
from okl.solvers.request import Request
from okl.solvers.solution import Solution, certified

# It holds about so many arrays of the size of L.
_MATRICES = 12


class OutputKernelNewton(Solver):
    """Newton's method in L, over the region of the structure, or f and L in turn."""

    name: ClassVar[str | None] = "output_kernel_newton"
    aliases: ClassVar[tuple[str, ...]] = (
        "dual_newton",
        "rescaled_trace",
        "sparse_newton",
        "barrier_newton",
        "block_coordinate_descent",
    )
    structure_requires: ClassVar[frozenset[str]] = frozenset({"update"})
    regions: ClassVar[tuple[type[Region | None], ...]] = (
        Free,
        WithBarrier,
        NoneType,
    )

    def missing(self, problem: Problem) -> list[str]:
        """Return what a problem lacks, each in words that follow 'it needs'."""
        known = "known" in problem.structure.capabilities
        lacking = ["a structure that learns the output kernel"] * known
        bounded = ["a structure whose rank is not bounded"] * problem.rank_is_bounded
        return super().missing(problem) + lacking + bounded

    def prepare(self, problem: Problem) -> Rotated:
        """Decompose K, after looking for room for matrices of outputs."""
        n_outputs = problem.targets.shape[1]
        require_memory(
            _MATRICES * 8 * n_outputs**2,
            lambda: f"A fit of {problem.structure} to {n_outputs} outputs",
            "Use structure='low_rank' or 'trace_ball', which form no array of "
            "n_outputs x n_outputs.",
        )
        return Rotated.of(problem)

    def solve(self, prepared: Rotated, request: Request) -> Solution:
        """Iterate from where a neighbouring alpha ended, or from a scaled identity."""
        alpha, tol, max_iter, start = request
        problem = prepared.problem
        monitor = Monitor(problem.gap_scale, tol=SAFETY * tol, max_iter=max_iter)
        region = problem.structure.region(problem.n_outputs)
        if isinstance(region, Free):
            iterates = dual_newton(
                prepared, alpha, start, tol=tol, scales=region.scales
            )
        elif region is None:
            iterates = alternate(prepared, alpha, start, tol=tol)
        else:
            assert isinstance(region, WithBarrier)
            iterates = _primal_newton(prepared, region, alpha, start)
        for found in iterates:
            monitor.add(found.primal, found.dual, found)
            if monitor.done:
                break
        if start is not None and monitor.stalled and monitor.astray:
            # an L without directions that these targets need is no start
            return self.solve(prepared, request._replace(start=None))
        best: NewtonIterate = monitor.best
        coefficients = best_coefficients(prepared, best.output_kernel, alpha)
        return certified(
            problem,
            prepared.lift(coefficients),
            best.output_kernel,
            request,
            history=monitor.history,
            start=best.start,
        )


def _primal_newton(
    prepared: Rotated, region: WithBarrier, alpha: float, start: Decomposed | None
) -> Iterator[NewtonIterate]:
    """Yield models of Newton's method in L until rounding ends the descent."""
    targets = region.split(prepared.targets)
    smooth = ValueFunction(prepared.eigenvalues, targets, alpha)
    size = targets.shape[1]
    xp = namespace(targets)
    only = region.only(size)
    if only is not None:
        values = xp.full((size,), only, dtype=targets.dtype)
        identity = xp.eye(size, dtype=targets.dtype)
        yield _certified(prepared, region, alpha, Decomposed(values, identity))
        return
    for iterate in newton(smooth, *first_iterate(*smooth, region, start)):
        model = _certified(prepared, region, alpha, iterate.kernel)
        cut = region.cut(iterate.kernel.values)
        if cut is not None:  # the model with zeros may be better
            smaller = iterate.kernel._replace(values=cut)
            other = _certified(prepared, region, alpha, smaller)
            if other.gap < model.gap:
                model = other._replace(start=iterate.kernel)
        yield model


def _certified(
    prepared: Rotated, region: WithBarrier, alpha: float, inside: Decomposed
) -> NewtonIterate:
    """Return the model of an L in the coordinates of Newton's method."""
    kernel = spectral_of(region.whole(inside)).on_range()
    coefficients = best_coefficients(prepared, kernel, alpha)
    return NewtonIterate(kernel, *prepared.bounds(coefficients, kernel, alpha), inside)
