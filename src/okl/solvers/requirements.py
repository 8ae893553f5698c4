"""What a solver needs of a problem, in words that a user knows.

Solvers name capabilities of losses and structures, and kinds of region. An error about
a solver that does not fit says what these mean.
"""

from __future__ import annotations

from types import NoneType

from okl.optimization.interior import Interior
from okl.optimization.orthant import Orthant
from okl.optimization.regions import Free, HalfTrace, Region, WithBarrier
from okl.parameters.component import Component

LOSSES = {
    "active": (
        "a loss whose second derivative is zero for most targets, such as "
        "'squared_hinge'"
    ),
    "proximal": "the loss 'hinge', 'squared_hinge' or a `Quantile`",
    "quadratic": "the loss 'squared'",
    "smooth": "a smooth loss, such as 'squared' or 'softmax'",
}
STRUCTURES = {
    "known": "a structure that fixes the output kernel, such as 'identity'",
    "proximal": "a structure with the best output kernel near a given one (`proximal`)",
    "update": "a structure with the best output kernel for given predictors (`update`)",
}
REGIONS: dict[type[Region | None], str] = {
    Free: "a penalty on the square of the output kernel, such as 'frobenius'",
    HalfTrace: "a penalty on the trace of the output kernel, such as 'low_rank'",
    Interior: "bounds on eigenvalues of the output kernel, such as 'trace_ball' or "
    "'cluster'",
    Orthant: "a penalty on the entries of the output kernel, such as 'sparse'",
    WithBarrier: "bounds on eigenvalues of the output kernel or a penalty on its "
    "entries, such as 'trace_ball', 'cluster' or 'sparse'",
    NoneType: "only an update, such as a structure of your own",
}


def lacking(words: str, kind: str, component: Component) -> str:
    """Return what a component is not, in words after 'it needs'.

    It is named by its class: a repr may print arrays, and every fit walks the table.
    """
    return f"{words}, and the {kind} is {type(component).__name__}"
