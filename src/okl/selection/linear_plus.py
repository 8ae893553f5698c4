"""Kernels that are linear plus a weighted one: what a learned kernel may be.

The other one is a Matern 5/2 kernel, of smooth functions, or a Gaussian kernel, whose
functions are smoother still, as products of columns are, or a Laplacian kernel, by the
sum of the distances along the columns: its functions are rough, and close to sums of
functions of few columns, as those of many tables are. They have one width for all
(standardised) columns, or one for each.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from okl.kernels import (
    Constant,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    per_feature,
)

# With more columns than this all have the same width, unless distances are few.
MOST_WIDTHS = 500
# Distances along columns, n^2 d, above which there is no Laplacian kernel: they are no
# product of matrices.
MOST_DISTANCES = 1e8
# Where the weights of the linear and of the other part start; noise is one. And a
# weight of the other part that is far below any noise.
_LINEAR, _MATERN, _HARDLY = 1.0, 10.0, 1e-9


def first_kernel(n_features: int, linear: float = _LINEAR) -> Kernel:
    """Return linear plus Matern, of one width, at which a search starts."""
    return _with_matern(n_features, linear, _MATERN)


def nearly_linear(n_features: int, linear: float) -> Kernel:
    """Return linear plus Matern of a weight that is next to none."""
    return _with_matern(n_features, linear, _HARDLY)


def is_nearly_linear(kernel: Kernel) -> bool:
    """Tell whether a kernel is such a one, which none that was learned can be."""
    return bool(kernel.right.left.value <= _HARDLY)


def _with_matern(n_features: int, linear: float, other: float) -> Kernel:
    line = Linear(scales=linear / n_features)
    return line + Constant(other) * Matern(n_features**0.5, 2.5)


def with_widths(kernel: Kernel, Z: np.ndarray) -> Kernel:
    """Return the kernel with a width for each column in the place of the one."""
    return kernel.left + per_feature(kernel.right, Z)


def with_laplacian(kernel: Kernel, n_features: int) -> Kernel:
    """Return linear plus weighted Laplacian of the widths of a Matern kernel.

    Its mean distance of standardised rows is about the root of the mean square of that
    of the Matern kernel.
    """
    weight, matern = kernel.right.left, kernel.right.right
    inverse = 1.0 / matern.length_scale
    all_inverse = np.broadcast_to(inverse, n_features)
    gamma = inverse * np.linalg.norm(all_inverse) / all_inverse.sum()
    return kernel.left + weight * Laplacian(gamma)


def with_gaussian(kernel: Kernel) -> Kernel:
    """Return linear plus weighted Gaussian of the widths of a Matern kernel.

    Where rows are close it falls as the Matern kernel does, by 5/6 of the square of
    their distance.
    """
    weight, matern = kernel.right.left, kernel.right.right
    return kernel.left + weight * Gaussian(5.0 / 6.0 / np.square(matern.length_scale))


def mean(one: Kernel, other: Kernel) -> Kernel:
    """Return the mean of two kernels that are linear plus a weighted one."""
    linear = clone(one.left).set_params(
        scales=(one.left.scales + other.left.scales) / 2
    )
    first, second = (
        Constant(kernel.right.left.value / 2) * kernel.right.right
        for kernel in (one, other)
    )
    return linear + (first + second)


def scaled(kernel: Kernel, factor: float) -> Kernel:
    """Return linear plus a weighted kernel times a factor, zero left out."""
    if not factor > 0:
        return kernel
    linear, rest = kernel.left, kernel.right
    weight = Constant(rest.left.value * factor)
    return Linear(scales=linear.scales * factor) + weight * rest.right
