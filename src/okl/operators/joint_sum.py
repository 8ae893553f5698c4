"""Several kernels, each with its own output kernel: C -> sum_q K_q C L_q."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from okl.numerics.arrays import Array, namespace
from okl.operators.joint import JointOperator, Kronecker
from okl.operators.low_rank import NystroemFactor
from okl.operators.terms import OperatorTerms
from okl.output_kernels import OutputKernelTerms


class JointSum(JointOperator):
    """C -> sum_q K_q C L_q, with the same dual variables C in all terms.

    Parameters
    ----------
    operator : OperatorTerms
        K_1, K_2, ...
    output_kernel : OutputKernelTerms
        L_1, L_2, ...

    Attributes
    ----------
    terms : tuple of Kronecker
        C -> K_q C L_q for each q.
    """

    output_kernel: OutputKernelTerms

    def __init__(
        self, operator: OperatorTerms, output_kernel: OutputKernelTerms
    ) -> None:
        self.operator = operator
        self.output_kernel = output_kernel
        pairs = zip(operator.terms, output_kernel.terms, strict=True)
        self.terms = tuple(Kronecker(K, L) for K, L in pairs)

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return self.operator.n_samples

    @property
    def work(self) -> float:
        """The multiplications of a product of all K_q with one column."""
        return self.operator.work

    def __matmul__(self, dual: Array) -> Array:
        """Return the sum of the products."""
        return sum(term @ dual for term in self.terms)

    @cached_property
    def diagonal(self) -> Array:
        """The sum of the diagonals."""
        return sum(term.diagonal for term in self.terms)

    def block(self, rows: Array, outputs: Any) -> Array:
        """Return the sum of the blocks of some entries (k, k)."""
        outputs = outputs + namespace(rows).zeros_like(rows)
        return sum(
            operator.block(rows) * _between(kernel.matrix(), outputs)
            for operator, kernel in zip(
                self.operator.terms, self.output_kernel.terms, strict=True
            )
        )

    def low_rank(self, rank: int) -> NystroemFactor:
        """Return a factor R_q of each K_q, or none at all for a rank of zero."""
        if rank == 0:
            return NystroemFactor(())
        return NystroemFactor(
            tuple(
                operator.low_rank(rank).factors[0] for operator in self.operator.terms
            )
        )


def _between(matrix: Array, outputs: Array) -> Array:
    """Return L_st for the outputs of some entries (k, k)."""
    xp = namespace(matrix)
    return xp.take(xp.take(matrix, outputs, axis=0), outputs, axis=1)
