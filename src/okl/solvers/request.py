"""What is asked of a solver, and of what it is built on."""

from __future__ import annotations

from typing import Any, NamedTuple


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
