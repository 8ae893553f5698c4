"""Several kernel matrices of the same rows, each for a term of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from okl.numerics.arrays import Array, namespace
from okl.operators.base import KernelOperator, Operator
from okl.operators.diagonal import DiagonalOperator
from okl.operators.low_rank import NystroemFactor
from okl.output_kernels import TermCoefficients

_NO_MATRIX = "Several kernel matrices, each with its own L, are not one matrix."


class RowOperator(DiagonalOperator):
    """The identity, as the kernel matrix of the term of a row.

    With a free intercept dual variables sum to zero, and on these H I H is the identity
    as well: so it is not centred, and a product stays one multiplication an entry.
    """

    def centered(  # type: ignore[override]
        self, weights: Array | None = None
    ) -> tuple[RowOperator, Array]:
        """Return the operator as it is, with means of zero."""
        return self, namespace(self._entries).zeros_like(self._entries)

    def restrict(self, rows: Any) -> RowOperator:
        """Return the identity of some rows."""
        return RowOperator(namespace(self._entries).take(self._entries, rows))

    def cross(self, rows: Any, columns: Any) -> Array:
        """Return a block: zero but for rows that are columns too."""
        xp = namespace(self._entries)
        rows = xp.asarray(rows)
        same = rows[:, None] == xp.asarray(columns)[None, :]
        return xp.astype(same, self._entries.dtype) * self._entries[rows][:, None]

    def low_rank(self, rank: int) -> NystroemFactor:
        """Return no columns, as none approximates the identity better than others."""
        xp = namespace(self._entries)
        none = xp.zeros((self.n_samples, 0), dtype=self._entries.dtype)
        return NystroemFactor((none,))


@dataclass(frozen=True)
class OperatorTerms(Operator):
    """(Theta_1, Theta_2, ...) -> sum_q K_q Theta_q.

    Parameters
    ----------
    terms : tuple of KernelOperator
        K_1, K_2, ... on the same rows.
    """

    shared: ClassVar[bool] = False
    several: ClassVar[bool] = True

    terms: tuple[KernelOperator, ...]

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return self.terms[0].n_samples

    @property
    def norm(self) -> float:
        """The sum of the largest eigenvalues, a bound on that of the sum."""
        return sum(term.norm for term in self.terms)

    @property
    def workspace(self) -> float:  # type: ignore[override]
        """How many more arrays of the size of a matrix may be formed."""
        return min(term.workspace for term in self.terms)

    @property
    def largest_entry(self) -> float:  # type: ignore[override]
        """The largest entry of all matrices."""
        return max(term.largest_entry for term in self.terms)

    @property
    def work(self) -> float:
        """The multiplications for all matrices."""
        return sum(term.work for term in self.terms)

    def __matmul__(self, theta: TermCoefficients) -> Array:
        """Return the sum of the products with the coefficients of each term."""
        pairs = zip(self.terms, theta.parts, strict=True)
        return sum(operator @ part for operator, part in pairs)

    def diagonal(self) -> Array:
        """Return the diagonals, a column for each term (n_samples, n_terms)."""
        xp = namespace(self.terms[0].diagonal())
        return xp.stack([term.diagonal() for term in self.terms], axis=1)

    def centered(self, weights: Array | None = None) -> tuple[OperatorTerms, Array]:
        """Centre each matrix; the means are (n_samples, n_terms)."""
        centered, means = zip(*(t.centered(weights) for t in self.terms), strict=True)
        return OperatorTerms(centered), namespace(means[0]).stack(means, axis=1)

    def scaled(self, roots: Array) -> OperatorTerms:
        """Scale each matrix."""
        return OperatorTerms(tuple(term.scaled(roots) for term in self.terms))

    def verified(self) -> OperatorTerms:
        """Check each matrix."""
        return OperatorTerms(tuple(term.verified() for term in self.terms))

    def restrict(self, rows: Any) -> OperatorTerms:
        """Take some rows of each matrix."""
        return OperatorTerms(tuple(term.restrict(rows) for term in self.terms))

    def cross(self, rows: Any, columns: Any) -> Any:
        """Return blocks of all matrices, as something that multiplies coefficients."""
        return _Cross(tuple(term.cross(rows, columns) for term in self.terms))

    def low_rank(self, rank: int) -> NoReturn:
        """Refuse: each matrix has a factor of its own."""
        raise TypeError(_NO_MATRIX)

    def solve(self, right: Array, shift: float) -> NoReturn:
        """Refuse: there is no one matrix to solve with."""
        raise TypeError(_NO_MATRIX)

    def block(self, rows: Any, output: int | None = None) -> NoReturn:
        """Refuse: there is no one matrix to take a block of."""
        raise TypeError(_NO_MATRIX)


@dataclass(frozen=True)
class _Cross:
    """Blocks in the place of matrices: no more than a product."""

    blocks: tuple[Any, ...]

    def __matmul__(self, theta: TermCoefficients) -> Array:
        pairs = zip(self.blocks, theta.parts, strict=True)
        return sum(block @ part for block, part in pairs)


def each_matrix(operator: Operator) -> tuple[Operator, ...]:
    """Return the operators of the matrices that have an L of their own."""
    return operator.terms if isinstance(operator, OperatorTerms) else (operator,)
