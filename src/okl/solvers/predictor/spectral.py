"""The best f for a given L, squared loss and all targets: a division.

In the eigenbases K = U diag(d) U' and L = V diag(l) V' the equation K C L + alpha C = Y
falls apart into scalars, U'CV = U'YV / (d l' + alpha), and Theta = C L.
"""

from __future__ import annotations

from okl.numerics.arrays import Array
from okl.output_kernels import SpectralKernel
from okl.problems import Rotated


def best_coefficients(
    rotated: Rotated, output_kernel: SpectralKernel, alpha: float
) -> Array:
    """Return U'Theta (k, n_outputs) of the best f."""
    targets = output_kernel.coordinates(rotated.targets)
    weights = output_kernel.eigenvalues
    shrunk = targets * (weights / (rotated.eigenvalues * weights + alpha))
    return output_kernel.from_coordinates(shrunk)
