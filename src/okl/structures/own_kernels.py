"""What a structure knows of kernels: most know none, and are for whichever is given.

A structure whose parts have kernels of their own, as the nodes of a tree may have,
stands for several terms of a model: a part of L for each kernel.
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
        As what it is set, with two underscores (``kernels__2``), if it is of its own.
    """

    kernel: Any
    structure: Any
    name: str = "kernel"
    parameter: str = ""


class OwnKernels(Component):
    """Base of the structures, as far as kernels go."""

    gradient: Callable[..., dict[str, Any]]

    @property
    def of_terms(self) -> tuple[Any, ...]:
        """The structures of the terms of a model: itself, if it is for one kernel."""
        return (self,)

    def by_kernel(self, *, apart: bool = False) -> list[StructureTerm]:
        """Return the kernels of its own, each with the structure of its part of L.

        By default itself alone, with the kernel of the estimator.

        Parameters
        ----------
        apart : bool, default=False
            Whether kernels that are equal have a part each, as they must where they are
            learned.

        Raises
        ------
        ValueError, TypeError
            For parameters that say no such parts.
        """
        return [StructureTerm(None, self)]

    def with_kernels(self, change: Callable[[Any], Any]) -> Any:
        """Return the structure with what a function makes of kernels of its own."""
        return self

    def gradient_as_part(self, left: Any, right: Any) -> dict[str, Any]:
        """Return derivatives as `Structure.gradient` does, of a part of another L.

        A part may have more of them than parameters: those of the whole.
        """
        return self.gradient(left, right)

    def gradient_of_parts(self, parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Return the derivatives of a sum by the parameters of the structure.

        By default none: the parts are those of an L without parameters.

        Parameters
        ----------
        parts : sequence of dict
            Those of each part in ``by_kernel(apart=True)``, as a part.
        """
        return {}
