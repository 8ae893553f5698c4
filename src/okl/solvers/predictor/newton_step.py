r"""A step of Newton's method by products with K.

The equations of a step (`okl.solvers.predictor.hessian`) are solved by conjugate
gradients, which stop as soon as the objective falls enough. Their preconditioner is
that of `okl.solvers.predictor.low_rank_preconditioner`. Where K has few features, and
as long as steps take fewer products than the preconditioner would cost, they are those
of `okl.solvers.predictor.primal_step` instead. After the first step that takes more,
the preconditioner is used to the end of the fit and, if it helps, along a path.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, inner, namespace
from okl.solvers.predictor.approximation import Prepared
from okl.solvers.predictor.hessian import HessianSystem
from okl.solvers.predictor.newton_point import (
    MAX_HALVINGS,
    Direction,
    NewtonPoint,
    drift_of,
    line_search,
)
from okl.solvers.predictor.preconditioner_form import form_of
from okl.solvers.predictor.primal_step import primal_step
from okl.solvers.predictor.weight_step import has_few_features
from okl.solvers.request import Request

# The relative preconditioned residual at which a step is first tried. It is the second
# where a product takes at most _CHEAP multiplications a row: then it is the steps that
# cost.
_ROUGH, _ROUGH_CHEAP, _CHEAP = 0.1, 0.03, 500.0
# What W cannot reach of a residual is rounding up to this part of the residual.
_UNREACHED = 1e-13
# The relative preconditioned residual of a step:
_FORCING = 0.01  # from here on the step may be shortened
_TIGHTER = 0.1  # its factor where the step is uphill, or the last one was idle
_LEAST = 1e-7  # the least
# A step was idle if the gap is still above _IDLE_GAP times the last one, and the
# objective fell by less than _IDLE_FALL times the gap. The residual that is left then
# lies where J is large: it shows in the gap, but hardly in its preconditioned norm.
_IDLE_GAP, _IDLE_FALL = 0.5, 1e-2
# A step of so few products needs no columns of K, nor does one of fewer products than
# these columns cost.
_EASY = 5
# Columns of K helped if a step with them took at most so many times the products that
# were not enough without them.
_WORSE = 3
# How much the second derivative is damped:
_DAMPED = 0.1  # at first
_LOWER, _HIGHER = 0.1, 10.0  # factors after a step of full length, and after another
_NEWTON = 1e-4  # less than this is none
# What is added to alpha to keep steps short, in units of alpha:
_HELD = 10.0  # at first
_LESS = 0.1  # the factor after each step
_FREE = 0.05  # less than this is nothing
_WELL = 0.4  # it helps if a step achieves this part of its promise, at best a half
_CLOSE = 0.5  # below this gap it would only take more steps


class NewtonSteps:
    """The steps of one fit, which remember what the last ones needed.

    They are tried without columns of K until that takes too many products; not at all
    if the fit starts from another fit that was not easy.

    Attributes
    ----------
    easy : bool
        Whether a fit that starts from this one may try without columns of K: it may if
        none were needed, or if they did not help.
    """

    def __init__(self, prepared: Prepared, request: Request) -> None:
        self._prepared, self._alpha, self._request = prepared, request.alpha, request
        self.easy = request.start is None or request.start.easy
        self._easy = self.easy and prepared.approximation.rank > 0
        self._few = 0
        self._share = _DAMPED
        self._closer = 1.0
        self._last: tuple[float, float] | None = None
        self._held = 0.0

    def hold(self) -> None:
        """Keep the next steps short: a number is added to the alpha of their equations.

        It begins at ten times alpha and falls with each step; it is dropped where the
        objective falls far less than the model said, or where the gap is small at once.
        """
        self._held = _HELD * self._alpha

    def take(self, point: NewtonPoint, gap: float) -> NewtonPoint | None:
        """Return the next point, None where no step lowers the objective.

        The relative gap decides how closely the equations of the step are solved.
        """
        self._closer = _TIGHTER * self._closer if self._was_idle(point, gap) else 1.0
        self._last = point.objective, gap
        aim = self._closer**2 * self._request.enough(gap)
        if has_few_features(self._prepared):
            return primal_step(self._prepared, point, self._alpha, aim)
        if not self._few:
            joint, rank = self._prepared.joint, self._prepared.approximation.rank
            curvature = self._prepared.problem.curvature(point.scores)
            cost = form_of(joint, rank, curvature, self._alpha).cost
            self._few = max(_EASY, int(cost) - 1)
        if self._held == _HELD * self._alpha and gap < _CLOSE:
            self._held = 0.0
        while self._held:
            moved = self._quick(point, aim) or _newton(
                self._system(point), point, self._alpha, aim, once=True
            )
            self._hold_after(point, moved)
            if moved is not None:
                return moved
        moved = self._quick(point, aim)
        if moved is not None:
            return moved
        moved = self._damped(point, aim)
        self.easy = moved is None or moved.products > _WORSE * self._few
        return moved

    def _was_idle(self, point: NewtonPoint, gap: float) -> bool:
        """Tell whether the last step lowered neither the gap nor the objective."""
        if self._last is None:
            return False
        objective, last_gap = self._last
        fall = objective - point.objective
        scale = self._prepared.problem.gap_scale
        least = _IDLE_FALL * gap * scale.of(point.objective)
        return gap > _IDLE_GAP * last_gap and fall < least

    def _quick(self, point: NewtonPoint, aim: float) -> NewtonPoint | None:
        """Return the next point if few products are enough without columns of K."""
        if not self._easy:
            return None
        held, most = self._held, self._few
        moved = primal_step(
            self._prepared, point, self._alpha, aim, held=held, most=most
        )
        self._easy = moved is not None
        if moved is not None and moved.products == most:
            # steps to come are harder: this was the last one without columns of K
            self._easy = self.easy = False
        return moved

    def _damped(self, point: NewtonPoint, aim: float) -> NewtonPoint | None:
        """Return the next point, by a second derivative that is damped if it must be.

        Damping grows until the full step lowers the objective. With a loss that has no
        damped second derivative, the step is Newton's, shortened if it must be.
        """
        problem = self._prepared.problem
        there = problem.targets, point.scores, problem.weights
        newton = partial(_newton, point=point, alpha=self._alpha, aim=aim)
        while True:
            share = self._share if self._share >= _NEWTON else 0.0
            curvature = problem.loss.damped_curvature(*there, share=share)
            system = self._system(point, curvature)
            if curvature is None:
                return newton(system)
            moved = newton(system, shorten=share >= 1)
            if moved is not None or share >= 1:
                self._share = max(_LOWER * self._share, _LOWER * _NEWTON)
                return moved
            self._share = min(self._share * _HIGHER, 1.0)

    def _system(
        self, point: NewtonPoint, curvature: Curvature | None = None
    ) -> HessianSystem:
        """Return the equations of the next step, with columns of K."""
        if curvature is None:
            curvature = self._prepared.problem.curvature(point.scores)
        of, alpha = self._prepared.approximation, self._alpha + self._held
        columns = of.columns if of.rank else None
        return HessianSystem(self._prepared, curvature, alpha, columns)

    def _hold_after(self, point: NewtonPoint, moved: NewtonPoint | None) -> None:
        """Lower what is added to alpha, to zero unless the last step went well."""
        self._held *= _LESS
        fall = 0.0 if moved is None else point.objective - moved.objective
        well = moved is not None and fall >= _WELL * moved.promise
        if not well or self._held < _FREE * self._alpha:
            self._held = 0.0


def _newton(
    system: HessianSystem,
    point: NewtonPoint,
    alpha: float,
    aim: float,
    *,
    shorten: bool = True,
    once: bool = False,
) -> NewtonPoint | None:
    """Return the next point, None where no step lowers the objective.

    Also None if the step lowers it only when shortened and ``shorten`` is false, or
    only when its equations are solved more closely and they are solved ``once``. The
    relative residual is to fall to the root of ``aim``. The system has a larger alpha
    where the step is to be kept short.
    """
    problem = system.prepared.problem
    residual = point.gradient - alpha * point.dual
    equations = _Equations(system, residual)
    n_products = 0

    def moved(halvings: int) -> NewtonPoint | None:
        found = line_search(problem, point, equations.direction(), alpha, halvings)
        return None if found is None else found._replace(products=n_products)

    # Conjugate gradients climb the dual: stopped too early, their step need not lower
    # the primal, or not at full length. Then they go on.
    enough = min(equations.rough, max(aim**0.5, _LEAST))
    shorten = shorten and not once
    halvings = MAX_HALVINGS if shorten else 0
    least = enough if once else _LEAST if shorten else _FORCING
    for left in equations.steps():
        n_products += 1
        if left > enough:
            continue
        found = moved(halvings if left <= _FORCING else 0)
        if found is not None:
            return found
        if enough <= least:
            break
        enough *= _TIGHTER
    return moved(halvings)


class _Equations:
    """(alpha I + V' J V) g = V^+ r by conjugate gradients, which add up J V g as well.

    The residual (n_samples, n_outputs) is r = a - alpha C.
    """

    def __init__(self, system: HessianSystem, residual: Array) -> None:
        self._system, self._residual = system, residual
        curvature, joint = system.curvature, system.prepared.joint
        cheap = joint.work <= _CHEAP * joint.n_samples
        self.rough = _ROUGH_CHEAP if cheap else _ROUGH
        inside = system.project(curvature.solve(residual))
        # where W vanishes and the residual does not, as for a saturated wrong class
        self._outside = residual - curvature.factor(inside)
        self._right, self._image = inside, 0.0 * residual
        xp = namespace(residual)
        unreached = float(xp.max(xp.abs(self._outside)))
        if unreached > _UNREACHED * float(xp.max(xp.abs(residual))):
            self._image = (joint @ self._outside) / system.alpha
            reached = system.project(curvature.adjoint(self._image))
            self._right = self._right - reached
        self._inside = xp.zeros_like(residual)

    def steps(self) -> Iterator[float]:
        """Iterate; yield the relative preconditioned residual that is left."""
        for step in self._system.steps(self._right):
            self._inside = self._inside + step.length * step.direction
            self._image = self._image + step.length * step.product
            yield step.left

    def direction(self) -> Direction:
        """Return the step as it is so far."""
        curvature, problem = self._system.curvature, self._system.prepared.problem
        change = self._outside / self._system.alpha + curvature.factor(self._inside)
        drift = drift_of(problem, curvature, self._image)
        slope = -inner(self._residual, self._image)
        return Direction(change, self._image, drift, slope)
