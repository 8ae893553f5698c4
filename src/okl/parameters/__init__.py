"""What kernels, structures, losses and solvers have in common: names and parameters.

Continuous parameters are learned as one vector, of the logarithms of those that are
positive, and of the values of those that may have either sign.

==============================  ====================================================
`Hyperparameter`                one of them: name, value, bounds, prior
`HyperparameterSpace`           all that are learned, as one vector
`Learn`, `Tied`                 how one is learned, if not by default
`LogNormal`, `Normal`, `Flat`   priors
`LogScale`, `LinearScale`       what a parameter is learned by
==============================  ====================================================
"""

from okl.parameters.hyperparameter import Hyperparameter as Hyperparameter
from okl.parameters.priors import Flat as Flat
from okl.parameters.priors import LogNormal as LogNormal
from okl.parameters.priors import Normal as Normal
from okl.parameters.priors import Prior as Prior
from okl.parameters.scales import LinearScale as LinearScale
from okl.parameters.scales import LogScale as LogScale
from okl.parameters.space import HyperparameterSpace as HyperparameterSpace
from okl.parameters.ways import Learn as Learn
from okl.parameters.ways import Tied as Tied
from okl.parameters.ways import is_learned as is_learned
