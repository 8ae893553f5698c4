r"""A squared-loss problem that equals the cost of the best f to first order at one L.

With f and b eliminated a problem is one in L alone,

.. math:: \varphi(L) + \alpha R(L), \qquad
          \varphi(L) = \min_{f, b} \sum_i V(y_i, f(x_i) + b) + \tfrac{\alpha}{2}
          \|f\|^2_{K,L}, \qquad \nabla \varphi(L) = - \tfrac{\alpha}{2} C'KC,

phi convex and smooth. For the squared loss, complete targets and an operator A phi is a
closed form, and phi + alpha R has a fast solver for every structure. The problem with
the targets A Z L + (alpha / h) Z at alpha / h has the dual variables Z at L, and its
gradient there is that of phi / h if Z'AZ = C'KC. There are two such models.

*All columns*: A = K and Z = C. With h at least the second derivative of the loss this
is a quadratic above the loss that touches it at the predictions of L, minimised over f
and L at once, so that the objective falls. With the squared loss and weights 0 and 1 it
imputes missing entries by their predictions. The best h is the change of the gradient
over that of the predictions in the last round (Barzilai and Borwein; the geometric mean
of their two formulas).

*Some columns*, where K is known by products or in long form: with K ~ R R', R'R =
U diag(e) U', A = diag(e) and e^(1/2) Z = U'R'C; a few rows more, for K - R R', make the
gradient exact. The right h depends on how many outputs are observed in a row: with all
of them it would be the second derivative of the loss, with one of them that divided by
the number of outputs. The best h is the last one times the ratio of two changes along
the change of L, that of C'KC and the one in the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, NamedTuple

from okl.losses import Squared
from okl.numerics.arrays import Array, eigh, inner, namespace, symmetric
from okl.operators import Dense, Operator
from okl.output_kernels import OutputKernel
from okl.problems import Inputs, Problem, formulate
from okl.solvers.request import Request
from okl.solvers.smooth.differences import (
    best_differences,
    models_differences,
    seen_by_models,
)
from okl.solvers.smooth.scores import Scores
from okl.solvers.squared_loss import SQUARED_LOSS
from okl.solvers.table import first_that_fits

# Rows of a model have at least this part of the largest eigenvalue; what R leaves of K
# below it is rounding.
_FLATTEST = 1e-12
# Most steps of the solver of a model.
_STEPS = 1000
# With some columns h changes by at most the factor _TRUST a round, is divided by
# _FLATTER where the last round says nothing of it, and is at most _STEEPEST times the
# bound.
_TRUST, _FLATTER, _STEEPEST = 10.0, 1.5, 10.0


@dataclass(frozen=True)
class Linearisation:
    """The model of phi at one L, with the scores of the best f.

    The operator is A (k, k), and the arrays (k, n_outputs) are Z and A Z L.
    """

    problem: Problem
    kernel: OutputKernel
    scores: Scores
    operator: Operator
    dual: Array
    fitted: Array

    def minimise(self, h: float, alpha: float, *, tol: float, start: Any) -> Minimiser:
        """Return the minimiser of the model plus alpha R."""
        targets = self.fitted + alpha / h * self.dual
        k, m = targets.shape
        formulation = formulate(
            Inputs(self.operator, None),
            targets,
            Squared(),
            self.problem.structure,
            reduce=m > k,  # a basis that turns from round to round would void the start
        )
        request = Request(alpha / h, tol, _STEPS, start if m <= k else None)
        if models_differences(self.problem):
            best = best_differences(formulation.problem, request)
            return Minimiser(h, alpha, *best, rank_limited=False)
        solver = first_that_fits(SQUARED_LOSS, formulation.problem, n_alphas=2)
        assert solver is not None
        solution = solver.solve(solver.prepare(formulation.problem), request)
        kernel = formulation.output_kernel(solution.output_kernel)
        theta = formulation.coefficients(solution.dual_coef)
        limited = solution.certificate.status == "rank_limited"
        return Minimiser(h, alpha, kernel, theta, solution.start, limited)


class Minimiser(NamedTuple):
    """The minimiser of a model plus alpha R: L and Theta (k, n_outputs).

    With a start for the next model, and whether a bound on the rank is active.
    """

    h: float
    alpha: float
    kernel: OutputKernel
    coefficients: Array
    start: Any
    rank_limited: bool


class AllColumns:
    """Models with K itself."""

    # the first h, and the largest, relative to a bound on the second derivative of the
    # loss: with the bound a model is above phi everywhere
    first: ClassVar[float] = 1.0
    most: ClassVar[float] = 1.0
    # the best f is found to a part of this power of the last gap, and to the second
    # number at most
    order: ClassVar[int] = 2
    loosest: ClassVar[float] = 1e-4
    # where the objective is above those of so many rounds before, h is multiplied by
    # the second number
    memory: ClassVar[int] = 1
    steeper: ClassVar[float] = 4.0

    def at(
        self, problem: Problem, kernel: OutputKernel, scores: Scores, alpha: float
    ) -> Linearisation:
        """Return the model at an L and the scores of its best f."""
        dual, K = scores.gradient / alpha, problem.operator
        return Linearisation(problem, kernel, scores, K, dual, scores.fitted)

    def curvature(
        self, last: Linearisation, found: Minimiser, here: Linearisation, *, moved: bool
    ) -> float:
        """Return the change of the gradient over that of the predictions."""
        ahead = here.scores.predictions - last.scores.predictions
        ahead = seen_by_models(last.problem, ahead)
        turned = here.scores.gradient - last.scores.gradient
        squares = inner(ahead, ahead)
        return (inner(turned, turned) / squares) ** 0.5 if squares > 0 else inf


@dataclass(frozen=True)
class SomeColumns:
    """Models with some columns of K.

    The best f is found more loosely, as its products are the work here, and a closer
    one saves too few rounds. The columns are R U (n_samples, k), the values e (k,), and
    the rest is the largest diagonal entry of K - R R'.
    """

    first: float
    columns: Array
    values: Array
    rest: float
    most: ClassVar[float] = _STEEPEST
    order: ClassVar[int] = 1
    loosest: ClassVar[float] = 1e-3
    memory: ClassVar[int] = 8
    steeper: ClassVar[float] = 1.5

    @classmethod
    def of(cls, problem: Problem, rank: int) -> SomeColumns:
        """Choose columns of K, and rotate them."""
        columns = problem.operator.low_rank(rank).factors[0]
        xp = namespace(columns)
        left = problem.operator.diagonal() - xp.sum(columns * columns, axis=1)
        values, vectors = eigh(columns.T @ columns)
        return cls(
            1 / problem.n_outputs,
            columns @ vectors,
            xp.clip(values, 0.0, None),
            max(float(xp.max(left)), 0.0),
        )

    def at(
        self, problem: Problem, kernel: OutputKernel, scores: Scores, alpha: float
    ) -> Linearisation:
        """Return the model at an L and the scores of its best f."""
        dual = scores.gradient / alpha
        rows, values = problem.entries.against(self.columns, dual), self.values
        xp = namespace(rows)
        largest = float(xp.max(values)) if values.shape[0] else 0.0
        if self.rest > _FLATTEST * largest or largest == 0:
            moment = symmetric(problem.entries.gram(dual, dual))
            left, vectors = eigh(moment - rows.T @ rows)
            roots = xp.sqrt(xp.clip(left, 0.0, None))
            rows = xp.concat([rows, (vectors * roots).T])
            weight = self.rest if self.rest > 0 else 1.0
            values = xp.concat([values, xp.full_like(left, weight)])
        values = xp.clip(values, _FLATTEST * max(largest, self.rest), None)
        operator = Dense(xp.eye(values.shape[0], dtype=values.dtype) * values)
        inside = rows / xp.sqrt(values)[:, None]
        fitted = kernel.multiply(operator @ inside)
        return Linearisation(problem, kernel, scores, operator, inside, fitted)

    def curvature(
        self, last: Linearisation, found: Minimiser, here: Linearisation, *, moved: bool
    ) -> float:
        """Return h times the change of C'KC along that of L over that in the model.

        Where the last f was good enough and has not moved, the change says nothing, and
        h falls.
        """

        def along(dual: Array) -> float:
            image = last.operator @ dual
            there, back = here.kernel.multiply(dual), last.kernel.multiply(dual)
            return inner(image, there) - inner(image, back)

        h = found.h
        moving = last.fitted - last.operator @ found.coefficients
        moving = seen_by_models(last.problem, moving)
        foreseen = last.dual + moving * (h / found.alpha)
        before = along(last.dual)
        predicted = before - along(foreseen)
        if not moved or predicted <= 0:
            return h / _FLATTER
        ratio = (before - along(here.dual)) / predicted
        return h * min(max(ratio, 1 / _TRUST), _TRUST)
