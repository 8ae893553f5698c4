"""What kernels, structures, losses and solvers have in common: names and parameters.

Continuous parameters are learned as a vector of logarithms:

==============================  ====================================================
`Hyperparameter`                one of them: name, value, bounds, prior
`HyperparameterSpace`           all that are learned, as one vector
`Learn`, `Tied`                 how one is learned, if not by default
`LogNormal`, `Flat`             priors
==============================  ====================================================
"""

from okl.parameters.hyperparameter import Hyperparameter as Hyperparameter
from okl.parameters.priors import Flat as Flat
from okl.parameters.priors import LogNormal as LogNormal
from okl.parameters.priors import Prior as Prior
from okl.parameters.space import HyperparameterSpace as HyperparameterSpace
from okl.parameters.ways import Learn as Learn
from okl.parameters.ways import Tied as Tied
