"""A list of kernels beside a list of structures: a model of several terms.

Estimators take ``kernel=[k1, k2]`` with ``structure=[s1, s2]``. Here the two lists are
checked against each other, and become what the rest of the package takes for one kernel
and one structure.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from okl.certificates.terms import StructureTerms
from okl.estimators.training import as_input_kernel, is_precomputed
from okl.kernels import KernelTerms, Row, as_kernel
from okl.problems import Observed
from okl.structures import Structure, as_structure


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
        return kernel, clone(as_structure(structure))
    kernels = list(kernel) if several else [kernel]
    structures = structure if isinstance(structure, list | tuple) else [structure]
    if not several or len(kernels) != len(structures) or not kernels:
        raise ValueError(
            "kernel and structure must be lists of the same length, a structure for "
            f"the output kernel of each kernel; got kernel={kernel!r}, a number of "
            f"{len(kernels)}, and structure={structure!r}, a number of "
            f"{len(structures)}."
        )
    rows = [position for position, one in enumerate(kernels) if isinstance(one, Row)]
    if len(rows) == len(kernels):
        raise ValueError(_ROW_ALONE)
    if rows and rows != [len(kernels) - 1]:
        raise ValueError(
            "Row() must be the last kernel of the list, and there once; got "
            f"kernel={kernel!r}."
        )
    parts = tuple(clone(as_structure(one)) for one in structures)
    for one in parts:
        _check_carried(one)
    terms = [one if isinstance(one, Row) else as_kernel(one) for one in kernels]
    return KernelTerms(terms), StructureTerms(parts)


_ROW_ALONE = (
    "Row() says what the inputs do not explain, and predicts nothing at new rows: pass "
    "kernel=[k, Row()], with a structure for each, where k is a kernel of the inputs; "
    "Constant(1) if there are none."
)


def _check_carried(structure: Structure) -> None:
    """Raise ValueError for a structure that no term of a sum can have yet."""
    if "proximal" not in structure.capabilities:
        raise ValueError(
            f"{structure} is not for several kernels; each of them takes 'frobenius', "
            "'low_rank', or a known output kernel: 'identity', Fixed, Graph, Mean."
        )


def check_terms(kernel: Any, structure: Any, observed: Observed) -> None:
    """Raise ValueError for what several kernels do not take.

    That are data in long form, and bounds on the rank.
    """
    if not isinstance(kernel, KernelTerms):
        return
    for one in structure.structures:
        if one.max_rank(observed.n_outputs) < observed.n_outputs:
            raise ValueError(
                f"{one} bounds the rank of an output kernel, which is not for several "
                "kernels; leave the bound out, the penalty alone keeps the rank low."
            )
    if observed.tasks is not None:
        raise ValueError(
            "Several kernels are not for data in long form; leave task out and give "
            "targets as a matrix with NaN where they were not observed, or one kernel."
        )
