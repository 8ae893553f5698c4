r"""Any structure, smooth loss, matrix-free: models of what the best f costs.

With f and b eliminated the problem is one in L alone,

.. math:: \varphi(L) + \alpha R(L), \qquad
          \varphi(L) = \min_{f, b} \sum_i V(y_i, f(x_i) + b) + \tfrac{\alpha}{2}
          \|f\|^2_{K,L}, \qquad \nabla \varphi(L) = - \tfrac{\alpha}{2} C'KC,

phi convex and smooth, and a Newton fit (`okl.solvers.newton_cg`) gives its value and
gradient. For the squared loss, complete targets and a diagonal K phi has a closed form,
and phi + alpha R a fast solver for every structure. So each round replaces phi by such
a function with the same gradient at the current L, and minimises that.

*The model.* Let K ~ R R' by pivoted Cholesky, R'R = U diag(e) U'. With targets
d Z L + alpha Z, d any weights of the rows, the dual variables at L are Z. If
d^(1/2) Z = U'R'C the gradient there is that of phi for R R', and a few rows more for
K - R R' make it exact. The weights d = h e say how far predictions, and C with them,
give way when L changes. Were all outputs observed in all rows, h would be the second
derivative of the loss, and the model nearly phi; with one output a row it is as much
divided by the number of outputs.

*The scale h* is guessed from the last round: the change of C'KC along that of L, over
the change in the model. That is the step length of Barzilai and Borwein for a gradient
step in the metric of the model, and like theirs it is best left alone: a round stands
unless the objective is above those of several rounds before (Grippo, Lampariello and
Lucidi 1986), and h rises where it is.

Of K nothing is asked but products, and a few columns for R.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from okl._array import Array, eigh, epsilon, inner, namespace
from okl._output_kernel import OutputKernel
from okl._smooth import symmetric
from okl.losses import Squared
from okl.operators import Dense
from okl.problems import Problem, Term
from okl.solvers.base import Solver
from okl.solvers.low_rank_preconditioner import pivoted_cholesky
from okl.solvers.newton_cg import NewtonCG
from okl.solvers.solution import History, Solution
from okl.solvers.squared_loss import SQUARED_LOSS, first_that_fits

# f is found to this part of the last gap, within bounds; and closer by another factor
# while the objective does not fall. Models are solved closer still: the dual value errs
# to first order in L, their objective to second.
_SHARE, _LEAST, _MOST, _CLOSER, _MODEL_SHARE = 1e-2, 1e-13, 1e-3, 0.1, 0.1
# h changes by at most this factor a round, at least by the other where it is too small,
# and stays within this factor of the curvature of the loss.
_TRUST, _STEEPER, _RANGE = 10.0, 1.5, 1e8
# The objective may be above the last, but not above so many.
_MEMORY = 8
# Rounds without progress, in the gap or by this fraction of the tolerance in the
# objective, after which rounding is in the way; fewer where the gap cannot close.
_PATIENCE, _PATIENCE_BOUNDED, _PROGRESS = 20, 5, 1e-2
# Rows of a model have at least this part of the largest weight; what pivots leave of K
# below it is rounding.
_FLATTEST = 1e-12
# Most steps of the solvers within a round.
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

    def __init__(self, columns: int = 100) -> None:
        self.columns = columns

    def prepare(self, problem: Problem) -> Prepared:
        """Choose columns of K, and rotate them."""
        columns = pivoted_cholesky(problem.operator, self.columns)
        xp = namespace(columns)
        left = problem.operator.diagonal() - xp.sum(columns * columns, axis=1)
        values, vectors = eigh(columns.T @ columns)
        return Prepared(
            problem,
            columns @ vectors,
            xp.clip(values, 0.0, None),
            float(xp.max(left)) if left.shape[0] else 0.0,
        )

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
            return _solution(problem, fit, known, alpha, tol, fit.history)
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
            search.history.records,
            start=_Start(kernel, fit.start, search.h),
            rank_limited=limited,
        )


class Prepared(NamedTuple):
    """A problem, and its operator as far as models know it.

    Attributes
    ----------
    problem : Problem
        What is to be solved.
    columns : array (n_samples, k)
        R U.
    values : array (k,)
        e.
    rest : float
        The largest diagonal entry of K - R R'.
    """

    problem: Problem
    columns: Array
    values: Array
    rest: float

    def model(self, place: _Place) -> _Model:
        """Return the model of phi at an L."""
        xp = namespace(place.moment)
        rows = self.problem.against(self.columns, place.dual)
        values = self.values
        largest = float(xp.max(values)) if values.shape[0] else 0.0
        if self.rest > _FLATTEST * largest or largest == 0:
            left, vectors = eigh(place.moment - rows.T @ rows)
            roots = xp.sqrt(xp.clip(left, 0.0, None))
            weight = self.rest if self.rest > 0 else 1.0
            rows = xp.concat([rows, (vectors * roots).T])
            values = xp.concat([values, xp.full_like(left, weight)])
        values = xp.clip(values, _FLATTEST * max(largest, self.rest), None)
        return _Model(self.problem, rows, values[:, None], place)


class _Start(NamedTuple):
    """L, the dual variables of its best f, and h."""

    kernel: OutputKernel
    dual: Array
    h: float


class _Place(NamedTuple):
    """An L (m, m), the dual variables C of its best f, and C'KC (m, m)."""

    output_kernel: Array
    dual: Array
    moment: Array

    @classmethod
    def of_fit(
        cls, problem: Problem, kernel: OutputKernel, fit: Solution, alpha: float
    ) -> _Place:
        """Return the place of an L and its best f.

        Not with the solver's dual variables: what K (x) L does not see of them may be
        anything, and K alone does see it.
        """
        alone, given = problem.given(kernel)
        scores = given.multiply(alone.operator @ fit.start)
        return cls._at(problem, kernel.matrix(), scores, alpha)

    @classmethod
    def _at(
        cls, problem: Problem, output_kernel: Array, scores: Array, alpha: float
    ) -> _Place:
        """Return the place where alpha C is minus the gradient of the loss."""
        if problem.centered:
            scores = scores + problem.spread(problem.best_intercept(scores))
        gradient = problem.loss.negative_gradient(
            problem.targets, scores, problem.weights
        )
        dual = gradient / alpha
        return cls(output_kernel, dual, symmetric(problem.gram(dual, dual)))

    @classmethod
    def zero(cls, problem: Problem, alpha: float) -> _Place:
        """Return L = 0, where b is the best constant and f is zero."""
        xp = namespace(problem.targets)
        scores = xp.zeros_like(problem.targets)
        size = (problem.n_outputs, problem.n_outputs)
        return cls._at(problem, xp.zeros(size, dtype=scores.dtype), scores, alpha)


