"""Continuous parameters of a penalty that can be learned, with bounds and priors."""

from __future__ import annotations

from typing import Any

import numpy as np

from okl.parameters.hyperparameter import Hyperparameter
from okl.parameters.priors import LogNormal

# # Bounds of eps: below, problems are hardly solvable; above, L is nearly the identity.
_LEAST, _MOST = 1e-6, 1.0
_MEDIAN, _STD = 1e-3, 2.0


def inverse_parameter(eps: Any) -> Hyperparameter:
    """Return eps, the weight of tr L^-1, for outputs that were normalised."""
    value = float(eps)
    bounds = min(_LEAST, value / 2), max(_MOST, value * 2)
    return Hyperparameter("eps", value, bounds, LogNormal(np.log(_MEDIAN), _STD))


def share_parameter(name: str, value: Any) -> Hyperparameter:
    """Return a share in (0, 1]: it may come near 0, and may be 1."""
    number = float(value)
    prior = LogNormal(np.log(0.5), 1.0)
    return Hyperparameter(name, number, (min(1e-2, number / 2), 1.0), prior)
