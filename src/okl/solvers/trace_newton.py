r"""A trace penalty, few active entries: Newton's method in a factor of L.

With f and b eliminated the problem is one in L, see `okl.solvers.surrogate`,

.. math:: \varphi(L) + \alpha R(L), \qquad \nabla \varphi(L) = - \tfrac{\alpha}{2} S,
          \qquad S = C'KC,

whose second derivative along D is -alpha / 2 (E'KC + C'KE), E the solution of
`okl.solvers.active_system` for R = -KCD: one more solve with a factorised system. With
L = B B', of trace one for the trace ball, the gradient in B is alpha (s I - S) B, s
being one, or <S, L> for the ball, and the product of the second derivative with X

.. math:: \alpha \big( (s I - S)_+ X - (E'KC + C'KE - t I) B \big), \qquad
          t = \langle E'KC + C'KE, L \rangle \text{ for the ball, else } 0.

The positive part makes a model that is convex: where s I - S is negative L lacks a
direction, which `okl.solvers.wanting` adds, and at the optimum it nowhere is. Steps
that turn B and leave L as it is are projected out: along them the model is all but
flat, and what is not a small turn takes B far away.

Rounds of `okl.solvers.proximal_gradient` lead to where Newton's method starts. Alone
they take the longer, the more directions of L are all but zero: hundreds of rounds for
the sharp envelopes of a hinge under a heavy trace penalty, where this takes ten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, NamedTuple

from okl._array import Array, eigh, inner, namespace
from okl._conjugate_gradient import conjugate_gradient
from okl._output_kernel import OutputKernel
from okl.problems import Problem
from okl.solvers.active_system import ActiveSystem
from okl.solvers.base import Solver
from okl.solvers.proximal_gradient import Place, Prepared, ProximalGradient
from okl.solvers.solution import History, Solution, certified
from okl.solvers.wanting import Wanting, mean_on

# The gap at which Newton's method starts, without a start.
_ROUGH = 1e-2
# f is found to this part of the square of the last gap, within bounds.
_SHARE, _LEAST, _MOST = 1e-5, 1e-15, 1e-10
# Newton's equations are solved to the gap, or this, and halved steps tried so often.
_FORCING, _HALVINGS = 1e-2, 8
# A system too large to be factorised is solved to this relative residual.
_INNER = 1e-6
# Wanting directions are added where a step closes less than this part of the gap.
_SLOW = 0.3
# What is not seen in a value.
_UNSEEN = 1e-14
# Steps without a smaller gap, after which rounding is in the way.
_PATIENCE = 10


class TraceNewton(Solver):
    """Newton's method in the factor B of L = B B'."""

    name: ClassVar[str | None] = "trace_newton"
    loss_requires: ClassVar[frozenset[str]] = frozenset({"smooth", "active"})
    structure_requires: ClassVar[frozenset[str]] = frozenset({"step"})

    def missing(self, problem: Problem) -> list[str]:
        """Return the required capabilities that a problem lacks."""
        capabilities = problem.structure.capabilities
        traced = capabilities & {"half_trace", "trace_ball"}
        return (
            super().missing(problem)
            + ["'half_trace' or 'trace_ball' of the structure"] * (not traced)
            + ["a rank without bound"] * problem.rank_is_bounded
        )

    def prepare(self, problem: Problem) -> Prepared:
        """Prepare what finds f."""
        return ProximalGradient().prepare(problem)

    def solve(
        self,
        prepared: Prepared,
        alpha: float,
        *,
        tol: float,
        max_iter: int,
        start: _Start | None = None,
    ) -> Solution:
        """Iterate from L of a neighbouring alpha, or of a few rounds."""
        problem = prepared.problem
        history = History(problem.reference)
        if start is None:
            rough = ProximalGradient().solve(
                prepared, alpha, tol=max(tol, _ROUGH), max_iter=max_iter
            )
            history.records.extend(rough.history)
            start = _Start(rough.output_kernel, rough.start.start)
        steps = _Steps(prepared, alpha, start)
        model: _Model | None = steps.model(start.kernel)
        best, smallest, stalled = model, float("inf"), 0
        while model is not None:
            gap = abs(history.add(model.primal, model.dual))
            stalled = 0 if gap < smallest else stalled + 1
            if gap < smallest:
                best, smallest = model, gap
            done = gap <= tol or stalled >= _PATIENCE
            if done or len(history.records) >= max_iter:
                break
            model = steps.lower(model, gap)
        assert best is not None
        return certified(
            problem,
            best.fit.dual_coef,
            best.fit.output_kernel,
            alpha,
            tol=tol,
            history=history,
            start=_Start(best.kernel, best.fit.start),
            intercept=best.fit.intercept,
        )


class _Start(NamedTuple):
    """L, and where its f may start."""

    kernel: OutputKernel
    inside: Array


class _Model(NamedTuple):
    """An output kernel, and the best f and b for it."""

    kernel: OutputKernel
    fit: Solution

    @property
    def primal(self) -> float:
        return self.fit.certificate.primal

    @property
    def dual(self) -> float:
        return self.fit.certificate.dual

    def is_better_than(self, other: _Model) -> bool:
        """Tell whether it is lower, or seems as low and has a smaller gap."""
        unseen = _UNSEEN * abs(other.primal)
        if abs(self.primal - other.primal) <= unseen:
            return self.dual > other.dual + unseen
        return self.primal < other.primal

    def is_slow_after(self, other: _Model) -> bool:
        """Tell whether it is hardly better than another model, and its gap as large."""
        gap = other.primal - other.dual
        falls = other.primal - self.primal >= _SLOW * gap
        return not falls and self.primal - self.dual > _SLOW * gap


class _Steps:
    """The steps at one alpha."""

    def __init__(self, prepared: Prepared, alpha: float, start: _Start) -> None:
        self.prepared, self.alpha = prepared, alpha
        self.ball = "trace_ball" in prepared.problem.structure.capabilities
        self.wanting = Wanting()
        self._share, self._inside = _MOST, start.inside

    def model(self, kernel: OutputKernel) -> _Model:
        """Return the model with the best f for an output kernel, of trace one if so."""
        if self.ball:
            total = namespace(kernel.eigenvalues).sum(kernel.eigenvalues)
            kernel = OutputKernel(kernel.eigenvalues / total, kernel.basis)
        fit = self.prepared.best_predictor(
            kernel, self.alpha, tol=self._share, start=self._inside
        )
        return _Model(kernel, fit)

    def lower(self, model: _Model, gap: float) -> _Model | None:
        """Return the model after a step, None where none is lower."""
        self._share = max(min(_SHARE * gap**2, _MOST), _LEAST)
        self._inside = model.fit.start
        best = self._first_lower(model, self._newton(model, gap))
        if best.is_slow_after(model):
            _, _, moment = self._dual(best)
            trials = self.wanting.added_to(best.kernel, moment)
            best = self._first_lower(best, trials)
        return None if best is model else best

    def _first_lower(self, best: _Model, kernels: Iterable[OutputKernel]) -> _Model:
        """Return the model of the first kernel that is better, or the best so far."""
        for kernel in kernels:
            trial = self.model(kernel)
            if trial.is_better_than(best):
                return trial
        return best

    def _dual(self, model: _Model) -> tuple[Place, Array, Array]:
        """Return the place of a model, K C and S = C'KC."""
        problem = self.prepared.problem
        place = Place.of(problem, model.fit)
        dual = place.gradient / self.alpha
        image = problem.operator @ dual
        moment = dual.T @ image
        return place, image, (moment + moment.T) / 2

    def _newton(self, model: _Model, gap: float) -> Iterator[OutputKernel]:
        """Yield output kernels along a Newton step in B, nearer and nearer."""
        problem, kernel, alpha = self.prepared.problem, model.kernel, self.alpha
        place, image, moment = self._dual(model)
        curvature = problem.loss.curvature(
            problem.targets, place.predictions, problem.weights
        )
        # the columns of K that precondition are chosen once, for any L
        known = self.prepared.for_known.under(problem, kernel)
        system = ActiveSystem(known, curvature, alpha)
        factor, L = kernel.factor(), kernel.matrix()
        xp = namespace(factor)
        level = mean_on(kernel, moment) if self.ball else 1.0
        values, vectors = eigh(moment)
        below = (vectors * xp.clip(level - values, 0.0, None)) @ vectors.T
        none = xp.zeros((problem.n_outputs,), dtype=factor.dtype)

        def hessian(change: Array) -> Array:
            half = change @ factor.T
            along = half + half.T
            if self.ball:
                along = along - 2 * inner(factor, change) * L
            moved = system.solve(-(image @ along), none, rtol=_INNER)
            turned = moved.T @ image
            turned = (turned + turned.T) @ factor
            if self.ball:
                turned = turned - inner(turned, factor) * factor
            return alpha * (below @ change - turned)

        def across(change: Array) -> Array:
            # what turns B alone, L the same: its columns are orthogonal
            turn = factor.T @ change
            weights = kernel.eigenvalues[:, None] + kernel.eigenvalues
            return change - factor @ ((turn - turn.T) / weights)

        gradient = alpha * (level * factor - moment @ factor)
        step = conjugate_gradient(hessian, -gradient, across, rtol=min(_FORCING, gap))
        for halvings in range(_HALVINGS):
            yield OutputKernel.from_factor(factor + 0.5**halvings * step)
