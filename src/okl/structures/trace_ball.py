"""An output kernel of bounded trace."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from okl.optimization.interior import Interior
from okl.parameters.hyperparameter import Hyperparameter
from okl.structures._hyperparameters import inverse_parameter
from okl.structures.spectral_set import SpectralSet

_LEARNED = frozenset({"update", "proximal"})


class TraceBall(SpectralSet):
    r"""Learn an output kernel with tr L <= 1, R(L) = (eps / 2) tr L^-1.

    ``eps = 0`` is MTRL, the multi-task relationship learning of Zhang & Yeung (2010),
    *A convex formulation for learning task relationships*, as restated by Ciliberto et
    al. (2015), section 2.2.2. Its predictors are those of MTFL, the convex multi-task
    feature learning of Argyriou, Evgeniou & Pontil (2008), where the ball is one of
    matrices on the features instead of L, and a term with eps keeps these invertible;
    here that term is on L. Without eps the optimal L is of low rank, and for some
    alpha' it is that of `LowRank` divided by its trace: the ball says how large L may
    be, where the trace penalty trades it against the fit.

    With P of the current predictions the update is (P + eps I)^(1/2), divided by its
    trace, and R*(S) is the largest eigenvalue of S where eps = 0.

    The scale of the input kernel matters: ``c K`` in a ball of radius 1 is K in one
    of radius c.

    Parameters
    ----------
    eps : float, default=0.0
        Weight of the inverse, >= 0; above 0 it keeps L positive definite.
    """

    name: ClassVar[str | None] = "trace_ball"

    def __init__(self, eps: float = 0.0) -> None:
        self.eps = eps

    @property
    def capabilities(self) -> frozenset[str]:  # type: ignore[override]
        """Without eps, L lives in the span of the targets, and its rank is low."""
        return _LEARNED if self.eps > 0 else _LEARNED | {"rotation_invariant"}

    def validate(self, n_outputs: int) -> None:
        """Check that eps is not negative."""
        eps: Any = self.eps
        number = isinstance(eps, Real) and not isinstance(eps, bool)
        if not number or not 0 <= eps < float("inf"):
            raise ValueError(
                f"eps must be a finite number >= 0 (0 for an L of low rank), got "
                f"{eps!r}."
            )

    def hyperparameters(self, n_outputs: int) -> list[Hyperparameter]:
        """Return eps; nothing if it is 0, where L is of low rank."""
        return [inverse_parameter(self.eps)] if self.eps > 0 else []

    def region(self, n_outputs: int) -> Interior:
        """Return eigenvalues that sum to at most 1."""
        return Interior(budget=1.0, inverse=float(self.eps))
