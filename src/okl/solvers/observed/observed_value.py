r"""The cost of the best predictor of observed entries, as a function of L.

With the observed entries alone, J the map C -> K C L between them and W their weights,

.. math:: \varphi(L) / \alpha = \min_{C, b} \tfrac12 \langle C, Y \rangle, \qquad
          J C + \alpha W^{-1} C + 1 b' = Y, \quad 1'C = 0,

has the gradient -C'KC / 2 and the second derivative X -> sym Z'KC, where Z solves the
same equations for KCX on the right. One factorisation serves all of them
(`okl.solvers.predictor.active_system`). Where all entries are observed the function is
that of `okl.solvers.output_kernel.value_function`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, eigh, inner, namespace, symmetric
from okl.optimization.regions import Decomposed, WithBarrier
from okl.output_kernels import SpectralKernel
from okl.problems import Problem
from okl.solvers.output_kernel.value_function import first_iterate
from okl.solvers.predictor.active_system import ActiveSystem
from okl.solvers.predictor.approximation import Prepared


@dataclass(frozen=True)
class ObservedValue:
    """phi(L) / alpha of a squared loss with weights, targets a matrix."""

    prepared: Prepared
    alpha: float

    @property
    def problem(self) -> Problem:
        """The problem, whatever its structure."""
        return self.prepared.problem

    @cached_property
    def curvature(self) -> Curvature:
        """W."""
        return self.problem.curvature(self.problem.targets)

    @cached_property
    def targets(self) -> Array:
        """Y, zero where it is not observed."""
        return self.curvature.diagonal * self.problem.targets

    def at(self, values: Array, vectors: Array) -> ObservedPoint:
        """Factorise, and solve for C."""
        kernel = SpectralKernel(values, vectors)
        under = self.prepared.under(self.problem, kernel)
        system = ActiveSystem(under, self.curvature, self.alpha)
        dual = _solved(system, self.problem.targets)
        value = inner(dual, self.problem.targets) / 2
        image = self.problem.operator @ dual
        return ObservedPoint(value, dual, image @ vectors, vectors, system)

    def first_iterate(
        self, region: WithBarrier, start: Decomposed | None
    ) -> tuple[WithBarrier, Decomposed]:
        """Return a start for Newton's method, as if Y were an eigenvector of K."""
        targets = self.targets
        xp = namespace(targets)
        values, vectors = eigh(symmetric(targets.T @ (self.problem.operator @ targets)))
        along = targets @ vectors[:, -1:]
        square = inner(along, along)
        eigenvalue = float(values[-1]) / square if square > 0 else 0.0
        d = xp.full((1, 1), max(eigenvalue, 0.0), dtype=targets.dtype)
        row = square**0.5 * vectors[:, -1:].T
        return first_iterate(d, row, self.alpha, region, start)


@dataclass(frozen=True)
class ObservedPoint:
    """phi / alpha at L = V diag(l) V', with C (n_samples, n_outputs) and KCV."""

    value: float
    dual: Array
    image: Array
    vectors: Array
    system: ActiveSystem

    @cached_property
    def moment(self) -> Array:
        """C'KC in the eigenbasis of L."""
        return symmetric((self.dual @ self.vectors).T @ self.image)

    @cached_property
    def diagonal(self) -> Array:
        """About the second derivative along each entry, as if J were diagonal."""
        weights = self.system.curvature.diagonal
        spread = self.system.alpha + weights * self.system.prepared.joint.diagonal
        inverse = (weights / spread) @ self.vectors**2
        return symmetric((self.image**2).T @ inverse)

    def curvature(self, direction: Array) -> Array:
        """Return the second derivative times a symmetric matrix."""
        answer = _solved(self.system, (self.image @ direction) @ self.vectors.T)
        return symmetric((answer @ self.vectors).T @ self.image)

    def curvatures(self, rows: slice, column: int, n_columns: int) -> Array:
        """Return the second derivative times e_i e_j' + e_j e_i', q rows i, a column j.

        The e are eigenvectors of L. Of each product the first columns are returned,
        (m, n_columns, q).
        """
        xp = namespace(self.image)
        image, V = self.image, self.vectors
        right = image[:, None, rows] * V[:, column][None, :, None]
        right = right + image[:, column][:, None, None] * V[None, :, rows]
        Z = self.system.solve_each(right)
        (n, m, q), r = Z.shape, n_columns
        # V'Z'KCV, and its transpose, without a product of all columns
        first = xp.reshape(image[:, :r].T @ xp.reshape(Z, (n, m * q)), (r, m, q))
        second = xp.reshape(xp.matmul(V[:, :r].T, Z), (n, r * q))
        total = xp.permute_dims(xp.matmul(V.T, first), (1, 0, 2))
        return (total + xp.reshape(image.T @ second, (m, r, q))) / 2


def _solved(system: ActiveSystem, right: Array) -> Array:
    """Return the E of one right side, its columns with sums of zero."""
    return system.solve_each(right[:, :, None])[:, :, 0]
