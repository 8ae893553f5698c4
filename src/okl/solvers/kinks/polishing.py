r"""Polishing: the multipliers between their bounds, from the equations of the optimum.

Let the loss be made of straight lines and the output kernel L be given. Each entry of
the multipliers a is at a bound, or *free*: strictly between two. At the optimum the
scores of the free entries are at their kinks z. With the other entries given, that
determines the free ones by linear equations:

.. math:: (K C L)_{free} + 1 b' = z_{free}, \qquad 1'C = 0, \qquad \alpha C = a,

with b, and the second equation, where there is an intercept.

Iterations that only approach the optimum leave each of these scores a little off its
kink, and on one side of a kink the loss grows in proportion to the distance: an
objective that is right to eight digits needs scores that are. The equations are
therefore solved, and solved again for their residual, until that is rounding alone
(iterative refinement). An entry that a solution takes beyond a bound is set to the
bound, and is no longer free. If free entries come and go in turns, as they may far from
the optimum, polishing ends. Solvers of quadratic programs polish in the same way:
Stellato, Banjac, Goulart, Bemporad & Boyd (2020), OSQP, section 4.

Where L is learned and is the best one for C, as in `okl.solvers.kinks.term_ascent`, the
equations hold the first derivative of its answer as well, and are met in a few rounds.
"""

from __future__ import annotations

from okl.losses import Envelope
from okl.losses.separable import DiagonalCurvature, unweighted
from okl.numerics.arrays import Array, count, epsilon, namespace
from okl.output_kernels import OutputKernel
from okl.problems import Problem
from okl.solvers.predictor.active_system import ActiveSystem
from okl.solvers.predictor.approximation import Prepared
from okl.solvers.predictor.newton_cg import NewtonCG

# Most solutions; the part of the smallest residual that a solution leaves at most while
# it is not yet rounding; and what conjugate gradients leave of a right side, in systems
# too large to be factorised.
_MOST, _FALLS, _RTOL = 20, 0.5, 1e-6
# What stands for the infinite curvature of a kink. The refinement takes out what it
# changes in the equations.
_KINK = 1e6
_ROUNDINGS = 8


def polished(
    problem: Problem, kernel: OutputKernel, multipliers: Array, alpha: float
) -> Array:
    """Return a (n_samples, n_outputs) with its free entries solved for, L given."""
    prepared = NewtonCG().prepare_for(problem, kernel)
    return at_kinks(prepared, multipliers, alpha)


def n_free(problem: Problem, multipliers: Array) -> int:
    """Return how many entries of a are free."""
    shifts = unweighted(multipliers, problem.weights)
    kinks = problem.loss.scores_of(problem.targets, multipliers, problem.weights)
    envelope = Envelope(problem.loss, 1.0, shifts)
    curvature = envelope.curvature(problem.targets, kinks, problem.weights)
    return count(curvature.diagonal > 0)


def at_kinks(
    prepared: Prepared, multipliers: Array, alpha: float, offset: Array | float = 0.0
) -> Array:
    """Return a with its free entries solved for, at scores ``offset`` + J a / alpha.

    J is the operator that was prepared.
    """
    problem = prepared.problem
    loss, targets, weights = problem.loss, problem.targets, problem.weights
    xp = namespace(multipliers)
    kinks = loss.scores_of(targets, multipliers, weights)
    # the formulas of the envelope do not tell an entry at a bound from one this near
    largest = float(xp.max(xp.abs(kinks)))
    largest += float(xp.max(xp.abs(unweighted(multipliers, weights))))
    rounding = _ROUNDINGS * epsilon(kinks) * largest
    best, smallest = multipliers, float("inf")
    met: list[Array] = []  # the curvatures so far, which say what was free
    for _ in range(_MOST):
        # the envelope moved by a: its negative gradient at the kinks is the point of
        # the domain next to a, and it has curvature where that is strictly inside
        shifts = unweighted(multipliers, weights)
        envelope = Envelope(loss, 1.0, shifts)
        multipliers = envelope.negative_gradient(targets, kinks, weights)
        least, most = (
            Envelope(loss, 1.0, near).curvature(targets, kinks, weights).diagonal
            for near in (shifts - rounding, shifts + rounding)
        )
        curvature = xp.minimum(least, most)
        free = xp.astype(curvature > 0, multipliers.dtype)
        scores = offset + (prepared.joint @ multipliers) / alpha
        off = free * (kinks - scores)
        if problem.centered:
            counts = xp.clip(problem.entries.sums(free), 1.0, None)
            off = off - free * problem.entries.spread(
                problem.entries.sums(off) / counts
            )
        residual = float(xp.max(xp.abs(off)))
        again = [bool(xp.all(curvature == one)) for one in met]
        if any(again) and residual > _FALLS * smallest:
            break
        best, smallest = multipliers, residual
        if not (again and again[-1]):
            steep = DiagonalCurvature.of(_KINK * curvature)
            system = ActiveSystem(prepared, steep, alpha)
        met.append(curvature)
        sums = -problem.entries.sums(multipliers) / alpha
        multipliers = multipliers + alpha * system.solve(off, sums, rtol=_RTOL)
    return best
