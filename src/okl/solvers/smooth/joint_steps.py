r"""Newton's steps in f and a factor of L at once: the trace penalty.

With L = B B' and the dual variables C = A B (B'B)^{-1} of f, scores are bilinear in A
and B, and the objective is the loss plus a sum of squares,

.. math:: F = P B' + 1 b', \qquad P = K A, \qquad
          \sum_i V(y_i, F_i) + \tfrac{\alpha}{2} (\langle A, P \rangle + \|B\|_F^2).

`okl.solvers.smooth.factor_steps` finds the best f for each L that it tries, and for a
loss that bends sharply each of these takes dozens of factorised systems. Here a step
takes one, wherever f is, and to try a share of it takes no more than the loss.

The equations of a step are those of `okl.solvers.smooth.joint_equations`.

Each step ends with the singular value decomposition of f, which gives its best L: of
all A and B with the same A B' the sum of squares is least where A'P = B'B is a diagonal
matrix.
"""

from __future__ import annotations

from okl.numerics.arrays import Array, count, eigh, inner, namespace, symmetric
from okl.output_kernels import SpectralKernel
from okl.solvers.request import Request
from okl.solvers.smooth.backtracking import first_lower
from okl.solvers.smooth.factor_iterate import FactorIterate
from okl.solvers.smooth.factor_steps import FORCING, FactorSteps
from okl.solvers.smooth.joint_equations import JointPoint, joint_step
from okl.solvers.smooth.rounds import PreparedRounds, Start, zero_kernel
from okl.solvers.smooth.scores import Scores
from okl.solvers.solution import certified

# The most shares of a step that are tried, and of one that is damped.
_TRIALS, _DAMPED_TRIALS = 40, 4
# mu, the damping:
_FIRST = 1e-2  # where a step is first too long
_LARGER, _SMALLER = 5.0, 0.2  # factors after a step that was too long, and after others
_NEGLIGIBLE = 1e-8  # less than this is none
# The share of a step that is taken:
_SHORT = 0.1  # below this it is computed again, with a larger mu
_ENOUGH = 0.3  # from here on mu does not grow
# A promised decrease below this part of the objective is hidden by rounding.
_UNSEEN = 1e-14
# After _MOST_TINY steps of a share below _TINY other steps are taken instead.
_TINY, _MOST_TINY = 1e-2, 3
# Singular values whose squares are below this (relative) are zero.
_ROUNDING = 1e-14
# The columns that L grows by have its trace, at least _GROWN. That is multiplied by
# _LESS for the next trial, of at most _GROWTHS.
_GROWN, _LESS, _GROWTHS = 1e-3, 0.25, 30


