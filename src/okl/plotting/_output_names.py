"""The names of outputs in a picture.

The outputs of a fitted estimator are named by the columns of the targets if these were
a DataFrame, by the classes if there is one output per class, and otherwise by numbers.
Names are data, not markup: pictures show them literally, so ``"$"`` is a dollar.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

# Lengths of names in pictures: the usual one, and longer ones for names that it would
# make equal.
_LENGTHS = (24, 36, 48, 60)


def output_names_of(estimator: Any, n_outputs: int) -> list[str]:
    """Name the outputs of a fitted estimator.

    Parameters
    ----------
    estimator : object
        A fitted estimator; ``output_names_`` and ``classes_`` are used if present.
    n_outputs : int
        Number of outputs.

    Returns
    -------
    list of str
        ``output_names_`` if present, after those of its estimator for an extension;
        else ``classes_`` if it has one label per output; else ``"0", "1", ...``.
    """
    own = getattr(estimator, "output_names_", None)
    names = getattr(estimator, "_names_of_all", own)
    if names is not None:
        return [str(name) for name in names]
    classes = getattr(estimator, "classes_", ())
    # Binary classifiers have two classes and one output, and multilabel ones may keep
    # an array of classes per output: neither names the outputs.
    if len(classes) == n_outputs and all(np.ndim(label) == 0 for label in classes):
        return [str(label) for label in classes]
    return [str(index) for index in range(n_outputs)]


def check_output_names(output_names: Sequence[Any] | None, n_outputs: int) -> list[str]:
    """Return one name per output, the numbers of the outputs by default.

    Parameters
    ----------
    output_names : sequence of length n_outputs, or None
        The names given by the caller.
    n_outputs : int
        Number of outputs.

    Returns
    -------
    list of str
        The names.
    """
    if output_names is None:
        return [str(index) for index in range(n_outputs)]
    if len(output_names) != n_outputs:
        raise ValueError(
            f"output_names has {len(output_names)} names but output_kernel relates "
            f"{n_outputs} outputs; give one name per output."
        )
    return [str(name) for name in output_names]


def shorten_apart(names: Sequence[str]) -> list[str]:
    """Shorten names, less if different names would become equal.

    Parameters
    ----------
    names : sequence of str
        Names of any length; some may be equal.

    Returns
    -------
    list of str
        Names of at most 24 characters, or up to 60 where names would else become equal.
    """
    found: dict[str, str] = {}
    alike = set(names)
    for length in _LENGTHS:
        found |= {name: shorten(name, length) for name in alike}
        uses = Counter(found[name] for name in alike)
        alike = {name for name in alike if uses[found[name]] > 1}
    return [found[name] for name in names]


def shorten(name: str, length: int = 24) -> str:
    """Cut the middle out of a long name, and keep both ends.

    Parameters
    ----------
    name : str
        A name of any length.
    length : int, default=24
        The largest length of the result.

    Returns
    -------
    str
        `name`, or its two ends around an ellipsis.
    """
    if len(name) <= length:
        return name
    head = length // 2
    return f"{name[:head]}…{name[len(name) - (length - head - 1) :]}"
