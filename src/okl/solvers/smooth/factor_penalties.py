r"""Penalties on L as Newton's method in a factor L = B B' sees them.

The steps of `okl.solvers.smooth.factor_steps` ask a penalty R for twice its gradient G,
for twice its second derivative along a symmetric matrix, and for what L lacks: steps in
B keep the range of L, and in a direction that L all but misses they are short.

- `HalfTrace`: R = tr L / 2 and G = I. L lacks the directions in which S = C'KC is above
  its mean on L.
- `TraceOne`: tr L = 1 in the place of a penalty, by L / tr L; G is the multiplier of
  the trace, <S, L> I.
- `HalfSquare`: R = ||D^-1 L D^-1||_F^2 / 2, D diagonal, and G = 2 D^-2 L D^-2. The best
  L for a given S is D^2 S D^2 / 2, and what L lacks is the way there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

from okl.numerics.arrays import Array, inner, namespace
from okl.output_kernels import SpectralKernel
from okl.problems import Problem
from okl.solvers.factor.rank_growth import lacking, mean_on


class FactorPenalty(ABC):
    """A penalty on L; arrays are (n_outputs, n_outputs).

    Attributes
    ----------
    by_rounds : bool
        Whether rounds are most often enough, and faster than steps in a factor.
    """

    by_rounds: ClassVar[bool] = False

    def brought_in(self, kernel: SpectralKernel) -> SpectralKernel:
        """Return the L of the domain that another one stands for."""
        return kernel

    @abstractmethod
    def slopes(self, kernel: SpectralKernel, moment: Array) -> Array:
        """Return G; ``moment`` is S."""

    def bend(self, along: Array) -> Array | float:
        """Return twice the second derivative along a change of L."""
        return 0.0

    def tangent(self, along: Array, kernel: Array) -> Array:
        """Return how L changes, given how B B' does."""
        return along

    def cotangent(self, gradient: Array, kernel: Array) -> Array:
        """Apply the adjoint of `tangent`."""
        return gradient

    def lacking(
        self, kernel: SpectralKernel, moment: Array, least: float
    ) -> Array | None:
        """Return what L lacks, with its trace plus ``least`` at most; None if nothing.

        L with some of it is PSD.
        """
        return lacking(kernel, moment, least=least)


class HalfTrace(FactorPenalty):
    """R = tr L / 2."""

    def slopes(self, kernel: SpectralKernel, moment: Array) -> Array:
        """Return I."""
        return namespace(moment).eye(moment.shape[0], dtype=moment.dtype)


class TraceOne(FactorPenalty):
    """tr L = 1."""

    def brought_in(self, kernel: SpectralKernel) -> SpectralKernel:
        """Return L / tr L."""
        total = namespace(kernel.eigenvalues).sum(kernel.eigenvalues)
        return replace(kernel, eigenvalues=kernel.eigenvalues / total, entries=None)

    def slopes(self, kernel: SpectralKernel, moment: Array) -> Array:
        """Return <S, L> I."""
        identity = namespace(moment).eye(moment.shape[0], dtype=moment.dtype)
        return mean_on(kernel, moment) * identity

    def tangent(self, along: Array, kernel: Array) -> Array:
        """Return it less its trace times L."""
        trace = float(namespace(along).linalg.trace(along))
        return along - trace * kernel

    def cotangent(self, gradient: Array, kernel: Array) -> Array:
        """Return it less <., L> I."""
        identity = namespace(kernel).eye(kernel.shape[0], dtype=kernel.dtype)
        return gradient - inner(gradient, kernel) * identity


@dataclass(frozen=True)
class HalfSquare(FactorPenalty):
    """R = ||D^-1 L D^-1||_F^2 / 2.

    Attributes
    ----------
    scales : array (m,) or None
        The diagonal of D; None for D = I.
    """

    scales: Array | None = None
    by_rounds: ClassVar[bool] = True

    def slopes(self, kernel: SpectralKernel, moment: Array) -> Array:
        """Return 2 D^-2 L D^-2."""
        return self.bend(kernel.matrix())

    def bend(self, along: Array) -> Array:
        """Return 2 D^-2 X D^-2."""
        return 2 * along / self._squares(along)

    def lacking(
        self, kernel: SpectralKernel, moment: Array, least: float
    ) -> Array | None:
        """Return D^2 S D^2 / 2 - L."""
        return moment * self._squares(moment) / 2 - kernel.matrix()

    def _squares(self, like: Array) -> Array | float:
        if self.scales is None:
            return 1.0
        squares = namespace(like).asarray(self.scales, dtype=like.dtype) ** 2
        return squares[:, None] * squares


def factor_penalty(problem: Problem) -> FactorPenalty | None:
    """Return the penalty of a problem's structure, None if it is another."""
    structure = problem.structure
    if "half_trace" in structure.capabilities:
        return HalfTrace()
    if "trace_ball" in structure.capabilities:
        return TraceOne()
    region = structure.region(problem.n_outputs)
    if region is not None and region.in_dual:
        return HalfSquare(region.scales)
    return None
