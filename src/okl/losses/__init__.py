"""Losses: how a prediction is judged.

========================= ========== ==================== ======================
class                     name       V(y, f)              for
========================= ========== ==================== ======================
`Squared`                 "squared"  (y - f)^2 / 2        regression, classes
========================= ========== ==================== ======================
"""

from okl._component import from_name, names_of
from okl.losses.base import Loss as Loss
from okl.losses.squared import Squared as Squared

LOSSES = names_of(globals(), Loss)  # type: ignore[type-abstract]


def as_loss(spec: str | Loss) -> Loss:
    """Turn a name into its default loss; pass a `Loss` through."""
    return from_name(spec, LOSSES, Loss)  # type: ignore[type-abstract]
