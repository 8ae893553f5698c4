r"""Known output kernel, smooth loss: Newton's method by products with K.

With J the map C -> K C L, a the negative gradient of the loss at F = J C + 1 b',
W = V V' its second derivative and r = a - alpha C, a Newton step for the dual variables
is C + V g,

.. math:: (\alpha I + V' J V)\, g = V^+ r,

a symmetric system of which every product is one with K, all outputs at once (Seeger
2006, section 6.1.1; `okl.solvers.predictor.hessian`). Where probabilities underflow V^+
would divide by zero; there W is zero for all purposes, and the step is r / alpha
(appendix A has another remedy).

*The intercept* is minimised over at every F; the loss is then a function of F alone
whose second derivative is V Pi V', Pi the projection on what V maps to columns that sum
to zero. Nothing else changes, and dual variables stay balanced.

*Products with K are all that costs.* J V g is added up along the iterations of
conjugate gradients, so that the line search needs none; the gap costs one, J a. The
preconditioner is a diagonal while a few products are enough, then that of
`okl.solvers.predictor.low_rank_preconditioner`.
"""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import ClassVar, NamedTuple

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, inner, namespace
from okl.operators import NystroemFactor
from okl.output_kernels import OutputKernel
from okl.problems import Problem
from okl.solvers.base import Solver
from okl.solvers.monitor import SAFETY, Monitor
from okl.solvers.predictor.approximation import Prepared
from okl.solvers.predictor.hessian import HessianSystem
from okl.solvers.predictor.newton_point import (
    Direction,
    NewtonPoint,
    drift_of,
    line_search,
)
from okl.solvers.solution import Solution, certified

# The preconditioned residual of a step: where it is tried first, or at the root of the
# gap if smaller; from where on it may be shortened; how much closer if it does not go
# down, and no closer than that.
_FIRST, _FORCING, _TIGHTER, _LEAST = 0.1, 0.01, 0.1, 1e-7
# That of the first where products are cheap, of so many multiplications a row: then it
# is the steps that cost.
_FIRST_CHEAP, _CHEAP = 0.03, 500.0
# So many products a step are worth no better preconditioner.
_EASY = 6
# A residual is out of the reach of W beyond this part of it.
_UNREACHED = 1e-13
# How much the second derivative is damped at first, and how it changes after a step of
# full length, and after one that was not; below so much it is not.
_DAMPED, _LOWER, _HIGHER, _NEWTON = 0.1, 0.1, 10.0, 1e-4
# Halved steps that are tried.
_MAX_HALVINGS = 20
# How much smaller the promise of steps that are not seen in the objective must get.
_SMALLER = 0.5
# Iterations without progress after which rounding is in the way.
_STAGNATION = 10


