"""Predictor and output kernel in turn, for any structure that has a step.

With L fixed the best f is a closed form; with f fixed the best L is the structure's
step at P = F'K^+F. Both lower the same convex objective, so the iteration is
monotone and L stays PSD. Holding the coefficients C instead of f while L is
updated, as published (Dinuzzo et al. 2011, Lemma 4.1), has neither property.

Alone the two steps can take for ever: given f the range of L can only shrink, and
where L is singular at the optimum a direction may be all but lost before it turns out
to be needed (relative gaps of 1e-5 to 1e-2 after thousands of rounds). A round that
closes little of the gap therefore tries other output kernels, and goes on from the one
with the lowest objective, so that it stays monotone:

- where L^(1/2) has been going, by `okl.solvers.output_kernel.extrapolation`;
- B B' for the factor B that is best for the coordinates KCB of f, a ridge regression
  and the published step in B (Dinuzzo & Fukumizu 2011, section 5): it turns the range;
- L with more of the directions that the certificate finds missing
  (`okl.solvers.factor.rank_growth`).

Under a bound on the rank the largest eigenvalues are kept. The objective is not convex
there: a round from which Newton's method promises less than the tolerance is the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from okl.numerics.arrays import Array, namespace, solve_definite, symmetric
from okl.optimization.regions import HalfTrace
from okl.output_kernels import SpectralKernel
from okl.problems import Problem, Rotated
from okl.solvers.base import Solver
from okl.solvers.factor.factored_point import FactoredPoint
from okl.solvers.factor.rank_growth import RankGrowth, mean_on
from okl.solvers.monitor import Monitor
from okl.solvers.output_kernel.alternation import (
    best_output_kernel,
    first_output_kernel,
)
from okl.solvers.output_kernel.extrapolation import Extrapolation
from okl.solvers.predictor.spectral import best_coefficients
from okl.solvers.request import Request
from okl.solvers.solution import Solution, certified

# The structure's step is solved to a fraction of the gap asked for.
_STEP_TOLERANCE = 1e-2
# A start that has lost directions is given this much of an L that has them all.
_FRESH = 1e-2
# A round that closes less than this part of the gap is a slow one.
_SLOW = 0.1
# Relative residual of a Newton system.
_FORCING = 0.1
# Iterates that the extrapolation remembers.
_MEMORY = 9


class BlockCoordinateDescent(Solver):
    """Alternate between f and L until the gap is closed.

    The reference method: simple, monotone, for every structure, and slower than the
    solvers made for one.
    """

    name: ClassVar[str | None] = "block_coordinate_descent"
    structure_requires: ClassVar[frozenset[str]] = frozenset({"update"})

    def missing(self, problem: Problem) -> list[str]:
        """Return what a problem lacks, each in words that follow 'it needs'."""
        region = problem.structure.region(problem.n_outputs)
        trace = isinstance(region, HalfTrace)
        lacking = ["a structure whose rank is not bounded, or 'low_rank'"]
        return super().missing(problem) + lacking * (
            problem.rank_is_bounded and not trace
        )

    def prepare(self, problem: Problem) -> Rotated:
        """Decompose K."""
        return Rotated.of(problem)

    def solve(self, prepared: Rotated, request: Request) -> Solution:
        """Alternate, from L of a neighbouring alpha or from a scaled identity."""
        alpha, tol, max_iter, start = request
        problem = prepared.problem
        monitor = Monitor(problem.reference, tol=tol, max_iter=max_iter)
        turns = _Turns(prepared, alpha, _STEP_TOLERANCE * tol)
        known = problem.known()
        model = turns.model(turns.first(start) if known is None else known.spectral())
        rank_limited = False
        while True:
            gap = monitor.add(model.primal, model.dual)
            if monitor.done:
                break
            previous, model = model, turns.lower(model)
            # where the bound on the rank binds, little of the gap can be closed
            little = min(tol * model.primal, _SLOW * (model.primal - model.dual))
            if previous.primal - model.primal <= little:
                rank_limited = turns.promise(model, gap) <= little
                if rank_limited:
                    monitor.add(model.primal, model.dual)
                    break
        return certified(
            problem,
            prepared.lift(model.coefficients),
            model.output_kernel,
            request,
            history=monitor.history,
            start=model.output_kernel,
            rank_limited=rank_limited,
        )


@dataclass(frozen=True)
class _Model:
    """An output kernel, and U'Theta (k, n_outputs) of the best f for it."""

    output_kernel: SpectralKernel
    coefficients: Array
    primal: float
    dual: float

    def is_slow_after(self, other: _Model) -> bool:
        """Tell whether it is hardly better than another model."""
        return other.primal - self.primal < _SLOW * (other.primal - other.dual)


