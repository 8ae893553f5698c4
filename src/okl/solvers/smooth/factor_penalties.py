r"""Penalties on L for Newton's method in a factor B of L = B B'.

The steps of `okl.solvers.smooth.factor_steps` take from a penalty R its G, twice its
gradient; twice its second derivative along a symmetric matrix; and what L *lacks*, a
matrix to be added to L. Steps in B need the last: they keep the range of L, and are
short in a direction in which L is nearly zero.

- `OfTrace`: R = tr L / 2 and G = I. L lacks the directions in which S = C'KC is above
  its mean on L.
- `OfBall`: the constraint tr L = b in the place of a penalty, kept by b L / tr L; G is
  the multiplier of the trace, <S, L> I / b.
- `OfSquare`: R = ||D^-1 L D^-1||_F^2 / 2, D diagonal, and G = 2 D^-2 L D^-2. The best
  L for a given S is D^2 S D^2 / 2, and L lacks its difference from that.

The region of a structure decides which one it is (`okl.optimization.regions`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

from okl.numerics.arrays import Array, eigh, inner, namespace
from okl.optimization.interior import Interior
from okl.optimization.regions import Free, HalfTrace
from okl.output_kernels import SpectralKernel
from okl.problems import Problem


class FactorPenalty(ABC):
    """A penalty on L; arrays are (n_outputs, n_outputs)."""

    # whether rounds are most often enough, and faster than steps in a factor
    by_rounds: ClassVar[bool] = False

    def brought_in(self, kernel: SpectralKernel) -> SpectralKernel:
        """Return an L of the domain, given one that may be outside."""
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
        """Return what L lacks, its trace tr L + ``least`` at most; None if nothing.

        L plus some of it is PSD.
        """
        xp = namespace(moment)
        values, vectors = eigh(moment)
        excess = xp.clip(values - mean_on(kernel, moment), 0.0, None)
        total = float(xp.sum(excess))
        if total <= 0:
            return None
        trace = float(xp.sum(kernel.eigenvalues)) + least
        return (vectors * (trace / total * excess)) @ vectors.T


class OfTrace(FactorPenalty):
    """R = tr L / 2."""

    def slopes(self, kernel: SpectralKernel, moment: Array) -> Array:
        """Return I."""
        return namespace(moment).eye(moment.shape[0], dtype=moment.dtype)


@dataclass(frozen=True)
class OfBall(FactorPenalty):
    """tr L = b, the budget."""

    budget: float

    def brought_in(self, kernel: SpectralKernel) -> SpectralKernel:
        """Return b L / tr L."""
        scale = self.budget / namespace(kernel.eigenvalues).sum(kernel.eigenvalues)
        return replace(kernel, eigenvalues=kernel.eigenvalues * scale, entries=None)

    def slopes(self, kernel: SpectralKernel, moment: Array) -> Array:
        """Return <S, L> I / b."""
        identity = namespace(moment).eye(moment.shape[0], dtype=moment.dtype)
        return mean_on(kernel, moment) * identity

    def tangent(self, along: Array, kernel: Array) -> Array:
        """Return it less its trace times L / b."""
        trace = float(namespace(along).linalg.trace(along))
        return along - trace / self.budget * kernel

    def cotangent(self, gradient: Array, kernel: Array) -> Array:
        """Return it less <., L> I / b."""
        identity = namespace(kernel).eye(kernel.shape[0], dtype=kernel.dtype)
        return gradient - inner(gradient, kernel) / self.budget * identity


@dataclass(frozen=True)
class OfSquare(FactorPenalty):
    """R = ||D^-1 L D^-1||_F^2 / 2; the scales are the diagonal of D, None for D = I."""

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
    """Return the penalty of a structure's region, None if it is none of these."""
    region = problem.structure.region(problem.n_outputs)
    if isinstance(region, HalfTrace):
        return OfTrace()
    if isinstance(region, Interior) and region.is_ball:
        return OfBall(region.budget)
    return OfSquare(region.scales) if isinstance(region, Free) else None


def mean_on(kernel: SpectralKernel, moment: Array) -> float:
    """Return <S, L> / tr L, the mean of S on L; zero for L = 0."""
    factor = kernel.factor()
    size = inner(factor, factor)
    return inner(factor, moment @ factor) / size if size > 0 else 0.0
