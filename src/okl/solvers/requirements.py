"""What a solver needs of a problem, in words that a user knows.

Solvers name capabilities of losses and structures, and kinds of region. An error about
a solver that does not fit says what these mean.
"""

from __future__ import annotations

from types import NoneType

from okl.optimization.regions import Free, HalfTrace, Region, WithBarrier
from okl.parameters.component import Component

LOSSES = {
    "active": "a loss that is curved in few entries",
    "proximal": "the loss 'hinge', 'squared_hinge' or a `Quantile`",
    "quadratic": "the loss 'squared'",
    "smooth": "a smooth loss, such as 'squared' or 'softmax'",
}
STRUCTURES = {
    "known": "a structure that gives the output kernel, such as 'identity'",
    "proximal": "a structure with an output kernel near a given one (`proximal`)",
    "update": "a structure with a best output kernel for given predictors (`update`)",
}
REGIONS: dict[type[Region | None], str] = {
    Free: "a penalty on the square of the output kernel, as 'frobenius'",
    HalfTrace: "a penalty on the trace of the output kernel, as 'low_rank'",
    WithBarrier: "bounds on eigenvalues of the output kernel or a penalty on its "
    "entries, as 'trace_ball', 'cluster' or 'sparse'",
    NoneType: "an update alone, as one of your own",
}


def lacking_loss(capability: str, loss: Component) -> str:
    """Return what a loss without a capability is not, in words after 'it needs'."""
    return f"{LOSSES[capability]}, and the loss is {_kind(loss)}"


def lacking_structure(capability: str, structure: Component) -> str:
    """Return what a structure without a capability is not, likewise."""
    return f"{STRUCTURES[capability]}, and the structure is {_kind(structure)}"


def lacking_region(
    regions: tuple[type[Region | None], ...], structure: Component
) -> str:
    """Return what a structure with a region of another kind is not, likewise."""
    kinds = "; or ".join(REGIONS[cls] for cls in regions)
    return f"a structure with {kinds}, and the structure is {_kind(structure)}"


def _kind(component: Component) -> str:
    """Return its class: a repr may print arrays, and every fit walks the table."""
    return type(component).__name__
