"""An output kernel of low rank, penalised by its trace."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from okl.numerics.arrays import Array, eigh, epsilon, namespace
from okl.optimization.interior import Interior
from okl.optimization.near import Near, nearest
from okl.optimization.regions import HalfTrace
from okl.output_kernels import OutputKernel
from okl.structures.base import DualBound, Structure, scaled_below


class LowRank(Structure):
    r"""Learn an output kernel of low rank, R(L) = tr(L) / 2, rank L <= rank.

    The trace alone already makes the rank low, the lower the larger alpha is; this is
    nuclear-norm regularisation of the predictor. ``rank`` is an upper bound besides.
    Without the bound R*(S) = 0 if the eigenvalues of 2 S are at most 1, else infinite;
    the certificate always compares with *every* rank, so a fit whose bound is active
    reports how much a larger rank could gain. Dinuzzo & Fukumizu (2011), *Learning
    low-rank output kernels*, equation (1) and appendix A.

    Parameters
    ----------
    rank : int or None, default=None
        The largest rank of L, at least 1; None for no bound.
    """

    name: ClassVar[str | None] = "low_rank"
    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"rotation_invariant", "update", "proximal"}
    )

    def __init__(self, rank: int | None = None) -> None:
        self.rank = rank

    def validate(self, n_outputs: int) -> None:
        """Check that the rank is None or an integer of at least 1."""
        rank: Any = self.rank
        if rank is None:
            return
        if not isinstance(rank, Integral) or isinstance(rank, bool) or rank < 1:
            raise ValueError(
                f"The rank must be an integer of at least 1, or None for no bound; "
                f"got {rank!r}."
            )

    def max_rank(self, n_outputs: int) -> int:
        """Return the bound, at most the number of outputs."""
        return n_outputs if self.rank is None else min(int(self.rank), n_outputs)

    def region(self, n_outputs: int) -> HalfTrace:
        """Return the region of the trace penalty."""
        return HalfTrace()

    def penalty(self, output_kernel: Array) -> float:
        """Return tr(L) / 2."""
        xp = namespace(output_kernel)
        return float(xp.sum(xp.linalg.diagonal(output_kernel))) / 2

    def conjugate(self, matrix: Array) -> float:
        """Return 0 if the largest eigenvalue of 2 S is at most 1, else infinity."""
        values, _ = eigh(matrix)
        slack = 1 + _ROUNDING * epsilon(matrix) * matrix.shape[0]
        return 0.0 if values.shape[0] == 0 or 2 * float(values[-1]) <= slack else _INF

    def dual_bound(self, matrix: Array, output_kernel: OutputKernel) -> DualBound:
        """Return zero, for eigenvalues of S scaled to 1/2 or below."""
        return DualBound(0.0, directions=scaled_below(matrix, 0.5))

    def near(self, matrix: Array, weight: float) -> Near:
        """Return (Z - I / (2 weight))_+."""
        identity = namespace(matrix).eye(matrix.shape[0], dtype=matrix.dtype)
        below = matrix - identity / (2 * weight)
        found = nearest(below, weight, Interior())
        return found._replace(penalty=self.penalty(found.output_kernel))

    def update(self, matrix: Array, *, tol: float = 1e-6) -> Array:
        """Return P^(1/2), whatever the bound on the rank.

        Eigenvalues of P that are rounding count as zero, as their roots would be far
        larger.
        """
        xp = namespace(matrix)
        values, vectors = eigh(matrix)
        rounding = _ROUNDING * epsilon(matrix) * matrix.shape[0] * values[-1]
        kept = xp.where(values > rounding, values, xp.zeros_like(values))
        return (vectors * xp.sqrt(kept)) @ vectors.T


_INF = float("inf")
# Rounding of eigenvalues, in machine epsilons of the largest times the size.
_ROUNDING = 8.0
