r"""Warm starts along a path: what was found at the last alphas, extrapolated.

The best L is a smooth function of log alpha except where its rank changes, and so are
the dual variables C. The polynomial through the last three of them, on an even grid
3 L_1 - 3 L_2 + L_3, is so close to the next that one step of Newton's method is most
often enough.
"""

from __future__ import annotations

from math import log, prod
from typing import NamedTuple

from okl.numerics.arrays import Array

# How many alphas are remembered.
_MEMORY = 3
# An extrapolation whose weights have absolute values with a larger sum goes too far:
# on an even grid it is 7 for three alphas, 3 for two.
_FARTHEST = 10.0
# Farther in log alpha than this, an L found without neighbours is the better start.
_NEAR = log(10.0)


class Neighbours(NamedTuple):
    """Alphas, all different, and what was found at each; the nearest first."""

    found: tuple[tuple[float, Array], ...] = ()

    def joined(self, alpha: float, there: Array, *, most: int = _MEMORY) -> Neighbours:
        """Return the last ``most`` alphas, the first of which is this one."""
        others = [pair for pair in self.found if pair[0] != alpha]
        return Neighbours(((alpha, there), *others)[:most])

    @property
    def nearest(self) -> Array:
        """What was found last."""
        return self.found[0][1]

    def near(self, alpha: float) -> bool:
        """Tell whether an alpha is near enough to start from what was found."""
        return bool(self.found) and abs(log(alpha / self.found[0][0])) <= _NEAR

    def at(self, alpha: float) -> Array:
        """Return the extrapolation to an alpha: of L symmetric, not always PSD."""
        for count in range(len(self.found), 1, -1):
            nearest = self.found[:count]
            weights = _weights(alpha, [known for known, _ in nearest])
            if weights[0] != 1 and sum(abs(weight) for weight in weights) <= _FARTHEST:
                pairs = zip(weights, nearest, strict=True)
                return sum(weight * there for weight, (_, there) in pairs)
        return self.nearest


def _weights(alpha: float, known: list[float]) -> list[float]:
    """Return those of Lagrange's polynomial in log alpha."""
    return [prod(log(alpha / b) / log(a / b) for b in known if b != a) for a in known]
