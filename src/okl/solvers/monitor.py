"""A monitor of a solver's iterations: the best model so far, and when to stop."""

from __future__ import annotations

from typing import Any

from okl.certificates import GapScale
from okl.solvers.solution import History

# A solver whose bounds are not those of the final certificate, which has products of
# its own, aims at this part of the tolerance: that leaves room for rounding.
SAFETY = 0.9
# A fall of the objective counts if it is at least this part of the tolerance.
_PROGRESS = 1e-2
# Relative gaps below the first are rounding, and count as equal. The distance of a
# model from the optimum goes with the root of its gap, so that iterations may improve
# it where the gap no longer shows it. A tolerance below rounding asks for these: a
# solver is done after the second number of such gaps. Sums of many numbers are rounded
# more often: gaps up to the third may be rounding too, so that none of them counts as
# smaller than another.
_ROUNDING, _SETTLED, _NOISE = 2.0**-52, 4, 2.0**-46
# Above this the dual value is useless, and the gap says nothing of the model.
_OPEN = 0.5
# Iterations that end above this relative gap, and their tolerance, were led astray by
# their start.
_ASTRAY = 1e-7


class Monitor:
    """The iterations of one solve.

    A solver says after each iteration what it knows (`add`), and ends where `done`.

    Parameters
    ----------
    scale : GapScale
        `Problem.gap_scale`: what gaps are measured by.
    tol : float
        Relative gap to stop at.
    max_iter : int
        Most iterations.
    stagnation : int, default=20
        Iterations in a row without progress, which is a smaller gap or a lower
        objective, after which to stop: rounding is taken to prevent any.

    Attributes
    ----------
    history : History
        A record of each iteration.
    best : object
        The model of the smallest gap, or of the lowest objective where a bound on the
        rank keeps the gap open or none was small; None before the first.
    gap, smallest : float
        The relative gap of the last iteration, and the smallest of all; none is below
        rounding.
    lowest : float
        The lowest objective.
    falls, nears : bool
        Whether the last iteration lowered the objective; and whether it lowered the
        objective or the smallest gap, which does not count where a bound on the rank
        keeps it open.
    """

    def __init__(
        self, scale: GapScale, tol: float, max_iter: int, *, stagnation: int = 20
    ) -> None:
        self.history = History(scale)
        self.scale = scale
        self.best: Any = None
        self.gap = self.smallest = self.lowest = float("inf")
        self.falls = self.nears = False
        self._tol, self._max_iter, self._stagnation = tol, max_iter, stagnation
        self._idle = self._settled = 0

    def add(
        self, primal: float, dual: float, model: Any = None, *, limited: bool = False
    ) -> float:
        """Record the values of an iteration; return its relative gap.

        `best` is its model if that is the best one: by the gap or, where a bound on the
        rank keeps that open (``limited``) or no gap was small, by the objective.
        """
        # below zero it is rounding, and no better for it
        self.gap = max(abs(self.history.add(primal, dual)), _ROUNDING)
        least = _PROGRESS * self._tol * self.scale.of(primal)
        self.falls = self.lowest - primal > least
        closer = self.gap < self.smallest
        # of models with the same gap the later one is nearer to the optimum
        as_close = self.gap <= max(self.smallest, _NOISE)
        by_objective = limited or min(self.gap, self.smallest) > _OPEN
        if self.n_iter == 1 or (primal < self.lowest if by_objective else as_close):
            self.best = model
        self.nears = self.falls or (closer and not limited)
        self._idle = 0 if self.nears else self._idle + 1
        self._settled += self.gap <= _ROUNDING
        self.smallest = min(self.smallest, self.gap)
        self.lowest = min(self.lowest, primal)
        return self.gap

    @property
    def n_iter(self) -> int:
        """The number of iterations so far."""
        return len(self.history.records)

    @property
    def stalled(self) -> bool:
        """Whether as many iterations as count as stagnation made no progress."""
        return self._idle >= self._stagnation

    @property
    def astray(self) -> bool:
        """Whether no gap was within the tolerance, or as small as rounding leaves."""
        return self.smallest > max(self._tol, _ASTRAY)

    @property
    def done(self) -> bool:
        """Whether the last gap is small enough, or there is no use in going on."""
        closed = self._settled >= _SETTLED
        if self._tol >= _ROUNDING:
            closed = self.n_iter > 0 and self.gap <= self._tol
        return closed or self.stalled or self.n_iter >= self._max_iter
