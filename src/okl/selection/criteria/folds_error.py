r"""The squared error of k folds, without a fit for any of them.

The residuals of the rows I of a fold, predicted from all other rows, follow from the
inverse of all rows: r_I = P_II^-1 C_I. With s_j the mean squared residual of output j

.. math:: J = \tfrac12 \sum_j n_j \log s_j,

and with E_I = P_II^-1 (w r / s)_I, Z_I = P_{:I} E_I and Q_I = P_{:I} r_I the derivative
is G = sym(sum_I Z_I (Q_I - C)'), up to the factor l / alpha.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from okl.numerics.arrays import Array, definite_solver
from okl.problems import Observed
from okl.selection.criteria.closed_form import ClosedFormCriterion
from okl.selection.criteria.decoupled import Decoupled, Derivative, Inverse
from okl.selection.criteria.fold_checks import Names, check_outputs
from okl.selection.criteria.joined import Joined
from okl.selection.criteria.projected_inverse import Part
from okl.selection.folds import Folds, refuse_empty


class FoldsError(ClosedFormCriterion):
    """Half the logarithm of the squared held-out error of each output.

    Parameters
    ----------
    observed : Observed
        Targets, normalised, with the squared loss.
    folds : sequence of pairs of arrays
        Row numbers to train on, which must be all others, and to test.
    fit_intercept : bool
    names : sequence, optional
        What messages call the outputs.
    """

    leaves_out_rows = False

    def __init__(
        self,
        observed: Observed,
        folds: Folds,
        *,
        fit_intercept: bool,
        names: Names = None,
    ) -> None:
        super().__init__(observed, fit_intercept=fit_intercept)
        refuse_empty(folds, observed)
        # a task without an intercept is predicted by others if it has no training rows
        needed = (self.totals > 0) & (fit_intercept or not self.of_tasks)
        self._tests = _check_folds(folds, self.weights, needed, names)
        self._rows = np.concatenate(self._tests)
        self.totals = self.weights[self._rows].sum(axis=0)

    def _differentiate(self, model: Decoupled | Joined) -> Derivative:
        tests = [model.numbers(test) for test in self._tests]
        held_out = [_HeldOut.of(block, tests) for block in model.blocks]
        m = model.targets.shape[1]
        residuals = np.zeros((sum(map(len, tests)), m))
        for one in held_out:
            one.put_residuals(residuals)
        residuals = model.to_outputs(residuals)
        weighted = self.weights[self._rows] * residuals
        sums = (weighted * residuals).sum(axis=0)
        squares = self.mean_squares(sums)
        value = float(np.sum(self.totals * np.log(squares))) / 2
        of_residuals = model.of_columns(weighted / squares)
        parts, lefts, images = [], [], []
        for one in held_out:
            left, right = one.pairs(of_residuals)
            n_rows = len(left)
            pair = -left.reshape(n_rows, -1), right.reshape(n_rows, -1)
            parts.append(Part(0.0, None, *pair))
            image = one.block.kernel_times(right.reshape(n_rows, -1))
            lefts.append(left)
            images.append(image.reshape(right.shape))
        if not model.couples:
            inside = np.zeros(m)
            for one, left, image in zip(held_out, lefts, images, strict=True):
                inside[one.block.outputs] = np.einsum("ifj,ifj->j", left, image)
            return Derivative(value, parts, inside)
        order = np.argsort(np.concatenate([one.block.outputs for one in held_out]))
        joined = np.concatenate(lefts, axis=2)[:, :, order]
        of_targets = np.zeros_like(model.targets)
        of_targets[held_out[0].block.rows] = joined.sum(axis=1)
        left = joined.reshape(-1, m)
        image = np.concatenate(images, axis=2)[:, :, order].reshape(-1, m)
        full = left.T @ image
        symmetric = (full + full.T) / 2
        return Derivative(value, parts, symmetric, of_targets, sums / squares)


class _HeldOut(NamedTuple):
    """The folds, as one block sees them.

    Attributes
    ----------
    block : ProjectedInverse or RotatedInverse
    rows : list of arrays of int
        For each fold its rows, as rows of the block.
    places : list of arrays of int
        Where these are among the rows of all folds, one fold below the other.
    solvers : list of callables
        What solves with P_II.
    residuals : list of arrays
        r_I.
    """

    block: Inverse
    rows: list[np.ndarray]
    places: list[np.ndarray]
    solvers: list[Callable[[Array], Array]]
    residuals: list[np.ndarray]

    @classmethod
    def of(cls, block: Inverse, tests: Sequence[np.ndarray]) -> _HeldOut:
        """Factorise P_II of each fold."""
        number = np.full(1 + max(block.rows.max(), *(t.max() for t in tests)), -1)
        number[block.rows] = np.arange(len(block.rows))
        found = cls(block, [], [], [], [])
        start = 0
        for test in tests:
            rows = number[test]
            kept = np.flatnonzero(rows >= 0)
            rows = rows[kept]
            solver = definite_solver(block.among(rows))
            found.rows.append(rows)
            found.places.append(start + kept)
            found.solvers.append(solver)
            found.residuals.append(solver(block.dual[rows]))
            start += len(test)
        return found

    def put_residuals(self, residuals: np.ndarray) -> None:
        """Write r of all folds into an array of the rows of all folds."""
        for places, own in zip(self.places, self.residuals, strict=True):
            residuals[np.ix_(places, self.block.outputs)] = own

    def pairs(self, of_residuals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Z and Q - C of all folds, (k, n_folds, n_outputs of the block)."""
        block = self.block
        shape = (len(block.rows), len(self.rows), len(block.outputs))
        left, right = np.empty(shape), np.empty(shape)
        for fold, rows in enumerate(self.rows):
            own = of_residuals[np.ix_(self.places[fold], block.outputs)]
            left[:, fold] = block.times_rows(rows, self.solvers[fold](own))
            right[:, fold] = block.times_rows(rows, self.residuals[fold]) - block.dual
        return left, right


def _check_folds(
    folds: Folds,
    weights: np.ndarray,
    needed: np.ndarray,
    names: Names,
) -> list[np.ndarray]:
    """Return the held-out rows of each fold; all others must train it.

    Each of the outputs ``needed`` must have a target among them.

    Raises
    ------
    ValueError
        If they do not, or a fold leaves an output without a target.
    """
    tests, n_samples = [], len(weights)
    counted = weights.max(axis=1) > 0
    for number, (train, test) in enumerate(folds):
        seen = np.zeros(n_samples, dtype=int)
        np.add.at(seen, train, 1)
        np.add.at(seen, test, 1)
        if np.any(seen[counted] != 1):
            raise ValueError(
                f"Fold {number} trains on {len(train)} of {n_samples} rows and tests "
                f"{len(test)}; the error without refits needs folds that train on all "
                "rows that they do not test. Use such folds, or 'folds_likelihood'."
            )
        unobserved = needed & (weights[train].sum(axis=0) == 0)
        check_outputs(number, np.flatnonzero(unobserved), names)
        tests.append(np.asarray(test))
    return tests