class _Model(NamedTuple):
    """A problem with the squared loss, equal to phi to first order at a place.

    Attributes
    ----------
    problem : Problem
        The problem that it is a model of.
    rows : array (k, m)
        d^(1/2) Z, whatever h.
    values : array (k, 1)
        e.
    place : _Place
        Where it has the gradient of phi.
    """

    problem: Problem
    rows: Array
    values: Array
    place: _Place

    def targets(self, h: float, alpha: float) -> Array:
        """Return d Z L + alpha Z."""
        roots = namespace(self.values).sqrt(h * self.values)
        return roots * (self.rows @ self.place.output_kernel) + alpha * (
            self.rows / roots
        )

    def minimise(
        self, h: float, alpha: float, *, tol: float, start: Any
    ) -> tuple[OutputKernel, Any, bool]:
        """Return L, where to start the next, and whether a rank bound is active."""
        targets = self.targets(h, alpha)
        xp = namespace(targets)
        identity = xp.eye(targets.shape[0], dtype=targets.dtype)
        problem = Problem(
            Squared(),
            targets,
            (Term(Dense(identity * (h * self.values)), self.problem.structure),),
            False,
            epsilon(targets) * inner(targets, targets) / 2,
        )
        solver = first_that_fits(SQUARED_LOSS, problem, n_alphas=2)
        assert solver is not None
        solution = solver.solve(
            solver.prepare(problem), alpha, tol=tol, max_iter=_STEPS, start=start
        )
        limited = solution.certificate.status == "rank_limited"
        return solution.output_kernel, solution.start, limited

    def change(self, h: float, alpha: float, kernel: OutputKernel) -> float:
        """Return by how much C'KC falls along the way to another L, in the model."""
        targets = self.targets(h, alpha)
        values = h * self.values
        inside = kernel.coordinates(targets)
        dual = inside / (values * kernel.eigenvalues + alpha)
        if kernel.basis is not None:
            outside = targets - inside @ kernel.basis.T
            dual = dual @ kernel.basis.T + outside / alpha
        moment = dual.T @ (values * dual)
        way = kernel.matrix() - self.place.output_kernel
        return inner(self.place.moment - moment, way)


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
        self.model = prepared.model(_Place.zero(problem, alpha))
        self.best: tuple[Solution, OutputKernel, bool] | None = None
        self.done = False
        self._inner_start: Any = None
        self._last_dual: Array | None = None
        self._accepted: list[float] = []
        self._share, self._closer = _MOST, 1.0
        self._smallest, self._stalled = float("inf"), 0
        # then the gap never closes, and the objective says which model is the best
        most = problem.structure.max_rank(problem.n_outputs)
        self._bounded = most < problem.n_outputs

    def begin(self, start: _Start) -> None:
        """Take the first model at the L of a neighbouring alpha."""
        self.h = start.h
        fit = self._fit(start.kernel, start.dual)
        self._judge(fit, start.kernel, limited=False)
        self._move(fit, _Place.of_fit(self.problem, start.kernel, fit, self.alpha))

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
        here = _Place.of_fit(self.problem, kernel, fit, self.alpha)
        fall = inner(last.moment - here.moment, here.output_kernel - last.output_kernel)
        predicted = self.model.change(self.h, self.alpha, kernel)
        moved = fit.n_iter > 1  # else the last f was good enough, and says nothing
        factor = fall / predicted if moved and predicted > 0 else 1.0
        factor = min(max(factor, 1 / _TRUST), _TRUST)
        primal = fit.certificate.primal
        if primal <= max(self._accepted[-_MEMORY:], default=primal):
            self._inner_start = inner_start
            self._move(fit, here)
        else:
            factor = max(factor, _STEEPER)
        curvature = self.problem.loss.largest_curvature
        self.h = min(max(factor * self.h, curvature / _RANGE), curvature * _RANGE)

    def _fit(self, kernel: OutputKernel, dual: Array | None) -> Solution:
        return _fit(
            self.problem,
            kernel,
            self.alpha,
            tol=self._share,
            max_iter=_STEPS,
            start=dual,
        )

    def _move(self, fit: Solution, place: _Place) -> None:
        """Take the next model at an L."""
        self._accepted.append(fit.certificate.primal)
        self._last_dual = fit.start
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
    newton = NewtonCG()
    prepared = newton.prepare_for(problem, kernel)
    return newton.solve(prepared, alpha, tol=tol, max_iter=max_iter, start=start)


def _solution(
    problem: Problem,
    fit: Solution,
    kernel: OutputKernel,
    alpha: float,
    tol: float,
    records: Any,
    start: _Start | None = None,
    *,
    rank_limited: bool = False,
) -> Solution:
    """Certify the best f of an L as a model of the whole problem."""
    certificate = problem.certificate(
        fit.dual_coef,
        kernel,
        alpha,
        tol=tol,
        rank_limited=rank_limited,
        intercept=0.0 if fit.intercept is None else fit.intercept,
    )
    return Solution(
        problem.coefficients(fit.dual_coef, kernel),
        kernel,
        certificate,
        len(records),
        records,
        start or _Start(kernel, fit.start, 1.0),
        fit.intercept,
    )
