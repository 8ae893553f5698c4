"""Held-out predictions of a path, from the eigenbasis of a fold's kernel matrix.

With K = U diag(d) U' on the training rows a problem of the squared loss is solved, and
its solutions are certified, in coordinates U'Y and U'Theta. Held-out rows are taken
into the eigenbasis once, as K_test,train U, and every alpha adds a few columns to a
product with that: nothing of the size of K is touched again.

With a known output kernel there is nothing to iterate and nothing to certify: the
coefficients are the targets in the eigenbases of K and L, divided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from okl.output_kernels import SpectralKernel
from okl.problems import Formulation, Problem, Rotated
from okl.solvers import Solution, solve_path

# Columns that held-out rows are multiplied by at a time, if one model has no more.
_COLUMNS = 512


@dataclass(frozen=True)
class EigenbasisModel:
    """A model in the eigenbases of K and L.

    Attributes
    ----------
    alpha : float
        What it was fitted at.
    output_kernel : SpectralKernel
        L = V diag(l) V'.
    coefficients : array (k, q)
        U'Theta V.
    solution : Solution or None
        How it was found; None for a closed form.
    """

    alpha: float
    output_kernel: SpectralKernel
    coefficients: np.ndarray
    solution: Solution | None = None


def models(
    problem: Problem, alphas: Sequence[float], *, tol: float, max_iter: int
) -> Iterator[EigenbasisModel]:
    """Yield the models of a problem that `has_eigenbasis` along decreasing alphas."""
    rotated = Rotated.of(problem)
    rank, given = rotated.rank, problem.known()
    if given is not None:
        known, d = given.spectral(), rotated.eigenvalues[:rank]
        inside = known.coordinates(rotated.targets[:rank])
        for alpha in alphas:
            shrunk = known.eigenvalues / (d * known.eigenvalues + alpha)
            yield EigenbasisModel(float(alpha), known, inside * shrunk)
        return
    path = solve_path(rotated.as_problem(), alphas, tol=tol, max_iter=max_iter)
    for alpha, solution in zip(alphas, path, strict=True):
        kernel = solution.output_kernel.spectral()
        inside = kernel.coordinates(solution.dual_coef[:rank])
        yield EigenbasisModel(float(alpha), kernel, inside, solution)


def predictions(
    formulation: Formulation, cross: Any, path: Iterable[EigenbasisModel]
) -> Iterator[tuple[EigenbasisModel, np.ndarray]]:
    """Yield each model of a path with its predictions (n_test, n_outputs).

    Parameters
    ----------
    formulation : Formulation
        Of the training rows.
    cross : object
        K_test,train, which multiplies.
    path : iterable of EigenbasisModel
        Of the problem of the formulation.
    """
    # eigenvectors of eigenvalues at rounding level sum to zero roughly only
    vectors = formulation.problem.balanced(formulation.problem.spectrum.vectors)
    directions = formulation.unscaled(vectors)
    rows = cross @ directions
    if formulation.kernel_means is not None:
        rows = rows - formulation.kernel_means @ directions
    for batch in _batches(path):
        widths = [model.coefficients.shape[1] for model in batch]
        products = rows @ np.hstack([model.coefficients for model in batch])
        parts = np.split(products, np.cumsum(widths)[:-1], axis=1)
        for model, part in zip(batch, parts, strict=True):
            predicted = model.output_kernel.from_coordinates(part)
            if formulation.basis is not None:
                predicted = predicted @ formulation.basis.T
            if formulation.target_means is not None:
                predicted = predicted + formulation.target_means
            yield model, predicted


def _batches(path: Iterable[EigenbasisModel]) -> Iterator[list[EigenbasisModel]]:
    """Yield models together that have a product's worth of columns."""
    batch: list[EigenbasisModel] = []
    columns = 0
    for model in path:
        batch.append(model)
        columns += model.coefficients.shape[1]
        if columns >= _COLUMNS:
            yield batch
            batch, columns = [], 0
    if batch:
        yield batch
