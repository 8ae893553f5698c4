"""The alphas of a regularisation path, from the largest that matters down."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from okl.numerics.arrays import Array, eigh, namespace, symmetric
from okl.numerics.validation import (
    check_alpha,
    check_count,
    check_magnitude,
    check_positive,
)
from okl.operators import Operator
from okl.operators.terms import each_matrix
from okl.problems import Problem

# The smallest alpha relative to the largest, where nobody says.
_SMALLEST = 1e-5
# A path is left where the alpha of its best score is so many times as large, and the
# largest alpha so many times as large as that one.
BEHIND = 9.99
# Up to so many rows the matrix is formed.
_FEW = 32
# Arrays of the size of the kernel matrix that its decomposition takes.
_DECOMPOSITION = 2
# The restarts of Lanczos iterations to find an eigenvalue closely, and the relative
# residual where they are not enough or it need not be close.
_RESTARTS, _ROUGHLY = 20, 1e-2


def largest_alpha(problem: Problem, *, decomposes: bool = True) -> float:
    """Return alpha_max, above which little is learned.

    Where the structure bounds L, known or not, ||K||_2 times the largest eigenvalue
    that L may have: beyond it every direction of f is shrunk by half or more (squared
    loss). Else sqrt(||G'KG||_2), G minus the gradient of the loss at f = 0 and the best
    intercept, Y for the squared loss: beyond it the trace structure gives L = 0. K and
    Y are centred if there is an intercept; of several kernels the largest counts. K is
    decomposed for it if that is of use for what comes, as it is for a path.
    """
    largest = problem.largest_eigenvalue()
    if np.isfinite(largest):
        return _norm(problem, decomposes) * largest
    zero = namespace(problem.targets).zeros_like(problem.targets)
    smooth = replace(problem, loss=problem.loss.smoothed())
    if not problem.exact:
        zero, _ = smooth.at_best_intercept(zero)
    gradient = smooth.downhill(zero)
    m = problem.n_outputs
    moments = problem.entries.gram(gradient, gradient).reshape(-1, m, m)
    largest = max(float(eigh(symmetric(one))[0][-1]) for one in moments)
    return max(largest, 0.0) ** 0.5


def _norm(problem: Problem, decomposes: bool) -> float:
    """Return the largest eigenvalue of K, each row as often as its weight says.

    Solvers without weights need the decomposition anyway; others need products only.
    """
    operator = problem.operator
    fits = operator.workspace >= _DECOMPOSITION
    if decomposes and (operator.several or (problem.exact and fits)):
        return operator.norm
    each = each_matrix(operator)
    return sum(_norm_by_products(problem, one, decomposes) for one in each)


def _norm_by_products(problem: Problem, operator: Operator, close: bool) -> float:
    """Return the largest eigenvalue of a matrix, to 1 % or where easily found closer.

    Where many are nearly the largest, as with rows on a line and a narrow kernel, to
    tell them apart would take longer than all fits.
    """
    n = operator.n_samples
    rows = np.ones(n) if problem.weights is None else problem.weights.mean(axis=1)
    roots, share = np.sqrt(rows)[:, None], (rows / rows.sum())[:, None]
    # a matrix for each output is one matrix of all outputs
    several = problem.operator.several
    size = n if operator.shared or several else problem.targets.size

    def product(right: np.ndarray) -> np.ndarray:
        right = roots * right.reshape(n, -1)
        if problem.centered:
            right = right - share * right.sum(axis=0)
        image = operator @ right
        if problem.centered:
            image = image - share.T @ image
        return (roots * image).ravel()

    start = product(np.random.default_rng(0).normal(size=size))
    if not np.any(start):
        return 0.0
    if size <= _FEW:
        columns = np.stack([product(column) for column in np.eye(size)], axis=1)
        return float(np.linalg.norm(columns, 2))
    matrix = LinearOperator((size, size), product, dtype=np.float64)
    largest = partial(eigsh, matrix, k=1, v0=start, return_eigenvectors=False)
    with suppress(ArpackNoConvergence):
        if close:
            return max(float(largest(maxiter=_RESTARTS)[0]), 0.0)
    return max(float(largest(tol=_ROUGHLY)[0]), 0.0)


def check_alphas(alphas: int | Sequence[float], eps: float | None) -> Array | int:
    """Return the given alphas, decreasing, or how many there are to be.

    Raises
    ------
    ValueError
        If alphas or eps are out of range.
    """
    if isinstance(alphas, int | np.integer):
        n_alphas = check_count(alphas, "alphas")
        if eps is not None:
            check_positive(eps, "eps")
            if eps >= 1 and n_alphas > 1:
                raise ValueError(f"eps must be below 1, got {eps!r}.")
            check_magnitude(np.asarray(float(eps)), "eps is", "Choose another eps.")
        return n_alphas
    try:
        given = np.asarray(alphas, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.ndim != 1 or given.shape[0] == 0:
        raise ValueError(
            "alphas must be a number of values or a sequence of values; got "
            f"{alphas!r}."
        )
    for alpha in given:
        check_alpha(float(alpha))
    return np.sort(given)[::-1]


def alpha_grid(
    problem: Problem, alphas: int | Sequence[float], eps: float | None
) -> Array:
    """Return decreasing alphas: the given ones, or so many down to eps alpha_max.

    None for eps stands for 1e-5.

    Raises
    ------
    ValueError
        If alphas or eps are out of range.
    """
    grid = check_alphas(alphas, eps)
    if not isinstance(grid, int):
        return grid
    # a kernel or targets of zero leave nothing to scale by
    top = largest_alpha(problem) or 1.0
    eps = _SMALLEST if eps is None else eps
    return np.geomspace(top, eps * top if grid > 1 else top, grid)


def largest_of_paths(
    problems: Sequence[Problem],
    alphas: int | Sequence[float],
    grids: Array,
    learned: float = 1.0,
) -> Array:
    """Return for each problem an alpha at which models are hardly more than constants.

    That is where a grid begins, unless its alphas were given: these may all be small.
    With a single one, or without problems, no path ends early, and it is not needed.
    It is zero with a kernel of zero.

    It is smaller where a kernel was ``learned`` with an alpha that is a small part of
    the largest one: where predictions depend on columns that hardly vary, they are no
    better than constants down to there, and no path is to end above it.
    """
    lower = min(1.0, BEHIND**2 * learned)
    if np.ndim(alphas) == 0 or grids.shape[1] == 1 or not problems:
        return lower * grids[:, 0]
    largest = [largest_alpha(one, decomposes=False) for one in problems]
    return lower * np.array(largest)
