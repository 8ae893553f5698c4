"""A trace penalty, few active entries or missing targets: Newton in a factor of L.

The steps are those of `okl.solvers.smooth.trace_steps`. Rounds of
`okl.solvers.smooth.majorization` lead to where they start. Alone these take the longer,
the more directions of L are all but zero: hundreds of rounds for the sharp envelopes of
a hinge under a heavy trace penalty, or where a small alpha meets few targets of many
outputs; there this takes ten.
"""

from __future__ import annotations

from typing import ClassVar

from okl.problems import Problem
from okl.solvers.base import Solver
from okl.solvers.monitor import Monitor
from okl.solvers.predictor.imputation import Imputation
from okl.solvers.smooth.majorization import Majorization, PreparedRounds, Start
from okl.solvers.smooth.trace_steps import FactorIterate, TraceSteps
from okl.solvers.solution import Solution, certified

# The gap at which Newton's method starts, without a start. Where targets are imputed, a
# larger one, or after so many rounds: there a step costs no more than a round. So many
# rounds also under a bound on the rank, where the gap need not close. Elsewhere it may
# stay open for hundreds, at a small alpha: then the most.
_ROUGH, _IMPUTED_ROUGH, _FEW_ROUNDS, _MOST_ROUNDS = 1e-2, 0.5, 12, 30
# Under a bound on the rank the last step promises less than this part of the tolerance.
_PROMISE = 1e-2
# Steps without a smaller gap, after which rounding is in the way.
_STAGNATION = 10


class TraceNewton(Solver):
    """Newton's method in the factor B of L = B B'."""

    name: ClassVar[str | None] = "trace_newton"
    loss_requires: ClassVar[frozenset[str]] = frozenset({"smooth"})
    structure_requires: ClassVar[frozenset[str]] = frozenset({"update"})

    def missing(self, problem: Problem) -> list[str]:
        """Return the required capabilities that a problem lacks."""
        capabilities = problem.structure.capabilities
        traced = capabilities & {"half_trace", "trace_ball"}
        imputes = not Imputation().missing_for_given(problem)
        return (
            super().missing(problem)
            + ["'active' of the loss"]
            * (not imputes and "active" not in problem.loss.capabilities)
            + ["'half_trace' or 'trace_ball' of the structure"] * (not traced)
        )

    def prepare(self, problem: Problem) -> PreparedRounds:
        """Prepare what finds f."""
        return Majorization().prepare(problem)

    def solve(
        self,
        prepared: PreparedRounds,
        alpha: float,
        *,
        tol: float,
        max_iter: int,
        start: Start | None = None,
    ) -> Solution:
        """Iterate from L of a neighbouring alpha, or of a few rounds."""
        problem = prepared.problem
        monitor = Monitor(
            problem.reference, tol=tol, max_iter=max_iter, stagnation=_STAGNATION
        )
        if start is None or start.kernel.rank == 0:
            imputes = prepared.imputes
            few = imputes or problem.rank_is_bounded
            rough = Majorization().solve(
                prepared,
                alpha,
                tol=max(tol, _IMPUTED_ROUGH if imputes else _ROUGH),
                max_iter=min(max_iter, _FEW_ROUNDS if few else _MOST_ROUNDS),
            )
            monitor.history.records.extend(rough.history)
            start = rough.start
        assert start is not None
        steps = TraceSteps(prepared, alpha, start)
        model: FactorIterate | None = steps.model(start.kernel.spectral())
        rank_limited = False
        while model is not None:
            # under an active bound the gap stays, and no step is much lower at last
            limited = steps.is_limited(model)
            gap = monitor.add(model.primal, model.dual, model, limited=limited)
            if monitor.done:
                break
            last, model = model, steps.lower(model, gap)
            rank_limited = limited and steps.promise <= _PROMISE * tol * last.objective
            if rank_limited:
                break
        best = monitor.best
        return certified(
            problem,
            best.fit.dual_coef,
            best.fit.output_kernel,
            alpha,
            tol=tol,
            history=monitor.history,
            start=Start(best.kernel, best.fit.start),
            intercept=best.fit.intercept,
            rank_limited=rank_limited,
        )
