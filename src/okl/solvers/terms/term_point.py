"""Dual variables C of several kernels, their best L_q, and how these answer to C.

With J the map D -> sum_q K_q D L_q and M the one that says how the L_q follow C,
M D = sum_q K_q C dL_q, predictions change by (J + M) D. A product costs one with each
K_q; where entries are few, the matrix of J + M is written out.
"""

from __future__ import annotations

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
        """Return the part of J + M of some entries (k, k)."""
        block = super().block(rows, outputs)
        xp, (one, two, weights) = namespace(block), self._pairs
        outputs = (outputs + xp.zeros_like(rows))[:, None]
        for product, second in zip(self._point.products, self._second, strict=True):
            # what an entry of C makes of S
            own = xp.take(product, rows, axis=0)
            moved = xp.where(outputs == two, xp.take(own, one, axis=1), 0.0)
            moved = moved + xp.where(outputs == one, xp.take(own, two, axis=1), 0.0)
            moved = moved * weights / 2
            block = block + moved @ second @ moved.T
        return block

    @cached_property
    def _pairs(self) -> tuple[Array, Array, Array]:
        """Entries on and above the diagonal of L, scaled to keep inner products."""
        like = self._point.dual
        xp, numbers = namespace(like), namespace(like).arange(like.shape[1])
        one, two = xp.nonzero(numbers[:, None] <= numbers)
        ones = xp.ones(one.shape, dtype=like.dtype)
        return one, two, xp.where(one == two, ones, 2**0.5 * ones)

    @cached_property
    def _second(self) -> list[Array]:
        """The second derivative of each R_q*, as a matrix of these entries."""
        point, (one, two, weights) = self._point, self._pairs
        xp, (n_terms, m, _) = namespace(weights), point.grams.shape
        identity = xp.eye(m, dtype=weights.dtype)
        rows, columns = (xp.take(identity, of, axis=0) for of in (one, two))
        answers = []
        for pair in range(weights.shape[0]):
            unit = symmetric(rows[pair, :][:, None] * columns[pair, :])
            change = xp.stack([weights[pair] * unit] * n_terms)
            moved = xp.reshape(point.response.derivative(change), (n_terms, m * m))
            answers.append(weights * xp.take(moved, one * m + two, axis=1))
        both = xp.stack(answers, axis=1)
        return [symmetric(both[q, ...]) for q in range(n_terms)]


def _matrices(problem: Problem) -> tuple[Any, ...]:
    operator: Any = problem.operator
    return operator.terms
