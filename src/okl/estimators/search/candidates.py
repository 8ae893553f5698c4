"""The kernels and structures that a search tries, checked before any work.

Unless the user names one the kernel is learned (`kernel_learning.py`). Where nothing
can be learned, or if it is asked for, there is a short list, of seven for dense rows: a
linear one, three Gaussian and three Matern kernels whose widths span what "scale"
guesses by a factor of four in squared distance either way. In the place of a learned
kernel, which has a width for each column, they are those of standardised columns: an
answer must not depend on units because there are few rows. Sparse rows, texts for the
most part, have the linear and the cosine kernel, whose products cost no more than their
entries: which is better is a matter of whether the length of a text tells anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils.extmath import row_norms

from okl.coding.tasks import Tasks
from okl.estimators.search.to_be_learned import AUTO, is_auto, marked
from okl.estimators.terms import kernel_terms, structures_to_try
from okl.estimators.training import as_input_kernel, is_precomputed
from okl.kernels import (
    Columns,
    Cosine,
    Gaussian,
    Kernel,
    Learnable,
    Linear,
    Matern,
    number_columns,
)
from okl.selection.standard_columns import StandardColumns
from okl.structures import Frobenius, Mean, Structure, as_structure

# How thoroughly structures, kernels and alphas are tried.
WAYS = ("staged", "compare", "full")
# What stands for a list of kernels that are not learned.
SHORT_LIST = "short_list"
# Multiples of the inverse squared width, and of the length, that "scale" stands for.
_GAMMAS = (0.25, 1.0, 4.0)
_LENGTHS = (0.5, 1.0, 2.0)
# By how much norms that are the same may differ, relatively.
_ROUNDING = 1e-6


def short_list(X: Any, weights: np.ndarray | None = None) -> list[Kernel]:
    """Return the kernels to try on the rows of X when none is learned."""
    if issparse(X):
        one_length = _of_one_length(X, weights)
        return [Linear()] if one_length else [Linear(), Cosine()]
    gamma = Gaussian().resolve(X, weights).gamma
    length = Matern("scale").resolve(X, weights).length_scale
    return [
        Linear(),
        *(Gaussian(factor * gamma) for factor in _GAMMAS),
        *(Matern(factor * length, 2.5) for factor in _LENGTHS),
    ]


def standard_short_list(X: Any, weights: np.ndarray | None = None) -> list[Kernel]:
    """Return the short list for standardised columns, as kernels on X.

    Sparse rows have the list that they always have.
    """
    if issparse(X):
        return short_list(X, weights)
    columns = StandardColumns.of(X, weights, centred=True)
    if not columns.n_varying:
        return short_list(X, weights)
    _, *others = short_list(columns.rows(X), weights)
    linear = Linear(scales=np.ones(columns.n_varying))
    return [columns.in_units(kernel) for kernel in (linear, *others)]


def _of_one_length(X: Any, weights: np.ndarray | None) -> bool:
    """Tell whether rows that count have one norm, up to rounding, but for zeros."""
    norms = row_norms(X)
    if weights is not None:
        norms = norms[weights > 0]
    norms = norms[norms > 0]
    return len(norms) == 0 or np.ptp(norms) <= _ROUNDING * norms.max()


def beyond(kernel: Any, tried: Sequence[Any]) -> Kernel | None:
    """Return a kernel with the next width, if this one is at an end of its family.

    Parameters
    ----------
    kernel : Kernel
        The best one so far.
    tried : list of Kernel
        All that were tried, this one among them.
    """
    family = [other for other in tried if type(other) is type(kernel)]
    if isinstance(kernel, Columns):
        further = beyond(kernel.kernel, [other.kernel for other in family])
        return None if further is None else Columns(further, kernel.columns)
    if isinstance(kernel, Gaussian):
        return _next(kernel, "gamma", 4.0, family)
    if isinstance(kernel, Matern):
        return _next(kernel, "length_scale", 2.0, family)
    return None


def _next(kernel: Any, name: str, factor: float, family: list[Any]) -> Any:
    """Return a kernel a step beyond one that is at an end of its family, else None.

    If there is a width for each column, all of them are in proportion.
    """
    widths = [np.max(getattr(other, name)) for other in family]
    own = np.max(getattr(kernel, name))
    if own not in (min(widths), max(widths)):
        return None
    step = 1 / factor if own == min(widths) else factor
    return clone(kernel).set_params(**{name: getattr(kernel, name) * step})


def is_short_list(kernels: Any) -> bool:
    """Tell whether the short list is asked for by its name."""
    return isinstance(kernels, str) and kernels == SHORT_LIST


def to_learn(kernel: Any, kernels: Any) -> list[Any]:
    """Return the kernels to be learned first, of those to try or of a list of terms.

    They are ``"auto"``, also where nothing is named, or a `Learnable`.
    """
    if is_short_list(kernels):
        return []
    if kernels is None:
        kernel = AUTO if kernel is None else kernel
        kernels = kernel if isinstance(kernel, list | tuple) else [kernel]
    return [one for one in kernels if is_auto(one) or isinstance(one, Learnable)]


def is_open(kernel: Any, kernels: Any) -> bool:
    """Tell whether no kernel was named, so that the short list may be left."""
    if kernels is None:
        return kernel is None or is_auto(kernel)
    return is_short_list(kernels)


def for_tasks(n_tasks: int) -> list[Structure]:
    """Return the structures to try for tasks where no kernel or structure was named.

    `Mean` says that any two tasks have the correlation gamma / (n_tasks + gamma), which
    is 0.09, 0.5, 0.91 and 0.99 here: from nearly unrelated tasks to nearly one.
    """
    gammas = n_tasks / 10, n_tasks * 1.0, n_tasks * 10.0, n_tasks * 100.0
    return [*map(Mean, gammas), Frobenius()]


def has_open_tasks(model: Any, X: Any, tasks: Tasks | None) -> bool:
    """Tell whether there are tasks and dense rows, and no kernel or structure named.

    A kernel is learned for them then.
    """
    named = model.structures is not None
    return not named and learns_for_tasks(model, X, tasks)


def learns_for_tasks(model: Any, X: Any, tasks: Tasks | None) -> bool:
    """Tell whether there are tasks and dense rows, and no kernel was named."""
    named = model.kernels is not None or not is_open(model.kernel, None)
    return tasks is not None and not named and not issparse(X)


def check_candidates(kernel: Any, kernels: Any) -> None:
    """Raise an error for kernels that cannot be tried, before looking at the data.

    Raises
    ------
    ValueError
        If both are given, the list is empty, or a name in it is unknown.
    TypeError
        If something else stands where a kernel is expected.
    """
    if kernels is None:
        # terms are checked together with their structures
        if not (
            kernel is None
            or is_precomputed(kernel)
            or is_auto(kernel)
            or isinstance(kernel, list | tuple)
        ):
            as_input_kernel(kernel)
        return
    if kernel is not None:
        raise ValueError(
            "kernel and kernels were both given; kernel is the only one to try, "
            "kernels a list to choose from. Leave one of them out."
        )
    if is_short_list(kernels):
        return
    if not isinstance(kernels, list | tuple):
        raise TypeError(
            f"kernels must be a list of kernels to choose from, or {SHORT_LIST!r}, got "
            f"{kernels!r}; pass [{kernels!r}], or kernel={kernels!r} for one kernel."
        )
    if len(kernels) == 0:
        raise ValueError(
            "kernels is an empty list; give at least one kernel to try, or None for "
            "one that is learned."
        )
    for number, candidate in enumerate(kernels):
        with _naming(number, candidate):
            if not is_auto(candidate):
                as_input_kernel(candidate)


def candidates(
    kernel: Any,
    kernels: Any,
    X: Any,
    weights: np.ndarray | None,
    names: Sequence[str] | None,
    *,
    learns: bool,
) -> list[Any]:
    """Return the kernels to try, with data-dependent parameters resolved.

    Names are those of the columns of X, if they have any. A kernel to be learned stays
    what it is; where ``learns`` says that there is nothing to learn one from, the
    short list for standardised columns takes its place.

    Raises
    ------
    ValueError, TypeError
        If a kernel does not fit the columns of X; the message says which.
    """

    def of_auto() -> list[Any]:
        return [Learnable()] if learns else standard_short_list(X, weights)

    if is_short_list(kernels):
        return short_list(X, weights)
    if kernels is None:
        if kernel is None or is_auto(kernel):
            return of_auto()
        if is_precomputed(kernel):
            return [kernel]
        if isinstance(kernel, list | tuple):
            kernel = kernel_terms(marked(list(kernel)))
        return [number_columns(as_input_kernel(kernel), names).resolve(X, weights)]
    resolved: list[Any] = []
    for number, candidate in enumerate(kernels):
        if is_auto(candidate):
            resolved += of_auto()
            continue
        with _naming(number, candidate):
            numbered = number_columns(as_input_kernel(candidate), names)
            resolved.append(numbered.resolve(X, weights))
    return resolved


def given_structures(given: Any, kernel: Any = None) -> list[Structure]:
    """Return copies of the structures to try, one or several.

    With a list of kernels each of them is for all kernels.

    Raises
    ------
    ValueError, TypeError
        If there is none, or one cannot be used.
    """
    if isinstance(kernel, list | tuple):
        return structures_to_try(marked(list(kernel)), given)
    if isinstance(given, str) or not np.iterable(given):
        given = [given]
    structures = [clone(as_structure(structure)) for structure in given]
    if not structures:
        raise ValueError(
            "structures is an empty list; give at least one structure to try."
        )
    return structures


@contextmanager
def _naming(number: int, candidate: Any) -> Iterator[None]:
    """Say which candidate an error is about."""
    try:
        yield
    except (ValueError, TypeError) as error:
        text = " ".join(repr(candidate).split())
        raise type(error)(f"kernels[{number}], {text}: {error}") from error
