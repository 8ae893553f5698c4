r"""The equations of many active entries where K and L have few dimensions.

With K = R R' and L = B B' the part M of K (x) L at the active entries is Phi Phi', each
row of Phi the product of a row of R and one of B. With D = alpha / W

.. math:: (M + D)^{-1} = D^{-1} - D^{-1} \Phi (I + \Phi' D^{-1} \Phi)^{-1} \Phi' D^{-1}

(Woodbury). The matrix in the middle has as many rows as R and B have columns, times one
another, and neither M nor Phi is formed: its part for the columns s and t of B is
R' diag(d) R, with d_i the sum of B_js B_jt / D_ij over the outputs j.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from okl.numerics.arrays import Array, definite_solver, namespace

# Numbers that are multiplied at once.
_ENTRIES = 2**22


@dataclass(frozen=True)
class RootSystem:
    """What solves with M + D.

    Attributes
    ----------
    rows : array (n_samples, k)
        R.
    outputs : array (n_outputs, q)
        B.
    weights : array (n_samples, n_outputs)
        D^-1, zero where an entry is not active.
    refined : bool, default=True
        Whether what the first solution leaves is solved for as well.
    """

    rows: Array
    outputs: Array
    weights: Array
    refined: bool = True

    @property
    def size(self) -> int:
        """The number of equations that are solved at once."""
        return int(self.rows.shape[1] * self.outputs.shape[1])

    def solve(self, right: Array) -> Array:
        """Return (M + D)^-1 times an array (n_active, p), its entries row by row."""
        xp = namespace(right)
        n_columns, n_entries = right.shape[1], math.prod(self.weights.shape)
        width = max(_ENTRIES // n_entries, 1)
        parts = [
            self._solution(right[:, first : min(first + width, n_columns)])
            for first in range(0, n_columns, width)
        ]
        return xp.concat(parts, axis=1)

    def _solution(self, right: Array) -> Array:
        solved = self._once(right)
        if not self.refined:
            return solved
        # a right side that Phi has nearly loses digits to the difference
        left = right - self._image(self._inside(solved)) - solved / self._inverse_D
        return solved + self._once(left)

    def _once(self, right: Array) -> Array:
        scaled = right * self._inverse_D
        image = self._image(self._inverse(self._inside(scaled)))
        return scaled - image * self._inverse_D

    def _inside(self, entries: Array) -> Array:
        """Return Phi' times an array (n_active, p)."""
        xp, (n, m), p = namespace(entries), self.weights.shape, entries.shape[1]
        # where an entry is not active the last row stands, which is zero
        _, numbers = self._places
        padded = xp.concat([entries, xp.zeros((1, p), dtype=entries.dtype)])
        rows = xp.take(padded, numbers, axis=0)
        inside = self.rows.T @ xp.reshape(rows, (n, m * p))
        inside = self.outputs.T @ xp.reshape(inside, (-1, m, p))
        return xp.reshape(inside, (self.size, p))

    def _image(self, inside: Array) -> Array:
        """Return Phi times an array (size, p)."""
        xp, (n, m), p = namespace(inside), self.weights.shape, inside.shape[1]
        q = self.outputs.shape[1]
        image = self.outputs @ xp.reshape(inside, (-1, q, p))
        image = self.rows @ xp.reshape(image, (-1, m * p))
        return xp.take(xp.reshape(image, (n * m, p)), self._places[0], axis=0)

    @cached_property
    def _places(self) -> tuple[Array, Array]:
        """Where active entries are, row by row, and which active one an entry is."""
        xp = namespace(self.weights)
        active = xp.reshape(self.weights > 0, (-1,))
        places = xp.nonzero(active)[0]
        order = xp.argsort(xp.concat([places, xp.nonzero(~active)[0]]))
        return places, xp.clip(order, None, places.shape[0])

    @cached_property
    def _inverse_D(self) -> Array:
        """The diagonal of D^-1 at the active entries (n_active, 1)."""
        return self.weights[self.weights > 0][:, None]

    @cached_property
    def _inverse(self) -> Callable[[Array], Array]:
        """What solves with I + Phi' D^-1 Phi."""
        R, B = self.rows, self.outputs
        xp, q = namespace(R), B.shape[1]
        matrix = xp.empty((self.size, self.size), dtype=R.dtype)
        for s in range(q):
            for t in range(s + 1):
                d = self.weights @ (B[:, s] * B[:, t])
                part = R.T @ (R * d[:, None])
                matrix[s::q, t::q] = part
                matrix[t::q, s::q] = part.T
        return definite_solver(matrix + xp.eye(self.size, dtype=R.dtype))
