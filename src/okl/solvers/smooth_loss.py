"""The solvers of smooth losses, which those of losses with kinks are built on."""

from __future__ import annotations

from okl.solvers.imputation import Imputation
from okl.solvers.majorization import Majorization
from okl.solvers.newton_cg import NewtonCG
from okl.solvers.semismooth_newton import SemismoothNewton
from okl.solvers.table import Choice
from okl.solvers.term_newton import TermNewton
from okl.solvers.trace_newton import TraceNewton

SMOOTH_LOSS = (
    Choice("squared, missing targets", (Imputation,), (TraceNewton, Majorization)),
    Choice("curved in few entries", (SemismoothNewton,), (TraceNewton, Majorization)),
    Choice("several kernels, smooth", (TermNewton,), (TermNewton,)),
    Choice("smooth, or any weights", (NewtonCG,), (Majorization,)),
)
