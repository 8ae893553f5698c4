r"""Any structure, smooth loss, weights or missing entries: by squared-loss problems.

The problem is ell(F) + Omega(F), ell the loss and Omega(F) what the cheapest f, L and b
with predictions F cost. The second derivative of ell is at most some h, so

.. math:: \ell(F) \le \ell(G) + \frac{h}{2} \|F - Z\|^2 + \text{const}, \qquad
          Z = G - \nabla \ell(G) / h,

and minimising the right side plus Omega is the same problem with the squared loss,
targets Z and alpha / h: which has a fast, certified solver for every structure, an
intercept that is centring, and one eigendecomposition of K for all rounds. This is
proximal gradient descent in the space of predictions; Nesterov's momentum, restarted
whenever the objective rises, accelerates it (FISTA). With the squared loss and weights
0 and 1 a round imputes the missing entries by their predictions.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from okl._array import Array, namespace
from okl._output_kernel import OutputKernel
from okl.losses import Squared
from okl.problems import Inputs, Problem, formulate
from okl.solvers.base import Solver
from okl.solvers.solution import History, Solution
from okl.solvers.squared_loss import SQUARED_LOSS, first_that_fits

# The problem of a round is solved to this part of the last gap, squared, within bounds:
# where R* is infinite outside a set, an error of first order in C'KC comes from a gap
# of second order.
_SHARE, _LEAST, _MOST = 1e-2, 1e-13, 1e-4
# A model of bounded rank is done where the objective changes by this part of tol.
_SETTLED = 1e-3
# Rounds without a smaller gap after which rounding is in the way.
_PATIENCE = 100


class ProximalGradient(Solver):
    """Minimise by squared-loss problems of the same structure, accelerated."""

    name: ClassVar[str | None] = "proximal_gradient"
    loss_requires: ClassVar[frozenset[str]] = frozenset({"smooth"})
    structure_requires: ClassVar[frozenset[str]] = frozenset({"step"})

    def prepare(self, problem: Problem) -> Problem:
        """Leave the problem as it is; its operator keeps its decomposition."""
        return problem

    def solve(
        self,
        prepared: Problem,
        alpha: float,
        *,
        tol: float,
        max_iter: int,
        start: _Model | None = None,
    ) -> Solution:
        """Iterate from the model of a neighbouring alpha, or from the best constant."""
        problem = prepared
        loss, targets, weights = problem.loss, problem.targets, problem.weights
        xp = namespace(targets)
        history = History(problem.reference)
        bound = loss.largest_curvature
        if weights is not None:
            tiny = xp.finfo(targets.dtype).smallest_normal
            bound *= max(float(xp.max(weights)), tiny)
        current = xp.zeros_like(targets) if start is None else start.predictions
        if start is None and problem.centered:
            current = current + loss.best_intercept(targets, current, weights)
        point, momentum, last = current, 1.0, float("inf")
        best, smallest, stalled = start, float("inf"), 0
        inner_start: Any = None
        share = _MOST
        while True:
            moved = point + loss.negative_gradient(targets, point, weights) / bound
            model, inner_start = _round(
                problem, moved, alpha / bound, inner_start, tol=share, max_iter=max_iter
            )
            certificate = problem.certificate(
                model.dual_coef,
                model.output_kernel,
                alpha,
                tol=tol,
                intercept=model.intercept,
            )
            gap = history.add(certificate.primal, certificate.dual)
            # the gap of a bounded rank never closes
            wanted = _SHARE * (tol if model.rank_limited else _SHARE * gap**2)
            share = min(max(wanted, _LEAST), _MOST)
            measure = certificate.primal if model.rank_limited else gap
            if measure < smallest:
                best, smallest, stalled = model, measure, 0
            else:
                stalled += 1
            change = abs(last - certificate.primal)
            settled = change <= _SETTLED * tol * abs(certificate.primal)
            done = gap <= tol or stalled >= _PATIENCE
            done = done or (model.rank_limited and settled)
            if done or len(history.records) >= max_iter:
                break
            if certificate.primal > last:
                point, momentum = current, 1.0  # restart, from where it was lower
                last = float("inf")
                continue
            following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
            weight = (momentum - 1) / following
            point = model.predictions + weight * (model.predictions - current)
            current, momentum, last = model.predictions, following, certificate.primal
        assert best is not None
        return Solution(
            best.dual_coef,
            best.output_kernel,
            problem.certificate(
                best.dual_coef,
                best.output_kernel,
                alpha,
                tol=tol,
                rank_limited=best.rank_limited,
                intercept=best.intercept,
            ),
            len(history.records),
            history.records,
            best,
            best.intercept if problem.centered else None,
        )


class _Model(NamedTuple):
    """Theta, L, b, their predictions, and whether a bound on the rank is active."""

    dual_coef: Array
    output_kernel: OutputKernel
    intercept: Any
    predictions: Array
    rank_limited: bool


def _round(
    problem: Problem,
    targets: Array,
    alpha: float,
    start: Any,
    *,
    tol: float,
    max_iter: int,
) -> tuple[_Model, Any]:
    """Solve the squared-loss problem of one round."""
    xp = namespace(targets)
    n, m = targets.shape
    means = xp.zeros((n,), dtype=targets.dtype) if problem.centered else None
    formulation = formulate(
        Inputs(problem.operator, means),
        targets,
        Squared(),
        problem.structure,
        reduce=m > n,  # a basis that turns from round to round would void the start
    )
    solver = first_that_fits(SQUARED_LOSS, formulation.problem, n_alphas=2)
    assert solver is not None
    solution = solver.solve(
        solver.prepare(formulation.problem),
        alpha,
        tol=tol,
        max_iter=max_iter,
        start=start if m <= n else None,
    )
    dual_coef = formulation.coefficients(solution.dual_coef)
    intercept = formulation.intercept(dual_coef)
    if intercept is None:
        intercept = 0.0
    model = _Model(
        dual_coef,
        formulation.output_kernel(solution.output_kernel),
        intercept,
        problem.operator @ dual_coef + intercept,
        solution.certificate.status == "rank_limited",
    )
    return model, solution.start
