"""Names that are none: what stands for an id, or a node, that is not known."""

from __future__ import annotations

from typing import Any

import numpy as np

# pandas is not needed to run, and its missing values are known by the names of types.
_OF_PANDAS = ("NAType", "NaTType")


def is_missing(name: Any) -> bool:
    """Tell whether a name is None, NaN, or what NumPy and pandas have for them."""
    if name is None or type(name).__name__ in _OF_PANDAS:
        return True
    if isinstance(name, np.datetime64 | np.timedelta64):
        return bool(np.isnat(name))
    return isinstance(name, float | np.floating) and bool(np.isnan(name))
