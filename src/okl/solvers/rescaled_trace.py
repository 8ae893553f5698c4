r"""Output kernel of bounded trace, by the path of the trace penalty.

If L' is optimal for R(L) = tr(L) / 2 at alpha', then L' / s, s = tr L', is optimal for
tr L <= 1 at alpha' / s, with the same predictor. So the ball at alpha is the root of

.. math:: \log \alpha' = \log \alpha + \log \operatorname{tr} L'(\alpha'),

one increasing equation in one number, on a path that `FactoredNewton` walks at low
rank. Alternating between predictor and output kernel, as published, is still at
relative gaps of 1e-6 to 1e-3 after a thousand rounds: it has to shrink every
direction that L does not need.
"""

from __future__ import annotations

from dataclasses import replace
from math import exp, inf, log
from typing import ClassVar, NamedTuple

from scipy.optimize import brentq

from okl.numerics.arrays import Array, eigh, inner, namespace
from okl.output_kernels import SpectralKernel
from okl.problems import Problem, Rotated
from okl.solvers.alternation import known_coefficients
from okl.solvers.base import Solver
from okl.solvers.factored_newton import FactoredNewton
from okl.solvers.solution import History, Solution, conclude
from okl.structures import LowRank

# The walk down to a bracket goes in steps of this in log alpha'.
_WALK, _MAX_WALK = log(4.0), 40
# The excess where L' is zero.
_LARGE = 1e3
# alpha' and its problem are solved to this part of the gap asked for.
_SHARE, _LEAST_TOLERANCE = 1e-2, 1e-12


class RescaledTrace(Solver):
    """Find the trace penalty whose optimal L, scaled, is that of the ball.

    ``max_iter`` bounds the Newton steps of each penalised problem.
    """

    name: ClassVar[str | None] = "rescaled_trace"
    structure_requires: ClassVar[frozenset[str]] = frozenset({"trace_ball"})

    def prepare(self, problem: Problem) -> Rotated:
        """Decompose K."""
        return Rotated.of(problem)

    def solve(
        self,
        prepared: Rotated,
        alpha: float,
        *,
        tol: float,
        max_iter: int,
        start: _Place | None = None,
    ) -> Solution:
        """Walk down to a bracket from the alpha' of a larger alpha; find the root."""
        walk = _Walk(prepared, alpha, start, tol=tol, max_iter=max_iter)
        high = log(start.alpha) if start is not None else walk.largest_logarithm()
        root = None
        if high > -inf:
            bracket = walk.bracket(high)
            if bracket is not None:
                root = brentq(walk.excess, *bracket, xtol=walk.share)
        kernel = walk.scaled_output_kernel()
        coordinates = known_coefficients(prepared, kernel, alpha)
        return conclude(
            prepared,
            kernel.from_coordinates(coordinates),
            kernel,
            alpha,
            tol=tol,
            history=walk.history,
            start=None if root is None else walk.place(root),
        )


class _Place(NamedTuple):
    """Where a walk stands: alpha', and a factor of its L'."""

    alpha: float
    factor: Array

    @property
    def trace(self) -> float:
        """The trace of L'."""
        return inner(self.factor, self.factor)

    def scaled_output_kernel(self) -> SpectralKernel:
        """Return L' / tr L'."""
        return SpectralKernel.from_factor(self.factor / self.trace**0.5)


class _Walk:
    """The penalised problem at many alpha', each solved from the one before.

    Attributes
    ----------
    best : _Place or None
        Where the gap of the ball was smallest.
    share : float
        The tolerance of each problem, and of log alpha'.
    history : History
        The ball's bounds at each alpha'.
    """

    def __init__(
        self,
        prepared: Rotated,
        alpha: float,
        start: _Place | None,
        *,
        tol: float,
        max_iter: int,
    ) -> None:
        problem = prepared.problem
        self._ball = prepared
        penalised = replace(problem, structure=LowRank())
        self._penalised = replace(prepared, problem=penalised)
        self._alpha = alpha
        self._max_iter = max_iter
        self._last = self.best = start
        self._smallest_gap = inf
        self._known: dict[float, float] = {}
        self.share = max(_SHARE * tol, _LEAST_TOLERANCE)
        self.history = History(problem.reference)

    def largest_logarithm(self) -> float:
        """Return log of the alpha' from which on L' is zero; -inf if it always is."""
        targets = self._ball.targets
        moment = targets.T @ (self._ball.eigenvalues * targets)
        largest = float(eigh((moment + moment.T) / 2)[0][-1])
        return log(largest) / 2 if largest > 0 else -inf

    def bracket(self, high: float) -> tuple[float, float] | None:
        """Return two log alpha' between which the root lies, from a guess above it.

        None where the walk ends without one: targets that are zero up to rounding.
        """
        low = high
        for _ in range(_MAX_WALK):
            low, high = low - _WALK, low
            if self.excess(low) < 0:
                break
        else:
            return None
        while self.excess(high) <= 0:
            low, high = high, high + _WALK
        return low, high

    def excess(self, logarithm: float) -> float:
        """Solve at log alpha'; return by how much that is too large."""
        if logarithm in self._known:
            return self._known[logarithm]
        solution = FactoredNewton().solve(
            self._penalised,
            exp(logarithm),
            tol=self.share,
            max_iter=self._max_iter,
            start=None if self._last is None else self._last.factor,
        )
        place = self._last = _Place(exp(logarithm), solution.start)
        if solution.output_kernel.rank == 0:
            return _LARGE
        kernel = place.scaled_output_kernel()
        coordinates = known_coefficients(self._ball, kernel, self._alpha)
        gap = self.history.add(
            *self._ball.bounds(
                kernel.from_coordinates(coordinates), kernel, self._alpha
            )
        )
        if gap < self._smallest_gap:
            self._smallest_gap, self.best = gap, place
        excess = logarithm - log(self._alpha) - log(place.trace)
        self._known[logarithm] = excess
        return excess

    def place(self, logarithm: float) -> _Place:
        """Return where another walk may start: near the root, wherever the best is."""
        assert self._last is not None
        return _Place(exp(logarithm), self._last.factor)

    def scaled_output_kernel(self) -> SpectralKernel:
        """Return the best L' / tr L', a multiple of the identity if there is none."""
        if self.best is not None and self.best.trace > 0:
            return self.best.scaled_output_kernel()
        targets = self._ball.targets
        m = targets.shape[1]
        return SpectralKernel(namespace(targets).full((m,), 1 / m, dtype=targets.dtype))
