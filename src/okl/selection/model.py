"""The model whose hyperparameters are learned, under the names that users set them by.

Kernel and structure are what an estimator was given: one of each, or lists. What a
criterion judges are their *terms*, pairs of a kernel and an output kernel. A list is
one term for each kernel, but an entry may stand for several: a kernel for each output,
or a structure whose parts have kernels of their own. Here each term knows under which
name its kernel is set, and derivatives by terms become derivatives by names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone

from okl.certificates.terms import StructureTerms
from okl.kernels import Kernel, KernelTerms, PerOutput, Row
from okl.parameters import Hyperparameter
from okl.parameters.component import Component
from okl.parameters.listed import ListedParameters
from okl.selection.criteria import TermDerivative
from okl.structures import Diagonal, Structure


class ModelTerm(NamedTuple):
    """A kernel with an output kernel of its own.

    Attributes
    ----------
    kernel : Kernel, PerOutput or Row
    structure : Structure
    name : str
        Of the kernel, such as ``kernel``, ``kernel__0`` or ``structure__kernels__2``.
    """

    kernel: Kernel | PerOutput | Row
    structure: Structure
    name: str

    @property
    def of_inputs(self) -> list[Kernel]:
        """The kernel, those of outputs if they have one each, or none for a `Row`."""
        if isinstance(self.kernel, PerOutput):
            return list(self.kernel.kernels)
        return [] if isinstance(self.kernel, Row) else [self.kernel]


class ModelEntry(NamedTuple):
    """A structure as it was given, and the terms that it stands for."""

    structure: Structure
    name: str
    terms: list[ModelTerm]


class Model(ListedParameters, Component):
    """Kernel, structure and alpha, as an estimator has them.

    Parameters
    ----------
    kernel : Kernel or PerOutput, or list
        Resolved; a list may have a `Row` besides.
    structure : Structure, or list
        One for each kernel, valid for the outputs.
    alpha : float, or array (n_outputs,)
    """

    listed: ClassVar[tuple[str, ...]] = ("kernel", "structure")

    def __init__(self, kernel: Any, structure: Any, alpha: Any) -> None:
        self.kernel = kernel
        self.structure = structure
        self.alpha = alpha

    def __str__(self) -> str:
        """Show kernel and structure."""
        return f"{self.kernel} or {self.structure}"

    def at(self, values: dict[str, Any]) -> Model:
        """Return a new model with some parameters."""
        return clone(self).set_params(**values)

    def centered(self, X: Any, weights: np.ndarray | None) -> Model:
        """Return the model with each kernel centred, if it can be."""
        return with_kernels(self, lambda kernel: kernel.centered(X, weights))

    @cached_property
    def entries(self) -> list[ModelEntry]:
        """One for each structure that was given."""
        if not isinstance(self.kernel, list | tuple):
            return [_entry(self.kernel, self.structure, "kernel", "structure")]
        pairs = zip(self.kernel, self.structure, strict=True)
        return [
            _listed_entry(kernel, structure, f"kernel__{i}", f"structure__{i}")
            for i, (kernel, structure) in enumerate(pairs)
        ]

    @cached_property
    def terms(self) -> list[ModelTerm]:
        """The terms of all entries."""
        return [term for entry in self.entries for term in entry.terms]

    @property
    def several(self) -> bool:
        """Whether there is more than one term."""
        return len(self.terms) > 1

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels of the inputs, also those of single outputs."""
        return [kernel for term in self.terms for kernel in term.of_inputs]

    @property
    def judged_kernel(self) -> Kernel | PerOutput | KernelTerms:
        """What a criterion takes for the kernel."""
        if self.several:
            return KernelTerms([term.kernel for term in self.terms])
        only = self.terms[0].kernel
        assert not isinstance(only, Row)
        return only

    @cached_property
    def judged_structure(self) -> Structure:
        """What a criterion takes for the structure."""
        if self.several:
            return StructureTerms(tuple(term.structure for term in self.terms))
        return self.terms[0].structure

    def hyperparameters(
        self, X: Any, like: np.ndarray, weights: np.ndarray | None
    ) -> list[Hyperparameter]:
        """Return the hyperparameters of kernels, and of structures that relate outputs.

        With several terms all structures count, as they weight their kernels.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
        like : array (any, n_outputs)
            Tells how many outputs there are.
        weights : array (n_samples,) or None
            How much each row counts.
        """
        found = [
            one.within(term.name)
            for term in self.terms
            if not isinstance(term.kernel, Row)
            for one in term.kernel.hyperparameters(X, weights)
        ]
        n_outputs = like.shape[1]
        for structure, name, _ in self.entries:
            known = None if self.several else structure.known(like)
            if n_outputs > 1 and (known is None or known.couples):
                own = structure.hyperparameters(n_outputs)
                found += [one.within(name) for one in own]
        return found

    def of_kernels(self, by_term: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Return derivatives by the parameters of all kernels, given those by term."""
        return {
            f"{term.name}__{name}": slope
            for term, slopes in zip(self.terms, by_term, strict=True)
            for name, slope in slopes.items()
        }

    def of_structures(self, terms: Sequence[TermDerivative]) -> dict[str, Any]:
        """Return derivatives by the parameters of all structures."""
        found: dict[str, Any] = {}
        left = list(terms)
        for structure, name, own in self.entries:
            parts = [left.pop(0).of_structure for _ in own]
            slopes = parts[0]
            if len(parts) > 1:
                slopes = structure.gradient_of_parts(parts)
            found |= {f"{name}__{inner}": slope for inner, slope in slopes.items()}
        return found


def with_kernels(model: Model, change: Callable[[Any], Any]) -> Model:
    """Return a model whose kernels are replaced by what a function makes of them."""
    kernel, structure = model.kernel, model.structure
    if isinstance(kernel, list | tuple):
        structures = [one.with_kernels(change) for one in structure]
        return Model([change(one) for one in kernel], structures, model.alpha)
    return Model(change(kernel), structure.with_kernels(change), model.alpha)


def _listed_entry(
    kernel: Any, structure: Structure, kernel_name: str, structure_name: str
) -> ModelEntry:
    """Return an entry of lists: a kernel for each output is a term for each there."""
    if not isinstance(kernel, PerOutput):
        return _entry(kernel, structure, kernel_name, structure_name)
    unit = np.eye(len(kernel.kernels))
    terms = [
        ModelTerm(own, Diagonal(unit[j]), f"{kernel_name}__kernels__{j}")
        for j, own in enumerate(kernel.kernels)
    ]
    return ModelEntry(structure, structure_name, terms)


def _entry(
    kernel: Any, structure: Structure, kernel_name: str, structure_name: str
) -> ModelEntry:
    """Return a kernel and its structure, whose parts may have kernels of their own."""
    terms = [
        ModelTerm(kernel, part.structure, kernel_name)
        if part.kernel is None
        else ModelTerm(
            part.kernel, part.structure, f"{structure_name}__{part.parameter}"
        )
        for part in structure.by_kernel(apart=True)
    ]
    return ModelEntry(structure, structure_name, terms)
