"""The second derivative of the softmax loss: one matrix (m, m) a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from okl.losses.separable import divide
from okl.numerics.arrays import (
    Array,
    definite_solver,
    namespace,
    row_inner,
    row_sums,
    symmetric,
)


@dataclass(frozen=True)
class Simplex:
    """W = diag(w p) - w p p' in each row, used as V V'.

    Attributes
    ----------
    probabilities : array (n_samples, n_classes)
        p.
    weights : array (n_samples, 1) or None
        w, of the rows.
    """

    probabilities: Array
    weights: Array | None

    @property
    def separable(self) -> bool:
        """False: the probabilities of the classes sum to one."""
        return False

    @property
    def diagonal(self) -> Array:
        """D = diag(w p)."""
        p = self.probabilities
        return p if self.weights is None else self.weights * p

    @property
    def shared(self) -> Array:
        """U = w^(1/2) p."""
        p = self.probabilities
        return p if self.weights is None else self.weights**0.5 * p

    @cached_property
    def roots(self) -> Array:
        """(w p)^(1/2)."""
        return namespace(self.probabilities).sqrt(self.diagonal)

    def project(self, right: Array) -> Array:
        """Return (I - p^(1/2) p^(1/2)') times an array, in each row."""
        axis = self._axis
        return right - axis * row_inner(axis, right)

    def solve(self, right: Array) -> Array:
        """Divide by (w p)^(1/2) where that is not tiny, and project."""
        return self.project(divide(right, self.roots))

    def factor(self, right: Array) -> Array:
        """Return V times an array."""
        scaled = self.roots * right
        scaled -= self.probabilities * row_sums(scaled)
        return scaled

    def adjoint(self, right: Array) -> Array:
        """Return V' times an array."""
        moved = right - row_inner(self.probabilities, right)
        moved *= self.roots
        return moved

    def product(self, right: Array) -> Array:
        """Return W times an array."""
        moved = right - row_inner(self.probabilities, right)
        moved *= self.diagonal
        return moved

    @property
    def entries(self) -> Array:
        """The diagonal of W, w p (1 - p)."""
        return self.diagonal * (1 - self.probabilities)

    def solve_total(self, right: Array) -> Array:
        """Solve with the sum of W over the rows, singular along the vector of ones."""
        solved = self._total(right[:, None])[:, 0]
        return solved - namespace(right).mean(solved)

    @cached_property
    def _axis(self) -> Array:
        xp = namespace(self.probabilities)
        return self.roots if self.weights is None else xp.sqrt(self.probabilities)

    @cached_property
    def _total(self) -> Callable[[Array], Array]:
        """The solver of the sum of W over the rows, made definite."""
        xp = namespace(self.probabilities)
        weighted = self.diagonal
        diagonal = xp.sum(weighted, axis=0)
        m = diagonal.shape[0]
        identity = xp.eye(m, dtype=diagonal.dtype)
        shift = xp.sum(diagonal) / m + xp.finfo(diagonal.dtype).smallest_normal
        total = identity * (diagonal + 1e-14 * shift) - weighted.T @ self.probabilities
        return definite_solver(symmetric(total) + shift / m)
