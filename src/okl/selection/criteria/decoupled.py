"""Outputs in coordinates in which they are independent, and the sum over them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from okl.selection.criteria.projected_inverse import Part, ProjectedInverse
from okl.selection.criteria.reduced_inverse import ReducedInverse, in_wholes
from okl.selection.criteria.shared_basis import RotatedInverse

# Rows of a group that takes not much longer than the smallest.
_TOGETHER = 200
# Eigenvalues of L that differ by less than this part of the largest are one.
_SAME = 1e-12

Inverse = ProjectedInverse | RotatedInverse | ReducedInverse


@dataclass(frozen=True)
class Decoupled:
    """Outputs in coordinates in which they do not depend on each other.

    Attributes
    ----------
    blocks : list of ProjectedInverse, RotatedInverse or ReducedInverse
        Each column of Y V is in one of them, but for constant outputs left out.
    basis : array (n_outputs, n_outputs) or None
        V, None for the identity.
    targets : array (n_samples, n_outputs)
        Y D V.
    weights : array (n_samples, n_outputs)
        Of these targets.
    scales : array (n_outputs,)
        The diagonal of D, by which outputs are multiplied.
    """

    blocks: Sequence[Inverse]
    basis: np.ndarray | None
    targets: np.ndarray
    weights: np.ndarray
    scales: np.ndarray

    @property
    def couples(self) -> bool:
        """Whether L couples outputs, so that they have one variance of the noise."""
        return self.basis is not None

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers of rows among those of the targets: the same."""
        return rows

    def to_outputs(self, rows: np.ndarray) -> np.ndarray:
        """Return X V' / D for X (n, n_outputs)."""
        return rows if self.basis is None else rows @ self.basis.T / self.scales

    def of_columns(self, rows: np.ndarray) -> np.ndarray:
        """Return X / D V: derivatives by columns, from those by outputs."""
        return rows if self.basis is None else (rows / self.scales) @ self.basis

    def gradients(
        self, found: Derivative, *, of_kernel: bool
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the derivatives by K, or an array without columns, and by D L D.

        The latter, divided by alpha, is None if L couples no outputs.
        """
        n, basis = len(self.targets), self.basis
        left = summed(self.blocks, found.parts, n) if of_kernel else np.empty((n, 0))
        return left, None if basis is None else basis @ found.inside @ basis.T

    def of_targets(self, found: Derivative) -> np.ndarray:
        """Return the derivative by Y D (n_samples, n_outputs)."""
        assert self.basis is not None
        assert found.of_targets is not None
        return found.of_targets @ self.basis.T


@dataclass(frozen=True)
class Derivative:
    """The derivative of a criterion in these coordinates.

    Attributes
    ----------
    value : float
    parts : list of Part
        For each block G, up to the factor l / alpha, not formed.
    inside : array (n_outputs,) or (n_outputs, n_outputs)
        The derivative with respect to V'LV / alpha: its diagonal is enough where L
        couples no outputs.
    of_targets : array (n_samples, n_outputs) or None
        The one with respect to Y D V, where L couples outputs.
    of_residuals : array (n_outputs,) or float
        The one along a common factor of the residuals of each output in the units of
        Y, where these are judged.
    """

    value: float
    parts: Sequence[Part]
    inside: np.ndarray
    of_targets: np.ndarray | None = None
    of_residuals: np.ndarray | float = 0.0


def summed(blocks: Sequence[Inverse], parts: Sequence[Part], n: int) -> np.ndarray:
    """Return the sum of the parts on the rows of each block (n, n)."""
    formed, rotated = [], []
    for whole, part in in_wholes(blocks, parts):
        if isinstance(whole, RotatedInverse):
            rotated.append((whole, part))
        else:
            formed.append((whole, part))
    matrices = ((whole.rows, whole.formed(part)) for whole, part in formed)
    if not rotated:
        return _placed(matrices, n)
    shared = rotated[0][0].shared  # all of them are of one basis
    return _placed([(shared.rows, shared.sum(rotated)), *matrices], n)


def _placed(matrices: Iterable[tuple[np.ndarray, np.ndarray]], n: int) -> np.ndarray:
    """Return the sum of matrices on some rows, in the first one if it has all rows."""
    total = None
    for rows, part in matrices:
        if len(rows) < n:
            total = np.zeros((n, n)) if total is None else total
            total[np.ix_(rows, rows)] += part
        elif total is None:
            total = part
        else:
            total += part
    assert total is not None
    return total


def patterns(weights: np.ndarray, n_outputs: int) -> np.ndarray:
    """Return a number for each output, the same for those with the same weights."""
    if weights.shape[1] == 1:
        return np.zeros(n_outputs, dtype=int)
    return np.unique(weights, axis=1, return_inverse=True)[1].ravel()


def without_rounding(ratios: np.ndarray) -> np.ndarray:
    """Return ratios of which those that are the same up to rounding are equal."""
    order = np.argsort(ratios)
    steps = np.diff(ratios[order]) > _SAME * ratios.max()
    level = np.empty(len(ratios), dtype=int)
    level[order] = np.concatenate([[0], np.cumsum(steps)])
    means: np.ndarray = np.bincount(level, ratios) / np.bincount(level)
    return means[level]


def alike_columns(
    ratios: np.ndarray, pattern: np.ndarray, columns: np.ndarray
) -> list[np.ndarray]:
    """Return the columns with the same ratio and weights, in order of the ratios."""
    keys = np.unique(ratios, return_inverse=True)[1].ravel() * (pattern.max() + 1)
    keys += pattern
    return [columns[keys[columns] == key] for key in np.unique(keys[columns])]


def unjoined(observed: np.ndarray) -> list[np.ndarray] | None:
    """Return groups of rows (n_samples,), no output being observed in two groups.

    Small ones are put together. None if there is only one.

    Parameters
    ----------
    observed : array of bool (n_samples, n_outputs)
    """
    n = len(observed)
    corner = scipy.sparse.csr_array(observed)
    joined = scipy.sparse.block_array([[None, corner], [corner.T, None]])
    labels = connected_components(joined, directed=False)[1][:n]
    order = np.argsort(labels, kind="stable")
    ends = np.flatnonzero(np.diff(labels[order])) + 1
    groups: list[np.ndarray] = [order[:0]]
    for rows in np.split(order, ends):
        if len(groups[-1]) < _TOGETHER:
            groups[-1] = np.concatenate([groups[-1], rows])
        else:
            groups.append(rows)
    return [np.sort(rows) for rows in groups] if len(groups) > 1 else None
