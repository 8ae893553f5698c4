"""Dual variables C of several kernels, their best L_q, and how these answer to C.

With J the map D -> sum_q K_q D L_q and M the one that says how the L_q follow C,
M D = sum_q K_q C dL_q, predictions change by (J + M) D. A product costs one with each
K_q; where entries are few, the matrix of J + M is written out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from okl.numerics.arrays import Array, inner, namespace, symmetric
from okl.operators import JointSum
from okl.output_kernels import OutputKernelTerms, SpectralKernel
from okl.problems import Problem
from okl.structures.base import Response

# Up to so many outputs the second derivatives of R_q* are written out.
_MOST_OUTPUTS = 50


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
        grams = xp.stack([symmetric(dual.T @ product) / 2 for product in products])
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
    """The points C + t D, which take no product: S_q + t A_q + t^2 B_q there."""

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
        mixed = xp.stack([symmetric(p.T @ change) for p in point.products])
        squares = xp.stack([symmetric(change.T @ p) / 2 for p in products])
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
        self._n_asked = 0

    def __matmul__(self, change: Array) -> Array:
        """Return sum_q K_q (D L_q + C dL_q)."""
        point, xp = self._point, namespace(change)
        kernels = point.response.output_kernel
        moved = point.response.derivative(
            xp.stack([symmetric(product.T @ change) for product in point.products])
        )
        return sum(
            (K @ change) @ kernels[q, ...] + point.products[q] @ moved[q, ...]
            for q, K in enumerate(self.operator.terms)
        )

    def block(self, rows: Array, outputs: Any) -> Array:
        """Return the part of J + M of some entries (k, k).

        M is found by how the L_q answer to a change of each entry of C; and once more
        entries were asked for than L_q has, by how they answer to each of these, which
        is kept.
        """
        block = super().block(rows, outputs)
        if rows.shape[0] == 0:
            return block
        outputs = outputs + namespace(block).zeros_like(rows)
        self._n_asked += rows.shape[0]
        m = self._point.grams.shape[1]
        written_out = m <= _MOST_OUTPUTS and m * (m + 1) // 2 <= self._n_asked
        find = self._answers_written_out if written_out else self._answers_one_by_one
        return block + symmetric(find(rows, outputs))

    def _answers_one_by_one(self, rows: Array, outputs: Array) -> Array:
        point, xp = self._point, namespace(self._point.grams)
        own = [xp.take(product, rows, axis=0) for product in point.products]
        answers = []
        for entry in range(rows.shape[0]):
            output = int(outputs[entry])
            change = xp.zeros_like(point.grams)
            for q, product in enumerate(own):
                change[q, :, output] = product[entry, :]
            change = (change + xp.matrix_transpose(change)) / 2
            moved = point.response.derivative(change)
            parts = (
                xp.sum(product * xp.take(moved[q, ...].T, outputs, axis=0), axis=1)
                for q, product in enumerate(own)
            )
            answers.append(sum(parts))
        return xp.stack(answers, axis=1)

    def _answers_written_out(self, rows: Array, outputs: Array) -> Array:
        point, xp = self._point, namespace(self._point.grams)
        groups = [rows[outputs == output] for output in range(point.grams.shape[1])]
        answer = 0.0
        for product, second in zip(point.products, self._second, strict=True):
            # an entry of C in an output changes the row and column of this output
            own = [xp.take(product, group, axis=0) for group in groups]
            half = [xp.tensordot(p, second[j, ...], axes=1) for j, p in enumerate(own)]
            half = xp.concat(half, axis=0)
            whole = [half[:, j, :] @ p.T for j, p in enumerate(own)]
            answer = answer + xp.concat(whole, axis=1)
        back = xp.argsort(xp.argsort(outputs, stable=True))
        return xp.take(xp.take(answer, back, axis=0), back, axis=1)

    @cached_property
    def _second(self) -> list[Array]:
        """How each L_q answers to an entry of S_q, or mirrored (m, m, m, m)."""
        point, xp = self._point, namespace(self._point.grams)
        n_terms, m, _ = point.grams.shape
        identity = xp.eye(m, dtype=point.grams.dtype)
        second = xp.empty((n_terms, m, m, m, m), dtype=identity.dtype)
        for d in range(m):
            for e in range(d + 1):
                unit = symmetric(identity[:, d][:, None] * identity[e, :])
                moved = point.response.derivative(xp.stack([unit] * n_terms))
                second[:, d, e, ...] = second[:, e, d, ...] = moved
        return [second[q, ...] for q in range(n_terms)]


def _matrices(problem: Problem) -> tuple[Any, ...]:
    operator: Any = problem.operator
    return operator.terms
