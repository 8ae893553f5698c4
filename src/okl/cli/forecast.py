"""Roughly how long a search takes, and in what memory, before it begins.

What takes the time of the squared loss with complete targets is to decompose kernel
matrices, about the cube of the number of rows each; elsewhere it is products with them,
some for each fit. Both are counted here and multiplied by what a small decomposition
takes on this machine, so that the guess is right to a factor of two or three.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import eigh

from okl.cli.data import Data
from okl.losses import as_loss
from okl.model_selection.folds import N_FOLDS

# Rows of the decomposition that is timed; a multiplication and addition in a product of
# matrices takes a tenth of a decomposition's share of one entry cubed.
_ROWS, _PRODUCT = 300, 0.1
# Kernels of the default list, that get beyond the first stage, and its rows and alphas.
_KERNELS, _FINALISTS, _FIRST_ROWS, _FIRST_ALPHAS = 7, 2, 2000, 9
# Products with the kernel matrix that a fit takes with L known, and with L learned.
_KNOWN, _LEARNED = 30.0, 400.0


def forecast(data: Data, X: np.ndarray, search: Any) -> str:
    """Say what is searched, roughly how long it takes, and in what memory."""
    n_kernels = _KERNELS if search.kernels is None else len(search.kernels)
    second = min(n_kernels, _FINALISTS) if search.search == "staged" else n_kernels
    n_folds = search.cv.n_splits if search.cv is not None else N_FOLDS
    given = isinstance(search.alphas, int)
    n_alphas = search.alphas if given else len(search.alphas)
    learned = sum("known" not in s.capabilities for s in search.structures)
    known = len(search.structures) - learned
    n = len(X)
    few = min(n, _FIRST_ROWS) if n_kernels > second else 0
    m = 1 if data.ids is not None else _n_outputs(data)
    training = ((n_folds - 1) / n_folds) ** 3 * n_folds
    if _in_closed_form(data, search):
        first = n_kernels * few**3 * (1.0 if search.cv is None else training)
        paths = n_folds * n_alphas * learned * _LEARNED * n * m**2 * _PRODUCT
        # the second stage, the fit of each structure, and the scores of the outputs
        cubes = second * (training + 1) + known + learned + 2 * training
        work = first + cubes * n**3 + second * paths
    else:
        at_first = n_kernels * n_folds * min(n_alphas, _FIRST_ALPHAS) * _KNOWN
        each = n_alphas * (known * _KNOWN + learned * _LEARNED)
        work = (at_first * few**2 + second * n_folds * each * n**2) * m * _PRODUCT
    memory = 8 * n**2 * (_FINALISTS + 2)
    stages = (
        f"{n_kernels} kernels with independent outputs, then the best {second} "
        if n_kernels > second
        else f"{n_kernels} kernel{'s' * (n_kernels > 1)} "
    )
    structures = len(search.structures)
    return (
        f"{stages}with {structures} structure{'s' * (structures > 1)} at {n_alphas} "
        f"alphas on {n_folds} folds; {_duration(work * _unit())}, up to "
        f"{max(memory / 2**20, 1):.0f} MiB for kernel matrices"
    )


def _n_outputs(data: Data) -> int:
    if data.single_classification:
        return len(np.unique(np.asarray(data.y)))
    return len(data.target_kinds)


def _in_closed_form(data: Data, search: Any) -> bool:
    quadratic = "quadratic" in as_loss(search.loss).capabilities
    return quadratic and not data.missing and data.ids is None


def _unit() -> float:
    """Return the seconds of a decomposition, for each entry cubed."""
    matrix = np.random.default_rng(0).normal(size=(_ROWS, _ROWS))
    matrix = matrix @ matrix.T
    eigh(matrix)  # the first call loads the library
    start = perf_counter()
    eigh(matrix)
    return (perf_counter() - start) / _ROWS**3


def _duration(seconds: float) -> str:
    if seconds < 10:
        return "some seconds"
    if seconds < 90:
        return f"roughly {round(seconds, -1):.0f} seconds"
    minutes = seconds / 60
    return (
        f"roughly {minutes:.0f} minutes"
        if minutes < 90
        else (f"roughly {minutes / 60:.0f} hours")
    )