class NewtonCG(Solver):
    """Newton's method with conjugate gradients, matrix-free.

    Parameters
    ----------
    columns : int, default=100
        Rank of the approximation of K that preconditions; 0 for a diagonal.
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

    def solve(
        self,
        prepared: Prepared,
        alpha: float,
        *,
        tol: float,
        max_iter: int,
        start: NewtonStart | None = None,
    ) -> Solution:
        """Iterate from the model of a neighbouring alpha or L, or from zero."""
        problem = prepared.problem
        monitor = Monitor(
            problem.reference,
            tol=SAFETY * tol,
            max_iter=max_iter,
            stagnation=_STAGNATION,
        )
        point = _first_point(prepared, alpha, start)
        easy = prepared.approximation.rank > 0
        few = max(_EASY, int(prepared.approximation.cost))
        foreign = start is not None and start.kernel is not prepared.kernel
        damped = _Damped(foreign)
        while True:
            gap = monitor.add(point.objective, _dual_value(prepared, point, alpha))
            if monitor.done:
                break
            moved = None
            if easy:
                system = _system(prepared, point, alpha)
                moved = _newton(system, point, gap, max_steps=few, foreign=foreign)
                easy = moved is not None
            if moved is None:
                moved = damped.step(prepared, point, alpha, gap)
            if moved is None or _is_rounding(moved, point):
                break
            point = moved
        return certified(
            problem,
            problem.balanced_theta(point.dual, prepared.kernel),
            prepared.kernel,
            alpha,
            tol=tol,
            history=monitor.history,
            start=NewtonStart(point.dual, prepared.kernel),
            intercept=point.intercept,
            hessian=_system(prepared, point, alpha),
        )


class NewtonStart(NamedTuple):
    """C, and the L that it was found for."""

    dual: Array
    kernel: OutputKernel


def _first_point(
    prepared: Prepared, alpha: float, start: NewtonStart | None
) -> NewtonPoint:
    """Return where to begin: where the objective is lowest, of zero and the start.

    And for another L of the C of the same function, as far as L has it: what of C did
    not count before may predict scores so large that every probability is 0 or 1, and
    no step leads away from there.
    """
    zero = namespace(prepared.problem.targets).zeros_like(prepared.problem.targets)
    point = NewtonPoint.at(prepared.problem, zero, zero, alpha)
    if start is None:
        return point
    candidates = [start.dual]
    kernel, entries = prepared.kernel, prepared.problem.entries
    if start.kernel is not kernel and entries.every_output and kernel.rank:
        candidates.append(kernel.solve(start.kernel.multiply(start.dual), zero))
    for dual in candidates:
        there = NewtonPoint.at(prepared.problem, dual, prepared.joint @ dual, alpha)
        point = there if there.objective <= point.objective else point
    return point


def _is_rounding(point: NewtonPoint, last: NewtonPoint) -> bool:
    """Tell whether a step was no shorter than the one before, and neither is seen.

    Below rounding steps are taken on trust, as long as they get smaller.
    """
    return not point.is_seen and point.promise > _SMALLER * last.promise


def _dual_value(prepared: Prepared, point: NewtonPoint, alpha: float) -> float:
    """Return the dual value at alpha C = a."""
    problem = prepared.problem
    norm = inner(point.gradient, prepared.joint @ point.gradient)
    value = problem.loss.dual_value(problem.targets, point.gradient, problem.weights)
    return value - norm / (2 * alpha)


def _system(
    prepared: Prepared,
    point: NewtonPoint,
    alpha: float,
    columns: NystroemFactor | None = None,
    curvature: Curvature | None = None,
) -> HessianSystem:
    """Return the equations of a step, with the second derivative there or another."""
    if curvature is None:
        problem = prepared.problem
        there = problem.targets, point.scores, problem.weights
        curvature = problem.loss.curvature(*there)
    return HessianSystem(prepared, curvature, alpha, columns)


class _Damped:
    """Steps with a second derivative as high as it must be for their full length.

    Without a quadratic above the loss they are Newton's, shortened where they must be.
    """

    def __init__(self, foreign: bool) -> None:
        self.share, self.foreign = _DAMPED, foreign

    def step(
        self, prepared: Prepared, point: NewtonPoint, alpha: float, gap: float
    ) -> NewtonPoint | None:
        """Return the next point, None where no step lowers the objective."""
        loss, of = prepared.problem.loss, prepared.approximation
        columns = of.columns if of.rank else None
        there = prepared.problem.targets, point.scores, prepared.problem.weights
        system = partial(_system, prepared, point, alpha, columns)
        newton = partial(_newton, point=point, gap=gap, foreign=self.foreign)
        while True:
            share = self.share if self.share >= _NEWTON else 0.0
            curvature = loss.damped_curvature(*there, share=share)
            if curvature is None:
                return newton(system())
            if share >= 1:
                self.share *= _LOWER
                return newton(system(curvature))
            moved = newton(system(curvature), shorten=False)
            if moved is not None:
                self.share = max(_LOWER * self.share, _NEWTON * _LOWER)
                return moved
            self.share = min(self.share * _HIGHER, 1.0)


def _newton(
    system: HessianSystem,
    point: NewtonPoint,
    gap: float,
    *,
    foreign: bool,
    max_steps: int | None = None,
    shorten: bool = True,
) -> NewtonPoint | None:
    """Return the next point, None where no step lowers the objective.

    Also None if so many products are not enough for a full step, or if the step would
    have to be shortened and may not. What a C that was found for another L, a
    ``foreign`` one, leaves where probabilities are 0 or 1 stays out of the equations.
    """
    problem, joint = system.prepared.problem, system.prepared.joint
    curvature, alpha = system.curvature, system.alpha
    residual = point.gradient - alpha * point.dual
    xp = namespace(residual)
    scaled = curvature.solve(residual)
    inside = system.without_saturated(scaled) if foreign else system.project(scaled)
    # where W vanishes and the residual does not, as for a saturated wrong class
    outside = residual - curvature.factor(inside)
    right, image = inside, 0.0 * residual
    if float(xp.max(xp.abs(outside))) > _UNREACHED * float(xp.max(xp.abs(residual))):
        image = (joint @ outside) / alpha
        right = right - system.project(curvature.adjoint(image))
    inside = xp.zeros_like(residual)

    def moved(halvings: int) -> NewtonPoint | None:
        change = outside / alpha + curvature.factor(inside)
        drift = drift_of(problem, curvature, image)
        direction = Direction(change, image, drift, -inner(residual, image))
        return line_search(problem, point, direction, alpha, halvings)

    # Conjugate gradients climb the dual: stopped too early, their step need not lower
    # the primal, or not at full length. Then they go on.
    cheap = joint.work <= _CHEAP * joint.n_samples
    first = _FIRST_CHEAP if cheap else _FIRST
    enough = min(first, max(abs(gap) ** 0.5, _LEAST))
    halvings = _MAX_HALVINGS if shorten and max_steps is None else 0
    least = _LEAST if shorten else _FORCING
    for step in islice(system.steps(right), max_steps):
        inside = inside + step.length * step.direction
        image = image + step.length * step.product
        if step.left > enough:
            continue
        found = moved(halvings if step.left <= _FORCING else 0)
        if found is not None:
            return found
        if enough <= least:
            break
        enough *= _TIGHTER
    return moved(halvings) if max_steps is None else None
