r"""A structure's penalty R on L and its domain, as Newton's methods need them.

The `region` of a structure decides which methods can find L. In `Free` every PSD matrix
is allowed. In `HalfTrace` the penalty is that of a factor of L, in whose entries steps
can be taken. Others have a barrier (`WithBarrier`, in `okl.optimization.interior` and
`okl.optimization.orthant`), and steps are in L itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

from okl.numerics.arrays import Array, namespace
from okl.optimization.smooth import SmoothPoint

# Each barrier is this part of the one before.
LOWERING = 0.1


class Decomposed(NamedTuple):
    """An output kernel L as Newton's method sees it."""

    values: Array  # eigenvalues (m,), ascending
    vectors: Array  # eigenvectors (m, m)
    matrix: Array | None = None  # L, where its entries matter: it may have exact zeros


class Iterate(NamedTuple):
    """L, and g at L."""

    kernel: Decomposed
    point: SmoothPoint


class Equations(NamedTuple):
    """What determines a Newton step, in coordinates that a region chooses.

    ``cut`` changes a step so that it ends in the region, apart from the bounds that a
    barrier keeps. ``narrowed`` returns the equations without the coordinates in which a
    given step would leave the region at once, or None if there are none; it is None if
    no step ever does.
    """

    gradient: Array  # of the whole objective (m, m)
    hessian: Callable[[Array], Array]
    precondition: Callable[[Array], Array]  # about its inverse
    cut: Callable[[Array], Array] = lambda change: change
    narrowed: Callable[[Array], Equations | None] | None = None


class Region:
    """A penalty on L and its domain."""

    @property
    def trace_and_square(self) -> tuple[float, float] | None:
        """(mu, nu) where R(L) = mu tr(L) / 2 + nu ||L||_F^2 / 2, else None.

        Where it is known, a fit can be extended by new outputs.
        """
        return None


@dataclass(frozen=True)
class Free(Region):
    """Any PSD L, R(L) = ||D^-1 L D^-1||_F^2 / 2, D diagonal.

    On PSD matrices R*(S) = ||D S D||_F^2 / 2: the dual is smooth and unconstrained, so
    Newton's method works in the dual variables, and every L = D^2 C'KC D^2 / 2 is PSD.
    The scales (m,) are the diagonal of D, None for D = I.
    """

    scales: Array | None = None

    @property
    def trace_and_square(self) -> tuple[float, float] | None:
        """The square alone, if it is that of L itself."""
        return (0.0, 1.0) if self.scales is None else None


@dataclass(frozen=True)
class HalfTrace(Region):
    """Any PSD L, of a rank that may be bounded, R(L) = tr L / 2.

    L is of low rank, and Newton's method works in a factor of it.
    """

    trace_and_square: ClassVar[tuple[float, float]] = (1.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class WithBarrier(Region, ABC):
    """A penalty on L, and a domain; a barrier keeps L in the interior of the domain.

    The coordinates are the entries of L (`by_entries`), or those in its eigenbasis.
    """

    inverse: float = 0.0  # the weight eps >= 0 of tr L^-1 / 2
    barrier: float = 0.0  # the current weight, which is lowered towards ``inverse``

    by_entries: ClassVar[bool] = False

    def only(self, size: int) -> float | None:
        """Return l if l I is the only L (size, size) to be considered, else None."""
        return None

    def split(self, columns: Array) -> Array:
        """Return the columns of outputs that Newton's method sees."""
        return columns

    def whole(self, inside: Decomposed) -> Decomposed:
        """Return the L of all outputs, given that of what Newton's method sees."""
        return inside

    def cut(self, values: Array) -> Array | None:
        """Return eigenvalues with zeros for those that tend to zero.

        None where there are none, or none may be zero.
        """
        return None

    @abstractmethod
    def cold(
        self, size: int, power: Callable[[float], float], guess: float
    ) -> tuple[WithBarrier, float]:
        """Return the region, and the eigenvalue of a multiple of I to start from.

        ``power`` is C'KC along the strongest direction of the targets, given the
        eigenvalue of L there; ``guess`` is one that is likely too large.
        """

    @abstractmethod
    def warm(self, nearby: Decomposed) -> tuple[WithBarrier, Decomposed] | None:
        """Return the region, and an L to start from, given that of a nearby problem.

        It is called on the region that `cold` returned, and returns None where
        ``nearby`` is not near enough.
        """

    @abstractmethod
    def entered(self, value: float, values: Array) -> WithBarrier:
        """Return the region with a first barrier, given g(L) and eigenvalues."""

    def lowered(self) -> Self | None:
        """Return the region with a tenth of the barrier, None if that is too low."""
        if self.barrier <= self.inverse:
            return None
        return replace(self, barrier=max(LOWERING * self.barrier, self.inverse))

    def held(self, values: Array) -> float:
        """Return about what the barrier adds to the objective."""
        if self.barrier == 0:  # then L may be singular
            return 0.0
        return self.barrier * float(namespace(values).sum(1 / values)) / 2

    def barrier_curvature(self, values: Array) -> Array:
        """Return that of barrier tr L^-1 / 2, which is diagonal in the eigenbasis."""
        inverse = 1 / values
        sums = inverse[:, None] + inverse
        return self.barrier * inverse[:, None] * inverse * sums / 2

    @abstractmethod
    def admits(self, values: Array) -> bool:
        """Tell whether eigenvalues, ascending, are inside the bounds of a barrier."""

    @abstractmethod
    def value(self, iterate: Iterate) -> float:
        """Return R(L) and the barrier."""

    @abstractmethod
    def equations(self, iterate: Iterate) -> Equations:
        """Return what determines a Newton step."""
