"""The estimators, in scikit-learn's manner."""

from okl.estimators.classifier import OutputKernelClassifier as OutputKernelClassifier
from okl.estimators.cross_validated import (
    OutputKernelClassifierCV as OutputKernelClassifierCV,
)
from okl.estimators.cross_validated import (
    OutputKernelRegressorCV as OutputKernelRegressorCV,
)
from okl.estimators.path import OutputKernelPath as OutputKernelPath
from okl.estimators.path import output_kernel_path as output_kernel_path
from okl.estimators.regressor import OutputKernelRegressor as OutputKernelRegressor
