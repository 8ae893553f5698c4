"""A kernel with one width for each feature, made from one with one width for all.

Learned widths say how much each feature counts (automatic relevance determination).
"""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from okl.kernels.base import Kernel, Matrix


def per_feature(kernel: Kernel, X: Matrix) -> Kernel:
    """Return the same kernel with one number for each feature wherever it may have one.

    It has the same values: a start for learning one number for each feature.

    Parameters
    ----------
    kernel : Kernel
        Resolved; kernels in sums, products, averages and columns are changed as well.
    X : array or sparse matrix (n_samples, n_features)
        The training rows.

    Returns
    -------
    Kernel
        A copy.

    Examples
    --------
    >>> import numpy as np
    >>> from okl.kernels import Gaussian
    >>> per_feature(30 * Gaussian(0.5), np.eye(3)).right.gamma
    array([0.5, 0.5, 0.5])
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be an object of okl.kernels, got {kernel!r}.")
    values = {
        one.name: np.full(one.n_features, one.value)
        for one in kernel.hyperparameters(X)
        if one.n_features is not None and one.shape == ()
    }
    return clone(kernel).set_params(**values)
