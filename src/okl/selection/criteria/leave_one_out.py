r"""The common part of the criteria that leave out one row at a time.

The residual of a row that is left out follows from the fit to all rows, r = C / p with
p the diagonal of P; 1 / p is the variance of its prediction, with its noise. A row is
left out whole, whatever its weight. `okl.selection.leave_one_out` predicts the same.

With dC = -P dK C and dp = -diag(P dK P), up to the factor l / alpha, a criterion with
dJ = sum_ij e_ij dC_ij - t_ij dp_ij has G = P diag(sum_j t_j) P - sym(P e C').
"""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from okl.numerics.arrays import symmetric
from okl.operators import Operator
from okl.selection.criteria.closed_form import ClosedFormCriterion
from okl.selection.criteria.decoupled import Decoupled, Derivative
from okl.selection.criteria.joined import Joined
from okl.selection.criteria.projected_inverse import Part
from okl.structures import Structure


class LeftOut(NamedTuple):
    """Rows left out, as columns of Y V; zero where there is no weight.

    Attributes
    ----------
    residuals : array (n_samples, n_outputs)
        r.
    precisions : array (n_samples, n_outputs)
        p; one where there is no weight.
    """

    residuals: np.ndarray
    precisions: np.ndarray


class Judgement(NamedTuple):
    """A criterion and its derivative in what it is a function of.

    Attributes
    ----------
    value : float
    of_dual : array (n_samples, n_outputs)
        e.
    share : float
        t = share e r + of_variance.
    of_variance : array (n_samples, n_outputs)
    of_residuals : array (n_outputs,) or float
        Along a common factor of the residuals of each output, not of each column.
    """

    value: float
    of_dual: np.ndarray
    share: float
    of_variance: np.ndarray
    of_residuals: np.ndarray | float = 0.0


class LeaveOneOut(ClosedFormCriterion):
    """Base of the criteria that leave out one row at a time."""

    @abstractmethod
    def _judge(self, model: Decoupled | Joined, left_out: LeftOut) -> Judgement:
        """Judge the residuals of rows left out."""

    def residuals(
        self, operator: Operator, alpha: float, structure: Structure
    ) -> np.ndarray:
        """Return those of rows left out (n_samples, n_outputs), 0 without a weight."""
        _, units, joins = self._relation(operator, np.asarray(alpha), structure)
        model = self._model(operator, units, joins=joins, of_kernel=False)
        return model.to_outputs(self._leave_out(model).residuals)

    def _differentiate(self, model: Decoupled | Joined) -> Derivative:
        left_out = self._leave_out(model)
        judged = self._judge(model, left_out)
        m, coupled = model.targets.shape[1], model.couples
        spread = judged.share * judged.of_dual
        variances = spread * left_out.residuals + judged.of_variance
        parts, inside = [], np.zeros((m, m) if coupled else m)
        moved, images = np.zeros_like(spread), np.zeros_like(spread)
        for block in model.blocks:
            at = np.ix_(block.rows, block.outputs)
            product = block.times(judged.of_dual[at])
            parts.append(Part(0.0, variances[at].sum(axis=1), product, block.dual))
            image = block.kernel_times(block.dual)
            own = block.kernel_diagonal @ variances[at]
            own -= np.einsum("ij,ij->j", product, image)
            if coupled:
                moved[at], images[at] = product, image
                inside[block.outputs, block.outputs] = own
            else:
                inside[block.outputs] = own
        if coupled:
            inside += _between(model, spread, left_out.residuals, moved, images)
        of_targets = moved if coupled else None
        return Derivative(judged.value, parts, inside, of_targets, judged.of_residuals)

    def _leave_out(self, model: Decoupled | Joined) -> LeftOut:
        residuals = np.zeros_like(model.targets)
        precisions = np.ones_like(residuals)
        for block in model.blocks:
            at = np.ix_(block.rows, block.outputs)
            precisions[at] = block.diagonal[:, None]
            residuals[at] = block.dual / precisions[at]
        return LeftOut(residuals, precisions)


def _between(
    model: Decoupled | Joined,
    spread: np.ndarray,
    residuals: np.ndarray,
    moved: np.ndarray,
    images: np.ndarray,
) -> np.ndarray:
    """Return the derivative in V'dLV beside its diagonal, symmetric.

    Columns j and k are coupled by P_j K P_k, whose diagonal is (p_j - p_k) /
    (l_k - l_j) times alpha; where eigenvalues are equal it is that of P K P.
    """
    m = residuals.shape[1]
    inside = -moved.T @ images
    for first in model.blocks:
        for second in model.blocks:
            if first is second:
                diagonal = first.kernel_diagonal
            else:
                diagonal = first.diagonal - second.diagonal
                diagonal = diagonal / (second.ratio - first.ratio)
            left = np.ix_(first.rows, first.outputs)
            right = np.ix_(second.rows, second.outputs)
            between = (spread[left] * diagonal[:, None]).T @ residuals[right]
            inside[np.ix_(first.outputs, second.outputs)] += between
    inside[np.arange(m), np.arange(m)] = 0.0
    return symmetric(inside)
