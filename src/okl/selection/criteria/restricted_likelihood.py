r"""Restricted marginal likelihood (REML): how probable the targets are under the model.

Squared loss, L and alpha are a Gaussian process: Y has the covariance sigma^2 (L (x) K
/ alpha + W^-1) about the intercept, so that a row has the less noise the larger its
weight. (Unlike copies of a row, which would say that there is no noise at all.) The
intercept is integrated out under a flat prior, and sigma^2 is set to its best value:
one for each output where L couples none, one for all outputs where it does. Minus the
logarithm is then, up to constants that are the same for all L,

.. math:: J = \tfrac12 \sum_j \left[(n_j - 1) \log \frac{y_j' c_j}{n_j - 1}
              + \log |A_j| + \log 1' A_j^{-1} 1\right],

Without an intercept n_j stands for n_j - 1, and there is no last term.
"""

from __future__ import annotations

import numpy as np

from okl.numerics.arrays import symmetric
from okl.selection.criteria.closed_form import ClosedFormCriterion
from okl.selection.criteria.decoupled import Decoupled, Derivative
from okl.selection.criteria.joined import Joined
from okl.selection.criteria.projected_inverse import Part


class RestrictedLikelihood(ClosedFormCriterion):
    """Minus the logarithm of the restricted marginal likelihood."""

    leaves_out_rows = False

    def _differentiate(self, model: Decoupled | Joined) -> Derivative:
        coupled, targets = model.couples, model.targets
        m = targets.shape[1]
        norms, freedom = np.zeros(m), np.zeros(m)
        value = 0.0
        for block in model.blocks:
            own = targets[np.ix_(block.rows, block.outputs)]
            norms[block.outputs] = np.einsum("ij,ij->j", own, block.dual)
            freedom[block.outputs] = block.freedom
            value += len(block.outputs) * block.log_determinant / 2
        if coupled:
            norms, freedom = np.full(m, norms.sum()), np.full(m, freedom.sum())
            norms += freedom * self.floors.mean()
        else:
            norms += freedom * self.floors
        scored = np.concatenate([block.outputs for block in model.blocks])
        scored = scored[:1] if coupled else scored
        noise = norms[scored] / freedom[scored]
        value += float(np.sum(freedom[scored] * np.log(noise))) / 2
        # norms of zero are those of constant outputs, which no block has
        precisions = freedom / np.where(norms > 0, norms, 1.0)
        parts, inside = [], np.zeros(m)
        images = np.zeros_like(targets)
        for block in model.blocks:
            scaled = block.dual * precisions[block.outputs]
            parts.append(Part(len(block.outputs) / 2, None, scaled / 2, block.dual))
            image = block.kernel_times(block.dual)
            images[np.ix_(block.rows, block.outputs)] = image
            fitted = np.einsum("ij,ij->j", scaled, image)
            inside[block.outputs] = (block.kernel_trace - fitted) / 2
        if not coupled:
            return Derivative(value, parts, inside)
        # targets that are multiplied by D have another density
        own = np.broadcast_to((self._weights > 0).sum(axis=0), self.totals.shape)
        own = np.maximum(own - float(self.fit_intercept), 0.0)
        value -= float(own @ np.log(model.scales))
        dual = np.zeros_like(targets)
        for block in model.blocks:
            dual[np.ix_(block.rows, block.outputs)] = block.dual
        full = -precisions[0] / 2 * (dual.T @ images)
        np.fill_diagonal(full, inside)
        return Derivative(value, parts, symmetric(full), precisions * dual, own)
