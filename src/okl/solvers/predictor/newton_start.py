r"""The first point of Newton's method.

At a small alpha the penalty hardly limits a step from zero. All classes are equally
likely at zero, and the step fits the scores to the targets divided by the probability
of a class: to a thousand, where there are a thousand classes. Only a small part of such
a step lowers the objective, and many follow before probabilities are nearly right.

Where the gap at zero is wide, the loss is therefore replaced by its quadratic model not
at zero, but at scores G that suit the targets (`Loss.plausible_scores`), although no
model may have these scores. The gradient of that model at C is

.. math:: \nabla V(G) + W (J C - G),

and its minimum a Newton step from zero with another right-hand side. Fits of
generalised linear models start in this way: McCullagh and Nelder, *Generalized linear
models*, section 2.5. The steps that follow are kept short while the loss is far from
its quadratic models (the method of Levenberg and Marquardt, in the norm of the
penalty): full Newton steps would be too long, and take many more products each.

At a smaller alpha, and with any loss of labels, no single step comes close: full steps
end where probabilities are 0 or 1 and wrong, and from there only small parts of steps
lower the objective. Such an alpha is approached through larger ones, each fitted
roughly, from the C of the one before.

*Along a path* C changes much: where training rows can be told apart, the scores that
they need grow with log(1 / alpha), and so does C. Extrapolated as a function of log
alpha (`okl.solvers.neighbours`) it is close to the next C, often closer than asked for.
Of all candidates for C, steps start from the one with the lowest objective.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from okl.numerics.arrays import inner, namespace
from okl.output_kernels import OutputKernel
from okl.solvers.neighbours import Neighbours
from okl.solvers.predictor.approximation import Prepared
from okl.solvers.predictor.newton_point import NewtonPoint
from okl.solvers.predictor.newton_step import NewtonSteps
from okl.solvers.predictor.weight_step import has_few_features

# The relative gap at zero above which full steps from zero are too long: the dual value
# is negative.
_WIDE = 1.0
# An alpha below that of this gap by more than _FAR is approached through larger ones,
# which are apart by _FACTOR, each fitted to the relative gap ROUGH.
_FAR, _FACTOR, ROUGH = 10.0, 10.0, 0.3


class NewtonStart(NamedTuple):
    """Where a fit with another alpha, L or K may start."""

    duals: Neighbours  # C at the last alphas
    kernel: OutputKernel  # the L of the nearest
    easy: bool = True  # whether steps needed no columns of K
    objective: float = float("inf")  # of the nearest


def zero_point(prepared: Prepared) -> NewtonPoint:
    """Return C = 0, which is the same at every alpha."""
    problem = prepared.problem
    zero = namespace(problem.targets).zeros_like(problem.targets)
    return NewtonPoint.at(problem, zero, zero, 1.0)


def first_point(
    prepared: Prepared, alpha: float, start: NewtonStart | None, zero: NewtonPoint
) -> NewtonPoint:
    """Return the point to start from: zero, or a guess with a lower objective.

    If L has changed, one guess is the C of the same function, as far as L has it. What
    of C did not matter under the other L may now predict scores so large that every
    probability is 0 or 1, and no step leads away from there.
    """
    point = zero
    if start is None:
        return point
    dual, ahead = start.duals.nearest, start.duals.at(alpha)
    candidates = [dual] if ahead is dual else [dual, ahead]
    kernel, entries = prepared.kernel, prepared.problem.entries
    if start.kernel is not kernel and entries.every_output and kernel.rank:
        candidates.append(kernel.solve(start.kernel.multiply(dual), zero.dual))
    for dual in candidates:
        there = NewtonPoint.at(prepared.problem, dual, prepared.joint @ dual, alpha)
        point = there if there.objective <= point.objective else point
    return point


def alphas_before(prepared: Prepared, alpha: float, zero: NewtonPoint) -> list[float]:
    """Return decreasing alphas to fit first, none where a step from zero is enough.

    At zero the objective is V, and the dual value V - |f|^2 / (2 alpha) with f = J a.
    The first alpha is a part of the one at which this dual value is zero. In weights of
    few features steps from zero are enough, but with a free intercept and many sparse
    ones, of which many are rare, they were not.
    """
    problem = prepared.problem
    numbers = "regression" in problem.loss.capabilities
    sparse = prepared.joint.sparse_rows is not None
    if numbers or (has_few_features(prepared) and not (sparse and problem.centered)):
        return []
    norm = inner(zero.gradient, zero.image_by(prepared.joint))
    dual = zero.objective - norm / (2 * alpha)
    primal = zero.objective
    first = alpha * (1 - dual / primal) / _FAR if primal > 0 else 0.0
    if not first > alpha:
        return []
    n_alphas = math.ceil(math.log(first / alpha) / math.log(_FACTOR))
    return [alpha * _FACTOR**k for k in range(n_alphas, 0, -1)]


def leave_zero(
    prepared: Prepared, zero: NewtonPoint, steps: NewtonSteps, gap: float
) -> NewtonPoint | None:
    """Return the minimum of the model at plausible scores, shortened if it must be.

    None where a Newton step from zero will do: where the relative gap at zero is below
    one, or the loss has no scores that are more plausible.
    """
    problem = prepared.problem
    if gap < _WIDE:
        return None
    scores = problem.loss.plausible_scores(problem.targets)
    if scores is None:
        return None
    curvature = problem.curvature(scores)
    gradient = problem.downhill(scores) + curvature.factor(curvature.adjoint(scores))
    moved = steps.take(zero._replace(scores=scores, gradient=gradient, image=None), gap)
    if moved is None:
        return None
    steps.hold()
    return moved._replace(promise=float("inf"))
