r"""Any structure, smooth loss: rounds of squared-loss models of the cost of the best f.

Two steps take turns. *L*: the cost of the best f for an L is replaced by a squared-loss
problem that equals it to first order at the last L
(`okl.solvers.smooth.linearisation`), for which there is a fast, certified solver with
every structure. *f alone*: the solver of a known L (imputation for the squared loss
with missing targets, else Newton's method) gives the best f and b in a few steps. The
rounds iterate over L alone, a few numbers instead of all predictions: ten are enough
where accelerated proximal gradients need hundreds.

*The curvature h* of a model is guessed from the last round: the bound of the loss,
which alone is large enough for certain, is far too large where probabilities are
saturated. Where the objective rises the round is repeated with a larger h, and the next
guesses may not fall below that at once. With some columns of K it is best to trust the
guess, as with the step lengths of Barzilai and Borwein: a round stands there unless the
objective is above those of several rounds before (Grippo, Lampariello and Lucidi 1986).

Where K can be decomposed a model has all its columns; else, and in long form, it has a
few of them, and K is used in products alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from okl.numerics.arrays import Array, namespace
from okl.output_kernels import OutputKernel, SpectralKernel
from okl.problems import Problem, unit_kernel
from okl.solvers.base import Solver
from okl.solvers.monitor import Monitor
from okl.solvers.neighbours import Neighbours
from okl.solvers.predictor.active_system import ActiveSystem
from okl.solvers.predictor.hessian import HessianSystem
from okl.solvers.predictor.imputation import Imputation
from okl.solvers.predictor.newton_cg import NewtonCG
from okl.solvers.predictor.newton_start import NewtonStart
from okl.solvers.predictor.semismooth_newton import SemismoothNewton
from okl.solvers.request import Request
from okl.solvers.smooth.linearisation import (
    AllColumns,
    Linearisation,
    Minimiser,
    SomeColumns,
)
from okl.solvers.smooth.scores import Scores, largest_curvature
from okl.solvers.solution import Solution

# Errors of f and L change the dual value to first order, their objectives to second:
# models are solved to the relative gap _SHARE * (last gap)^2, and f to _SHARE * (last
# gap)^order, the order that of the models; times _CLOSER for each round in a row that
# lowered neither gap nor objective, and at least _LEAST.
_SHARE, _LEAST, _CLOSER = 1e-2, 1e-16, 0.1
# h is at least this part of the bound.
_FLATTEST = 1e-6
# Most steps of f in one round.
STEPS = 1000
# After a round whose objective rose h is at least what it was raised to. That bound is
# divided by this with each round that stands.
_FORGET = 2.0
# A system too large to be factorised is solved to this relative residual.
_INNER = 1e-6


def has_labels(problem: Problem) -> bool:
    """Tell whether the loss is one of labels, each output by itself.

    Huber losses and weighted squared ones need few rounds if all targets are observed;
    a softmax, which couples outputs, has no system to factorise.
    """
    loss = problem.loss.capabilities
    return "multilabel" in loss and "quadratic" not in loss


def rounds(prepared: PreparedRounds, request: Request) -> Solution:
    """Iterate from the model of a neighbouring alpha, or from L = 0."""
    turns = _Rounds(prepared, request)
    while not turns.done:
        turns.turn()
    fit, rank_limited = turns.monitor.best
    start = Start(fit.output_kernel, fit.start, turns.h / turns.bound)
    model = fit.judged(prepared.problem, request, rank_limited=rank_limited)
    return model.found_by(turns.monitor.history.records, start)


class Start(NamedTuple):
    """L, a start for its f, and h as a part of its bound."""

    kernel: OutputKernel
    inside: Any
    share: float = 1.0


def zero_kernel(problem: Problem) -> SpectralKernel:
    """Return L = 0."""
    xp, kind = namespace(problem.targets), problem.targets.dtype
    vectors = xp.zeros((problem.n_outputs, 0), dtype=kind)
    return SpectralKernel(xp.zeros((0,), dtype=kind), vectors)


class PreparedRounds(NamedTuple):
    """A problem, what finds the best f of it for a given L, and what models it."""

    problem: Problem
    solver: Solver
    for_known: Any
    models: AllColumns | SomeColumns

    @classmethod
    def of(cls, problem: Problem, columns: int) -> PreparedRounds:
        """Prepare what finds f, and what makes models; L is put in later.

        Models have so many columns of K where it cannot be decomposed.
        """
        solver = next(
            one
            for one in (Imputation(), SemismoothNewton(), NewtonCG())
            if not one.missing_for_given(problem) and one.fits_in_memory(problem)
        )
        decomposes = problem.operator.workspace >= 2 and problem.entries.every_output
        return cls(
            problem,
            solver,
            solver.prepare_for(problem, unit_kernel(problem)),
            AllColumns() if decomposes else SomeColumns.of(problem, columns),
        )

    @property
    def imputes(self) -> bool:
        """Whether f is the best for complete targets, some of them imputed."""
        return isinstance(self.solver, Imputation)

    def inside_of(self, dual: Array, kernel: OutputKernel, alpha: float) -> Any:
        """Return a start for the best f for an L, given dual variables."""
        if isinstance(self.solver, Imputation | SemismoothNewton):
            return dual
        return NewtonStart(Neighbours().joined(alpha, dual), kernel)

    def dual_of(self, inside: Any) -> Array:
        """Return the dual variables of such a start."""
        return inside.duals.nearest if isinstance(inside, NewtonStart) else inside

    def answers(
        self, kernel: OutputKernel, scores: Scores, alpha: float
    ) -> Callable[[Array], Array]:
        """Return what solves for E, the change of dual variables with a change of L.

        It takes one right side (n_samples, n_outputs) of the equations of
        `okl.solvers.predictor.active_system`, or, for a loss that does not couple
        outputs, many (n_samples, n_outputs, q).
        """
        curvature = self.problem.curvature(scores.predictions)
        # the columns of K that precondition are chosen once, for any L
        known = self.for_known.under(self.problem, kernel)
        if not curvature.separable:
            columns = known.approximation.columns
            large = HessianSystem(known, curvature, alpha, columns)
            return partial(large.answer, rtol=_INNER)
        system = ActiveSystem(known, curvature, alpha)

        def solve(right: Array) -> Array:
            if right.ndim == 2:
                return system.solve(right, rtol=_INNER)
            return system.solve_each(right)

        return solve

    def best_predictor(self, kernel: OutputKernel, request: Request) -> Solution:
        """Return the best f and b for an output kernel."""
        return self.solver.solve(self.for_known.under(self.problem, kernel), request)


class _Rounds:
    """The rounds at one alpha.

    The best of the monitor is the best f of some L, and whether a bound on the rank is
    active there; h is the curvature of the models, and bound one on that of the loss.
    """

    def __init__(self, prepared: PreparedRounds, request: Request) -> None:
        alpha, tol, max_iter, start = request
        problem = prepared.problem
        self.prepared, self.models, self.alpha = prepared, prepared.models, alpha
        # under a bound the gap never closes: the objective says which model is the best
        self._bounded = problem.rank_is_bounded
        self.monitor = Monitor(problem.gap_scale, tol=tol, max_iter=max_iter)
        self.bound, self._tol = largest_curvature(problem), tol
        self._closer, self._minimal = 1.0, False
        self._accepted: list[float] = []
        self._least = 0.0
        self._inner_start: Any = None
        if start is None:
            self.h, self._inside = self.models.first * self.bound, None
            self.model = self._model(zero_kernel(problem), Scores.zero(problem))
        else:
            # an h that was large enough there need not be here
            self.h = max(start.share, self.models.first) * self.bound
            fit = self._fit(start.kernel, start.inside)
            self._judge(fit, rank_limited=False)
            scores = Scores.of(problem, fit)
            self._accept(fit, self._model(start.kernel, scores))

    @property
    def done(self) -> bool:
        """Whether to stop."""
        return self.monitor.done or self._minimal

    def turn(self) -> None:
        """Minimise the model, and go there unless the objective rises."""
        found = self.model.minimise(
            self.h, self.alpha, tol=self._share(2), start=self._inner_start
        )
        fit = self._fit(found.kernel, self._near(found))
        self._judge(fit, rank_limited=found.rank_limited)
        # no h makes a round go down: a local minimum, under a bound on the rank
        flat = not self.monitor.falls and self.h >= self.bound
        self._minimal = self._bounded and flat
        if self.done:
            return
        here = self._model(found.kernel, Scores.of(self.prepared.problem, fit))
        h = self.models.curvature(self.model, found, here, moved=fit.n_iter > 1)
        primal = fit.certificate.primal
        # under a bound on the rank a rise may lead away to another minimum
        last = self._accepted[-(1 if self._bounded else self.models.memory) :]
        most = self.models.most * self.bound
        if primal <= max(last, default=primal) or self.h >= most:
            self._inner_start = found.start
            self._accept(fit, here)
            # where a flatter model has just failed the next one would fail again
            h = max(h, self._least)
            self._least /= _FORGET
        else:
            h = self._least = self.models.steeper * self.h
        self.h = min(max(h, _FLATTEST * self.bound), most)

    def _near(self, found: Minimiser) -> Any:
        """Return a start for f: that of the model, if it is one of all rows."""
        of_all_rows = isinstance(self.models, AllColumns)
        if self._inside is None or self.prepared.imputes or not of_all_rows:
            return self._inside
        zero = 0 * self.prepared.problem.targets
        dual = found.kernel.solve(found.coefficients, zero)
        near = self.prepared.inside_of(dual, self.model.kernel, self.alpha)
        if isinstance(near, NewtonStart):
            return near._replace(easy=self._inside.easy)
        return near

    def _accept(self, fit: Solution, model: Linearisation) -> None:
        """Take the next model at an L."""
        self._accepted.append(fit.certificate.primal)
        self.model, self._inside = model, fit.start

    def _judge(self, fit: Solution, *, rank_limited: bool) -> None:
        """Record what was found, and decide how closely to solve next."""
        self.monitor.add(
            fit.certificate.primal,
            fit.certificate.dual,
            (fit, rank_limited),
            limited=self._bounded,
        )
        self._closer = 1.0 if self.monitor.nears else _CLOSER * self._closer

    def _share(self, order: int) -> float:
        """Return how closely to solve, by a power of the last gap."""
        aim = self._tol if self._bounded else min(self.monitor.gap, 1.0) ** order
        share = self._closer * min(_SHARE * aim, self.models.loosest)
        return max(share, min(_LEAST, _SHARE * self._tol))

    def _model(self, kernel: OutputKernel, scores: Scores) -> Linearisation:
        return self.models.at(self.prepared.problem, kernel, scores, self.alpha)

    def _fit(self, kernel: OutputKernel, start: Any) -> Solution:
        request = Request(self.alpha, self._share(self.models.order), STEPS, start)
        return self.prepared.best_predictor(kernel, request)
