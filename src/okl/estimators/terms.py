"""A list of kernels beside a list of structures: a model of several terms.

Estimators take ``kernel=[k1, k2]`` with ``structure=[s1, s2]``. Here the two lists are
checked against each other, and become what the rest of the package takes for one kernel
and one structure. A structure whose parts have kernels of their own
(`Structure.by_kernel`), as the nodes of a tree may have, stands for several terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from okl.certificates.terms import StructureTerms
from okl.estimators.training import as_input_kernel, is_precomputed, resolved_kernel
from okl.kernels import Kernel, KernelTerms, PerOutput, Row, as_kernel
from okl.problems import Observed
from okl.selection.model import Model, with_kernels
from okl.structures import Diagonal, Identity, Structure, as_structure


def kernel_and_structure(kernel: Any, structure: Any) -> tuple[Any, Structure]:
    """Return a kernel and a copy of a structure, each of them for all terms.

    Raises
    ------
    ValueError
        If the lists differ in length, or have no kernel that predicts new rows.
    TypeError
        If something else stands where a kernel or structure is expected.
    """
    several = isinstance(kernel, list | tuple)
    if not several and not isinstance(structure, list | tuple):
        if isinstance(kernel, Row):
            raise ValueError(_ROW_ALONE)
        if not is_precomputed(kernel):
            as_input_kernel(kernel)
        one = clone(as_structure(structure))
        terms = _terms_of(kernel, one)
        return (kernel, one) if terms is None else _together(terms)
    kernels = list(kernel) if several else [kernel]
    structures = structure if isinstance(structure, list | tuple) else [structure]
    if not several or len(kernels) != len(structures) or not kernels:
        raise ValueError(
            "kernel and structure must be lists of the same length, a structure for "
            f"the output kernel of each kernel; got {len(kernels)} in "
            f"kernel={kernel!r} and {len(structures)} in structure={structure!r}."
        )
    rows = [position for position, one in enumerate(kernels) if isinstance(one, Row)]
    if len(rows) == len(kernels):
        raise ValueError(_ROW_ALONE)
    if rows and rows != [len(kernels) - 1]:
        raise ValueError(
            "Row() must be the last kernel of the list, and occur only once; got "
            f"kernel={kernel!r}."
        )
    terms = []
    for own, given in zip(kernels, structures, strict=True):
        one = clone(as_structure(given))
        _check_carried(one)
        terms += _terms_of_item(own, one)
    return _together(terms)


def structures_to_try(kernels: list[Any], structures: Any) -> list[Structure]:
    """Return the structures that a search tries with a list of kernels.

    Parameters
    ----------
    kernels : list
        One for each term.
    structures : structure, or list
        Of structures, each for all terms, and of lists with one for each term.

    Raises
    ------
    ValueError, TypeError
        As `kernel_and_structure`, or if there is none.
    """
    if isinstance(structures, str) or not isinstance(structures, Iterable):
        structures = [structures]
    several = [
        one if isinstance(one, list | tuple) else [one] * len(kernels)
        for one in structures
    ]
    if not several:
        raise ValueError(
            "structures is an empty list; give at least one structure, or list of "
            "structures for the kernels, to try."
        )
    return [kernel_and_structure(kernels, one)[1] for one in several]


def kernel_terms(kernels: list[Any]) -> KernelTerms:
    """Return a list of kernels as the terms of a model."""
    terms = [term for one in kernels for term in _terms_of_item(one, Identity())]
    return KernelTerms([kernel for kernel, _ in terms])


Term = tuple[Kernel | Row, Structure]


def _terms_of_item(kernel: Any, structure: Structure) -> list[Term]:
    """Return an item of a list of kernels, with its structure, as one term or several.

    Raises
    ------
    ValueError, TypeError
        For what is no kernel, or kernels of outputs whose structure is not identity.
    """
    if isinstance(kernel, PerOutput):
        return _terms_of_outputs(kernel, structure)
    return _terms_of(kernel, structure) or [(_as_term(kernel), structure)]


def _terms_of_outputs(kernel: PerOutput, structure: Structure) -> list[Term]:
    """Return a kernel for each output as a term for each of those that differ."""
    if "identity" not in structure.capabilities:
        raise ValueError(
            "PerOutput gives each output a kernel of its own, and needs "
            "structure='identity' at its position of the list; only kernels that all "
            f"outputs share can have structures that relate them; got {structure}."
        )
    found: list[Term] = []
    for own in kernel.terms():
        variances = np.zeros(len(kernel.kernels))
        variances[own.outputs] = own.scales
        found.append((own.kernel, Diagonal(variances)))
    return found


def _terms_of(kernel: Any, structure: Structure) -> list[Term] | None:
    """Return a kernel with its structure as terms, None if it is one as they are.

    There are several where the structure has kernels of its own; the kernel given is
    then for the parts that have none.

    Raises
    ------
    ValueError, TypeError
        For what is no kernel; the message says whose.
    """
    found = structure.by_kernel()
    if all(term.kernel is None for term in found):
        return None
    given = _as_named_kernel(
        kernel, f"{structure} has kernels for some nodes and needs one for the others"
    )
    return [
        (
            given
            if term.kernel is None
            else _as_named_kernel(term.kernel, f"{term.name} of {structure}"),
            term.structure,
        )
        for term in found
    ]


def _as_named_kernel(spec: Any, name: str) -> Kernel:
    """Return a kernel as `as_kernel` does, with errors that say which it is."""
    try:
        return as_kernel(spec)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None


def _as_term(kernel: Any) -> Kernel | Row:
    return kernel if isinstance(kernel, Row) else as_kernel(kernel)


def _together(terms: list[Term]) -> tuple[KernelTerms, StructureTerms]:
    kernels, structures = zip(*terms, strict=True)
    return KernelTerms(list(kernels)), StructureTerms(structures)


_ROW_ALONE = (
    "Row() models what the inputs do not explain, and predicts nothing at new rows by "
    "itself: pass kernel=[k, Row()], with a structure for each, where k is a kernel of "
    "the inputs, or Constant(1) if there are no inputs."
)


def _check_carried(structure: Structure) -> None:
    """Raise ValueError for a structure that no term of a sum can have yet."""
    if "proximal" not in structure.capabilities:
        raise ValueError(
            f"{structure} is not supported with several kernels; the structure of each "
            "can be 'frobenius', 'low_rank', 'trace_ball', Cluster, 'sparse', or a "
            "known output kernel: 'identity', Fixed, Graph, Mean."
        )


def starting_model(
    estimator: Any,
    alpha: Any,
    X: Any,
    row_weights: np.ndarray | None,
    names: Sequence[str] | None,
) -> Model:
    """Return kernel and structure of an estimator as a search starts from them.

    They were checked before. Parameters of kernels become numbers, and structures are
    for the outputs; each stays where the estimator has it.
    """
    kernel, structure = estimator.kernel, estimator.structure

    def resolved(one: Any) -> Any:
        if one is None:  # a node of a tree with the kernel of the estimator
            return None
        if isinstance(one, Row):
            return one
        return resolved_kernel(one, X, row_weights, names)

    def for_outputs(one: Any) -> Structure:
        return clone(as_structure(one)).for_outputs(estimator._names_of_outputs)

    several = isinstance(kernel, list | tuple)
    structures = [for_outputs(one) for one in (structure if several else [structure])]
    found = Model(kernel, structures if several else structures[0], alpha)
    return with_kernels(found, resolved)


def check_terms(kernel: Any, structure: Any, observed: Observed) -> None:
    """Raise ValueError for what several kernels do not take.

    These are data in long form, bounds on the rank, and in a search a structure whose
    parts have kernels of their own.
    """
    if not isinstance(kernel, KernelTerms):
        return
    if len(structure.structures) != len(kernel.kernels):
        raise ValueError(
            f"{structure} has kernels of its own, which a search does not support "
            "together with a list of kernels; fit it with OutputKernelRegressor or "
            "OutputKernelClassifier."
        )
    for one in structure.structures:
        if one.max_rank(observed.n_outputs) < observed.n_outputs:
            raise ValueError(
                f"{one} bounds the rank of an output kernel, which is not supported "
                "with several kernels; leave the bound out, as the penalty alone keeps "
                "the rank low."
            )
    if observed.tasks is not None:
        raise ValueError(
            "Several kernels are not supported for data in long form; leave task out "
            "and pass targets as a matrix, NaN where they were not observed, or pass "
            "one kernel."
        )
