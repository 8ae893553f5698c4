"""Dual variables C of several kernels, their best L_q, and the derivatives of these.

Let C change by D, and its best L_q by dL_q. With J the map D -> sum_q K_q D L_q and M
the map D -> sum_q K_q C dL_q, predictions change by (J + M) D. A product with J + M
costs one with each K_q; where entries are few, its matrix is written out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from okl.numerics.arrays import Array, eigh, inner, namespace, symmetric
from okl.numerics.few_entries import crossed
from okl.operators import JointSum
from okl.output_kernels import OutputKernelTerms, SpectralKernel
from okl.problems import Problem
from okl.structures.base import Response


@dataclass(frozen=True)
class TermPoint:
    """Dual variables C, and what follows from them."""

    dual: Array  # C (n_samples, n_outputs)
    products: tuple[Array, ...]  # K_q C
    grams: Array  # S_q = C'K_qC / 2 (n_terms, n_outputs, n_outputs)
    response: Response  # the best L_q for these, R*, and how it changes

    @classmethod
    def at(
        cls, problem: Problem, dual: Array, products: tuple[Array, ...] | None = None
    ) -> TermPoint:
        """Evaluate C, with products that are known or one with each K_q."""
        xp = namespace(dual)
        if products is None:
            products = tuple(K @ dual for K in _matrices(problem))
        grams = symmetric(xp.stack([crossed(dual, p) for p in products])) / 2
        return cls(dual, products, grams, problem.structure.response(grams))

    @cached_property
    def predictions(self) -> Array:
        """F = sum_q K_q C L_q."""
        kernels = self.response.output_kernel
        return sum(product @ kernels[q, ...] for q, product in enumerate(self.products))

    @cached_property
    def cost(self) -> float:
        """The sum of ||f||^2 / 2 and R: <S, L> twice, less R*."""
        return 2 * inner(self.grams, self.response.output_kernel) - self.response.value

    @cached_property
    def kernel(self) -> OutputKernelTerms:
        """The L_q."""
        matrices = self.response.output_kernel
        return OutputKernelTerms(
            tuple(
                SpectralKernel.from_matrix(matrices[q, ...])
                for q in range(matrices.shape[0])
            )
        )


class Line(NamedTuple):
    """The points C + t D, with the S_q + t A_q + t^2 B_q, which take no product."""

    point: TermPoint
    change: Array  # D
    products: tuple[Array, ...]  # K_q D
    mixed: Array  # A
    squares: Array  # B

    @classmethod
    def of(cls, problem: Problem, point: TermPoint, change: Array) -> Line:
        """Multiply by each K_q."""
        xp = namespace(change)
        products = tuple(K @ change for K in _matrices(problem))
        mixed = symmetric(xp.stack([crossed(p, change) for p in point.products]))
        squares = symmetric(xp.stack([crossed(change, p) for p in products])) / 2
        return cls(point, change, products, mixed, squares)

    def grams(self, step: float) -> Array:
        """Return the S_q."""
        return self.point.grams + step * self.mixed + step**2 * self.squares

    def at(self, problem: Problem, step: float) -> TermPoint:
        """Return the point."""
        pairs = zip(self.point.products, self.products, strict=True)
        products = tuple(old + step * new for old, new in pairs)
        return TermPoint.at(problem, self.point.dual + step * self.change, products)


class Answering(JointSum):
    """J + M: how the predictions change with C, the best L_q following it."""

    def __init__(self, problem: Problem, point: TermPoint) -> None:
        operator: Any = problem.operator
        super().__init__(operator, point.kernel)
        self._point = point

    def __matmul__(self, change: Array) -> Array:
        """Return sum_q K_q (D L_q + C dL_q)."""
        point, xp = self._point, namespace(change)
        kernels = point.response.output_kernel
        mixed = symmetric(xp.stack([crossed(p, change) for p in point.products]))
        moved = point.response.derivative(mixed)
        return sum(
            (K @ change) @ kernels[q, ...] + point.products[q] @ moved[q, ...]
            for q, K in enumerate(self.operator.terms)
        )

    def block(self, rows: Array, outputs: Any) -> Array:
        """Return the part of J + M of some entries (k, k)."""
        block = super().block(rows, outputs)
        if rows.shape[0] == 0:
            return block
        point, xp = self._point, namespace(block)
        own = xp.stack([xp.take(product, rows, axis=0) for product in point.products])
        outputs = outputs + xp.zeros_like(rows)
        return block + point.response.derivative.between(own, outputs)

    @property
    def n_dimensions(self) -> int | None:
        """The number of features of all K_q, times that of outputs; None without."""
        total = 0
        for K in self.operator.terms:
            if K.features is None:
                return None
            total += int(K.features.shape[1])
        return total * int(self._point.dual.shape[1])

    def narrow_root(self, rows: Array, outputs: Array) -> Array:
        """Return Phi, which has some columns for each term.

        With the features R_q of K_q = R_q R_q' a term of J + M is
        (R_q (x) I) A (R_q' (x) I), where A, a small matrix, is I (x) L_q plus how L_q
        follows R_q'C. The columns are (R_q (x) I) times a root of A.
        """
        point, xp = self._point, namespace(self._point.dual)
        kernels: Array = point.response.output_kernel
        derivatives: Any = point.response.derivative
        columns = []
        for q, K in enumerate(self.operator.terms):
            R: Any = K.features
            inside, k = R.T @ point.dual, R.shape[1]
            m = inside.shape[1]
            numbers = xp.arange(k * m)
            feature, output = numbers // m, numbers % m
            following = derivatives.terms[q].between(
                xp.take(inside, feature, axis=0), output
            )
            same = xp.astype(feature[:, None] == feature, inside.dtype)
            L = kernels[q, ...]
            L = xp.take(xp.take(L, output, axis=0), output, axis=1)
            values, vectors = eigh(symmetric(following + same * L))
            root = vectors * xp.sqrt(xp.clip(values, 0.0, None))
            # an entry (i, t) has the sum over features a of R_ia times the row (a, t)
            own = xp.reshape(root, (k, -1))
            sums = xp.reshape(R @ own, (R.shape[0] * m, k * m))
            columns.append(xp.take(sums, rows * m + outputs, axis=0))
        return xp.concat(columns, axis=1)


def _matrices(problem: Problem) -> tuple[Any, ...]:
    operator: Any = problem.operator
    return operator.terms
