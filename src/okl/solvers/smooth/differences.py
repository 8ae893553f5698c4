r"""Models of a loss of differences of outputs, under a penalty on the entries of L.

A softmax loss does not change if one number is added to all scores of a row. Its dual
variables are therefore C = D Q', with Q (m, m - 1) orthonormal columns that sum to
zero, and the cost of the best f depends on L through Q'LQ alone. Its model
(`okl.solvers.smooth.linearisation`) is then the squared loss of differences,
|(F - T) Q|^2 / 2:

.. math:: \varphi(L) / \alpha = \min_D \tfrac12 \langle D, T Q \rangle, \qquad
          K D\, Q'LQ + \alpha D = T Q.

A squared loss of F would hold the mean score of each row as well, which means nothing
to the softmax. Under a penalty that is rotation invariant this does no harm: L 1 = 0 is
best. Where entries of L are penalised, L + a 1' + 1 a' may cost nearly what L does, and
rounds would creep along these directions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from okl.numerics.arrays import Array, eigh, inner, namespace, symmetric
from okl.optimization.interior import differences
from okl.optimization.newton import newton
from okl.optimization.regions import Decomposed, WithBarrier
from okl.output_kernels import SpectralKernel
from okl.problems import Problem
from okl.solvers.monitor import Monitor
from okl.solvers.output_kernel.output_kernel_newton import OutputKernelNewton
from okl.solvers.output_kernel.value_function import (
    Fitted,
    ValueFunction,
    first_iterate,
    spectral_of,
)
from okl.solvers.request import Request
from okl.structures import Structure


def has_classes(problem: Problem) -> bool:
    """Tell whether the loss is that of one class among several.

    It depends on differences of the scores of a row alone.
    """
    return "differences" in problem.loss.capabilities


def models_differences(problem: Problem) -> bool:
    """Tell whether models are of differences: for classes, if R penalises entries."""
    region = problem.structure.region(problem.n_outputs)
    by_entries = isinstance(region, WithBarrier) and region.by_entries
    return by_entries and has_classes(problem)


def seen_by_models(problem: Problem, change: Array) -> Array:
    """Return the part of a change of predictions that models depend on."""
    if not models_differences(problem):
        return change
    return change - namespace(change).mean(change, axis=1, keepdims=True)


def best_differences(
    problem: Problem, request: Request
) -> tuple[SpectralKernel, Array, Decomposed]:
    """Solve a problem as if its loss were that of differences.

    Returns
    -------
    kernel : SpectralKernel
        The best L.
    theta : array (n_samples, n_outputs)
        C L of the best f for it.
    start : Decomposed
        Where a problem nearby may start.
    """
    structure, rotated = problem.structure, OutputKernelNewton().prepare(problem)
    region = structure.region(problem.n_outputs)
    assert isinstance(region, WithBarrier)  # the penalty is one of entries
    function = _Function(rotated.eigenvalues, rotated.targets, request.alpha)
    monitor = Monitor(problem.gap_scale, request.tol, request.max_iter)
    first = first_iterate(*function, region, request.start)
    for kernel, point in newton(function, *first):
        assert isinstance(point, _Point)  # the function makes no others
        monitor.add(*point.bounds(kernel, structure), (kernel, point))
        if monitor.done:
            break
    kernel, point = monitor.best
    whole = spectral_of(kernel)
    return whole, rotated.lift(whole.multiply(point.dual)), kernel


class _Function(NamedTuple):
    """phi(L) / alpha, for the eigenvalues d (k, 1) of K and the targets U'T (k, m)."""

    eigenvalues: Array
    targets: Array
    alpha: float

    def at(self, values: Array, vectors: Array) -> _Point:
        """Solve for D."""
        basis = differences(vectors.T)  # V'Q
        values, axes = eigh(symmetric((basis.T * values) @ basis))
        seen = ValueFunction(self.eigenvalues, differences(self.targets), self.alpha)
        return _Point(seen.at(values, axes), basis @ axes, vectors, self.alpha)


@dataclass(frozen=True)
class _Point:
    """The function at L = V diag(l) V': that of Q'LQ in its eigenbasis E, and V'QE."""

    fitted: Fitted
    axes: Array
    vectors: Array
    alpha: float

    @property
    def value(self) -> float:
        return self.fitted.value

    @cached_property
    def moment(self) -> Array:
        return symmetric(self.axes @ self.fitted.moment @ self.axes.T)

    @property
    def diagonal(self) -> Array:
        scaled, inverse = self.fitted.scaled @ self.axes.T, self.fitted.inverse
        return symmetric((scaled**2).T @ (inverse @ (self.axes**2).T))

    def curvature(self, direction: Array) -> Array:
        inside = self.axes.T @ direction @ self.axes
        return self.axes @ self.fitted.curvature(inside) @ self.axes.T

    @property
    def dual(self) -> Array:
        """U'C (k, m), C = D Q'."""
        return self.fitted.dual @ (self.vectors @ self.axes).T

    def bounds(self, kernel: Decomposed, structure: Structure) -> tuple[float, float]:
        """Return phi / alpha + R, and a lower bound of the least value."""
        whole, V = spectral_of(kernel), self.vectors
        bound = structure.dual_bound(symmetric(V @ self.moment @ V.T) / 2, whole)
        # of <C, T> - alpha |C|^2 / 2 - R*(C'KC / 2), at a multiple of C
        linear, squares = 2 * self.value, inner(self.fitted.dual, self.fitted.dual)
        dual = bound.factor * (linear - bound.factor * self.alpha / 2 * squares)
        return self.value + structure.penalty_of(whole), dual - bound.value
