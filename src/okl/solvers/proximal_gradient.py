r"""Any structure, smooth loss, weights or missing entries: by squared-loss problems.

The problem is ell(F) + Omega(F), ell the loss and Omega(F) what the cheapest f, L and b
with predictions F cost. Two steps take turns.

*All at once, roughly.* With a second derivative of at most h between G and F,

.. math:: \ell(F) \le \ell(G) + \frac{h}{2} \|F - Z\|^2 + \text{const}, \qquad
          Z = G - \nabla \ell(G) / h,

and minimising the right side plus Omega is the same problem with the squared loss,
targets Z and alpha / h: which has a fast, certified solver for every structure, an
intercept that is centring, and one eigendecomposition of K for all rounds. This is a
step of proximal gradient descent in the space of predictions.

*f alone, exactly.* For the L that it finds, the solver of a known L (imputation for the
squared loss with missing targets, else Newton's method) gives the best f and b in a few
steps. What is left to the rounds is L: a few numbers instead of all predictions, and
ten rounds where proximal gradients alone, accelerated, need hundreds.

No h is small enough for certain but the bound of the loss, which a saturated
probability is far below. The change of the gradient over that of the predictions in the
last round is a better guess (Barzilai and Borwein; it is the geometric mean of their
two); where the objective rises for it the round is repeated with a larger one. With the
squared loss and weights 0 and 1 a round imputes the missing entries by their
predictions.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from okl.losses import Squared
from okl.numerics.arrays import Array, inner, namespace
from okl.output_kernels import OutputKernel, SpectralKernel
from okl.problems import Inputs, Problem, formulate
from okl.solvers.base import Solver
from okl.solvers.imputation import Imputation
from okl.solvers.newton_cg import NewtonCG
from okl.solvers.semismooth_newton import SemismoothNewton
from okl.solvers.solution import History, Solution, certified
from okl.solvers.squared_loss import SQUARED_LOSS, first_that_fits

# The dual value errs to first order in f and L, their objectives to second: either is
# found to this part of the square of the last gap, within bounds; and closer by another
# factor while the objective does not fall.
_SHARE, _LEAST, _MOST, _CLOSER = 1e-2, 1e-14, 1e-4, 0.1
# The guessed h: at least this part of the bound, and raised by this if too small.
_FLATTEST, _STEEPER = 1e-6, 4.0
# Most steps of either in one round.
STEPS = 1000
# Rounds without progress, in the gap or by this fraction of the tolerance in the
# objective, after which rounding is in the way.
_PATIENCE, _PROGRESS = 20, 1e-2


# What finds the best f for a given L: the first that takes the loss and its weights.
_FOR_KNOWN: tuple[type[Imputation] | type[SemismoothNewton] | type[NewtonCG], ...] = (
    Imputation,
    SemismoothNewton,
    NewtonCG,
)


class ProximalGradient(Solver):
    """Minimise by squared-loss problems of the same structure, and exactly in f."""

    name: ClassVar[str | None] = "proximal_gradient"
    loss_requires: ClassVar[frozenset[str]] = frozenset({"smooth"})
    structure_requires: ClassVar[frozenset[str]] = frozenset({"step"})

    def prepare(self, problem: Problem) -> Prepared:
        """Prepare what finds f; L takes its place later."""
        targets = problem.targets
        ones = namespace(targets).ones((targets.shape[1],), dtype=targets.dtype)
        solver = next(
            candidate
            for candidate in (cls() for cls in _FOR_KNOWN)
            if not candidate.missing_in_loss(problem)
        )
        return Prepared(
            problem, solver, solver.prepare_for(problem, SpectralKernel(ones))
        )

    def solve(
        self,
        prepared: Prepared,
        alpha: float,
        *,
        tol: float,
        max_iter: int,
        start: Place | None = None,
    ) -> Solution:
        """Iterate from the model of a neighbouring alpha, or from the best constant."""
        problem = prepared.problem
        history = History(problem.reference)
        bound = _largest_curvature(problem)
        # then the gap never closes, and the objective says which model is the best
        bounded = problem.rank_is_bounded
        place = Place.first(problem) if start is None else start.under(problem)
        h, lowest, inner_start = bound, float("inf"), None
        best, smallest, stalled = None, float("inf"), 0
        share, closer = _MOST, 1.0
        while True:
            kernel, next_start, rank_limited = _round(
                problem,
                place.predictions + place.gradient / h,
                alpha / h,
                inner_start,
                tol=share,
            )
            fit = prepared.best_predictor(kernel, alpha, tol=share, start=place.start)
            primal = fit.certificate.primal
            # below zero it is rounding, and no better for it
            gap = abs(history.add(primal, fit.certificate.dual))
            falls = primal < lowest * (1 - _PROGRESS * tol)
            closer = 1.0 if falls else _CLOSER * closer
            share = min(_SHARE * (tol if bounded else gap**2), _MOST)
            share = max(closer * share, min(_LEAST, _SHARE * tol))
            measure = primal if bounded else gap
            if best is None or measure < smallest:
                best, smallest, stalled = (fit, rank_limited), measure, 0
            else:
                stalled = 0 if falls else stalled + 1
            done = gap <= tol or stalled >= _PATIENCE
            done = done or (bounded and not falls and h >= bound)
            if done or len(history.records) >= max_iter:
                break
            if primal > lowest and h < bound:
                h = min(_STEEPER * h, bound)
                continue
            moved = Place.of(problem, fit)
            h = moved.curvature_since(place, bound)
            place, lowest, inner_start = moved, min(lowest, primal), next_start
        fit, rank_limited = best
        return certified(
            problem,
            fit.dual_coef,
            fit.output_kernel,
            alpha,
            tol=tol,
            history=history,
            start=Place.of(problem, fit),
            intercept=fit.intercept,
            rank_limited=rank_limited,
        )


class Prepared(NamedTuple):
    """A problem, and what finds the best f of it for a given L."""

    problem: Problem
    solver: Solver
    for_known: Any

    @property
    def imputes(self) -> bool:
        """Whether f is the best for complete targets, some of them imputed."""
        return isinstance(self.solver, Imputation)

    def best_predictor(
        self,
        kernel: OutputKernel,
        alpha: float,
        *,
        tol: float,
        start: Any,
        max_iter: int = STEPS,
    ) -> Solution:
        """Return the best f and b for an output kernel."""
        return self.solver.solve(
            self.for_known.under(self.problem, kernel),
            alpha,
            tol=tol,
            max_iter=max_iter,
            start=start,
        )


class Place(NamedTuple):
    """Predictions, minus the gradient of the loss there, and where f may start."""

    predictions: Array
    gradient: Array
    start: Any

    @classmethod
    def first(cls, problem: Problem) -> Place:
        """Return the best constant, or zero."""
        loss, targets, weights = problem.loss, problem.targets, problem.weights
        predictions = namespace(targets).zeros_like(targets)
        if problem.centered:
            b = loss.best_intercept(targets, predictions, weights)
            predictions = predictions + b
        gradient = loss.negative_gradient(targets, predictions, weights)
        return cls(predictions, gradient, None)

    @classmethod
    def of(cls, problem: Problem, fit: Solution) -> Place:
        """Return the place of a model."""
        predictions = problem.operator @ fit.dual_coef
        if fit.intercept is not None:
            predictions = predictions + fit.intercept
        gradient = problem.loss.negative_gradient(
            problem.targets, predictions, problem.weights
        )
        return cls(predictions, gradient, fit.start)

    def under(self, problem: Problem) -> Place:
        """Return the place with the gradient of this problem, whose loss may differ."""
        gradient = problem.loss.negative_gradient(
            problem.targets, self.predictions, problem.weights
        )
        return self._replace(gradient=gradient)

    def curvature_since(self, last: Place, bound: float) -> float:
        """Return the change of the gradient over that of the predictions."""
        moved = self.predictions - last.predictions
        turned = self.gradient - last.gradient
        squares = inner(moved, moved)
        ratio = inner(turned, turned) / squares if squares > 0 else bound**2
        return min(max(ratio**0.5, _FLATTEST * bound), bound)


def _largest_curvature(problem: Problem) -> float:
    """Return a bound on the second derivative of the loss."""
    bound, weights = problem.loss.largest_curvature, problem.weights
    if weights is None:
        return bound
    xp = namespace(weights)
    tiny = float(xp.finfo(weights.dtype).smallest_normal)
    return bound * max(float(xp.max(weights)), tiny)


def _round(
    problem: Problem,
    targets: Array,
    alpha: float,
    start: Any,
    *,
    tol: float,
) -> tuple[OutputKernel, Any, bool]:
    """Solve the squared-loss problem of one round.

    Returns L, where to start the next, and whether a bound on the rank is active.
    """
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
        max_iter=STEPS,
        start=start if m <= n else None,
    )
    kernel = formulation.output_kernel(solution.output_kernel)
    return kernel, solution.start, solution.certificate.status == "rank_limited"