class JointSteps(FactorSteps):
    """The steps at one alpha; the penalty is the trace."""

    # mu, and how many steps had a tiny share, at first
    _damping, _tiny = 0.0, 0

    def lower(self, model: FactorIterate, gap: float) -> FactorIterate | None:
        """Return the model after a step, None where none is lower.

        None also after a few steps of a tiny share, where steps with the best f for
        each L are faster. Under a bound on the rank, where other minima are near, they
        are not.
        """
        bounded = self.prepared.problem.rank_is_bounded
        fails = self._tiny >= _MOST_TINY and not bounded
        return None if fails else super().lower(model, gap)

    @classmethod
    def zero(cls, prepared: PreparedRounds, alpha: float) -> FactorIterate:
        """Return the model of L = 0."""
        targets, kernel = prepared.problem.targets, zero_kernel(prepared.problem)
        nothing = namespace(targets).zeros_like(targets)
        start = Start(kernel, prepared.inside_of(nothing, kernel, alpha))
        return cls(prepared, alpha, start).model_of(start)

    def model_of(self, start: Start) -> FactorIterate:
        """Return the model of an L and the dual variables for it."""
        problem = self.prepared.problem
        kernel = start.kernel.spectral()
        factor = kernel.largest(problem.structure.max_rank(problem.n_outputs)).factor()
        rows = self.prepared.dual_of(start.inside) @ factor
        return self._iterate(self._at(rows, factor, problem.operator @ rows))

    def _at(
        self, rows: Array, factor: Array, image: Array, near: Array | None = None
    ) -> JointPoint:
        """Evaluate A, B and P, given a guess of the best intercept or None."""
        problem = self.prepared.problem
        scores, intercept = Scores.at_best(problem, image @ factor.T, near)
        squares = inner(rows, image) + inner(factor, factor)
        objective = problem.loss_at(scores.predictions) + self.alpha / 2 * squares
        return JointPoint(rows, factor, image, scores, intercept, objective)

    def _iterate(self, point: JointPoint) -> FactorIterate:
        """Return the certified model of a point."""
        problem = self.prepared.problem
        kernel = SpectralKernel.from_factor(point.factor)
        theta = problem.balanced(point.rows @ point.factor.T)
        dual = kernel.solve(theta, namespace(theta).zeros_like(theta))
        fit = certified(
            problem,
            theta,
            kernel,
            Request(self.alpha, 0.0, 1),
            start=self.prepared.inside_of(dual, kernel, self.alpha),
            intercept=point.intercept,
            predictions=point.scores.fitted,
        )
        return FactorIterate.of(fit, point.scores)

    def _point(self, model: FactorIterate) -> JointPoint:
        """Return A and B of a model, the columns of B orthogonal."""
        factor, xp = model.kernel.factor(), namespace(model.dual_rows)
        back = factor / xp.sum(factor * factor, axis=0)
        rows, image = model.fit.dual_coef @ back, model.scores.fitted @ back
        return self._at(rows, factor, image, model.fit.intercept)

    def _stepped(self, model: FactorIterate, gap: float) -> FactorIterate:
        """Return the model after a step, or the model."""
        if model.kernel.rank == 0:
            return model
        here = self._point(model)
        limited = self.is_limited(model)
        while True:
            rows, factor = joint_step(
                self.prepared,
                here,
                self.alpha,
                damping=self._damping,
                convex=not limited,
                rtol=min(FORCING, gap**0.5),
            )
            there, share, slope = self._shortened(here, rows, factor, limited)
            self.promise = slope / 2
            self._tiny += share < _TINY
            foreseen = share * slope * (1 - share / 2)
            good = here.objective - there.objective > foreseen / 2
            if good and share > 0.5:
                lower = _SMALLER * self._damping
                self._damping = lower if self._damping > _NEGLIGIBLE else 0.0
            elif limited and share < _ENOUGH:
                self._damping = max(_LARGER * self._damping, _FIRST)
            over = not abs(self.promise) > _UNSEEN * here.objective
            if share >= _SHORT or not limited or over:
                break
        return model if there is here else self._iterate(self._decomposed(there))

    def _shortened(
        self, here: JointPoint, rows: Array, factor: Array, limited: bool
    ) -> tuple[JointPoint, float, float]:
        """Return the first lower point along a step, its share, and the slope."""
        image = self.prepared.problem.operator @ rows
        along = image @ here.factor.T + here.image @ factor.T
        slope = inner(here.scores.gradient, along)
        slope -= self.alpha * (inner(rows, here.image) + inner(factor, here.factor))

        def at(share: float) -> JointPoint:
            return self._at(
                here.rows + share * rows,
                here.factor + share * factor,
                here.image + share * image,
                here.intercept,
            )

        trials = _DAMPED_TRIALS if limited else _TRIALS
        return *first_lower(here, at, slope, trials=trials), slope

    def _decomposed(self, point: JointPoint) -> JointPoint:
        """Return the same f, with the least sum of squares."""
        xp = namespace(point.factor)
        values, turn = _positive(point.factor.T @ point.factor)
        roots = xp.sqrt(values)
        outputs, inside = point.factor @ (turn / roots), turn * roots
        rows, image = point.rows @ inside, point.image @ inside
        squares, turn = _positive(symmetric(rows.T @ image))
        sizes = squares**0.25
        inside = turn / sizes
        factor = outputs @ (turn * sizes)
        return self._at(rows @ inside, factor, image @ inside, point.intercept)

    def _grown(self, model: FactorIterate) -> FactorIterate:
        """Return the first lower model with more of what L lacks, or the model."""
        problem, here = self.prepared.problem, self._point(model)
        image, moment = self._dual(model)
        values, vectors = eigh(moment)
        xp = namespace(values)
        most = problem.structure.max_rank(problem.n_outputs) - model.kernel.rank
        first = values.shape[0] - min(count(values > 1), most)
        excess, vectors = values[first:] - 1, vectors[:, first:]
        if not excess.shape[0]:
            return model
        trace = max(inner(here.factor, here.factor), _GROWN)
        for _ in range(_GROWTHS):
            columns = vectors * xp.sqrt(trace * excess / xp.sum(excess))
            there = self._at(
                xp.concat([here.rows, model.dual_rows @ columns / self.alpha], axis=1),
                xp.concat([here.factor, columns], axis=1),
                xp.concat([here.image, image @ columns], axis=1),
                here.intercept,
            )
            if there.objective < here.objective:
                return self._iterate(self._decomposed(there))
            trace *= _LESS
        return model


def _positive(matrix: Array) -> tuple[Array, Array]:
    """Return the eigenvalues that are not zero, and their eigenvectors."""
    values, vectors = eigh(matrix)
    least = _ROUNDING * max(float(values[-1]), 0.0)
    first = values.shape[0] - count(values > least)
    return values[first:], vectors[:, first:]
