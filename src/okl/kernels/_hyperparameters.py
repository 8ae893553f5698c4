"""Default priors and bounds of the parameters of kernels.

A parameter has a typical value on the data, which depends on the number of features and
on the variances of the columns. The prior is log-normal around it. The bounds are four
standard deviations of the logarithm to both sides, or farther if the present value
would not be well inside.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from okl.kernels._checks import positive_per_feature
from okl.kernels._pairs import checked
from okl.kernels._scaling import column_variances
from okl.kernels.differentiable import Matrix
from okl.parameters.component import Component
from okl.parameters.hyperparameter import Hyperparameter
from okl.parameters.priors import LogNormal

# Standard deviations of logarithms. The inverse squared width of a feature differs from
# that of the others by OWN, and all of them from the typical value by SHARED.
OWN, SHARED = 0.6, 1.5
WEIGHT = 3.0


def weight_parameter(name: str, value: Any) -> Hyperparameter:
    """Return a factor of a kernel, or several, with a wide prior around one."""
    return _around(name, value, 1.0, LogNormal(0.0, WEIGHT))


def shape_parameter(name: str, value: float) -> Hyperparameter:
    """Return a number without unit that changes a kernel's form, prior around one."""
    return _around(name, value, 1.0, LogNormal(0.0, SHARED))


def feature_parameter(
    kernel: Component,
    name: str,
    X: Matrix,
    weights: np.ndarray | None = None,
    *,
    of_features: float = -1.0,
    of_variance: float = -1.0,
    own: float = OWN,
    shared: float = SHARED,
) -> Hyperparameter:
    """Return a parameter that is one number, or one for each feature.

    Parameters
    ----------
    kernel : Kernel
        The kernel that has the parameter, resolved.
    name : str
        Name of the parameter.
    X : array or sparse matrix (n_samples, n_features)
        The training rows.
    weights : array (n_samples,), optional
        How much each row counts.
    of_features, of_variance : float, default=-1.0
        Powers of the number of features and of the variance whose product is the median
        of the prior. The variance is that of each column for a value per feature, their
        mean for a single one.
    own, shared : float, default=0.6, 1.5
        Standard deviations of `LogNormal`, the second alone for a single value.
    """
    X = checked(X)
    n_features = X.shape[1]
    value = positive_per_feature(kernel, name, n_features)
    variances = column_variances(X, weights)
    mean = float(variances.mean()) or 1.0
    single = np.ndim(value) == 0
    # a constant column has no scale; its value has no influence either
    scale = mean if single else np.where(variances > 0, variances, mean)
    centre = n_features**of_features * scale**of_variance
    prior = LogNormal(np.log(centre), *((shared, 0.0) if single else (own, shared)))
    return _around(name, value, centre, prior, n_features)


def length_parameter(
    kernel: Component, X: Matrix, weights: np.ndarray | None = None
) -> Hyperparameter:
    """Return ``length_scale``, with a prior around sqrt(n_features * variance).

    It is the -1/2-th power of an inverse squared width: its log has half the
    deviations.
    """
    powers = {"of_features": 0.5, "of_variance": 0.5}
    spread = {"own": OWN / 2, "shared": SHARED / 2}
    return feature_parameter(kernel, "length_scale", X, weights, **powers, **spread)


def _around(
    name: str,
    value: Any,
    centre: Any,
    prior: LogNormal,
    n_features: int | None = None,
) -> Hyperparameter:
    reach = np.exp(4.0 * np.hypot(prior.std, prior.shared_std))
    # strictly wider than the value, so that low < high
    low = np.minimum(centre / reach, np.multiply(value, 0.5))
    high = np.maximum(centre * reach, np.multiply(value, 2.0))
    return Hyperparameter(name, value, (low, high), prior, n_features)
