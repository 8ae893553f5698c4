r"""Penalties on tr L as Newton's method in a factor L = B B' sees them.

The steps of `okl.solvers.smooth.factor_steps` ask for twice the gradient of the
penalty, a multiple of I, and for what L lacks: steps in B keep the range of L, and in a
direction that L all but misses they are short.

The penalty is R = tr L / 2, or tr L = b in its place, by b L / tr L. Then the multiple
is the multiplier of the trace, <S, L> / b. L lacks the directions in which S = C'KC is
above its mean on L.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from okl.numerics.arrays import Array, eigh, inner, namespace
from okl.optimization.interior import Interior
from okl.optimization.regions import HalfTrace
from okl.output_kernels import SpectralKernel
from okl.problems import Problem


@dataclass(frozen=True)
class FactorPenalty:
    """A penalty on tr L; arrays are (n_outputs, n_outputs).

    Attributes
    ----------
    budget : float or None
        b; None for R = tr L / 2.
    """

    budget: float | None = None

    @classmethod
    def of(cls, problem: Problem) -> FactorPenalty | None:
        """Return that of the region of a structure, None if it is another."""
        region = problem.structure.region(problem.n_outputs)
        if isinstance(region, HalfTrace):
            return cls()
        if isinstance(region, Interior) and region.is_ball:
            return cls(region.budget)
        return None

    def brought_in(self, kernel: SpectralKernel) -> SpectralKernel:
        """Return the L of the domain that another one stands for."""
        if self.budget is None:
            return kernel
        scale = self.budget / namespace(kernel.eigenvalues).sum(kernel.eigenvalues)
        return replace(kernel, eigenvalues=kernel.eigenvalues * scale, entries=None)

    def slope(self, kernel: SpectralKernel, moment: Array) -> float:
        """Return the multiple of I; ``moment`` is S."""
        return 1.0 if self.budget is None else mean_on(kernel, moment)

    def tangent(self, along: Array, kernel: Array) -> Array:
        """Return how L changes, given how B B' does."""
        if self.budget is None:
            return along
        trace = float(namespace(along).linalg.trace(along))
        return along - trace / self.budget * kernel

    def cotangent(self, gradient: Array, kernel: Array) -> Array:
        """Apply the adjoint of `tangent`."""
        if self.budget is None:
            return gradient
        identity = namespace(kernel).eye(kernel.shape[0], dtype=kernel.dtype)
        return gradient - inner(gradient, kernel) / self.budget * identity


def lacking(kernel: SpectralKernel, moment: Array, least: float) -> Array | None:
    """Return what L lacks, of its trace plus ``least``; None if nothing."""
    xp = namespace(moment)
    values, vectors = eigh(moment)
    excess = xp.clip(values - mean_on(kernel, moment), 0.0, None)
    total = float(xp.sum(excess))
    if total <= 0:
        return None
    trace = float(xp.sum(kernel.eigenvalues)) + least
    return (vectors * (trace / total * excess)) @ vectors.T


def mean_on(kernel: SpectralKernel, moment: Array) -> float:
    """Return <S, L> / tr L, the mean of S on L; zero for L = 0."""
    factor = kernel.factor()
    size = inner(factor, factor)
    return inner(factor, moment @ factor) / size if size > 0 else 0.0
