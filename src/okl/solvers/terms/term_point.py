"""Dual variables C of several kernels, their best L_q, and how these answer to C.

With J the map D -> sum_q K_q D L_q and M the one that says how the L_q follow C,
M D = sum_q K_q C dL_q, predictions change by (J + M) D. A product costs one with each
K_q; where entries are few, the matrix of J + M is written out.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from okl.numerics.arrays import Array, inner, namespace, symmetric
from okl.operators import JointSum
from okl.output_kernels import OutputKernelTerms, SpectralKernel
from okl.problems import Problem
from okl.structures.base import Response


@dataclass(frozen=True)
class TermPoint:
    """Dual variables C, and what follows from them.

    Attributes
    ----------
    dual : array (n_samples, n_outputs)
        C.
    products : tuple of arrays (n_samples, n_outputs)
        K_q C.
    grams : array (n_terms, n_outputs, n_outputs)
        S_q = C'K_qC / 2.
    response : Response
        The best L_q for these, R*, and how it changes.
    """

    dual: Array
    products: tuple[Array, ...]
    grams: Array
    response: Response

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


class Answering(JointSum):
    """J + M: how the predictions change with C, the best L_q following it."""

    def __init__(self, problem: Problem, point: TermPoint) -> None:
        operator: Any = problem.operator
        super().__init__(operator, point.kernel)
        self._point = point

    def __matmul__(self, change: Array) -> Array:
        """Return sum_q K_q (D L_q + C dL_q)."""
        return self.image(change, self.products(change))

    def products(self, change: Array) -> tuple[Array, ...]:
        """Return K_q D."""
        return tuple(K @ change for K in self.operator.terms)

    def image(self, change: Array, products: tuple[Array, ...]) -> Array:
        """Return the product, given those with the K_q."""
        point, xp = self._point, namespace(change)
        kernels = point.response.output_kernel
        moved = point.response.derivative(
            xp.stack([symmetric(product.T @ change) for product in point.products])
        )
        return sum(
            product @ kernels[q, ...] + point.products[q] @ moved[q, ...]
            for q, product in enumerate(products)
        )

    def block(self, rows: Array, outputs: Any) -> Array:
        """Return the part of J + M of some entries (k, k).

        M is found by the response to each matrix with one entry, or two that mirror it;
        or to each change of one entry of C, if these are fewer.
        """
        block = super().block(rows, outputs)
        point, xp = self._point, namespace(block)
        n_terms, m, _ = point.grams.shape
        by_entries = rows.shape[0] < n_terms * m * (m + 1) // 2
        find = self._answers_to_entries if by_entries else self._answers_to_pairs
        answer = find(rows, outputs + xp.zeros_like(rows))
        return block + symmetric(answer)

    def _answers_to_entries(self, rows: Array, outputs: Array) -> Array:
        point, xp = self._point, namespace(self._point.grams)
        answers = []
        for entry in range(rows.shape[0]):
            row, output = int(rows[entry]), int(outputs[entry])
            change = xp.zeros_like(point.grams)
            for q, product in enumerate(point.products):
                change[q, :, output] = product[row, :]
            change = (change + xp.matrix_transpose(change)) / 2
            answers.append(self._moved(change, rows, outputs))
        return xp.stack(answers, axis=1)

    def _answers_to_pairs(self, rows: Array, outputs: Array) -> Array:
        point, xp = self._point, namespace(self._point.grams)
        m, answers, changes = point.grams.shape[1], [], []
        for r, product in enumerate(point.products):
            for d, e in itertools.combinations_with_replacement(range(m), 2):
                change = xp.zeros_like(point.grams)
                change[r, d, e] += 0.5
                change[r, e, d] += 0.5
                answers.append(self._moved(change, rows, outputs))
                moves = xp.where(outputs == e, product[rows, d], 0.0)
                if d != e:
                    moves = moves + xp.where(outputs == d, product[rows, e], 0.0)
                changes.append(moves)
        return xp.stack(answers, axis=1) @ xp.stack(changes)

    def _moved(self, change: Array, rows: Array, outputs: Array) -> Array:
        """Return how the predictions of some entries answer to a change of the S_q."""
        point, xp = self._point, namespace(change)
        moved = point.response.derivative(change)
        return sum(
            xp.sum(
                xp.take(product, rows, axis=0)
                * xp.take(moved[q, ...].T, outputs, axis=0),
                axis=1,
            )
            for q, product in enumerate(point.products)
        )


def _matrices(problem: Problem) -> tuple[Any, ...]:
    operator: Any = problem.operator
    return operator.terms
