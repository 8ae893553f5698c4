"""okl: learn several outputs together, and how they are related.

The estimators are here; the parts they are made of are in `okl.kernels`,
`okl.losses`, `okl.structures` and `okl.solvers`, the search over their continuous
parameters in `okl.model_selection`, scores of learned relations in `okl.metrics`, how
sure these are in `okl.inspection`, the pictures in `okl.plotting`. `ClassTree` is a
tree of classes.
"""

from okl.certificates import Certificate
from okl.estimators import (
    KernelAutoencoder,
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelExtension,
    OutputKernelImputer,
    OutputKernelPath,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
    ReducedRankRegression,
    certify,
    certify_model,
    output_kernel_path,
)
from okl.solvers import solve
from okl.trees import ClassTree

__version__ = "0.1.0.dev0"

__all__ = [
    "Certificate",
    "ClassTree",
    "KernelAutoencoder",
    "OutputKernelClassifier",
    "OutputKernelClassifierCV",
    "OutputKernelExtension",
    "OutputKernelImputer",
    "OutputKernelPath",
    "OutputKernelRegressor",
    "OutputKernelRegressorCV",
    "ReducedRankRegression",
    "certify",
    "certify_model",
    "output_kernel_path",
    "solve",
]
