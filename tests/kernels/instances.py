"""Every kernel, with rows it can be called on: one line per case.

The contract suite runs on this list, and the registry test fails if an exported
kernel is missing from it.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.gaussian_process import kernels as processes

from okl.kernels import (
    Average,
    CallableKernel,
    Columns,
    Constant,
    Cosine,
    Gaussian,
    Gram,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Product,
    RationalQuadratic,
    Sum,
)

N_KNOWN = 15


def features(seed):
    """Rows of three features, half of them zero, with one row twice."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(11, 3)) * (rng.random((11, 3)) < 0.5) * [0.5, 1.0, 4.0]
    X[7] = X[2]
    return X


def row_numbers(seed):
    """One column of row numbers of MATRIX, some of them repeated."""
    rng = np.random.default_rng(seed)
    return rng.integers(N_KNOWN, size=(11, 1)).astype(float)


def numbered_features(seed):
    """Row numbers in the first column, features in the others."""
    return np.hstack([row_numbers(seed), features(seed)])


def inner_product(X, Z):
    """Return a sparse result for sparse rows, as a user's function may."""
    return X @ Z.T


_factor = np.random.default_rng(0).normal(size=(N_KNOWN, 4))
MATRIX = _factor @ _factor.T


class Instance(NamedTuple):
    """A kernel, what makes its X from a seed, and whether X may be sparse."""

    kernel: Kernel
    make_X: Callable[[int], np.ndarray]
    takes_sparse: bool = True

    @property
    def label(self):
        # without memory addresses: parallel runs have to agree on the names
        return re.sub(r" at 0x\w+", "", " ".join(repr(self.kernel).split()))[:60]


INSTANCES = [
    Instance(Gaussian(), features),
    Instance(Gaussian(0.7), features),
    Instance(Gaussian([0.1, 2.0, 0.4]), features),
    Instance(Laplacian(), features),
    Instance(Laplacian([0.1, 2.0, 0.4]), features),
    Instance(Polynomial(), features),
    Instance(Polynomial(3, 0.2, 0.4), features),
    Instance(Polynomial(2, [0.1, 2.0, 0.4], 0), features),
    Instance(Linear(), features),
    Instance(Linear(scales=2.0), features),
    Instance(Linear([0.3, -1.0, 0.0], [0.1, 2.0, 0.4]), features),
    Instance(Linear(limits=[[-0.5, -1.0, 0.0], [0.5, 0.3, 9.0]]), features),
    Instance(Cosine(), features),
    Instance(Matern(), features),
    Instance(Matern(2.0, 0.5), features),
    Instance(Matern("scale", 2.5), features),
    Instance(Matern([1.0, 0.5, 3.0], 2.5), features),
    Instance(Matern([1.0, 0.5, 3.0], 0.5), features),
    Instance(RationalQuadratic(), features),
    Instance(RationalQuadratic([1.0, 0.5, 3.0], 0.7), features),
    Instance(Periodic(0.8, 3.0), features, False),
    Instance(Periodic([1.0, 0.5, 2.0], [1.0, 2.0, 7.0]), features, False),
    Instance(Constant(2), features),
    Instance(Sum(Gaussian(), Linear()), features),
    Instance(Product(Laplacian(), Polynomial(2)), features),
    Instance(30 * Gaussian() + 1, features),
    Instance(
        0.3 * Linear() + 2 * Matern([1.0, 0.5, 3.0], 2.5) * (Gaussian() + 0), features
    ),
    Instance(Average([Gaussian(), Linear()]), features),
    Instance(Average([Gaussian(0.1), Matern(), Constant(1)], [2, 0, 1]), features),
    Instance(
        Average([3 * Columns(Laplacian([2.0, 0.1]), [2, 0]), Linear()], [2, 1]),
        features,
    ),
    Instance(Columns(Gaussian(), [0, 2]), features),
    Instance(Columns(Linear(), slice(1, None)), features),
    Instance(Columns(Polynomial(2), np.array([True, False, True])), features),
    Instance(Gram(MATRIX), row_numbers),
    Instance(Gram(MATRIX.tolist()), row_numbers),
    Instance(
        Average([Columns(Gram(MATRIX), 0), Columns(Gaussian(), slice(1, None))]),
        numbered_features,
    ),
    Instance(CallableKernel(inner_product), features),
    Instance(
        CallableKernel(processes.ConstantKernel(2.0) * processes.RBF(0.5)),
        features,
        False,
    ),
    Instance(
        CallableKernel(processes.RBF(0.5) + processes.RationalQuadratic()),
        features,
        False,
    ),
]
