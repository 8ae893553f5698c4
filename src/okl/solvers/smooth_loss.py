"""The solvers of smooth losses, which those of losses with kinks are built on."""

from __future__ import annotations

from okl.solvers.observed.observed_newton import ObservedNewton
from okl.solvers.predictor.imputation import Imputation
from okl.solvers.predictor.newton_cg import NewtonCG
from okl.solvers.predictor.semismooth_newton import SemismoothNewton
from okl.solvers.smooth.majorization import Majorization
from okl.solvers.table import Choice
from okl.solvers.terms.term_newton import TermNewton

# Rows before, and after, that of losses with kinks in the table of all
# (`okl.solvers.choice`): it takes several kernels and a loss curved in few entries.
CURVED_IN_FEW = (
    Choice("squared, few targets observed", (), (ObservedNewton,)),
    Choice("squared, missing targets", (Imputation,), (Majorization,)),
    Choice("curved in few entries", (SemismoothNewton,), (Majorization,)),
)
CURVED = (
    Choice("several kernels, smooth", (TermNewton,), (TermNewton,)),
    Choice("smooth, or any weights", (NewtonCG,), (Majorization,)),
)
SMOOTH_LOSS = (*CURVED_IN_FEW, *CURVED)
