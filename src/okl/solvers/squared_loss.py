"""The solvers of the squared loss without weights, which others are built on."""

from __future__ import annotations

from okl.solvers.factor.factored_newton import FactoredNewton
from okl.solvers.output_kernel.output_kernel_newton import OutputKernelNewton
from okl.solvers.predictor.closed_form import ClosedForm
from okl.solvers.table import Choice

SQUARED_LOSS = (
    Choice(
        "squared, all targets or weighted rows",
        (ClosedForm,),
        (FactoredNewton, OutputKernelNewton),
    ),
)
