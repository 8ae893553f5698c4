"""Solvers: how a problem is minimised.

========================== ============================ ==========================
class                      name                         needs
========================== ============================ ==========================
`Cholesky`                 "cholesky"                   L = I, one alpha
`Spectral`                 "spectral"                   L known
`FactoredNewton`           "factored_newton"            R = tr(L) / 2
`OutputKernelNewton`       "output_kernel_newton"       a region of the structure
`BlockCoordinateDescent`   "block_coordinate_descent"   a step of the structure
`Imputation`               "imputation"                 L known, missing targets
`NewtonCG`                 "newton_cg"                  L known, any smooth loss
`SemismoothNewton`         "semismooth_newton"          L known, an envelope
`TraceNewton`              "trace_newton"               tr L, envelope or missing
`ProximalGradient`         "proximal_gradient"          any smooth loss
`Surrogate`                "surrogate"                  any smooth loss, long form
`AugmentedLagrangian`      "augmented_lagrangian"       a loss with kinks
========================== ============================ ==========================

All but the last six need the squared loss, and all but the last seven targets without
weights. ``"auto"`` takes the first that fits, see `okl.solvers.automatic`.
"""

from okl.solvers.augmented_lagrangian import AugmentedLagrangian as AugmentedLagrangian
from okl.solvers.automatic import SOLVERS as SOLVERS
from okl.solvers.automatic import as_solver as as_solver
from okl.solvers.automatic import choose_solver as choose_solver
from okl.solvers.base import Solver as Solver
from okl.solvers.block_coordinate_descent import (
    BlockCoordinateDescent as BlockCoordinateDescent,
)
from okl.solvers.cholesky import Cholesky as Cholesky
from okl.solvers.factored_newton import FactoredNewton as FactoredNewton
from okl.solvers.imputation import Imputation as Imputation
from okl.solvers.newton_cg import NewtonCG as NewtonCG
from okl.solvers.output_kernel_newton import OutputKernelNewton as OutputKernelNewton
from okl.solvers.proximal_gradient import ProximalGradient as ProximalGradient
from okl.solvers.semismooth_newton import SemismoothNewton as SemismoothNewton
from okl.solvers.solution import Record as Record
from okl.solvers.solution import Solution as Solution
from okl.solvers.solve import solve as solve
from okl.solvers.solve import solve_path as solve_path
from okl.solvers.spectral import Spectral as Spectral
from okl.solvers.surrogate import Surrogate as Surrogate
from okl.solvers.trace_newton import TraceNewton as TraceNewton
