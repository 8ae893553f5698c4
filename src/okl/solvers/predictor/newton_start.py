r"""Where Newton's method begins.

At a small alpha little holds back a step from zero. There all classes are equally
likely, and what the step fits to the scores are the targets divided by the probability
of a class: a thousand, where there are a thousand classes. Of such a step only a small
part lowers the objective, and many follow before probabilities are nearly right.

So where the gap at zero is wide, the loss is replaced by its quadratic model not there,
but at scores G that go well with the targets (`Loss.plausible_scores`), although no
model may have them. The gradient of that model at C is

.. math:: \nabla V(G) + W (J C - G),

and its minimum a Newton step from zero with another right-hand side. Generalised linear
models are begun in this way: McCullagh and Nelder, *Generalized linear models*, section
2.5. From there on steps are held near while the loss is far from its quadratic models
(the method of Levenberg and Marquardt, in the norm of the penalty): full Newton steps
would be too long, and take many more products each.

At a smaller alpha no step leads near, under any loss of labels: full steps end where
probabilities are 0 or 1 and wrong, and from there only small parts of steps lower the
objective. Such an alpha is approached by way of larger ones, each fitted roughly, from
the C of the one before.

*Along a path* C changes much: where training rows can be told apart, the scores that
they need grow with log(1 / alpha), and so does C. Where it leads as a function of log
alpha (`okl.solvers.neighbours`) is close to the next, often closer than asked for.
Of all that C may be, steps begin where the objective is lowest.
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
from okl.solvers.predictor.primal_step import has_few_features

# The relative gap at zero from where on full steps from there are too long: the dual
# value is negative.
_WIDE = 1.0
# From which part of the alpha of a wide gap on other alphas come before, how far apart
# they are, and the relative gap at which each is left.
_FAR, _FACTOR, ROUGH = 10.0, 10.0, 0.3


class NewtonStart(NamedTuple):
    """C at the last alphas, the L of the nearest, and whether steps were easy.

    They were if they needed no columns of K.
    """

    duals: Neighbours
    kernel: OutputKernel
    easy: bool = True


def zero_point(prepared: Prepared) -> NewtonPoint:
    """Return C = 0, which is the same at every alpha."""
    problem = prepared.problem
    zero = namespace(problem.targets).zeros_like(problem.targets)
    return NewtonPoint.at(problem, zero, zero, 1.0)


def first_point(
    prepared: Prepared, alpha: float, start: NewtonStart | None, zero: NewtonPoint
) -> NewtonPoint:
    """Return where to begin: where the objective is lowest, of zero and guesses.

    And for another L of the C of the same function, as far as L has it: what of C did
    not count before may predict scores so large that every probability is 0 or 1, and
    no step leads away from there.
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
    """Return decreasing alphas to come by, none where a step from zero leads near.

    At zero the objective is V, and the dual value V - |f|^2 / (2 alpha) with f = J a;
    the first is a part of the alpha at which that is zero.
    """
    numbers = "regression" in prepared.problem.loss.capabilities
    if numbers or has_few_features(prepared):
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
    """Return the minimum of the quadratic model there, shortened if it must be.

    None where a step from zero will do: where the relative gap there is below one, or
    no scores are more plausible.
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
