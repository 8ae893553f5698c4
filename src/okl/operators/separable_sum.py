"""A kernel matrix for each output, as a sum of separable terms.

The matrix of all outputs together is sum_q L_q (x) K_q with L_q diagonal and zero but
for the outputs of the term: each output belongs to one term. A product with an array
(n_samples, n_outputs) sends the columns of each term through its matrix, together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from okl.numerics.arrays import Array, epsilon, inner, namespace
from okl.operators.base import KernelOperator, Operator
from okl.operators.low_rank import NystroemFactor


class Term(NamedTuple):
    """One matrix and the outputs that have it, up to a factor.

    Attributes
    ----------
    operator : KernelOperator
        K_q.
    outputs : array of int (p,)
        Column numbers.
    scales : array (p,)
        The positive entries of L_q.
    """

    operator: KernelOperator
    outputs: Any
    scales: Any


@dataclass(frozen=True)
class SeparableSum(Operator):
    """X -> sum_q K_q X L_q for arrays (n_samples, n_outputs).

    Parameters
    ----------
    terms : tuple of Term
        Each output in one of them.
    """

    shared: ClassVar[bool] = False

    terms: tuple[Term, ...]

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return self.terms[0].operator.n_samples

    @property
    def norm(self) -> float:
        """The largest eigenvalue, over all outputs."""
        return max(
            term.operator.norm * float(np.max(term.scales)) for term in self.terms
        )

    @property
    def workspace(self) -> float:  # type: ignore[override]
        """How many more arrays of the size of a matrix may be formed."""
        return min(term.operator.workspace for term in self.terms)

    @property
    def largest_entry(self) -> float:  # type: ignore[override]
        """The largest entry of all matrices."""
        return max(
            term.operator.largest_entry * float(np.max(term.scales))
            for term in self.terms
        )

    @property
    def work(self) -> float:
        """The multiplications for the average output."""
        total = sum(t.operator.work * len(t.outputs) for t in self.terms)
        return total / len(_places(self.terms))

    def __matmul__(self, right: Array) -> Array:
        """Return the products of each output's matrix with its column."""
        return _each(self.terms, lambda term, columns: term.operator @ columns, right)

    def diagonal(self) -> Array:
        """Return the diagonals, a column for each output (n_samples, n_outputs)."""
        return _scaled_columns(self, [term.operator.diagonal() for term in self.terms])

    def low_rank(self, rank: int) -> NystroemFactor:
        """Return a factor of each term, with zero columns up to the largest rank."""
        found = [term.operator.low_rank(rank).factors[0] for term in self.terms]
        widest = max(factor.shape[1] for factor in found)
        outputs = [(0, 0.0)] * len(_places(self.terms))
        for which, term in enumerate(self.terms):
            for output, scale in zip(term.outputs, term.scales, strict=True):
                outputs[int(output)] = which, float(scale) ** 0.5
        return NystroemFactor(tuple(_padded(f, widest) for f in found), tuple(outputs))

    def solve(self, right: Array, shift: float) -> Array:
        """Solve for each output; equal scales share a factorisation.

        Where a factorisation fails, or the matrix was clipped, it is decomposed.
        """
        xp = namespace(right)

        def solved(term: Term, columns: Array) -> Array:
            # (s K + shift)^-1 = (K + shift / s)^-1 / s, and columns come with s
            parts, order = [], []
            for scale in np.unique(term.scales):
                (same,) = np.nonzero(np.asarray(term.scales) == scale)
                block = xp.take(columns, xp.asarray(same), axis=1) / scale**2
                parts.append(_solve(term.operator, block, shift / scale))
                order.append(same)
            places = np.argsort(np.concatenate(order))
            return xp.take(xp.concat(parts, axis=1), xp.asarray(places), axis=1)

        return _each(self.terms, solved, right)

    def centered(self, weights: Array | None = None) -> tuple[SeparableSum, Array]:
        """Centre each matrix; the means are (n_samples, n_outputs)."""
        centered, means = zip(
            *(term.operator.centered(weights) for term in self.terms), strict=True
        )
        return _with(self, list(centered)), _scaled_columns(self, list(means))

    def scaled(self, roots: Array) -> SeparableSum:
        """Scale each matrix."""
        return _with(self, [term.operator.scaled(roots) for term in self.terms])

    def verified(self) -> SeparableSum:
        """Check each matrix."""
        return _with(self, [term.operator.verified() for term in self.terms])

    def restrict(self, rows: Any) -> SeparableSum:
        """Take some rows of each matrix."""
        return _with(self, [term.operator.restrict(rows) for term in self.terms])

    def block(self, rows: Any, output: int | None = None) -> Array:
        """Return a block of the matrix of one output."""
        (found,) = [
            (term.operator, float(scale))
            for term in self.terms
            for which, scale in zip(term.outputs, term.scales, strict=True)
            if which == output
        ]
        operator, scale = found
        return scale * operator.block(rows)

    def cross(self, rows: Any, columns: Any) -> _Cross:
        """Return the blocks of all matrices, one row index set against another."""
        blocks = [term.operator.cross(rows, columns) for term in self.terms]
        return _Cross(_with(self, blocks))


