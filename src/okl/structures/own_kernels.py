"""Kernels that a structure itself has: most have none, and take whichever is given.

A structure whose parts have kernels of their own, as the nodes of a tree may have,
stands for several terms of a model: each kernel goes with its own part of L.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from okl.parameters.component import Component


class StructureTerm(NamedTuple):
    """A structure, and the kernel that it goes with.

    Attributes
    ----------
    kernel : object
        As estimators take it; None for that of the estimator.
    structure : Structure
    name : str
        What messages call the kernel.
    parameter : str
        The parameter that sets the kernel (``kernels__2``), if it is the structure's
        own.
    """

    kernel: Any
    structure: Any
    name: str = "kernel"
    parameter: str = ""


class OwnKernels(Component):
    """Base of the structures: what concerns kernels of their own."""

    gradient: Callable[..., dict[str, Any]]

    @property
    def of_terms(self) -> tuple[Any, ...]:
        """The structures of the terms of a model: itself, if it is for one kernel."""
        return (self,)

    def by_kernel(self, *, apart: bool = False) -> list[StructureTerm]:
        """Return the structure's own kernels, each with the structure of its part of L.

        By default only the structure itself, with the kernel of the estimator.

        Parameters
        ----------
        apart : bool, default=False
            Whether kernels that are equal have a part each, as they must where they are
            learned.

        Raises
        ------
        ValueError, TypeError
            For parameters from which no such parts can be made.
        """
        return [StructureTerm(None, self)]

    def with_kernels(self, change: Callable[[Any], Any]) -> Any:
        """Return the structure with a function applied to its own kernels."""
        return self

    def gradient_as_part(self, left: Any, right: Any) -> dict[str, Any]:
        """Return derivatives as `Structure.gradient` does, for a part of another L.

        They may be by the parameters of the whole structure, of which a part has fewer.
        """
        return self.gradient(left, right)

    def gradient_of_parts(self, parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Return the derivatives of a sum over parts by the structure's parameters.

        By default none: L has no parameters that are learned.

        Parameters
        ----------
        parts : sequence of dict
            ``gradient_as_part`` of each part in ``by_kernel(apart=True)``.
        """
        return {}
