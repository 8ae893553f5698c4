r"""A model of what the best f costs, with the right gradient at one L.

phi(L) = min over f and b of loss and norm, see `okl.solvers.surrogate`, is convex and
smooth with the gradient -(alpha / 2) C'KC. For the squared loss, complete targets and
K = diag(d) it has a closed form, and phi + alpha R a fast solver for every structure: a
model of phi is a problem of that kind.

Let K ~ R R' by a few of its columns, R'R = U diag(e) U'. With targets d Z L + alpha Z,
d any weights of the rows, the dual variables at L are Z. If d^(1/2) Z = U'R'C the
gradient there is that of phi for R R', and a few rows more for K - R R' make it exact.
The weights d = h e say how far predictions, and C with them, give way when L changes.
Were all outputs observed in all rows, h would be the second derivative of the loss, and
the model nearly phi; with one output a row it is as much divided by the number of
outputs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from okl.losses import Squared
from okl.numerics.arrays import Array, eigh, epsilon, inner, namespace
from okl.operators import Dense
from okl.optimization.smooth import symmetric
from okl.output_kernels import OutputKernel
from okl.problems import Problem, TargetMatrix
from okl.solvers.solution import Solution
from okl.solvers.squared_loss import SQUARED_LOSS, first_that_fits

# Rows of a model have at least this part of the largest weight; what R leaves of K
# below it is rounding.
_FLATTEST = 1e-12
# Most steps of the solver of a model.
_STEPS = 1000


class Place(NamedTuple):
    """An L (m, m), the dual variables C of its best f, and C'KC (m, m)."""

    output_kernel: Array
    dual: Array
    moment: Array

    @classmethod
    def of_fit(
        cls, problem: Problem, kernel: OutputKernel, fit: Solution, alpha: float
    ) -> Place:
        """Return the place of an L and its best f.

        Not with the solver's dual variables: what K (x) L does not see of them may be
        anything, and K alone does see it.
        """
        scores = problem.entries.joint(kernel) @ fit.start
        return cls._at(problem, kernel.matrix(), scores, alpha)

    @classmethod
    def _at(
        cls, problem: Problem, output_kernel: Array, scores: Array, alpha: float
    ) -> Place:
        """Return the place where alpha C is minus the gradient of the loss."""
        if problem.centered:
            scores = scores + problem.entries.spread(problem.best_intercept(scores))
        gradient = problem.loss.negative_gradient(
            problem.targets, scores, problem.weights
        )
        dual = gradient / alpha
        return cls(output_kernel, dual, symmetric(problem.entries.gram(dual, dual)))

    @classmethod
    def zero(cls, problem: Problem, alpha: float) -> Place:
        """Return L = 0, where b is the best constant and f is zero."""
        xp = namespace(problem.targets)
        scores = xp.zeros_like(problem.targets)
        size = (problem.n_outputs, problem.n_outputs)
        return cls._at(problem, xp.zeros(size, dtype=scores.dtype), scores, alpha)


class Model(NamedTuple):
    """A problem with the squared loss, equal to phi to first order at a place.

    Attributes
    ----------
    problem : Problem
        The problem that it is a model of.
    rows : array (k, m)
        d^(1/2) Z, whatever h.
    values : array (k, 1)
        e.
    place : Place
        Where it has the gradient of phi.
    """

    problem: Problem
    rows: Array
    values: Array
    place: Place

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
            TargetMatrix(Dense(identity * (h * self.values))),
            self.problem.structure,
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
        axes = kernel.spectral()
        inside = axes.coordinates(targets)
        dual = inside / (values * axes.eigenvalues + alpha)
        outside = targets - axes.from_coordinates(inside)
        dual = axes.from_coordinates(dual) + outside / alpha
        moment = dual.T @ (values * dual)
        way = kernel.matrix() - self.place.output_kernel
        return inner(self.place.moment - moment, way)


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

    @classmethod
    def of(cls, problem: Problem, rank: int) -> Prepared:
        """Choose columns of K, and rotate them."""
        columns = problem.operator.low_rank(rank).factors[0]
        xp = namespace(columns)
        left = problem.operator.diagonal() - xp.sum(columns * columns, axis=1)
        values, vectors = eigh(columns.T @ columns)
        return cls(
            problem,
            columns @ vectors,
            xp.clip(values, 0.0, None),
            max(float(xp.max(left)), 0.0),
        )

    def model(self, place: Place) -> Model:
        """Return the model of phi at an L."""
        xp = namespace(place.moment)
        rows = self.problem.entries.against(self.columns, place.dual)
        values = self.values
        largest = float(xp.max(values)) if values.shape[0] else 0.0
        if self.rest > _FLATTEST * largest or largest == 0:
            left, vectors = eigh(place.moment - rows.T @ rows)
            roots = xp.sqrt(xp.clip(left, 0.0, None))
            weight = self.rest if self.rest > 0 else 1.0
            rows = xp.concat([rows, (vectors * roots).T])
            values = xp.concat([values, xp.full_like(left, weight)])
        values = xp.clip(values, _FLATTEST * max(largest, self.rest), None)
        return Model(self.problem, rows, values[:, None], place)
