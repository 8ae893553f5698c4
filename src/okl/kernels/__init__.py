"""Kernels: functions of two samples that say how similar the samples are.

Wherever the library takes a kernel it takes a name, an object, or a function.

=============================  ===============  ========================================
object                         name             k(x, z)
=============================  ===============  ========================================
``Gaussian(gamma)``            ``"rbf"``        exp(-gamma ||x - z||^2)
``Laplacian(gamma)``           ``"laplacian"``  exp(-gamma ||x - z||_1)
``Matern(length_scale, nu)``   ``"matern"``     p_nu(r) exp(-r), r a scaled distance
``Polynomial(degree, ...)``    ``"poly"``       (gamma x'z + coef0)^degree
``Linear(center, ...)``        ``"linear"``     sum_j s_j (x_j - c_j) (z_j - c_j)
``Cosine()``                   ``"cosine"``     x'z / (||x|| ||z||)
``RationalQuadratic(...)``     see below        (1 + r^2 / (2 alpha))^-alpha
``Periodic(...)``              ``"periodic"``   exp(-2 (sin(pi (x - z) / p) / l)^2)
``Constant(value)``                             value
``k1 + k2``, ``k + 1``                          sum (`Sum`; a number is a `Constant`)
``k1 * k2``, ``30 * k``                         product (`Product`)
``Average(kernels, weights)``                   weighted average of kernels
``Columns(kernel, columns)``                    kernel on some columns of X
``Gram(matrix)``                                matrix[x, z], X holds row numbers
``CallableKernel(function)``                    function(X, Z), also scikit-learn's
                                                Gaussian-process kernels
=============================  ===============  ========================================

``"gaussian"`` is understood as ``"rbf"``; the name of `RationalQuadratic` is
``"rational_quadratic"``.

``PerOutput(kernels)`` gives each output a kernel of its own. It is not a kernel, as it
has no single matrix, but estimators take it as their ``kernel``. They also take a list
of kernels, each of which has an output kernel of its own; the last may be `Row`, for
what the inputs do not explain. `Learnable` stands for a kernel that a search learns
first.

Every kernel has ``kernel(X)`` and ``kernel(X, Z)`` for matrices, ``diagonal(X)``,
``features(X)`` and ``resolve(X)``, which checks the parameters and replaces
``gamma="scale"`` and ``length_scale="scale"`` by numbers. The estimators also take
``kernel="precomputed"``: X is then the kernel matrix, and no kernel is evaluated.

After ``resolve``, ``hyperparameters(X)`` lists the continuous parameters of a kernel
that can be learned, those of its parts by names such as ``left__gamma``;
``gradient(X, left, right, Z)`` returns the derivatives of sum_q left_q' K right_q, K
the matrix ``kernel(X, Z)``, by the logarithms of these parameters. They are gamma,
length_scale (one number, or one for each feature: automatic relevance determination,
see `per_feature`), alpha, periodicity, coef0, scales, the weights of an `Average` and
the values of `Constant`. `Gram`, `CallableKernel` and `Cosine` have none; `PerOutput`
has those of its kernels.
"""

from __future__ import annotations

from typing import Any

from okl.kernels.average import Average as Average
from okl.kernels.base import Constant as Constant
from okl.kernels.base import Kernel as Kernel
from okl.kernels.base import Product as Product
from okl.kernels.base import Sum as Sum
from okl.kernels.columns import Columns as Columns
from okl.kernels.columns import number_columns as number_columns
from okl.kernels.cosine import Cosine as Cosine
from okl.kernels.function import CallableKernel as CallableKernel
from okl.kernels.gaussian import Gaussian as Gaussian
from okl.kernels.gram import Gram as Gram
from okl.kernels.laplacian import Laplacian as Laplacian
from okl.kernels.learnable import Learnable as Learnable
from okl.kernels.linear import Linear as Linear
from okl.kernels.matern import Matern as Matern
from okl.kernels.per_output import KernelTerm as KernelTerm
from okl.kernels.per_output import PerOutput as PerOutput
from okl.kernels.periodic import Periodic as Periodic
from okl.kernels.polynomial import Polynomial as Polynomial
from okl.kernels.rational_quadratic import RationalQuadratic as RationalQuadratic
from okl.kernels.relevance import per_feature as per_feature
from okl.kernels.row import Row as Row
from okl.kernels.square import entries_at_peak as entries_at_peak
from okl.kernels.square import square_matrix as square_matrix
from okl.kernels.terms import KernelTerms as KernelTerms
from okl.parameters.component import from_name, names_of

KERNELS = names_of(globals(), Kernel)  # type: ignore[type-abstract]


def as_kernel(spec: Any) -> Kernel:
    """Turn a name, a kernel or a function into a kernel object.

    Parameters
    ----------
    spec : str, Kernel or callable
        A name from `KERNELS` gives its default object, a kernel passes through, and
        a function ``(X, Z) -> matrix``, among them the kernels of
        `sklearn.gaussian_process`, is wrapped in `CallableKernel`.

    Returns
    -------
    Kernel

    Raises
    ------
    ValueError
        For an unknown name; the message lists the known ones. Also for
        ``"precomputed"`` and ``"auto"``, which name no function of two samples.
    TypeError
        For anything else.
    """
    if isinstance(spec, str) and spec == "precomputed":
        raise ValueError(
            "kernel='precomputed' means that X is the kernel matrix: only an estimator "
            "takes it. To combine given matrices use okl.kernels.Gram."
        )
    if isinstance(spec, str) and spec == "auto":
        raise ValueError(
            "kernel='auto' is a kernel that is learned from the targets: only the "
            "estimators that choose by cross-validation take it, such as "
            "OutputKernelRegressorCV."
        )
    if isinstance(spec, list | tuple):
        raise TypeError(
            f"The kernel must be a name ({', '.join(map(repr, KERNELS))}) or an object "
            f"of okl.kernels, got {spec!r}; several, each with an output kernel of its "
            "own, are passed as kernel=[...] to OutputKernelRegressor, "
            "OutputKernelClassifier, OutputKernelRegressorCV, OutputKernelClassifierCV "
            "and output_kernel_path."
        )
    if isinstance(spec, Row):
        raise TypeError(f"The kernel is {spec!r}, but {spec.instead}.")
    if callable(spec) and not isinstance(spec, Kernel | type):
        return CallableKernel(spec)
    return from_name(spec, KERNELS, Kernel, also=["precomputed"])
