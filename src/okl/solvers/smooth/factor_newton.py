"""Labels or missing targets, a smooth penalty: Newton's method in a factor of L.

The steps are those of `okl.solvers.smooth.factor_steps`; a few of
`okl.solvers.smooth.rounds` lead to where they start. Under the Frobenius norm these are
most often all it takes, and faster than a few of Newton's: there they go on to the end,
and are followed by others only where they would be many.
"""

from __future__ import annotations

from okl.solvers.monitor import Monitor
from okl.solvers.smooth.factor_penalties import factor_penalty
from okl.solvers.smooth.factor_steps import FactorIterate, FactorSteps
from okl.solvers.smooth.linearisation import AllColumns
from okl.solvers.smooth.rounds import PreparedRounds, Start, rounds
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


def takes(prepared: PreparedRounds) -> bool:
    """Tell whether a problem has such a penalty, and a loss of labels one by one.

    Or missing targets. Huber losses and weighted squared ones are left to rounds, which
    are few there; a softmax, which couples outputs, has no system to factorise.
    """
    problem = prepared.problem
    loss = problem.loss.capabilities
    labels = "multilabel" in loss and "quadratic" not in loss
    return (
        (prepared.imputes or labels)
        and isinstance(prepared.models, AllColumns)
        and factor_penalty(problem) is not None
    )


def factor_newton(
    prepared: PreparedRounds,
    alpha: float,
    *,
    tol: float,
    max_iter: int,
    start: Start | None = None,
) -> Solution:
    """Iterate from L of a neighbouring alpha, or of a few rounds.

    Parameters
    ----------
    prepared : PreparedRounds
        Of a problem that is one of these (`takes`).
    alpha, tol, max_iter, start
        As in `okl.solvers.Solver.solve`.
    """
    problem = prepared.problem
    penalty = factor_penalty(problem)
    assert penalty is not None  # it is one of these
    monitor = Monitor(
        problem.reference, tol=tol, max_iter=max_iter, stagnation=_STAGNATION
    )
    if start is not None and start.kernel.rank == 0:
        start = None
    if start is None or penalty.by_rounds:
        imputes = prepared.imputes
        few = not penalty.by_rounds and (imputes or problem.rank_is_bounded)
        rough_tol = _IMPUTED_ROUGH if imputes else _ROUGH
        rough = rounds(
            prepared,
            alpha,
            tol=tol if penalty.by_rounds else max(tol, rough_tol),
            max_iter=min(max_iter, _FEW_ROUNDS if few else _MOST_ROUNDS),
            start=start,
        )
        if penalty.by_rounds and rough.certificate.status == "optimal":
            return rough
        monitor.history.records.extend(rough.history)
        start = rough.start
    steps = FactorSteps(prepared, penalty, alpha, start)
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
