"""The estimators, in scikit-learn's manner."""

from okl.estimators.autoencoder import KernelAutoencoder as KernelAutoencoder
from okl.estimators.certification import certify as certify
from okl.estimators.certification import certify_model as certify_model
from okl.estimators.classifier import OutputKernelClassifier as OutputKernelClassifier
from okl.estimators.classifier_cv import (
    OutputKernelClassifierCV as OutputKernelClassifierCV,
)
from okl.estimators.extension import OutputKernelExtension as OutputKernelExtension
from okl.estimators.imputer import OutputKernelImputer as OutputKernelImputer
from okl.estimators.path import OutputKernelPath as OutputKernelPath
from okl.estimators.path import output_kernel_path as output_kernel_path
from okl.estimators.reduced_rank import ReducedRankRegression as ReducedRankRegression
from okl.estimators.regressor import OutputKernelRegressor as OutputKernelRegressor
from okl.estimators.regressor_cv import (
    OutputKernelRegressorCV as OutputKernelRegressorCV,
)
