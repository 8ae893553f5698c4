"""The equations of a Newton step, which can be tried out after any iteration."""

from __future__ import annotations

from collections.abc import Iterator

from okl.numerics.arrays import Array, inner, namespace
from okl.solvers.predictor.hessian import HessianSystem
from okl.solvers.predictor.newton_point import Direction, drift_of

# The preconditioned residual at which a step is tried first, and where products are
# cheap, of so many multiplications a row: then it is the steps that cost.
_ROUGH, _ROUGH_CHEAP, _CHEAP = 0.1, 0.03, 500.0
# A residual is out of the reach of W beyond this part of it.
_UNREACHED = 1e-13


class RowEquations:
    """(alpha I + V' J V) g = V^+ r by conjugate gradients.

    J V g is added up beside g.

    Parameters
    ----------
    system : HessianSystem
    residual : array (n_samples, n_outputs)
        r, what alpha C lacks.
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
