"""Solvers: how a problem is minimised.

``"auto"`` takes the first of the table in `okl.solvers.choice` that fits;
`choice_table` renders it.
"""

from okl.solvers.base import Solver as Solver
from okl.solvers.choice import SOLVERS as SOLVERS
from okl.solvers.choice import as_solver as as_solver
from okl.solvers.choice import choice_table as choice_table
from okl.solvers.choice import choose_solver as choose_solver
from okl.solvers.completion import Completion as Completion
from okl.solvers.completion import solve_completed as solve_completed
from okl.solvers.factor.factored_newton import FactoredNewton as FactoredNewton
from okl.solvers.kinks.augmented_lagrangian import (
    AugmentedLagrangian as AugmentedLagrangian,
)
from okl.solvers.observed.observed_newton import ObservedNewton as ObservedNewton
from okl.solvers.output_kernel.output_kernel_newton import (
    OutputKernelNewton as OutputKernelNewton,
)
from okl.solvers.predictor.closed_form import ClosedForm as ClosedForm
from okl.solvers.predictor.imputation import Imputation as Imputation
from okl.solvers.predictor.newton_cg import NewtonCG as NewtonCG
from okl.solvers.predictor.semismooth_newton import SemismoothNewton as SemismoothNewton
from okl.solvers.request import Request as Request
from okl.solvers.smooth.majorization import Majorization as Majorization
from okl.solvers.solution import Record as Record
from okl.solvers.solution import Solution as Solution
from okl.solvers.solve import solve as solve
from okl.solvers.solve import solve_path as solve_path
from okl.solvers.terms.term_newton import TermNewton as TermNewton
