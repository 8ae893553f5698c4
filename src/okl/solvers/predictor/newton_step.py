r"""A step of Newton's method by products with K.

The equations of a step (`okl.solvers.predictor.hessian`) are solved by conjugate
gradients, which are stopped as soon as the objective falls enough: a step can be tried
out after any iteration. The preconditioner is a diagonal, or nothing, while as many
products are enough as another would cost, then that of
`okl.solvers.predictor.low_rank_preconditioner`: from there on to the end of the fit,
and along a path.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, inner, namespace
from okl.operators import NystroemFactor
from okl.solvers.predictor.approximation import Prepared
from okl.solvers.predictor.hessian import HessianSystem
from okl.solvers.predictor.low_rank_preconditioner import form_of
from okl.solvers.predictor.newton_point import (
    Direction,
    NewtonPoint,
    drift_of,
    line_search,
)

# The preconditioned residual at which a step is tried first, or at the root of the gap
# if smaller, and where products are cheap, of so many multiplications a row: then it is
# the steps that cost. From where on it may be shortened; how much closer if it does not
# go down, and no closer than that.
_ROUGH, _ROUGH_CHEAP, _CHEAP = 0.1, 0.03, 500.0
_FORCING, _TIGHTER, _LEAST = 0.01, 0.1, 1e-7
# A residual is out of the reach of W beyond this part of it.
_UNREACHED = 1e-13
# So many products a step are worth no better preconditioner.
_EASY = 6
# Columns of K that take so many times the products tried without them may be no better.
_WORSE = 3
# How much the second derivative is damped at first, and how it changes after a step of
# full length, and after one that was not; below so much it is not.
_DAMPED, _LOWER, _HIGHER, _NEWTON = 0.1, 0.1, 10.0, 1e-4
# Halved steps that are tried.
_MAX_HALVINGS = 20


def system_at(
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


class NewtonSteps:
    """The steps of one fit, which remember what the last ones needed.

    Parameters
    ----------
    prepared : Prepared
    alpha : float
    foreign : bool
        Whether C may come from a fit with another L.
    easy : bool, default=True
        Whether few products may be enough without columns of K.
    """

    def __init__(
        self,
        prepared: Prepared,
        alpha: float,
        *,
        foreign: bool,
        easy: bool = True,
    ) -> None:
        self._prepared, self._alpha, self._foreign = prepared, alpha, foreign
        self._easy = easy and prepared.approximation.rank > 0
        self._few = 0
        self._again = easy
        self._damped = _DAMPED

    @property
    def easy(self) -> bool:
        """Whether another fit may try without columns of K.

        Not where with them not many more were enough than had been too few without.
        """
        return self._again

    def take(self, point: NewtonPoint, gap: float) -> NewtonPoint | None:
        """Return the next point, None where no step lowers the objective.

        Parameters
        ----------
        point : NewtonPoint
        gap : float
            The relative gap there: a step need not be much closer.
        """
        of = self._prepared.approximation
        system = system_at(self._prepared, point, self._alpha)
        if not self._few:
            cost = form_of(self._prepared.joint, of.rank, system.curvature).cost
            self._few = max(_EASY, int(cost), 1)
        if self._easy:
            moved = self._solved(system, point, gap, max_steps=self._few)
            if moved is not None:
                return moved
            self._easy = False
        moved = self._with_columns(point, gap)
        self._again = moved is None or moved.products > _WORSE * self._few
        return moved

    def _with_columns(self, point: NewtonPoint, gap: float) -> NewtonPoint | None:
        """Return the next point, None where no step lowers the objective.

        The second derivative is damped as far as it must be for a full length. Where
        there is no quadratic above the loss it is not, and steps are shortened.
        """
        problem, of = self._prepared.problem, self._prepared.approximation
        there = problem.targets, point.scores, problem.weights
        columns = of.columns if of.rank else None
        while True:
            share = self._damped if self._damped >= _NEWTON else 0.0
            curvature = problem.loss.damped_curvature(*there, share=share)
            system = system_at(self._prepared, point, self._alpha, columns, curvature)
            last = curvature is None or share >= 1
            moved = self._solved(system, point, gap, shorten=last)
            if moved is not None or last:
                self._damped = max(_LOWER * self._damped, _LOWER * _NEWTON)
                return moved
            self._damped = min(_HIGHER * self._damped, 1.0)

    def _solved(
        self,
        system: HessianSystem,
        point: NewtonPoint,
        gap: float,
        *,
        max_steps: int | None = None,
        shorten: bool = True,
    ) -> NewtonPoint | None:
        """Return the next point, None where no step lowers the objective.

        Also None if so many products are not enough for a full step, or if the step
        would have to be shortened and may not.
        """
        problem, alpha = self._prepared.problem, self._alpha
        residual = point.gradient - alpha * point.dual
        equations = _Equations(system, residual, foreign=self._foreign)
        n_products = 0

        def moved(halvings: int) -> NewtonPoint | None:
            direction = equations.direction()
            found = line_search(problem, point, direction, alpha, halvings)
            return None if found is None else found._replace(products=n_products)

        # Conjugate gradients climb the dual: stopped too early, their step need not
        # lower the primal, or not at full length. Then they go on.
        enough = min(equations.rough, max(abs(gap) ** 0.5, _LEAST))
        halvings = _MAX_HALVINGS if shorten and max_steps is None else 0
        least = _LEAST if shorten else _FORCING
        for left in islice(equations.steps(), max_steps):
            n_products += 1
            if left > enough:
                continue
            found = moved(halvings if left <= _FORCING else 0)
            if found is not None:
                return found
            if enough <= least:
                break
            enough *= _TIGHTER
        return moved(halvings) if max_steps is None else None


class _Equations:
    """(alpha I + V' J V) g = V^+ r by conjugate gradients.

    J V g is added up beside g.

    Parameters
    ----------
    system : HessianSystem
    residual : array (n_samples, n_outputs)
        r, what alpha C lacks.
    foreign : bool
        Whether C may be that of another L: what it leaves where probabilities are 0 or
        1 stays out of the equations.
    """

    def __init__(
        self, system: HessianSystem, residual: Array, *, foreign: bool
    ) -> None:
        self._system, self._residual = system, residual
        curvature, joint = system.curvature, system.prepared.joint
        cheap = joint.work <= _CHEAP * joint.n_samples
        self.rough = _ROUGH_CHEAP if cheap else _ROUGH
        scaled = curvature.solve(residual)
        inside = system.without_saturated(scaled) if foreign else system.project(scaled)
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
        """Go on; yield the preconditioned residual that is left, relative."""
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
