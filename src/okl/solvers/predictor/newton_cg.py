r"""Known output kernel, smooth loss: Newton's method by products with K.

With J the map C -> K C L, a the negative gradient of the loss at F = J C + 1 b',
W = V V' its second derivative and r = a - alpha C, a Newton step for the dual variables
is C + V g,

.. math:: (\alpha I + V' J V)\, g = V^+ r,

a symmetric system of which every product is one with K, all outputs at once (Seeger
2006, section 6.1.1; `okl.solvers.predictor.hessian`). Where probabilities underflow V^+
would divide by zero; there W is zero for all purposes, and the step is r / alpha
(appendix A has another remedy).

*The intercept* is minimised over at every F, and dual variables stay balanced: they sum
to zero.

*Products with K are all that costs.* J V g is added up along the iterations of
conjugate gradients, so that the line search needs none; the gap costs one, J a.
`okl.solvers.predictor.newton_step` chooses the preconditioner.
"""

from __future__ import annotations

from typing import ClassVar

from okl.numerics.arrays import inner
from okl.output_kernels import OutputKernel
from okl.problems import Problem
from okl.solvers.base import Solver
from okl.solvers.monitor import SAFETY, Monitor
from okl.solvers.neighbours import Neighbours
from okl.solvers.predictor.approximation import Prepared
from okl.solvers.predictor.hessian import HessianSystem
from okl.solvers.predictor.newton_point import NewtonPoint
from okl.solvers.predictor.newton_start import (
    ROUGH,
    NewtonStart,
    alphas_before,
    first_point,
    leave_zero,
    zero_point,
)
from okl.solvers.predictor.newton_step import NewtonSteps
from okl.solvers.request import Request
from okl.solvers.solution import Solution, certified

# A promised decrease that rounding hides must be below this part of the last one.
_SMALLER = 0.5
# Where K has changed much, the C of another fit makes probabilities 0 or 1 that are
# wrong, and a step repairs a few of them. The objective is then above so many times
# that of the other fit. Such a start is left for zero if a step leaves more than the
# second part of the objective while the relative gap is above the third number.
_FAR, _SLOW, _LOST = 3.0, 0.75, 0.9
# Iterations without progress after which rounding is taken to be the reason.
_STAGNATION = 10


class NewtonCG(Solver):
    """Newton's method with conjugate gradients, matrix-free.

    Parameters
    ----------
    columns : int, default=100
        Rank of the approximation of K that preconditions; 0 for none.
    """

    name: ClassVar[str | None] = "newton_cg"
    loss_requires: ClassVar[frozenset[str]] = frozenset({"smooth"})
    structure_requires: ClassVar[frozenset[str]] = frozenset({"known"})
    needs_one_kernel: ClassVar[bool] = False
    complete_rows: ClassVar[bool] = False
    several_kernels: ClassVar[bool | None] = None
    workspace_matrices: ClassVar[int] = 0

    def __init__(self, columns: int = 100) -> None:
        self.columns = columns

    def prepare(self, problem: Problem) -> Prepared:
        """Choose the columns of K for the preconditioner."""
        known = problem.known()
        assert known is not None
        return self.prepare_for(problem, known)

    def prepare_for(self, problem: Problem, known: OutputKernel) -> Prepared:
        """Prepare to find the best f for some L, one that a structure learns."""
        return Prepared.of(problem, known, self.columns)

    def solve(self, prepared: Prepared, request: Request) -> Solution:
        """Iterate from the model of a neighbouring alpha or L, or from zero.

        It starts from zero also where zero has a lower objective than the given start,
        and again where steps from the C of another L or K make little progress.
        """
        alpha, tol, max_iter, start = request
        problem, zero = prepared.problem, zero_point(prepared)
        point = first_point(prepared, alpha, start, zero)
        cold = point is zero
        if cold:
            start, zero = None, zero._replace(image=zero.image_by(prepared.joint))
            known = Neighbours()
            for larger in alphas_before(prepared, alpha, zero):
                rough = Request(larger, ROUGH, max_iter, start)
                point = first_point(prepared, larger, start, zero)
                there, _, easy = _iterate(prepared, rough, point)
                # of rough models the last two extrapolate better than three
                known = known.joined(larger, there.dual, most=2)
                start = NewtonStart(known, prepared.kernel, easy)
            point = first_point(prepared, alpha, start, zero)
        asked = Request(alpha, SAFETY * tol, max_iter, start)
        far = not cold and point.objective > _FAR * start.objective
        point, monitor, easy = _iterate(prepared, asked, point, may_leave=far)
        if not cold and monitor.n_iter < max_iter and monitor.astray:
            # steps make little progress from the C that was found for another L or K
            return self.solve(prepared, request._replace(start=None))
        known = Neighbours() if start is None else start.duals
        duals = known.joined(alpha, point.dual)
        end = NewtonStart(duals, prepared.kernel, easy, point.objective)
        return certified(
            problem,
            problem.balanced_theta(point.dual, prepared.kernel),
            prepared.kernel,
            request,
            history=monitor.history,
            start=end,
            intercept=point.intercept,
            hessian=HessianSystem(
                prepared, problem.curvature(point.scores), alpha, None
            ),
        )


def _iterate(
    prepared: Prepared,
    request: Request,
    point: NewtonPoint,
    *,
    may_leave: bool = False,
) -> tuple[NewtonPoint, Monitor, bool]:
    """Take steps; return the last point, the monitor, and whether steps were easy.

    They end also where they are small far from the optimum, if they may leave the start
    for another one.
    """
    alpha, tol, max_iter, start = request
    problem = prepared.problem
    monitor = Monitor(problem.gap_scale, tol, max_iter, stagnation=_STAGNATION)
    steps = NewtonSteps(prepared, request)
    before = float("inf")
    while True:
        point = point._replace(image=point.image_by(prepared.joint))
        norm = inner(point.gradient, point.image)  # the dual point is a
        dual = problem.dual_loss(point.gradient) - norm / (2 * alpha)
        gap = monitor.add(point.objective, dual)
        slow = point.objective > _SLOW * before and gap > _LOST
        if monitor.done or (may_leave and slow):
            break
        before = point.objective
        moved = None
        if start is None and monitor.n_iter == 1:
            moved = leave_zero(prepared, point, steps, gap)
        if moved is None:
            moved = steps.take(point, gap)
        if moved is None:
            break
        # steps that rounding hides are taken on trust, as long as they get smaller
        if not moved.is_seen and moved.promise > _SMALLER * point.promise:
            break
        point = moved
    return point, monitor, steps.easy
