"""Predictions of rows that were left out, from one fit to all of them.

With the squared loss and a given L the scores are a linear function of the targets, and
the fit without a row follows from the fit with it: in the eigenbases
K = U diag(d) U' and L = V diag(l) V' the share h_ij of the target of row i in its own
residual, along the j-th eigenvector of L, is

    h_ij = sum over k of U_ik^2 alpha / (d_k l_j + alpha),

all n eigenvectors counted, and the residual of the row when it is left out is the
residual of the fit divided by h_ij. Nothing is fitted again: every alpha costs two
products with U.

A row is left out whole, whatever its weight: the noise of a target has the variance
alpha / weight, and what is left of a row after a part of it was taken would tell that
noise. (Of a row that is repeated the other copies tell it: hold them out together, by
`GroupKFold` for example.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.utils import gen_batches

from okl.numerics.arrays import epsilon
from okl.operators import Operator
from okl.output_kernels import SpectralKernel
from okl.problems import Formulation, Inputs, Problem

# What eigenvectors leave of a row that lies in their span, in machine epsilons.
_ROUNDING = 16.0
# Arrays of the size of the kernel matrix that its decomposition takes.
_DECOMPOSITION = 2
# Rows of U that are squared at a time, and columns that they are multiplied by.
_BLOCK, _COLUMNS = 512, 64


def has_eigenbasis(problem: Problem) -> bool:
    """Tell whether a problem can be solved in the eigenbasis of its operator.

    That takes a squared loss, complete targets, one kernel matrix for all outputs, and
    memory for its decomposition.
    """
    return problem.exact and can_decompose(problem.operator)


def can_decompose(operator: Operator) -> bool:
    """Tell whether it is one matrix for all outputs that memory allows to decompose."""
    return operator.shared and operator.workspace >= _DECOMPOSITION


def has_closed_form(formulation: Formulation) -> bool:
    """Tell whether rows can be left out in closed form: an eigenbasis, and L known."""
    problem = formulation.problem
    return has_eigenbasis(problem) and problem.known() is not None


def leave_one_out(
    inputs: Inputs,
    formulation: Formulation,
    alphas: Sequence[float] | np.ndarray,
) -> Iterator[np.ndarray]:
    """Yield the residuals y_i - f_(-i)(x_i) of rows left out, one array an alpha.

    Parameters
    ----------
    inputs : Inputs
        The kernel on the rows, with their weights.
    formulation : Formulation
        Of the same inputs; see `has_closed_form`.
    alphas : sequence of float
        In any order.

    Yields
    ------
    array (n_samples, n_outputs)
        In the units of the targets of the formulation; zero where a row has no weight.
    """
    problem = formulation.problem
    given = problem.known()
    assert given is not None
    known = given.spectral()
    U, d = problem.spectrum.vectors, problem.spectrum.eigenvalues
    targets, eigenvalues = _in_eigenbasis(problem.targets, known)
    inside = U.T @ targets
    outside = targets - U @ inside
    n, weights = U.shape[0], inputs.row_weights
    roots = np.ones((n, 1)) if weights is None else np.sqrt(weights)[:, None]
    of_intercept = np.zeros(n)
    if inputs.kernel_means is not None:
        of_intercept = (np.ones(n) if weights is None else weights) / np.sum(roots**2)
    # outputs with the same eigenvalue of L have the same shares
    distinct, which = np.unique(eigenvalues, return_inverse=True)
    at_once = max(1, _COLUMNS // len(distinct))
    for some in gen_batches(len(alphas), at_once):
        group = np.asarray(alphas[some])[:, None]
        shrunk = group / (d[:, None, None] * distinct + group)
        columns = shrunk.reshape(len(d), len(group) * len(distinct))
        shares = _shares(U, columns, of_intercept)
        for number in range(len(group)):
            own = shares[:, number * len(distinct) : (number + 1) * len(distinct)]
            divisor = roots * own[:, which]
            residuals = outside + U @ (inside * shrunk[:, number, which])
            possible = divisor > 0
            residuals = np.where(possible, residuals, 0.0)
            residuals /= np.where(possible, divisor, 1.0)
            residuals = _in_outputs(residuals, known)
            basis = formulation.basis
            yield residuals if basis is None else residuals @ basis.T


def _in_eigenbasis(
    targets: np.ndarray, known: SpectralKernel
) -> tuple[np.ndarray, np.ndarray]:
    """Return Y V and the eigenvalues of L; then what V misses of Y, where L is zero."""
    coordinates = known.coordinates(targets)
    if known.rank == known.n_outputs:
        return coordinates, known.eigenvalues
    missed = targets - known.from_coordinates(coordinates)
    zeros = np.zeros(missed.shape[1])
    return np.hstack([coordinates, missed]), np.hstack([known.eigenvalues, zeros])


def _in_outputs(rows: np.ndarray, known: SpectralKernel) -> np.ndarray:
    """Return to outputs from what `_in_eigenbasis` gives."""
    within = known.from_coordinates(rows[:, : known.rank])
    full = known.rank == known.n_outputs
    return within if full else within + rows[:, known.rank :]


def _shares(U: np.ndarray, shrunk: np.ndarray, of_intercept: np.ndarray) -> np.ndarray:
    """Return h (n_samples, p): the squares of U times columns, and the rest of a row.

    What is left of a row outside the range of K is not shrunk; the intercept takes its
    part of that.
    """
    n = U.shape[0]
    shares = np.empty((n, shrunk.shape[1]))
    left = np.empty(n)
    for rows in gen_batches(n, _BLOCK):
        squares = U[rows] ** 2
        shares[rows] = squares @ shrunk
        left[rows] = 1.0 - squares.sum(axis=1) - of_intercept[rows]
    # what is left is minus the part of the intercept where its direction is among the
    # eigenvectors, with an eigenvalue that rounding has left above zero
    left[np.abs(left) <= _ROUNDING * n * epsilon(left)] = 0.0
    return shares + left[:, None]
