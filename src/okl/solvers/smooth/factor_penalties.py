r"""Penalties on L as Newton's method in a factor L = B B' sees them.

The steps of `okl.solvers.smooth.factor_steps` ask a penalty R for twice its gradient G,
and for what L lacks: steps in B keep the range of L, and in a direction that L all but
misses they are short. It lacks those in which S = C'KC is above its mean on L.

The trace, R = tr L / 2, has G = I. A trace ball has tr L = b in the place of a penalty,
by b L / tr L; G is the multiplier of the trace, <S, L> I / b. Which one it is the
region of a structure says (`okl.optimization.regions`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from okl.numerics.arrays import Array, eigh, inner, namespace
from okl.optimization.interior import Interior
from okl.optimization.regions import HalfTrace
from okl.output_kernels import SpectralKernel
from okl.problems import Problem


class FactorPenalty(NamedTuple):
    """R = tr L / 2, or tr L = b where there is a budget b.

    Arrays are (n_outputs, n_outputs).
    """

    budget: float | None = None

    def brought_in(self, kernel: SpectralKernel) -> SpectralKernel:
        """Return the L of the domain that another one stands for."""
        if self.budget is None:
            return kernel
        scale = self.budget / namespace(kernel.eigenvalues).sum(kernel.eigenvalues)
        return replace(kernel, eigenvalues=kernel.eigenvalues * scale, entries=None)

    def slopes(self, kernel: SpectralKernel, moment: Array) -> Array:
        """Return G; ``moment`` is S."""
        identity = namespace(moment).eye(moment.shape[0], dtype=moment.dtype)
        return identity if self.budget is None else mean_on(kernel, moment) * identity

    def tangent(self, along: Array, kernel: Array) -> Array:
        """Return how L changes, given how B B' does: less its trace times L / b."""
        if self.budget is None:
            return along
        trace = float(namespace(along).linalg.trace(along))
        return along - trace / self.budget * kernel

    def cotangent(self, gradient: Array, kernel: Array) -> Array:
        """Apply the adjoint of `tangent`: less <., L> I / b."""
        if self.budget is None:
            return gradient
        identity = namespace(kernel).eye(kernel.shape[0], dtype=kernel.dtype)
        return gradient - inner(gradient, kernel) / self.budget * identity

    def lacking(
        self, kernel: SpectralKernel, moment: Array, least: float
    ) -> Array | None:
        """Return what L lacks, with its trace plus ``least``; None if nothing.

        L with some of it is PSD.
        """
        xp = namespace(moment)
        values, vectors = eigh(moment)
        excess = xp.clip(values - mean_on(kernel, moment), 0.0, None)
        total = float(xp.sum(excess))
        if total <= 0:
            return None
        trace = float(xp.sum(kernel.eigenvalues)) + least
        return (vectors * (trace / total * excess)) @ vectors.T


def factor_penalty(problem: Problem) -> FactorPenalty | None:
    """Return the penalty that the region of a structure is, None if it is another."""
    region = problem.structure.region(problem.n_outputs)
    if isinstance(region, HalfTrace):
        return FactorPenalty()
    if isinstance(region, Interior) and region.is_ball:
        return FactorPenalty(region.budget)
    return None


def mean_on(kernel: SpectralKernel, moment: Array) -> float:
    """Return <S, L> / tr L, the mean of S on L; zero for L = 0."""
    factor = kernel.factor()
    size = inner(factor, factor)
    return inner(factor, moment @ factor) / size if size > 0 else 0.0
