"""A trace penalty, few active entries or missing targets: Newton in a factor of L.

The steps are those of `okl.solvers.trace_steps`. Rounds of
`okl.solvers.proximal_gradient` lead to where they start. Alone these take the longer,
the more directions of L are all but zero: hundreds of rounds for the sharp envelopes of
a hinge under a heavy trace penalty, or where a small alpha meets few targets of many
outputs; there this takes ten.
"""

from __future__ import annotations

from typing import ClassVar

from okl.problems import Problem
from okl.solvers.base import Solver
from okl.solvers.imputation import Imputation
from okl.solvers.proximal_gradient import Prepared, ProximalGradient
from okl.solvers.solution import History, Solution, certified
from okl.solvers.trace_steps import Model, Start, TraceSteps

# The gap at which Newton's method starts, without a start. Where targets are imputed, a
# larger one, or after so many rounds: there a step costs no more than a round.
_ROUGH, _IMPUTED_ROUGH, _IMPUTED_ROUNDS = 1e-2, 0.5, 12
# Under a bound on the rank the last step promises less than this part of the tolerance.
_PROMISE = 1e-2
# Steps without a smaller gap, after which rounding is in the way.
_PATIENCE = 10


class TraceNewton(Solver):
    """Newton's method in the factor B of L = B B'."""

    name: ClassVar[str | None] = "trace_newton"
    loss_requires: ClassVar[frozenset[str]] = frozenset({"smooth"})
    structure_requires: ClassVar[frozenset[str]] = frozenset({"step"})

    def missing(self, problem: Problem) -> list[str]:
        """Return the required capabilities that a problem lacks."""
        capabilities = problem.structure.capabilities
        traced = capabilities & {"half_trace", "trace_ball"}
        imputes = not Imputation().missing_in_loss(problem)
        return (
            super().missing(problem)
            + ["'active' of the loss"]
            * (not imputes and "active" not in problem.loss.capabilities)
            + ["'half_trace' or 'trace_ball' of the structure"] * (not traced)
            + ["a rank without bound"] * (problem.rank_is_bounded and not imputes)
        )

    def prepare(self, problem: Problem) -> Prepared:
        """Prepare what finds f."""
        return ProximalGradient().prepare(problem)

    def solve(
        self,
        prepared: Prepared,
        alpha: float,
        *,
        tol: float,
        max_iter: int,
        start: Start | None = None,
    ) -> Solution:
        """Iterate from L of a neighbouring alpha, or of a few rounds."""
        problem = prepared.problem
        history = History(problem.reference)
        if start is None or start.kernel.rank == 0:
            imputes = prepared.imputes
            rough = ProximalGradient().solve(
                prepared,
                alpha,
                tol=max(tol, _IMPUTED_ROUGH if imputes else _ROUGH),
                max_iter=min(max_iter, _IMPUTED_ROUNDS) if imputes else max_iter,
            )
            history.records.extend(rough.history)
            start = Start(rough.output_kernel.spectral(), rough.start.start)
        steps = TraceSteps(prepared, alpha, start)
        model: Model | None = steps.model(start.kernel)
        best, smallest, stalled = model, float("inf"), 0
        rank_limited = False
        while model is not None:
            gap = abs(history.add(model.primal, model.dual))
            # under an active bound the gap stays, and no step is much lower at last
            limited = steps.is_limited(model)
            measure = model.primal if limited else gap
            stalled = 0 if measure < smallest else stalled + 1
            if measure < smallest or limited:
                best, smallest = model, measure
            done = gap <= tol or stalled >= _PATIENCE
            if done or len(history.records) >= max_iter:
                break
            last, model = model, steps.lower(model, gap)
            rank_limited = limited and steps.promise <= _PROMISE * tol * last.objective
            if rank_limited:
                break
        assert best is not None
        return certified(
            problem,
            best.fit.dual_coef,
            best.fit.output_kernel,
            alpha,
            tol=tol,
            history=history,
            start=Start(best.kernel, best.fit.start),
            intercept=best.fit.intercept,
            rank_limited=rank_limited,
        )
