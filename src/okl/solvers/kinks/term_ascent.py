r"""Several kernels, a loss with bounds on its slope: Newton's method on multipliers.

With L learned for each of them, the dual problem in the multipliers a = alpha C is

.. math:: \max_a \; -V^*(-a) - \alpha \sum_q R_q^*(\tfrac12 C' K_q C),

where each entry of a has bounds, and its columns sum to zero if there is an intercept.
Between the bounds V* is a straight line, or a parabola for the squared hinge. The other
term, R*, is smooth. In each round R* is replaced by its second-order model at the last
C, in which predictions are those of a known operator, F + (J + M)(C' - C)
(`okl.solvers.terms.term_point`), and the squared distance to the last a is subtracted,
divided by twice a Moreau parameter. That is the problem of a Moreau envelope
(`okl.losses.envelope`) and of one operator, for which there is a fast solver
(`okl.solvers.predictor.semismooth_newton`). Its multipliers satisfy all bounds and
sums, and so do all points on the straight line to them. The next a is at the first
share of this line, of 1, 1/2, 1/4, ..., at which the dual value has risen enough; to
try a share takes no product.

The dual value therefore rises from round to round. Near the optimum, where full steps
are taken and the Moreau parameter grows, it does so as fast as in Newton's method
(proximal Newton methods: Lee, Sun & Saunders 2014). The model of a round is the best
L_q for C, and Theta_q = C L_q with alpha C = a: its zeros are exact.

Once a round promises next to nothing the multipliers are the best ones up to rounding,
and the scores are still off their kinks by what that rounding does to them. They are
then brought there by equations of their own (`okl.solvers.kinks.polishing`).

The squared hinge is smooth, but is solved in this way as well: quadratic models of the
loss itself are flat beyond the margin, and at a small alpha lead far behind it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from okl.losses import Envelope
from okl.losses.separable import unweighted
from okl.numerics.arrays import Array, epsilon, inner, namespace
from okl.problems import Problem
from okl.solvers.kinks.dual_model import gap_of, of_dual_point, sparse
from okl.solvers.kinks.multipliers import balanced, multiplier_bounds
from okl.solvers.kinks.polishing import at_kinks
from okl.solvers.monitor import SAFETY, Monitor
from okl.solvers.predictor.approximation import Approximation, Prepared
from okl.solvers.predictor.semismooth_newton import Found, semismooth_newton
from okl.solvers.request import Request
from okl.solvers.solution import Solution
from okl.solvers.terms.prepared_terms import PreparedTerms
from okl.solvers.terms.term_point import Answering, Line, TermPoint
from okl.solvers.terms.term_start import TermStart, best_part

# The Moreau parameter:
_FIRST, _LEAST, _LARGEST = 1.0, 1e-9, 1e6
# Its factor after a round that went all the way, for so many Newton steps at most.
_GROWTH = ((15, 10.0), (40, 3.0), (10**9, 1.0))
# Its factor after a round of which less than the share _SHORT was taken.
_SMALLER, _SHORT = 0.1, 0.3
# A round is solved to the relative gap _SHARE * (smallest gap so far), but to at most
# _MOST and at least _CLOSEST. If its gap is above _PROMISED times the rise of the dual
# value that it promises, it is solved again, closer by the factor _CLOSER, at most
# _TIMES times.
_SHARE, _MOST, _CLOSEST = 1e-2, 1e-3, 1e-14
_CLOSER, _TIMES, _PROMISED = 1e-2, 6, 0.1
# Newton steps for one round.
_STEPS = 200
# The part of its promise that a step must gain, and how often it is halved.
_ARMIJO, _HALVINGS = 1e-4, 40
# Polishing goes on while it leaves at most the part _FALLS of a gap, _POLISHES times at
# most. What it leaves is rounding if it is at most so many rounding errors; or if it is
# at most _CLOSE and did not fall in so many rounds.
_FALLS, _POLISHES, _ROUNDINGS, _CLOSE, _IDLE = 0.5, 10, 8, 1e-9, 3


def term_ascent(prepared: PreparedTerms, request: Request) -> Solution:
    """Iterate from where a neighbouring alpha ended, or from zero.

    The structure has a `response`.
    """
    alpha, tol, max_iter, start = request
    problem = prepared.problem
    monitor = Monitor(problem.gap_scale, tol=SAFETY * tol, max_iter=max_iter)
    here = _first(problem, alpha, start)
    kinked = "smooth" not in problem.loss.capabilities
    parameter, polishing = _FIRST, _Polishing(_ROUNDINGS * epsilon(problem.targets))
    while True:
        model = of_dual_point(problem, here.multipliers, here.terms.kernel, request)
        monitor.add(model.certificate.primal, here.value, (model, here.terms))
        if monitor.done:
            break
        aim = _SHARE * monitor.smallest
        ahead = here.round(prepared.approximation, parameter, aim=aim)
        if kinked and ahead.rise <= tol * problem.gap_scale.of(here.value):
            # the multipliers are found: what is left is due to scores off their kinks
            polishing.add(*_at_kinks(prepared.approximation, here, model, request))
            if polishing.done:
                break
        there, length = here.towards(ahead)
        if length == 0 and parameter <= _LEAST:  # rounding hides any rise
            break
        if length == 1:
            growth = next(by for most, by in _GROWTH if ahead.n_iter <= most)
            parameter = min(growth * parameter, _LARGEST)
        elif length < _SHORT:
            parameter = max(_SMALLER * parameter, _LEAST)
        here = there
    best, terms = monitor.best
    if polishing.best is not None and polishing.gap < gap_of(best):
        best, terms = polishing.best
        if monitor.n_iter < max_iter:
            monitor.add(best.certificate.primal, best.certificate.dual)
    end = TermStart(terms.dual, terms.response.output_kernel)
    return best.found_by(monitor.history.records, end)


def _at_kinks(
    approximation: Approximation, here: _Point, model: Solution, request: Request
) -> tuple[Solution, TermPoint]:
    """Return the model with the multipliers between their bounds solved for.

    The equations (`okl.solvers.kinks.polishing`) have the predictions at the last C
    and their derivative, in which the L_q follow C: Newton's method in these entries.
    Where that leads away, the L_q are held.
    """
    problem, terms, multipliers = here.problem, here.terms, here.multipliers
    best = model, terms
    for _ in range(_POLISHES):
        joint = Answering(problem, terms)
        offset = terms.predictions - joint @ terms.dual
        inside = Prepared(problem, terms.kernel, joint, approximation)
        multipliers = at_kinks(inside, multipliers, request.alpha, offset)
        terms = TermPoint.at(problem, multipliers / request.alpha)
        solved = of_dual_point(problem, multipliers, terms.kernel, request)
        falls = gap_of(solved) <= _FALLS * gap_of(best[0])
        if falls:
            best = solved, terms
        if not falls or solved.certificate.status == "optimal":
            break
    if best[0] is model:
        return sparse(model, problem, request), here.terms
    return best


class _Polishing:
    """The best of the models that polishing found.

    Gaps below ``rounding``, and those that are small and do not fall, are rounding.
    """

    def __init__(self, rounding: float) -> None:
        self._rounding, self._idle = rounding, 0
        self.gap = float("inf")
        self.best: tuple[Solution, TermPoint] | None = None

    def add(self, model: Solution, terms: TermPoint) -> None:
        """Take in one more model, with the L_q of its multipliers."""
        gap = gap_of(model)
        self._idle = self._idle + 1 if gap > _FALLS * self.gap else 0
        if gap < self.gap:
            self.gap, self.best = gap, (model, terms)

    @property
    def done(self) -> bool:
        """Whether the best model is optimal, or as near to that as rounding permits."""
        idle = self._idle >= _IDLE and self.gap <= _CLOSE
        found = self.best is not None and not self.best[0].certificate.failed
        return found or idle or self.gap <= self._rounding


class _Round(NamedTuple):
    """The optimum of the model of a round, and how many Newton steps led there."""

    multipliers: Array
    rise: float  # of the dual value, all the way there, if R* were linear
    n_iter: int


class _Point(NamedTuple):
    """Multipliers a, and what follows from them."""

    problem: Problem
    alpha: float
    multipliers: Array  # a (n_samples, n_outputs)
    terms: TermPoint  # of C = a / alpha
    of_loss: float  # -V*(-a)
    value: float  # the dual value

    @classmethod
    def at(
        cls, problem: Problem, multipliers: Array, alpha: float, terms: TermPoint
    ) -> _Point:
        """Evaluate the loss of multipliers."""
        of_loss = problem.dual_loss(multipliers)
        value = of_loss - alpha * terms.response.value
        return cls(problem, alpha, multipliers, terms, of_loss, value)

    def round(
        self, approximation: Approximation, parameter: float, *, aim: float
    ) -> _Round:
        """Maximise the model to a relative gap, or closer if it promises little."""
        problem, alpha, terms = self.problem, self.alpha, self.terms
        joint = Answering(problem, terms)
        offset = terms.predictions - joint @ terms.dual
        shift = unweighted(self.multipliers, problem.weights) / parameter
        envelope = Envelope(problem.loss, parameter, shift - offset)
        inside = replace(problem, loss=envelope)
        prepared = Prepared(inside, terms.kernel, joint, approximation)
        dual, tol = terms.dual, max(min(aim, _MOST), _CLOSEST)
        for _ in range(_TIMES):
            found = semismooth_newton(prepared, Request(alpha, tol, _STEPS, dual))
            there = self._round_at(inside, found)
            met = found.history.records[-1]["relative_gap"] <= tol
            if found.gap <= _PROMISED * there.rise or not met:
                break
            dual, tol = found.dual, max(_CLOSER * tol, _CLOSEST)
        return there

    def _round_at(self, smooth: Problem, found: Found) -> _Round:
        """Return the multipliers of a smooth problem at the scores of a model."""
        problem = self.problem
        scores = found.predictions + problem.entries.spread(found.intercept)
        there = balanced(problem, smooth.downhill(scores))
        rise = problem.dual_loss(there) - self.of_loss
        rise -= inner(self.terms.predictions, there - self.multipliers)
        return _Round(there, rise, len(found.history.records))

    def towards(self, ahead: _Round) -> tuple[_Point, float]:
        """Return the first point whose dual value has risen enough, and its share."""
        problem, alpha = self.problem, self.alpha
        way = ahead.multipliers - self.multipliers
        line = Line.of(problem, self.terms, way / alpha)
        step = 1.0
        for _ in range(_HALVINGS):
            of_loss = problem.dual_loss(self.multipliers + step * way)
            response = problem.structure.response(line.grams(step))
            value = of_loss - alpha * response.value
            if value >= self.value + _ARMIJO * step * ahead.rise and ahead.rise > 0:
                break
            step /= 2
        else:
            return self, 0.0
        multipliers, terms = self.multipliers + step * way, line.at(problem, step)
        return _Point.at(problem, multipliers, alpha, terms), step


def _first(problem: Problem, alpha: float, start: TermStart | None) -> _Point:
    """Return where to start: zero, or the best part of alpha C in its bounds."""
    xp = namespace(problem.targets)
    if start is None:
        zero = xp.zeros_like(problem.targets)
        return _Point.at(problem, zero, alpha, TermPoint.at(problem, zero))
    low, high = multiplier_bounds(problem)
    multipliers = balanced(problem, xp.clip(alpha * start.dual, low, high))
    terms = best_part(problem, alpha, multipliers / alpha)
    return _Point.at(problem, alpha * terms.dual, alpha, terms)
