r"""Known output kernel, smooth loss: Newton's method for weights of features.

Where K = Phi Phi' comes from features, fewer than there are rows or hardly more, a
model is smaller as the weights W = Phi'C L of the features than as dual variables C,
and Newton's equations with it (`okl.solvers.predictor.feature_equations`). Of the size
of the targets there are only scores and what follows from them, made for a few rows at
a time. The dual value needs no C: it is that of alpha C = a, minus the gradient of the
loss at the scores.

*Dual variables* of W are found in the end, once. With U = Phi'C and a they are

.. math:: C = a / \alpha + \Phi z, \qquad \Phi' \Phi z = U - \Phi' a / \alpha,

small where the fit is close to its optimum. The certificate is that of C, and where it
does not prove as much as was asked for Newton's method goes on from there in dual
variables (`okl.solvers.predictor.newton_cg`).

*Along a path* U is guessed as C is there (`okl.solvers.predictor.newton_start`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from okl.numerics.arrays import Array
from okl.operators.feature_rows import FeatureRows
from okl.optimization.conjugate_gradient import conjugate_gradient
from okl.problems import Problem
from okl.solvers.base import Solver
from okl.solvers.predictor.feature_point import FeaturePoint, FeatureProblem
from okl.solvers.predictor.feature_steps import fitted
from okl.solvers.predictor.newton_cg import NewtonCG
from okl.solvers.predictor.newton_start import NewtonStart
from okl.solvers.request import Request
from okl.solvers.solution import Record, Solution, certified

# What is tried until the certificate proves enough: weights found to this part of the
# tolerance (None: the same ones again), and C whose U is theirs to this part of the
# root of the tolerance.
_TRIALS = ((1.0, 0.3), (None, 1e-2), (0.1, 1e-3))
# The most steps to find C.
_STEPS = 60


class FeatureNewton(Solver):
    """Newton's method for the weights of features, sparse or few.

    Parameters
    ----------
    widest : float, default=1.0
        Most features, as a multiple of the rows. With more, dual variables of the
        weights take long to find.
    """

    name: ClassVar[str | None] = "feature_newton"
    loss_requires: ClassVar[frozenset[str]] = frozenset({"smooth"})
    structure_requires: ClassVar[frozenset[str]] = frozenset({"known"})
    workspace_matrices: ClassVar[int] = 0

    def __init__(self, widest: float = 1.0) -> None:
        self.widest = widest

    def missing_for_given(self, problem: Problem) -> list[str]:
        """Return what a problem lacks, features among it."""
        rows = problem.operator.feature_rows
        fits = rows is not None and rows.shape[1] <= self.widest * rows.shape[0]
        needs = [
            "rows without weights in a squared loss, no more columns than rows, "
            "and a linear kernel"
        ]
        return super().missing_for_given(problem) + needs * (not fits)

    def prepare(self, problem: Problem) -> FeatureProblem:
        """Take the features of K."""
        known, rows = problem.known(), problem.operator.feature_rows
        assert known is not None
        assert rows is not None
        features = FeatureRows(rows.uncorrelated(), problem.centered, problem.n_outputs)
        return FeatureProblem(problem, known, features)

    def solve(self, prepared: FeatureProblem, request: Request) -> Solution:
        """Iterate from the model of a neighbouring alpha or L, or from zero."""
        problem, kernel, tol = prepared.problem, prepared.kernel, request.tol
        records: list[Record] = []
        end = request.start
        for share, close in _TRIALS:
            left = request.max_iter - len(records)
            if share is not None:  # else the weights before do
                closer = Request(request.alpha, share * tol, left, end)
                point, monitor, end = fitted(prepared, closer)
                records += monitor.history.records
                monitor.history.records[:] = records
            dual = _dual_of(point, close * min(tol, 1.0) ** 0.5)
            solution = certified(
                problem,
                problem.balanced_theta(dual, kernel),
                kernel,
                request,
                history=monitor.history,
                start=end,
                intercept=point.intercept,
            )
            left = request.max_iter - len(records)
            if solution.certificate.relative_gap <= tol or left <= 0:
                return solution
        newton = NewtonCG()
        dual_start = NewtonStart(dual, kernel, request.alpha)
        found = newton.solve(
            newton.prepare_for(problem, kernel),
            request._replace(max_iter=left, start=dual_start),
        )
        history = solution.history + found.history
        return replace(found, n_iter=len(history), history=history, start=end)

    def models(
        self,
        prepared: FeatureProblem,
        alphas: Sequence[float],
        *,
        tol: float,
        max_iter: int,
    ) -> Iterator[tuple[FeaturePoint, float]]:
        """Yield models along decreasing alphas, and their gaps.

        Without dual variables.
        """
        start = None
        for alpha in alphas:
            asked = Request(float(alpha), tol, max_iter, start)
            point, monitor, start = fitted(prepared, asked)
            yield point, monitor.gap


def _dual_of(point: FeaturePoint, close: float) -> Array:
    """Return C with Phi'C = U but for so small a part of it."""
    rows, alpha = point.of.rows.rows, point.alpha
    dual = point.gradient / alpha
    left = point.inside - rows.adjoint(dual)
    size = float(np.linalg.norm(left))
    if size <= close * float(np.linalg.norm(point.inside)):
        return dual
    squares = rows.column_norms()[:, None]
    divisor = np.where(squares > 0, squares, 1.0)
    inside = conjugate_gradient(
        lambda right: rows.adjoint(rows.forward(right)),
        left,
        lambda right: right / divisor,
        rtol=close * float(np.linalg.norm(point.inside)) / size,
        max_iter=_STEPS,
    )
    return dual + rows.forward(inside)
