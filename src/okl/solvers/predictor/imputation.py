r"""Known output kernel, squared loss, missing targets: by imputing them.

With complete targets the spectral solver divides by A = K (x) L + alpha I. The best f
for the observed targets y_o is the best f for complete targets whose missing part y_m
is chosen to cost least. Such y_m are those that the model itself predicts:

.. math:: \min_{y_m} \tfrac{\alpha}{2}\, y' A^{-1} y
          \quad\Longleftrightarrow\quad (A^{-1} y)_m = 0,

that is, dual variables vanish where nothing was observed. Conjugate gradients solve
this system, whose unknowns are the *missing* entries; a product with it is one complete
spectral solve. Its eigenvalues lie at 1 / alpha except as many as K (x) L has above
alpha, so that few steps are enough; the system of the observed entries would take ten
times as many.

*The intercept* is found as for complete targets, by centring K and y.

*The gap costs no product.* It needs <a, K a L> for the residuals a of the observed
entries. U'aV follows from what is computed anyway: U'yV by the spectral solve, and the
residuals of the imputed entries in these coordinates with the next direction. A path
shares the decomposition of K, and starts from the imputed values of the last alpha.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np

from okl.losses.separable import weighted
from okl.numerics.arrays import Array, inner, namespace
from okl.operators import JointSpectrum
from okl.output_kernels import SpectralKernel
from okl.problems import Problem, Rotated, Weighting, n_observed
from okl.solvers.base import Solver
from okl.solvers.monitor import SAFETY, Monitor
from okl.solvers.predictor.spectral import best_coefficients
from okl.solvers.request import Request
from okl.solvers.solution import Solution, certified

# At least one target in so many is observed. With fewer of them Newton's method, whose
# unknowns are the observed targets, takes less time.
_FEWEST = 4


class Imputation(Solver):
    """Conjugate gradients on the missing entries, each product a spectral solve.

    For target matrices of which at least a quarter is observed.
    """

    name: ClassVar[str | None] = "imputation"
    structure_requires: ClassVar[frozenset[str]] = frozenset({"known"})
    weightings: ClassVar[frozenset[Weighting]] = frozenset({"none", "missing"})

    def missing(self, problem: Problem) -> list[str]:
        """Return what a problem lacks, enough observed targets included."""
        words = super().missing(problem)
        n, m = problem.targets.shape
        if n_observed(problem) * _FEWEST < n * m:
            words.append(f"at least 1 in {_FEWEST} targets to be observed")
        return words

    def prepare(self, problem: Problem) -> PreparedImputation:
        """Decompose K and L."""
        known = problem.known()
        assert known is not None
        return self.prepare_for(problem, known.spectral())

    def prepare_for(
        self, problem: Problem, known: SpectralKernel
    ) -> PreparedImputation:
        """Prepare to find the best f for some L, one that a structure learns."""
        xp = namespace(problem.targets)
        observed = weighted(xp.ones_like(problem.targets), problem.weights)
        counts = xp.sum(observed, axis=0)
        spectrum = problem.entries.joint(known).spectrum()
        return PreparedImputation(
            problem,
            known,
            observed,
            xp.where(counts > 0, counts, xp.ones_like(counts)),
            spectrum.inputs.vectors.T @ observed,
            spectrum,
        )

    def solve(self, prepared: PreparedImputation, request: Request) -> Solution:
        """Iterate from the imputed targets of a neighbouring alpha, or from zero."""
        alpha, tol, max_iter, start = request
        problem, known = prepared.problem, prepared.known
        monitor = Monitor(problem.gap_scale, tol=SAFETY * tol, max_iter=max_iter)
        completed, predictions = _impute(prepared, alpha, start, monitor)
        rotated = Rotated.of(problem.completed(completed))
        coefficients = best_coefficients(rotated, known, alpha)
        dual_coef = rotated.lift(coefficients)
        _, intercept = problem.at_best_intercept(predictions)
        return certified(
            problem,
            dual_coef,
            known,
            request,
            history=monitor.history,
            start=completed,
            intercept=intercept,
        )


class PreparedImputation(NamedTuple):
    """A problem, the L that is held fixed, and what does not depend on alpha."""

    problem: Problem  # with weights of zero and one
    known: SpectralKernel  # L
    observed: Array  # (n_samples, n_outputs): one for a target, zero for a missing one
    counts: Array  # (n_outputs,): how many targets an output has, at least one
    column_sums: Array  # U' times what is observed (k, n_outputs)
    spectrum: JointSpectrum  # of K (x) L, for the predictions of all targets

    def under(self, problem: Problem, kernel: SpectralKernel) -> PreparedImputation:
        """Return the same with another loss or another L."""
        spectrum = problem.entries.joint(kernel).spectrum()
        return self._replace(problem=problem, known=kernel, spectrum=spectrum)

    def residuals(self, alpha: float) -> Callable[[Array], Array]:
        """Return the map from complete targets to the residuals of the best f."""
        joint = self.spectrum
        gain = joint.eigenvalues / (joint.eigenvalues + alpha)

        def residuals(rows: Array) -> Array:
            predictions = joint.from_coordinates(gain * joint.coordinates(rows))
            return self.problem.balanced(rows) - predictions

        return residuals


def _impute(
    prepared: PreparedImputation, alpha: float, start: Array | None, monitor: Monitor
) -> tuple[Array, Array]:
    """Return the completed targets, and the predictions of the model without b."""
    problem, observed = prepared.problem, prepared.observed
    joint = prepared.spectrum
    gain = joint.eigenvalues / (joint.eigenvalues + alpha)
    start = 0.0 * observed if start is None else start
    completed = observed * problem.targets + (1 - observed) * start
    coordinates = joint.coordinates(completed)
    predictions = joint.from_coordinates(gain * coordinates)
    # alpha C of the completed targets; at the optimum zero where they are imputed
    dual = problem.balanced(completed) - predictions
    direction, last, size = 0.0 * observed, 0.0 * coordinates, 0.0
    # The mean of an output without targets is not determined: its residuals have a mean
    # by rounding alone, which the iteration would follow without end.
    xp = namespace(observed)
    untold = 1.0 - xp.max(observed, axis=0) if problem.centered else 0.0
    while True:
        residual = (observed - 1) * dual
        residual = residual - untold * xp.mean(residual, axis=0)
        previous, size = size, inner(residual, residual)
        turn = size / previous if previous > 0 else 0.0
        direction = residual + turn * direction
        moved = joint.coordinates(direction)
        # U'rV, without a product of its own
        residual_coordinates = moved - turn * last
        last = moved
        primal, dual_value = _bounds(
            prepared, alpha, completed, coordinates, dual, residual_coordinates
        )
        monitor.add(primal, dual_value)
        # squares that underflow give no length of a step
        if monitor.done or size <= np.finfo(np.float64).tiny:
            return completed, predictions
        change = joint.from_coordinates(gain * moved)
        image = problem.balanced(direction) - change
        step = size / inner(direction, image)
        completed = completed + step * direction
        coordinates = coordinates + step * moved
        predictions = predictions + step * change
        dual = dual + step * image


def _bounds(
    prepared: PreparedImputation,
    alpha: float,
    completed: Array,
    coordinates: Array,
    dual: Array,
    imputed: Array,
) -> tuple[float, float]:
    """Return primal and dual value of the model of completed targets Y.

    The coordinates are U'YV, dual is alpha C, imputed is U' times minus alpha C at
    the imputed entries, times V.
    """
    observed, spread = prepared.observed, prepared.spectrum.eigenvalues
    scaled = coordinates / (spread + alpha)
    implied = observed * dual
    rotated = alpha * scaled + imputed
    if prepared.problem.centered:
        shift = namespace(implied).sum(implied, axis=0) / prepared.counts
        implied = implied - observed * shift
        rotated = rotated - prepared.spectrum.outputs.coordinates(
            prepared.column_sums * shift
        )
    loss = inner(implied, implied) / 2
    primal = loss + alpha / 2 * inner(scaled, spread * scaled)
    norm = inner(rotated, spread * rotated)
    return primal, inner(implied, completed) - loss - norm / (2 * alpha)
