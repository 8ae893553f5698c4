"""How much a function changes along each column: what columns are worth to a model.

Widths of a kernel alone do not say it: the linear part of a kernel has one weight for
all columns, and where a part is not needed its widths are those of the prior. The
function that was fitted does: of f(x) = sum_i k(x, x_i) c_i the mean squared derivative
by each column, summed over outputs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from okl.kernels import Constant, Gaussian, Laplacian, Linear, Matern, Product, Sum
from okl.numerics.arrays import eigh

# Rows that derivatives are evaluated at, and directions of the outputs.
_ROWS, _DIRECTIONS = 500, 16


def shares_of_columns(
    kernel: Any,
    Z: np.ndarray,
    coefficients: np.ndarray,
    deviations: np.ndarray | float = 1.0,
) -> np.ndarray:
    """Return the share of each column in the squared derivatives, which sum to one.

    A derivative is that by a column in units of its standard deviation.

    Parameters
    ----------
    kernel : Kernel
        A linear, Laplacian, Gaussian or Matern 5/2 kernel, or sums and multiples of
        these.
    Z : array (n_samples, n_features)
        Training rows, standardised or in one unit.
    coefficients : array (n_samples, n_outputs)
        Of the functions.
    deviations : array (n_features,) or 1
        Standard deviations of the columns of Z.
    """
    chosen = np.linspace(0, len(Z) - 1, min(len(Z), _ROWS)).round().astype(np.intp)
    slopes = _slopes(kernel, Z[chosen], Z, _main_directions(coefficients)) * deviations
    total = np.sum(slopes**2, axis=(0, 1))
    largest = total.sum()
    return total / largest if largest > 0 else total


def _main_directions(coefficients: np.ndarray) -> np.ndarray:
    """Return fewer functions with about the same sum of squared derivatives.

    The sum over outputs is the same in any orthonormal basis of them, of which the
    directions that add least are left out.
    """
    n, m = coefficients.shape
    if m <= _DIRECTIONS:
        return coefficients
    if m <= n:
        _, basis = eigh(coefficients.T @ coefficients)
        return coefficients @ basis[:, -_DIRECTIONS:]
    squares, basis = eigh(coefficients @ coefficients.T)
    return basis[:, -_DIRECTIONS:] * np.sqrt(np.clip(squares[-_DIRECTIONS:], 0, None))


def _slopes(
    kernel: Any, at: np.ndarray, Z: np.ndarray, coefficients: np.ndarray
) -> np.ndarray:
    """Return the derivatives of sum_i k(x, z_i) c_i by the features of x.

    They are (n_functions, n_at, n_features).
    """
    if isinstance(kernel, Sum):
        left = _slopes(kernel.left, at, Z, coefficients)
        return left + _slopes(kernel.right, at, Z, coefficients)
    if isinstance(kernel, Product) and isinstance(kernel.left, Constant):
        return kernel.left.value * _slopes(kernel.right, at, Z, coefficients)
    if isinstance(kernel, Linear):
        center = 0.0 if kernel.center is None else kernel.center
        slopes = kernel.scales * (coefficients.T @ (Z - center))
        return np.repeat(slopes[:, None], len(at), axis=1)
    slopes = np.empty((coefficients.shape[1], *at.shape))
    if isinstance(kernel, Laplacian):
        # dk / dx = -gamma sign(x - z) k, zero on the kink
        K = kernel(at, Z)
        gamma = np.broadcast_to(kernel.gamma, at.shape[1])
        for column in range(at.shape[1]):
            signs = np.sign(np.subtract.outer(at[:, column], Z[:, column]))
            signs *= K
            slopes[:, :, column] = -gamma[column] * (signs @ coefficients).T
        return slopes
    decay, factors = _decay(kernel, at, Z)
    for number, column in enumerate(coefficients.T):
        M = decay * column
        slopes[number] = at * M.sum(axis=1, keepdims=True) - M @ Z
    slopes *= factors
    return slopes


def _decay(
    kernel: Gaussian | Matern, at: np.ndarray, Z: np.ndarray
) -> tuple[np.ndarray, Any]:
    """Return the factors of x - z in dk / dx, for all columns and for each of them.

    dk / dx = -2 gamma (x - z) k, and -5 (x - z) (1 + r) exp(-r) / (3 length_scale^2).
    """
    if isinstance(kernel, Gaussian):
        return kernel(at, Z), -2.0 * kernel.gamma
    assert kernel.nu == 2.5
    r = 5.0**0.5 * cdist(at / kernel.length_scale, Z / kernel.length_scale)
    return (1.0 + r) * np.exp(-r), -5.0 / 3.0 / np.square(kernel.length_scale)
