r"""Newton's steps in a factor of L.

With f and b eliminated the problem is one in L, see `okl.solvers.smooth.linearisation`,

.. math:: \varphi(L) + \alpha R(L), \qquad \nabla \varphi(L) = - \tfrac{\alpha}{2} S,
          \qquad S = C'KC,

whose second derivative along D is -alpha / 2 (E'KC + C'KE), E the solution of
`okl.solvers.predictor.active_system` for -KCD on the right: one more solve with a
factorised system. With L = B B' and G twice the gradient of R, the gradient in B is
alpha (G - S) B, and the product of the second derivative with X

.. math:: \alpha \big( (G - S)_+ X - (E'KC + C'KE - 2 R''[D]) B \big), \qquad
          D = X B' + B X';

see `okl.solvers.smooth.factor_penalties` for the penalties, and what changes where the
trace of L is held. The positive part makes the model convex. Where G - S is negative L
lacks a direction, which is added; at the optimum G - S is negative nowhere. Steps that
rotate B and leave L as it is are projected out: along them the model is nearly flat,
and a long straight step is no rotation.

*Missing targets* of the squared loss are unknowns in addition to B. The objective is
jointly convex in them and L, and f is the best for complete targets, a closed form.
Where the missing targets change by Z the equations for E are

.. math:: K E L + \alpha E = Z - K C D,

divisions in the eigenbases of K and L. The product with the second derivative also has
alpha E where targets are missing, and the gradient alpha C, which is zero there at the
optimum. One run of conjugate gradients finds both unknowns; to solve for the missing
targets inside each product would take a run for each.

*A bound on the rank* is kept by the factor. Where it is active the negative part of
G - S is what the bound forbids: the model keeps it, and conjugate gradients stop
where it is not convex.
"""

from __future__ import annotations

from collections.abc import Callable

from okl.numerics.arrays import (
    Array,
    eigh,
    inner,
    namespace,
    shifted_solver,
    symmetric,
)
from okl.optimization.conjugate_gradient import conjugate_gradient
from okl.output_kernels import SpectralKernel
from okl.solvers.request import Request
from okl.solvers.smooth.backtracking import first_lower
from okl.solvers.smooth.factor_iterate import FactorIterate, closeness
from okl.solvers.smooth.factor_penalties import factor_penalty
from okl.solvers.smooth.rounds import STEPS, PreparedRounds, Start
from okl.solvers.smooth.scores import Scores

# Newton's equations are solved to the root of the gap, at most to the first number, or
# to the second where targets are imputed, as a step costs little there beside its
# products. There are at most PRODUCTS of these.
FORCING, _IMPUTED_FORCING, PRODUCTS = 1e-2, 0.1, 400
# The most shares of a step that are tried, and where the model need not be convex.
_TRIALS, _MORE_TRIALS = 8, 20
# A step in B goes at most so many times as far as the last one that was shortened.
_FURTHER = 4.0
# The most steps that impute targets after a Newton step, which does so roughly.
_POLISH = 5


