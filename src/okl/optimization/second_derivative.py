r"""The derivative of the best L by S: the second derivative of the conjugate R*.

The best L for S = C'KC / 2 is the gradient of R*. Its derivative is a linear map dL
from a change of S to that of L, both symmetric (m, m). A change of one dual variable,
of an entry i in output t_i, changes S by the symmetric part of p_i e_{t_i}', where p_i
is a row of K C. Hence

.. math:: M_{ij} = \langle \operatorname{sym}(p_i e_{t_i}'),
          \mathrm{d}L(\operatorname{sym}(p_j e_{t_j}')) \rangle

is how much the prediction of entry i changes with the dual variable j, through L alone.
Each class here computes M from what is known of the map.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from okl.numerics.arrays import Array, epsilon, namespace, symmetric

# Eigenvalues nearer than this, in machine epsilons of the largest, are taken for equal.
_EQUAL = 1e3
# Products are formed in blocks of about so many numbers.
_ENTRIES = 2**22
# Up to so many outputs the map is written out, an array (m, m, m, m).
_MOST_OUTPUTS = 50


class SecondDerivative(Protocol):
    """The linear map from a change of S to that of L."""

    def __call__(self, change: Array) -> Array:
        """Return the change of L, given a symmetric one of S."""

    def between(self, rows: Array, outputs: Array) -> Array:
        """Return M (k, k) of k entries.

        Parameters
        ----------
        rows : array (k, m)
            The p_i.
        outputs : array of int (k,)
            The t_i.
        """


class Zero:
    """L does not change."""

    def __call__(self, change: Array) -> Array:
        """Return zeros."""
        return namespace(change).zeros_like(change)

    def between(self, rows: Array, outputs: Array) -> Array:
        """Return zeros."""
        return namespace(rows).zeros((rows.shape[0],) * 2, dtype=rows.dtype)


class Unity:
    """L changes as S does."""

    def __call__(self, change: Array) -> Array:
        """Return the change of S."""
        return change

    def between(self, rows: Array, outputs: Array) -> Array:
        """Return (<p_i, p_j> [t_i = t_j] + p_i[t_j] p_j[t_i]) / 2."""
        xp, k = namespace(rows), rows.shape[0]
        rows = rows / 2**0.5
        order = xp.argsort(outputs, stable=True)
        grouped = xp.take(rows, order, axis=0)
        total, begin = xp.zeros((k, k), dtype=rows.dtype), 0
        for number in xp.unique_counts(outputs).counts:
            own = slice(begin, begin + int(number))
            total[own, own] = grouped[own, :] @ grouped[own, :].T
            begin = own.stop
        if xp.any(order != xp.arange(k)):
            back = xp.argsort(order)
            total = xp.take(xp.take(total, back, axis=0), back, axis=1)
        crossed = xp.take(rows, outputs, axis=1)
        return total + crossed * crossed.T


@dataclass(frozen=True)
class Divided:
    """The map where eigenvalues of L are an increasing function of those of S.

    In the eigenbasis of S a change is multiplied by divided differences of the
    function. Where the eigenvalues of L share a budget they move together, so that
    their sum does not change.
    """

    vectors: Array  # (m, k), those of S that L follows
    values: Array  # eigenvalues of S (k,)
    found: Array  # those of L
    slopes: Array  # derivatives of the eigenvalues of L by those of S
    shared: bool

    def __call__(self, change: Array) -> Array:
        """Return the change of L, given that of S."""
        xp = namespace(change)
        inside = self.vectors.T @ change @ self.vectors
        moved = self._quotients * inside
        total = self._total
        if total > 0:
            kept = float(xp.sum(self.slopes * xp.linalg.diagonal(inside))) / total
            identity = xp.eye(self.values.shape[0], dtype=change.dtype)
            moved = moved - identity * (kept * self.slopes)
        return self.vectors @ moved @ self.vectors.T

    def between(self, rows: Array, outputs: Array) -> Array:
        """Return M, a sum over the pairs of eigenvectors whose quotient is not zero.

        Such pairs are few where L has few different eigenvalues.
        """
        xp, k = namespace(rows), rows.shape[0]
        left = self.vectors.T @ rows.T
        right = xp.take(self.vectors, outputs, axis=0).T
        # a pair of different vectors stands for its mirror image as well
        weights = xp.triu(self._quotients) + xp.triu(self._quotients, k=1)
        counted = weights > epsilon(rows) * xp.max(weights)
        pairs, roots = xp.nonzero(counted), xp.sqrt(weights[counted]) / 2
        total = xp.zeros((k, k), dtype=rows.dtype)
        width, n_pairs = max(_ENTRIES // k, 1), roots.shape[0]
        for begin in range(0, n_pairs, width):
            some = slice(begin, min(begin + width, n_pairs))
            a, b = (numbers[some] for numbers in pairs)
            both = xp.take(left, a, axis=0) * xp.take(right, b, axis=0)
            both += xp.take(left, b, axis=0) * xp.take(right, a, axis=0)
            both *= roots[some][:, None]
            total += both.T @ both
        if self._total > 0:
            along = self.slopes @ (left * right)
            total -= along[:, None] * (along / self._total)
        return total

    @cached_property
    def _quotients(self) -> Array:
        xp, values, found = namespace(self.values), self.values, self.found
        rows, columns = values[:, None], values[None, :]
        close = _EQUAL * epsilon(values) * xp.max(xp.abs(values))
        apart = xp.abs(rows - columns) > close
        differences = xp.where(apart, rows - columns, xp.ones_like(rows))
        equal = xp.minimum(self.slopes[:, None], self.slopes[None, :])
        ratios = (found[:, None] - found[None, :]) / differences
        return xp.where(apart, ratios, equal)

    @cached_property
    def _total(self) -> float:
        """The sum of the slopes; zero where eigenvalues do not share a budget."""
        return float(namespace(self.slopes).sum(self.slopes)) if self.shared else 0.0


@dataclass(frozen=True)
class Multiple:
    """A multiple of another map."""

    one: SecondDerivative
    factor: float

    def __call__(self, change: Array) -> Array:
        """Return the multiple."""
        return self.factor * self.one(change)

    def between(self, rows: Array, outputs: Array) -> Array:
        """Return the multiple."""
        return self.factor * self.one.between(rows, outputs)


@dataclass(frozen=True)
class InOtherUnits:
    """The map of D L D, from a change of S where that of L is one of D S D."""

    one: SecondDerivative
    scales: Array  # the diagonal of D (m,)

    def __call__(self, change: Array) -> Array:
        """Return D times the change of L times D."""
        both = self.scales[:, None] * self.scales
        return both * self.one(both * change)

    def between(self, rows: Array, outputs: Array) -> Array:
        """Return M: p_i e_ti' becomes D p_i e_ti' D."""
        own = namespace(rows).take(self.scales, outputs)
        return self.one.between(own[:, None] * rows * self.scales, outputs)


@dataclass(frozen=True)
class Followed:
    """A map of which nothing is known but how to evaluate it."""

    follow: Callable[[Array], Array]
    like: Array  # an L (m, m)

    def __call__(self, change: Array) -> Array:
        """Return the change of L."""
        return self.follow(change)

    def between(self, rows: Array, outputs: Array) -> Array:
        """Return M, by the map at each entry of S, or each p_i e_ti' if fewer."""
        m = rows.shape[1]
        if m <= _MOST_OUTPUTS and m * (m + 1) // 2 <= rows.shape[0]:
            return self._by_entries(rows, outputs)
        xp = namespace(rows)
        answers = []
        for entry in range(rows.shape[0]):
            change = xp.zeros((m, m), dtype=rows.dtype)
            change[:, int(outputs[entry])] = rows[entry, :]
            moved = self.follow(symmetric(change))
            answers.append(xp.sum(rows * xp.take(moved, outputs, axis=0), axis=1))
        return symmetric(xp.stack(answers, axis=1))

    def _by_entries(self, rows: Array, outputs: Array) -> Array:
        xp = namespace(rows)
        # an entry of an output changes the row and column of this output in S
        groups = [rows[outputs == output, :] for output in range(rows.shape[1])]
        half = [
            xp.tensordot(own, self._of_units[output, ...], axes=1)
            for output, own in enumerate(groups)
        ]
        half = xp.concat(half, axis=0)
        whole = [half[:, output, :] @ own.T for output, own in enumerate(groups)]
        back = xp.argsort(xp.argsort(outputs, stable=True))
        found = symmetric(xp.concat(whole, axis=1))
        return xp.take(xp.take(found, back, axis=0), back, axis=1)

    @cached_property
    def _of_units(self) -> Array:
        """How L changes with an entry of S and its mirror image (m, m, m, m)."""
        xp, m = namespace(self.like), self.like.shape[0]
        identity = xp.eye(m, dtype=self.like.dtype)
        found = xp.empty((m, m, m, m), dtype=identity.dtype)
        for d in range(m):
            for e in range(d + 1):
                unit = symmetric(identity[:, d][:, None] * identity[e, :])
                found[d, e, ...] = found[e, d, ...] = self.follow(unit)
        return found
