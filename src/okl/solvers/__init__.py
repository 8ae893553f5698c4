"""Solvers: how a problem is minimised.

========================== ============================ ==========================
class                      name                         needs
========================== ============================ ==========================
`ClosedForm`               "closed_form"                L known
`DualNewton`               "dual_newton"                R = ||L||_F^2 / 2
`FactoredNewton`           "factored_newton"            R = tr(L) / 2
`RescaledTrace`            "rescaled_trace"             tr L <= 1
`SparseNewton`             "sparse_newton"              the sparse penalty
`BarrierNewton`            "barrier_newton"             bounds on eigenvalues of L
`BlockCoordinateDescent`   "block_coordinate_descent"   a step of the structure
`Imputation`               "imputation"                 L known, missing targets
`NewtonCG`                 "newton_cg"                  L known, any smooth loss
`SemismoothNewton`         "semismooth_newton"          L known, an envelope
`TraceNewton`              "trace_newton"               tr L, envelope or missing
`Majorization`             "majorization"               any smooth loss
`AugmentedLagrangian`      "augmented_lagrangian"       a loss with kinks
========================== ============================ ==========================

All but the last six need the squared loss, and all but the last seven targets without
weights. ``"auto"`` takes the first that fits, see `okl.solvers.automatic`.
"""

from okl.solvers.augmented_lagrangian import AugmentedLagrangian as AugmentedLagrangian
from okl.solvers.automatic import SOLVERS as SOLVERS
from okl.solvers.automatic import as_solver as as_solver
from okl.solvers.automatic import choose_solver as choose_solver
from okl.solvers.barrier_newton import BarrierNewton as BarrierNewton
from okl.solvers.base import Solver as Solver
from okl.solvers.block_coordinate_descent import (
    BlockCoordinateDescent as BlockCoordinateDescent,
)
from okl.solvers.closed_form import ClosedForm as ClosedForm
from okl.solvers.dual_newton import DualNewton as DualNewton
from okl.solvers.factored_newton import FactoredNewton as FactoredNewton
from okl.solvers.imputation import Imputation as Imputation
from okl.solvers.majorization import Majorization as Majorization
from okl.solvers.newton_cg import NewtonCG as NewtonCG
from okl.solvers.rescaled_trace import RescaledTrace as RescaledTrace
from okl.solvers.semismooth_newton import SemismoothNewton as SemismoothNewton
from okl.solvers.solution import Record as Record
from okl.solvers.solution import Solution as Solution
from okl.solvers.solve import solve as solve
from okl.solvers.solve import solve_path as solve_path
from okl.solvers.sparse_newton import SparseNewton as SparseNewton
from okl.solvers.trace_newton import TraceNewton as TraceNewton
