"""The solvers of the squared loss without weights, which others are built on."""

from __future__ import annotations

from okl.solvers.barrier_newton import BarrierNewton
from okl.solvers.block_coordinate_descent import BlockCoordinateDescent
from okl.solvers.closed_form import ClosedForm
from okl.solvers.dual_newton import DualNewton
from okl.solvers.factored_newton import FactoredNewton
from okl.solvers.rescaled_trace import RescaledTrace
from okl.solvers.sparse_newton import SparseNewton
from okl.solvers.table import Row

SQUARED_LOSS = (
    Row(
        "squared, all targets or weighted rows",
        (ClosedForm,),
        (
            DualNewton,
            FactoredNewton,
            RescaledTrace,
            SparseNewton,
            BarrierNewton,
            BlockCoordinateDescent,
        ),
    ),
)