class _Turns:
    """The rounds of the alternation at one alpha, and what they have seen."""

    def __init__(self, prepared: Rotated, alpha: float, update_tol: float) -> None:
        self.prepared, self.alpha, self.update_tol = prepared, alpha, update_tol
        self.bounded = prepared.problem.rank_is_bounded
        self.seen = Extrapolation(_MEMORY)
        self.growth = RankGrowth()

    def first(self, start: SpectralKernel | None) -> SpectralKernel:
        """Return an L of full range: that of the iterates can only shrink."""
        fresh = first_output_kernel(self.prepared, self.alpha, tol=self.update_tol)
        if start is None:
            return self._within_rank(fresh)
        if start.rank == self._max_rank:
            return start
        together = start.matrix() + _FRESH * fresh.matrix()
        return self._within_rank(SpectralKernel.from_matrix(together))

    def model(self, kernel: SpectralKernel) -> _Model:
        """Return the model with the best f for an output kernel."""
        coefficients = best_coefficients(self.prepared, kernel, self.alpha)
        values = self.prepared.bounds(coefficients, kernel, self.alpha)
        return _Model(kernel, coefficients, *values)

    def lower(self, model: _Model) -> _Model:
        """Return the best of a round: f and L in turn, and what else is tried."""
        best = self._turn(model)
        if best.is_slow_after(model):
            roots = (m.output_kernel.matrix_power(0.5) for m in (model, best))
            self.seen.add(*roots)
        for trials in (self._extrapolated, self._turned, self._grown):
            if best.is_slow_after(model):
                best = self._first_lower(best, trials(best))
        return best

    def promise(self, model: _Model, gap: float) -> float:
        """Return what a Newton step in B promises, where the rank is bounded."""
        if not self.bounded or model.output_kernel.rank < self._max_rank:
            return float("inf")
        targets = self.prepared.targets
        point = FactoredPoint.of(
            self.prepared.eigenvalues,
            targets,
            namespace(targets).eye(targets.shape[1], dtype=targets.dtype),
            model.output_kernel.matrix(),
            self.alpha,
        )
        _, slope = point.newton_step(self.alpha, rtol=min(_FORCING, gap**0.5))
        return -slope / 2

    def _turn(self, model: _Model) -> _Model:
        """Return the best L for the f of a model, with the best f for that."""
        coefficients = model.coefficients
        step = best_output_kernel(self.prepared, coefficients, tol=self.update_tol)
        return self.model(self._within_rank(step))

    def _first_lower(self, best: _Model, kernels: Iterable[SpectralKernel]) -> _Model:
        """Return the model of the first kernel that is better, or the best so far."""
        for kernel in kernels:
            # the step makes an L that a structure allows of one that it does not
            trial = self._turn(self.model(self._within_rank(kernel)))
            if trial.primal < best.primal:
                return trial
        return best

    def _extrapolated(self, model: _Model) -> Iterator[SpectralKernel]:
        """Yield where the square root of L has been going."""
        root = self.seen.guess()
        if root is not None:
            yield SpectralKernel.from_matrix(root @ root.T)

    def _turned(self, model: _Model) -> Iterator[SpectralKernel]:
        """Yield the best B B' for the coordinates G = KCB of the predictor G B'.

        Where something else than tr(L) / 2 limits L, its multiplier takes the place
        of the penalty: the mean of S on L.
        """
        xp = namespace(model.coefficients)
        kernel = model.output_kernel
        dual, moment = self._dual(model)
        predictor = self.prepared.eigenvalues * (dual @ kernel.factor())
        ridge = self.alpha * mean_on(kernel, moment)
        if ridge > 0:
            gram = predictor.T @ predictor
            gram = gram + ridge * xp.eye(gram.shape[0], dtype=gram.dtype)
            turned = solve_definite(gram, predictor.T @ self.prepared.targets)
            yield SpectralKernel.from_factor(turned.T)

    def _grown(self, model: _Model) -> Iterator[SpectralKernel]:
        """Yield L with less and less of the directions that it lacks."""
        d = self.prepared.eigenvalues
        largest = float(namespace(d).max(d)) if self.prepared.rank else 0.0
        if largest > 0:
            _, moment = self._dual(model)
            yield from self.growth.added_to(
                model.output_kernel, moment, least=self.alpha / largest
            )

    def _dual(self, model: _Model) -> tuple[Array, Array]:
        """Return U'C of the residuals, and S = C'KC."""
        d = self.prepared.eigenvalues
        dual = (self.prepared.targets - d * model.coefficients) / self.alpha
        moment = dual.T @ (d * dual)
        return dual, symmetric(moment)

    @property
    def _max_rank(self) -> int:
        problem = self.prepared.problem
        return problem.structure.max_rank(problem.targets.shape[1])

    def _within_rank(self, kernel: SpectralKernel) -> SpectralKernel:
        """Keep the largest eigenvalues where the rank is bounded."""
        return kernel.largest(self._max_rank)
