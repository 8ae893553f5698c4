"""Losses: what an error of a prediction costs.

=============== =============== ================================= ====================
class           name            V(y, f)                           for
=============== =============== ================================= ====================
`Squared`       "squared"       (y - f)^2 / 2                     regression, classes
`Huber`         "huber"         r^2 / 2 up to delta, then linear  regression
`Quantile`      "quantile"      q r, or (q - 1) r if r < 0        regression
`Logistic`      "logistic"      log(1 + exp(-y f)), y = -1 / +1   classes, labels
`Softmax`       "softmax"       -f_y + log sum exp f              classes
`Hinge`         "hinge"         max(0, 1 - y f)                   classes, labels
`SquaredHinge`  "squared_hinge" max(0, 1 - y f)^2 / 2             classes, labels
=============== =============== ================================= ====================

r is y - f. `Logistic` and `Softmax` have probabilities. `Hinge` and `Quantile` have a
kink; `Envelope` makes a smooth loss of a loss with kinks.
"""

from okl.losses.base import Loss as Loss
from okl.losses.envelope import Envelope as Envelope
from okl.losses.hinge import Hinge as Hinge
from okl.losses.huber import Huber as Huber
from okl.losses.logistic import Logistic as Logistic
from okl.losses.quantile import Quantile as Quantile
from okl.losses.softmax import Softmax as Softmax
from okl.losses.squared import Squared as Squared
from okl.losses.squared_hinge import SquaredHinge as SquaredHinge
from okl.parameters.component import from_name, names_of

LOSSES = names_of(globals(), Loss)  # type: ignore[type-abstract]


def as_loss(spec: str | Loss) -> Loss:
    """Turn a name into its default loss; pass a `Loss` through."""
    return from_name(spec, LOSSES, Loss)  # type: ignore[type-abstract]
