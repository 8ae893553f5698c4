"""Rank growth: the directions that L lacks, as the certificate sees them.

Where L limits its own growth through its trace alone, S = C'KC has one eigenvalue on
the range of a good L, and no larger one elsewhere. Where it has, L should have more of
that direction. Steps that keep the range of L never find it.
"""

from __future__ import annotations

from collections.abc import Iterator

from okl.numerics.arrays import Array, eigh, inner, namespace
from okl.output_kernels import SpectralKernel

# The first share tried, after one that was good; what is left of it after one that was
# not; and how many are tried.
_LARGER, _SMALLER, _TRIALS = 16.0, 0.25, 16


def mean_on(kernel: SpectralKernel, moment: Array) -> float:
    """Return <S, L> / tr L, the mean of S on L; zero for L = 0."""
    factor = kernel.factor()
    size = inner(factor, factor)
    return inner(factor, moment @ factor) / size if size > 0 else 0.0


class RankGrowth:
    """Adds what output kernels lack, and remembers how much was good last."""

    def __init__(self) -> None:
        self._share = 1.0

    def added_to(
        self, kernel: SpectralKernel, moment: Array, *, least: float = 0.0
    ) -> Iterator[SpectralKernel]:
        """Yield L with less and less of the directions in which S is above its mean.

        Parameters
        ----------
        kernel : SpectralKernel
            L.
        moment : array (n_outputs, n_outputs)
            S.
        least : float, default=0.0
            The trace of what is added at most, besides that of L.
        """
        direction = lacking(kernel, moment, least=least)
        if direction is not None:
            self._share = min(_LARGER * self._share, 1.0)
            for _ in range(_TRIALS):
                more = kernel.matrix() + self._share * direction
                yield SpectralKernel.from_matrix(more)
                self._share *= _SMALLER


def lacking(
    kernel: SpectralKernel, moment: Array, *, least: float = 0.0
) -> Array | None:
    """Return what L lacks, (S - its mean on L)_+ with the trace of L plus ``least``.

    None where that is zero.
    """
    xp = namespace(moment)
    values, vectors = eigh(moment)
    excess = xp.clip(values - mean_on(kernel, moment), 0.0, None)
    total = float(xp.sum(excess))
    if total <= 0:
        return None
    trace = float(xp.sum(kernel.eigenvalues)) + least
    return (vectors * (trace / total * excess)) @ vectors.T
