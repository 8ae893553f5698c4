r"""Fits to rows of which only a set of classes is known that holds the true one.

The probability of such an observation is the sum of those of the set. The penalised
negative log likelihood

.. math:: \sum_i w_i \bigl(- \log \sum_{c \in I_i} p_c(x_i)\bigr)
          + \alpha (\tfrac12 \|f\|^2 + R)

is not convex. Expectation-maximisation replaces it by problems that are (Seeger 2006,
section 7.3): the targets are completed with what the model expects of the classes of
each set, ``q_ic = p_c / sum_{I_i} p`` (E step), and the model is fitted to these
targets, with a certificate (M step). By Jensen's inequality no exact round raises the
observed objective; rounds that do, by rounding or the tolerance of an M step, are not
taken. Rounds alone approach their end by a few percent at a time. The scores of an E
step are therefore those of the model and a multiple of their last change, a larger one
from round to round until the objective rises, which takes a plain round in its place
(Salakhutdinov & Roweis 2003, *Adaptive overrelaxed bound optimization methods*). The
last model is optimal, to the tolerance, for the targets that it expects itself: no
further round gains more than its gap, although a fit from another start may end
elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from okl.certificates import Certificate
from okl.numerics.arrays import Array, namespace
from okl.numerics.threads import threads_for
from okl.problems import Problem
from okl.solvers.base import Solver
from okl.solvers.choice import choose_solver
from okl.solvers.request import Request
from okl.solvers.solution import Solution

# After a round that raises the objective the tolerance of M steps is multiplied by the
# first number, down to the second part of the tolerance that was asked for.
_CLOSER, _CLOSEST = 0.1, 1e-5
# The multiple of the last change grows by this factor, and by this number.
_FURTHER, _FIRST = 1.3, 1.0


@dataclass(frozen=True)
class Completion:
    """The rounds of expectation-maximisation that were taken.

    Attributes
    ----------
    objectives : list of float
        The observed penalised negative log likelihood after each; never increasing.
    certificates : list of Certificate
        Of the M step of each.
    """

    objectives: list[float]
    certificates: list[Certificate]


@dataclass(frozen=True)
class _Model:
    """A solution, its observed objective, and the problem of the targets it expects."""

    solution: Solution
    scores: Array
    objective: float
    own: Problem
    certificate: Certificate


def solve_completed(
    problem: Problem,
    candidates: Array,
    alpha: float,
    *,
    solver: str | Solver = "auto",
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> tuple[Problem, Solution, Completion]:
    """Return a model of sets of classes, and the problem that it is optimal for.

    Parameters
    ----------
    problem : Problem
        With a loss that takes sets of classes; its targets are not used.
    candidates : array of bool (n_samples, n_outputs)
        Which classes each row may have, at least one.
    alpha, solver, tol, max_iter
        As in `okl.solvers.solve`; there are at most ``max_iter`` rounds.

    Returns
    -------
    problem : Problem
        The convex one whose targets are what the model expects.
    solution : Solution
        With the certificate of that problem.
    completion : Completion
    """
    xp = namespace(problem.targets)
    even = xp.astype(candidates, problem.targets.dtype)
    even /= xp.sum(even, axis=1, keepdims=True)
    chosen = choose_solver(solver, problem)
    problem, model = replace(problem, targets=even), None
    asked = Request(float(alpha), tol, max_iter)
    start: Any = None
    completion, closeness, n_rounds, ahead = Completion([], []), 1.0, 0, 0.0
    while n_rounds < max_iter and closeness >= _CLOSEST:
        n_rounds += 1
        with threads_for(chosen.largest_product(problem)):
            closer = asked._replace(tol=tol * closeness, start=start)
            solution = chosen.solve(chosen.prepare(problem), closer)
        # an M step is judged by the tolerance that was asked for
        solution = solution.ended(problem, asked)
        found = _expected(problem, solution, candidates, alpha, tol)
        if model is not None and found.objective > model.objective:
            if ahead > 0:
                problem, ahead = model.own, 0.0
            else:
                closeness *= _CLOSER
            continue
        before, model = model, found
        completion.objectives.append(model.objective)
        completion.certificates.append(solution.certificate)
        if not model.certificate.failed or solution.certificate.failed:
            break
        problem, start = model.own, solution.start
        if before is not None:
            ahead = _FURTHER * ahead + _FIRST
            scores = model.scores + ahead * (model.scores - before.scores)
            targets, _ = problem.loss.expected(candidates, scores, problem.weights)
            problem = replace(problem, targets=targets)
    assert model is not None
    certificate = model.certificate.of_fit(n_rounds, max_iter, tol)
    if model.solution.certificate.failed:  # the reason why is that of the M step
        certificate = model.solution.certificate
    return model.own, replace(model.solution, certificate=certificate), completion


def _expected(
    problem: Problem, solution: Solution, candidates: Array, alpha: float, tol: float
) -> _Model:
    """Take the E step at a solution."""
    scores = predictions = problem.entries.predictions(solution.dual_coef)
    if solution.intercept is not None:
        scores = predictions + problem.entries.spread(solution.intercept)
    targets, value = problem.loss.expected(candidates, scores, problem.weights)
    penalty = solution.certificate.primal - problem.loss_at(scores)
    own = replace(problem, targets=targets)
    certificate = own.certificate(
        solution.dual_coef,
        solution.output_kernel,
        alpha,
        tol=tol,
        intercept=solution.intercept,
        predictions=predictions,
    )
    return _Model(solution, scores, value + penalty, own, certificate)
