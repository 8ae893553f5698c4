"""The kernel matrix of the rows that count, as closed forms take it."""

from __future__ import annotations

import numpy as np

from okl.numerics.memory import require_memory
from okl.operators import Operator

# Arrays of the size of K while one inverse is made, and for the derivative.
_ARRAYS = 5


def require_memory_for(size: int) -> None:
    """Raise MemoryError if there is none for an inverse of this size."""
    require_memory(
        _ARRAYS * 8 * size**2,
        f"A criterion in closed form of {size} targets",
        "Choose the kernel on fewer rows.",
    )


def kernel_of_rows(
    operator: Operator, rows: np.ndarray, *, centred: bool
) -> np.ndarray:
    """Return K of some rows, as an array, centred if asked for."""
    kernel = np.asarray(operator.block(rows))
    if centred:
        means = kernel.mean(axis=0)
        kernel -= means
        kernel -= (means - means.mean())[:, None]
    return kernel
