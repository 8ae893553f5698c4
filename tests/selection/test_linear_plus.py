"""Kernels that are linear plus another one: what a search of one begins at."""

import numpy as np
from numpy.testing import assert_allclose

from okl.kernels import Linear, Matern
from okl.selection.linear_plus import with_gaussian


def test_a_gaussian_kernel_falls_as_the_matern_kernel_where_rows_are_close():
    rng = np.random.default_rng(0)
    widths, line = np.array([0.5, 1.0, 4.0]), Linear(scales=0.3)
    kernel = line + 2.0 * Matern(widths, 2.5)
    gaussian = with_gaussian(kernel)
    close = 1e-3 * rng.normal(size=(5, 3))
    fallen = [2.0 - (one(close) - line(close)) for one in (kernel, gaussian)]
    apart = ~np.eye(5, dtype=bool)
    assert_allclose(fallen[1][apart], fallen[0][apart], rtol=1e-2)
