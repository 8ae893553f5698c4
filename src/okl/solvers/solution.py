"""What a solver returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, TypedDict

from okl.certificates import Certificate, GapScale, relative_gap
from okl.numerics.arrays import Array
from okl.output_kernels import OutputKernel
from okl.problems import Problem
from okl.solvers.request import Request


class Record(TypedDict):
    """One iteration: primal, dual, their relative gap, seconds since the start."""

    primal: float
    dual: float
    relative_gap: float
    seconds: float


class History:
    """The iterations of one solve, timed from its beginning."""

    def __init__(self, scale: GapScale) -> None:
        self.records: list[Record] = []
        self._scale = scale
        self._start = perf_counter()

    def add(self, primal: float, dual: float) -> float:
        """Add an iteration; return its relative gap."""
        gap = relative_gap(primal, dual, self._scale)
        self.records.append(
            Record(
                primal=primal,
                dual=dual,
                relative_gap=gap,
                seconds=perf_counter() - self._start,
            )
        )
        return gap


@dataclass(frozen=True)
class Solution:
    """A model of a problem, and how it was found.

    Attributes
    ----------
    dual_coef : array (n_samples, n_outputs)
        Theta = C L.
    output_kernel : OutputKernel
        L.
    certificate : Certificate
        What this very model proves.
    history : list of Record
        What the solver knew after each iteration, of which a closed form has one.
    start : object
        Where the same solver may start at another alpha.
    intercept : array (n_outputs,) or None
        Of the problem with a centred operator; None where centring removed it.
    dual_point : array (n_samples, n_outputs) or None
        alpha C, where the loss has kinks; else it is minus the gradient of the loss.
    hessian : HessianSystem or None
        The equations of Newton's method at the end, where it was used with L given.
    """

    dual_coef: Array
    output_kernel: OutputKernel
    certificate: Certificate
    history: list[Record]
    start: Any
    intercept: Array | None = None
    dual_point: Array | None = None
    hessian: Any = None

    @property
    def n_iter(self) -> int:
        """The number of iterations."""
        return len(self.history)

    def found_by(self, history: list[Record], start: Any) -> Solution:
        """Return it with the iterations that found it, and a start for others."""
        return replace(self, history=history, start=start)

    def judged(
        self, problem: Problem, request: Request, *, rank_limited: bool = False
    ) -> Solution:
        """Return it with its certificate judged by the tolerance of another request."""
        known, tol = self.certificate, request.tol
        certificate = Certificate.of(
            known.primal,
            known.dual,
            problem.gap_scale,
            tol=tol,
            rank_limited=rank_limited,
        )
        return replace(self, certificate=certificate, hessian=None)

    def is_limited(self, problem: Problem) -> bool:
        """Tell whether an L that is learned has the largest rank that is allowed."""
        most = problem.structure.max_rank(problem.n_outputs)
        learned = "known" not in problem.structure.capabilities
        return learned and problem.rank_is_bounded and self.output_kernel.rank >= most

    def ended(self, problem: Problem, request: Request) -> Solution:
        """Return the solution with the reason why it is not optimal, if it is not."""
        limited = self.is_limited(problem)
        certificate = self.certificate.of_fit(
            self.n_iter, request.max_iter, request.tol, limited=limited
        )
        return replace(self, certificate=certificate)


def certified(
    problem: Problem,
    dual_coef: Any,
    output_kernel: OutputKernel,
    request: Request,
    *,
    history: History | None = None,
    start: Any = None,
    intercept: Array | None = None,
    rank_limited: bool = False,
    dual_point: Array | None = None,
    predictions: Array | None = None,
    hessian: Any = None,
) -> Solution:
    """Certify a model of a problem, with its predictions if they are known."""
    certificate = problem.certificate(
        dual_coef,
        output_kernel,
        request.alpha,
        tol=request.tol,
        rank_limited=rank_limited,
        intercept=intercept,
        dual_point=dual_point,
        predictions=predictions,
    )
    history = history or History(problem.gap_scale)
    if not history.records:  # of a closed form
        history.add(certificate.primal, certificate.dual)
    return Solution(
        dual_coef,
        output_kernel,
        certificate,
        history.records,
        start,
        intercept,
        dual_point,
        hessian,
    )
