"""An output kernel and the best f for it, between two steps of Newton's methods."""

from __future__ import annotations

from typing import NamedTuple

from okl.numerics.arrays import Array
from okl.output_kernels import SpectralKernel
from okl.problems import Problem
from okl.solvers.request import Request
from okl.solvers.smooth.rounds import Start
from okl.solvers.smooth.scores import Scores
from okl.solvers.solution import History, Solution

# The rank grows where a step closes less than this part of the gap.
_SLOW = 0.3
# f is found to the relative gap _SHARE * (last gap)^2, between _LEAST and _MOST.
_SHARE, _LEAST, _MOST = 1e-5, 1e-15, 1e-10
# Relative changes of an objective: what rounding hides, and by how much the best f for
# one L may differ if it is found twice.
_UNSEEN, _ROUNDED = 1e-14, 1e-11


class FactorIterate(NamedTuple):
    """An output kernel, and the best f and b for it."""

    fit: Solution  # f, b and L; for imputed targets the best at these
    scores: Scores
    objective: float  # the primal value, to which imputed targets add their loss
    dual_rows: Array  # alpha C (n_samples, n_outputs)

    @classmethod
    def of(cls, fit: Solution, scores: Scores) -> FactorIterate:
        """Return that of an L and the best f for it, no target imputed."""
        return cls(fit, scores, fit.certificate.primal, scores.gradient)

    @property
    def kernel(self) -> SpectralKernel:
        """L."""
        return self.fit.output_kernel.spectral()

    @property
    def primal(self) -> float:
        """The primal value of its certificate."""
        return self.fit.certificate.primal

    @property
    def dual(self) -> float:
        """The dual value of its certificate."""
        return self.fit.certificate.dual

    @property
    def start(self) -> Start:
        """Where another fit may start."""
        return Start(self.kernel, self.fit.start)

    def solution(
        self,
        problem: Problem,
        request: Request,
        history: History,
        *,
        rank_limited: bool = False,
    ) -> Solution:
        """Return it as the answer to a request, with the history of all iterations."""
        model = self.fit.judged(problem, request, rank_limited=rank_limited)
        return model.found_by(history.records, self.start)

    def is_better_than(self, other: FactorIterate) -> bool:
        """Tell whether it is lower, or seems as low and has a smaller gap."""
        size, rise = abs(other.objective), self.objective - other.objective
        gain = self.dual - other.dual
        if abs(rise) <= _UNSEEN * size:
            return gain > _UNSEEN * size
        return rise < 0 or rise <= _ROUNDED * size < gain

    def is_slow_after(self, other: FactorIterate) -> bool:
        """Tell whether neither its objective nor its gap is much lower than before."""
        gap = other.primal - other.dual
        falls = other.objective - self.objective >= _SLOW * gap
        return not falls and self.primal - self.dual > _SLOW * gap


def closeness(gap: float) -> float:
    """Return the relative gap to find f to, given the last one of the steps in L."""
    return max(min(_SHARE * gap**2, _MOST), _LEAST)