class FactorSteps:
    """The steps at one alpha."""

    def __init__(self, prepared: PreparedRounds, alpha: float, start: Start) -> None:
        penalty = factor_penalty(prepared.problem)
        assert penalty is not None  # it is one of these
        self.prepared, self.penalty, self.alpha = prepared, penalty, alpha
        # the decrease that the last Newton step promised
        self.promise = float("inf")
        self._share, self._inside = closeness(1.0), start.inside
        # how far a step in B may go at first
        self._reach = float("inf")
        # the trace by which L = 0 may grow
        diagonal = prepared.problem.operator.diagonal()
        total = float(namespace(diagonal).sum(diagonal))
        self._least = alpha / total if total > 0 else 0.0

    def is_limited(self, model: FactorIterate) -> bool:
        """Tell whether L has as many positive eigenvalues as a bound allows."""
        return model.fit.is_limited(self.prepared.problem)

    def model(self, kernel: SpectralKernel) -> FactorIterate:
        """Return the model with the best f for an output kernel."""
        kernel = self.penalty.brought_in(kernel)
        problem, imputes = self.prepared.problem, self.prepared.imputes
        kernel = kernel.largest(problem.structure.max_rank(problem.n_outputs))
        most = _POLISH if imputes else STEPS
        request = Request(self.alpha, self._share, most, self._inside)
        fit = self.prepared.best_predictor(kernel, request)
        scores = Scores.of(problem, fit)
        model = FactorIterate.of(fit, scores)
        if not imputes:
            return model
        left = problem.balanced(fit.start - scores.predictions)
        added = inner(left, left) / 2 - problem.loss_at(scores.predictions)
        return model._replace(objective=model.objective + added, dual_rows=left)

    def lower(self, model: FactorIterate, gap: float) -> FactorIterate | None:
        """Return the model after a step, None where none is lower."""
        self._share = closeness(gap)
        self._inside = model.fit.start
        best = self._stepped(model, gap)
        if best.is_slow_after(model) and not self.is_limited(best):
            self._inside = best.fit.start
            best = self._grown(best)
        return None if best is model else best

    def _stepped(self, model: FactorIterate, gap: float) -> FactorIterate:
        """Return the first lower model along Newton's step in B, or the model."""
        if model.kernel.rank == 0:
            return model
        change, imputed, slope = self._newton(model, gap)
        factor, imputes = model.kernel.factor(), self.prepared.imputes

        def at(share: float) -> FactorIterate:
            if imputes:
                self._inside = model.fit.start + share * imputed
            return self.model(SpectralKernel.from_factor(factor + share * change))

        trials = _MORE_TRIALS if self.is_limited(model) else _TRIALS
        length = inner(change, change) ** 0.5
        first = 1.0 if length <= self._reach else self._reach / length
        best, share = first_lower(model, at, slope, trials=trials, first=first)
        reach = _FURTHER * share * length
        self._reach = reach if 0 < share < first else max(reach, self._reach)
        return best

    def _grown(self, model: FactorIterate) -> FactorIterate:
        """Return the first lower model with more of what L lacks, or the model."""
        image, moment = self._dual(model)
        kernel = model.kernel
        direction = self.penalty.lacking(kernel, moment, self._least)
        if direction is None:
            return model
        matrix, slopes = kernel.matrix(), self.penalty.slopes(kernel, moment)
        slope = self.alpha / 2 * inner(moment - slopes, direction)
        bend = self._bend(model, image, direction)

        def at(share: float) -> FactorIterate:
            return self.model(SpectralKernel.from_matrix(matrix + share * direction))

        # the whole of it may be far too much, where each trial takes many steps of f
        first = min(slope / bend, 1.0) if bend > 0 else 1.0
        return first_lower(model, at, slope, first=first, trials=_MORE_TRIALS)[0]

    def _bend(self, model: FactorIterate, image: Array, direction: Array) -> float:
        """Return the second derivative along a change of L; ``image`` is K C."""
        along = self.penalty.tangent(direction, model.kernel.matrix())
        solve, _ = self._equations(model)
        turned = solve(-image @ along).T @ image
        turned = turned + turned.T - self.penalty.bend(along)
        return -self.alpha / 2 * inner(turned, along)

    def _dual(self, model: FactorIterate) -> tuple[Array, Array]:
        """Return K C and S = C'KC."""
        dual = model.dual_rows / self.alpha
        image = self.prepared.problem.operator @ dual
        return image, symmetric(dual.T @ image)

    def _newton(self, model: FactorIterate, gap: float) -> tuple[Array, Array, float]:
        """Return Newton's step in B, that of imputed targets, and their slope."""
        kernel, alpha, penalty = model.kernel, self.alpha, self.penalty
        image, moment = self._dual(model)
        factor, L = kernel.factor(), kernel.matrix()
        rank, xp = kernel.rank, namespace(factor)
        slopes = penalty.slopes(kernel, moment) - moment
        slack, vectors = eigh(slopes)
        if not self.is_limited(model):
            slack = xp.clip(slack, 0.0, None)
        below = (vectors * slack) @ vectors.T
        solve, missing = self._equations(model)

        def hessian(pair: Array) -> Array:
            change = pair[:rank, :].T
            half = change @ factor.T
            along = penalty.tangent(half + half.T, L)
            moved = solve(pair[rank:, :] - image @ along)
            turned = moved.T @ image
            turned = turned + turned.T - penalty.bend(along)
            turned = penalty.cotangent(turned, L) @ factor
            return alpha * xp.concat([(below @ change - turned).T, missing * moved])

        def across(change: Array) -> Array:
            return without_turns(change, factor)

        # the step in B of the alternation
        predicted = image @ factor
        alternate = shifted_solver(predicted.T @ predicted, alpha)

        def precondition(pair: Array) -> Array:
            change = across(alternate(across(pair[:rank, :].T).T).T)
            return xp.concat([change.T, pair[rank:, :]])

        gradient = alpha * slopes @ factor
        right = -xp.concat([gradient.T, missing * model.dual_rows])
        forcing = _IMPUTED_FORCING if self.prepared.imputes else FORCING
        step = conjugate_gradient(
            hessian, right, precondition, rtol=min(forcing, gap**0.5), max_iter=PRODUCTS
        )
        slope = inner(right, step)
        self.promise = slope / 2
        return step[:rank, :].T, step[rank:, :], slope

    def _equations(
        self, model: FactorIterate
    ) -> tuple[Callable[[Array], Array], Array]:
        """Return what solves for E, and one where a target is an unknown, else zero."""
        prepared, targets = self.prepared, self.prepared.problem.targets
        if not prepared.imputes:
            solve = prepared.answers(model.kernel, model.scores, self.alpha)
            return solve, namespace(targets).zeros_like(targets)
        known = prepared.for_known.under(prepared.problem, model.kernel)
        residuals = known.residuals(self.alpha)
        return lambda right: residuals(right) / self.alpha, 1 - known.observed


def without_turns(change: Array, factor: Array) -> Array:
    """Return a change of B without its part that only rotates B, L the same.

    The columns of B are orthogonal.
    """
    xp = namespace(factor)
    turn, squares = factor.T @ change, xp.sum(factor * factor, axis=0)
    return change - factor @ ((turn - turn.T) / (squares[:, None] + squares))
