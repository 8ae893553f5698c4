"""What is asked of a solver, and of the methods that it is built on."""

from __future__ import annotations

from typing import Any, NamedTuple

# The part of the tolerance that the last step aims at; and the relative gap below which
# rounding prevails, so that it does not tell which step is the last.
_PART, _ROUNDING = 0.03, 1e-12


class Request(NamedTuple):
    """One alpha, how close to come to its optimum, and from where.

    Attributes
    ----------
    alpha : float
        Strength of the regularisation, > 0.
    tol : float
        Relative duality gap to stop at.
    max_iter : int
        Most iterations.
    start : object or None
        `Solution.start` of the same solver at a neighbouring alpha.
    """

    alpha: float
    tol: float
    max_iter: int
    start: Any = None

    def enough(self, gap: float) -> float:
        """Return the square of the relative residual that a Newton step may leave.

        A step from the relative gap g that leaves the square s has a next gap of about
        g s. With s = g that is g^2; a larger s will do where g s is still a small part
        of the tolerance.
        """
        # far from the optimum a gap may be larger than what it is measured by
        gap = min(gap, 1.0)
        return max(gap, _PART * self.tol / gap) if gap > _ROUNDING else gap