def _each(
    terms: tuple[Term, ...], multiply: Callable[[Term, Array], Array], right: Array
) -> Array:
    """Apply something to the columns of each term, multiplied by its scales."""
    xp = namespace(right)
    parts = []
    for term in terms:
        columns = xp.take(right, xp.asarray(term.outputs), axis=1)
        scales = xp.asarray(term.scales, dtype=right.dtype)
        parts.append(multiply(term, columns * scales))
    return _gather(terms, parts)


def _scaled_columns(total: SeparableSum, arrays: list[Array]) -> Array:
    """Scale an array (n_samples,) of each term for each of its outputs."""
    xp = namespace(arrays[0])
    return _gather(
        total.terms,
        [
            array[:, None] * xp.asarray(term.scales, dtype=array.dtype)
            for array, term in zip(arrays, total.terms, strict=True)
        ],
    )


def _with(total: SeparableSum, operators: list[Any]) -> SeparableSum:
    """Return a sum with other matrices."""
    return SeparableSum(
        tuple(
            term._replace(operator=operator)
            for term, operator in zip(total.terms, operators, strict=True)
        )
    )


def _places(terms: tuple[Term, ...]) -> Any:
    """Return the column of each output where those of the terms stand side by side."""
    return np.argsort(np.concatenate([term.outputs for term in terms]))


def _gather(terms: tuple[Term, ...], parts: list[Array]) -> Array:
    """Put the columns of all terms into the order of the outputs."""
    xp = namespace(parts[0])
    return xp.take(xp.concat(parts, axis=1), xp.asarray(_places(terms)), axis=1)


def _padded(factor: Array, width: int) -> Array:
    xp = namespace(factor)
    n, k = factor.shape
    return xp.concat([factor, xp.zeros((n, width - k), dtype=factor.dtype)], axis=1)


def _solve(operator: KernelOperator, right: Array, shift: float) -> Array:
    """Solve with one matrix, which may be singular, or clipped.

    Coefficients outside the range of a clipped matrix would change the predictions of
    new rows, and are left out.
    """
    if not operator.clipped:
        try:
            return operator.solve(right, shift)
        except np.linalg.LinAlgError:
            pass
    values, vectors = operator.spectrum.eigenvalues, operator.spectrum.vectors
    inside = vectors.T @ right
    solved = vectors @ (inside / (values + shift)[:, None])
    outside = right - vectors @ inside
    rounding = epsilon(right) * operator.n_samples
    if operator.clipped or inner(outside, outside) <= rounding**2 * inner(right, right):
        return solved
    return solved + outside / shift


@dataclass(frozen=True)
class _Cross:
    """Blocks in the place of matrices: no more than a product."""

    blocks: SeparableSum

    def __matmul__(self, right: Array) -> Array:
        return self.blocks @ right
