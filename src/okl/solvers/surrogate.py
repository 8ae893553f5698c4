r"""Any structure, smooth loss, matrix-free: models of what the best f costs.

With f and b eliminated the problem is one in L alone,

.. math:: \varphi(L) + \alpha R(L), \qquad
          \varphi(L) = \min_{f, b} \sum_i V(y_i, f(x_i) + b) + \tfrac{\alpha}{2}
          \|f\|^2_{K,L}, \qquad \nabla \varphi(L) = - \tfrac{\alpha}{2} C'KC,

phi convex and smooth, and a Newton fit (`okl.solvers.newton_cg`) gives its value and
gradient. Each round replaces phi by a model with the same gradient at the current L,
for which there is a fast solver with every structure (`okl.solvers.fit_model`).

*The scale h* is guessed from the last round: the change of C'KC along that of L, over
the change in the model. That is the step length of Barzilai and Borwein for a gradient
step in the metric of the model, and like theirs it is best left alone: a round stands
unless the objective is above those of several rounds before (Grippo, Lampariello and
Lucidi 1986), and h rises where it is.

Of K nothing is asked but products, and a few columns for R.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from okl.numerics.arrays import Array, inner
from okl.output_kernels import OutputKernel
from okl.problems import Problem
from okl.solvers.base import Solver
from okl.solvers.fit_model import Place, Prepared
from okl.solvers.newton_cg import NewtonCG
from okl.solvers.semismooth_newton import SemismoothNewton
from okl.solvers.solution import History, Solution, certified

# f is found to this part of the last gap, within bounds; and closer by another factor
# while the objective does not fall. Models are solved closer still: the dual value errs
# to first order in L, their objective to second.
_SHARE, _LEAST, _MOST, _CLOSER, _MODEL_SHARE = 1e-2, 1e-13, 1e-3, 0.1, 0.1
# h changes by at most this factor a round, at least by the other where it is too small.
# It is at least this part of the curvature of the loss, and not much more than that,
# with which a model is above phi everywhere but for what R does not see of K.
_TRUST, _STEEPER, _FLATTEST, _STEEPEST = 10.0, 1.5, 1e-8, 10.0
# The objective may be above the last, but not above so many.
_MEMORY = 8
# Rounds without progress, in the gap or by this fraction of the tolerance in the
# objective, after which rounding is in the way; fewer where the gap cannot close.
_PATIENCE, _PATIENCE_BOUNDED, _PROGRESS = 20, 5, 1e-2
# Most Newton steps within a round.
_STEPS = 1000


class Surrogate(Solver):
    """Minimise models of phi, plus alpha R, each with the right gradient at its L.

    Parameters
    ----------
    columns : int, default=100
        How many columns of K the models use.
    """

    name: ClassVar[str | None] = "surrogate"
    loss_requires: ClassVar[frozenset[str]] = frozenset({"smooth"})
    structure_requires: ClassVar[frozenset[str]] = frozenset({"step"})
    complete_rows: ClassVar[bool] = False
    matrices_beside: ClassVar[int] = 0

    def __init__(self, columns: int = 100) -> None:
        self.columns = columns

    def prepare(self, problem: Problem) -> Prepared:
        """Choose columns of K."""
        return Prepared.of(problem, self.columns)

    def solve(
        self,
        prepared: Prepared,
        alpha: float,
        *,
        tol: float,
        max_iter: int,
        start: _Start | None = None,
    ) -> Solution:
        """Iterate from the model of a neighbouring alpha, or from L = 0."""
        problem = prepared.problem
        known = problem.known()
        if known is not None:
            dual = None if start is None else start.dual
            fit = _fit(problem, known, alpha, tol=tol, max_iter=max_iter, start=dual)
            history = History(problem.reference)
            history.records.extend(fit.history)
            return _solution(problem, fit, known, alpha, tol, history)
        search = _Search(prepared, alpha, tol, max_iter)
        if start is not None:
            search.begin(start)
        while not search.done:
            search.round()
        assert search.best is not None
        fit, kernel, limited = search.best
        return _solution(
            problem,
            fit,
            kernel,
            alpha,
            tol,
            search.history,
            start=_Start(kernel, fit.start, search.h / problem.loss.largest_curvature),
            rank_limited=limited,
        )


class _Start(NamedTuple):
    """L, the dual variables of its best f, and the part of the curvature that h was."""

    kernel: OutputKernel
    dual: Array
    share: float


class _Search:
    """The rounds at one alpha.

    Attributes
    ----------
    best : tuple (Solution, OutputKernel, bool) or None
        The best f of some L, that L, and whether a bound on the rank is active.
    done : bool
        Whether to stop.
    """

    def __init__(
        self, prepared: Prepared, alpha: float, tol: float, max_iter: int
    ) -> None:
        self.problem = problem = prepared.problem
        self.prepared = prepared
        self.alpha, self.tol, self.max_iter = alpha, tol, max_iter
        self.history = History(problem.reference)
        self.h = problem.loss.largest_curvature / problem.n_outputs
        self.model = prepared.model(Place.zero(problem, alpha))
        self.best: tuple[Solution, OutputKernel, bool] | None = None
        self.done = False
        self._inner_start: Any = None
        self._kernel: OutputKernel | None = None
        self._last_dual: Array | None = None
        self._accepted: list[float] = []
        self._share, self._closer = _MOST, 1.0
        self._smallest, self._stalled = float("inf"), 0
        # then the gap never closes, and the objective says which model is the best
        self._bounded = problem.rank_is_bounded

    def begin(self, start: _Start) -> None:
        """Take the first model at the L of a neighbouring alpha."""
        self.h = start.share * self.problem.loss.largest_curvature
        fit = self._fit(start.kernel, start.dual)
        self._judge(fit, start.kernel, limited=False)
        self._move(fit, start.kernel, self._place(fit, start.kernel))

    def round(self) -> None:
        """Minimise the model, and go there unless the objective rises."""
        kernel, inner_start, limited = self.model.minimise(
            self.h,
            self.alpha,
            tol=max(_MODEL_SHARE * self._share, _LEAST),
            start=self._inner_start,
        )
        last = self.model.place
        fit = self._fit(kernel, self._last_dual)
        self._judge(fit, kernel, limited=limited)
        here = self._place(fit, kernel)
        fall = inner(last.moment - here.moment, here.output_kernel - last.output_kernel)
        predicted = self.model.change(self.h, self.alpha, kernel)
        # where the last f was good enough the step was too short to tell anything
        moved = fit.n_iter > 1 and predicted > 0
        factor = fall / predicted if moved else 1 / _STEEPER
        factor = min(max(factor, 1 / _TRUST), _TRUST)
        primal = fit.certificate.primal
        if primal <= max(self._accepted[-_MEMORY:], default=primal):
            self._inner_start = inner_start
            self._move(fit, kernel, here)
        else:
            factor = max(factor, _STEEPER)
            self._look_closer()
        curvature = self.problem.loss.largest_curvature
        least, most = curvature * _FLATTEST, curvature * _STEEPEST
        self.h = min(max(factor * self.h, least), most)

    def _look_closer(self) -> None:
        """Find the gradient where the model is from again, now that f is found closer.

        A step along a wrong one may not go down, however short.
        """
        if self._kernel is not None:
            fit = self._fit(self._kernel, self._last_dual)
            self._last_dual = fit.start
            self.model = self.prepared.model(self._place(fit, self._kernel))

    def _place(self, fit: Solution, kernel: OutputKernel) -> Place:
        return Place.of_fit(self.problem, kernel, fit, self.alpha)

    def _fit(self, kernel: OutputKernel, dual: Array | None) -> Solution:
        return _fit(
            self.problem,
            kernel,
            self.alpha,
            tol=self._share,
            max_iter=_STEPS,
            start=dual,
        )

    def _move(self, fit: Solution, kernel: OutputKernel, place: Place) -> None:
        """Take the next model at an L."""
        self._accepted.append(fit.certificate.primal)
        self._kernel, self._last_dual = kernel, fit.start
        self.model = self.prepared.model(place)

    def _judge(self, fit: Solution, kernel: OutputKernel, *, limited: bool) -> None:
        """Keep the best model, and decide how closely to look, and whether to stop."""
        primal = fit.certificate.primal
        gap = self.history.add(primal, fit.certificate.dual)
        lowest = min(self._accepted, default=float("inf"))
        falls = primal < lowest * (1 - _PROGRESS * self.tol)
        measure = primal if self._bounded else gap
        better = self.best is None or measure < self._smallest
        if better:
            self.best, self._smallest = (fit, kernel, limited), measure
        progress = falls or (better and not self._bounded)
        self._stalled = 0 if progress else self._stalled + 1
        self._closer = 1.0 if falls and fit.n_iter > 1 else _CLOSER * self._closer
        share = _SHARE * (self.tol if self._bounded else gap)
        self._share = max(self._closer * min(share, _MOST), _LEAST)
        patience = _PATIENCE_BOUNDED if self._bounded else _PATIENCE
        self.done = (
            gap <= self.tol
            or self._stalled >= patience
            or len(self.history.records) >= self.max_iter
        )


def _fit(
    problem: Problem,
    kernel: OutputKernel,
    alpha: float,
    *,
    tol: float,
    max_iter: int,
    start: Array | None,
) -> Solution:
    """Return the best f for a given L."""
    semismooth = SemismoothNewton()
    newton = NewtonCG() if semismooth.missing_in_loss(problem) else semismooth
    prepared = newton.prepare_for(problem, kernel)
    return newton.solve(prepared, alpha, tol=tol, max_iter=max_iter, start=start)


def _solution(
    problem: Problem,
    fit: Solution,
    kernel: OutputKernel,
    alpha: float,
    tol: float,
    history: History,
    start: _Start | None = None,
    *,
    rank_limited: bool = False,
) -> Solution:
    """Certify the best f of an L as a model of the whole problem."""
    theta = problem.balanced_theta(fit.start, kernel)
    return certified(
        problem,
        theta,
        kernel,
        alpha,
        tol=tol,
        history=history,
        start=start or _Start(kernel, fit.start, 1.0),
        intercept=fit.intercept,
        rank_limited=rank_limited,
    )
