"""Anderson extrapolation: where a fixed-point iteration seems to be going.

Of the last iterates x_k and their images g(x_k), take the combination with weights
that sum to one whose residual g(x) - x is least, and return the same combination of
the images (Walker & Ni 2011, *Anderson acceleration for fixed-point iterations*).
Nothing says that it is better than the last image: the caller keeps it only where it
is.
"""

from __future__ import annotations

from itertools import pairwise

from okl.numerics.arrays import Array, namespace

# Differences of residuals that depend on the others up to this part of the largest
# are left out.
_CUT = 1e-12


class Extrapolation:
    """The last iterates of a fixed-point iteration, all of one shape."""

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._images: list[Array] = []
        self._residuals: list[Array] = []

    def add(self, iterate: Array, image: Array) -> None:
        """Remember an iterate and its image, forget the oldest."""
        self._images = [*self._images, image][-self._memory :]
        self._residuals = [*self._residuals, image - iterate][-self._memory :]

    def guess(self) -> Array | None:
        """Return the combination of images, None of fewer than two."""
        if len(self._images) < 2:
            return None
        xp = namespace(self._images[0])
        changes = _differences(self._residuals)
        weights = xp.linalg.pinv(changes, rtol=_CUT) @ _column(self._residuals[-1])
        back = _differences(self._images) @ weights
        return self._images[-1] - xp.reshape(back, self._images[-1].shape)


def _differences(arrays: list[Array]) -> Array:
    xp = namespace(arrays[0])
    columns = [_column(b - a) for a, b in pairwise(arrays)]
    return xp.concat(columns, axis=1)


def _column(array: Array) -> Array:
    return namespace(array).reshape(array, (-1, 1))
