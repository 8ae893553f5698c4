"""One alpha in the place of one for each output, where L relates them.

An alpha for each output is another unit of it (`okl.structures.scaled`): targets are
multiplied by D, alpha_j = alpha / D_jj^2, and D L D relates them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from okl.output_kernels import OutputKernel


class OutputUnits(NamedTuple):
    """L and alpha, in units of outputs in which there is one alpha.

    Attributes
    ----------
    ratios : array (n_outputs,)
        The diagonal of L / alpha; of D L D / alpha where outputs are related.
    relation : array (n_outputs, n_outputs) or None
        D L D / alpha; None where no outputs are related.
    scales : array (n_outputs,)
        The diagonal of D.
    overall : float
        alpha.
    """

    ratios: np.ndarray
    relation: np.ndarray | None
    scales: np.ndarray
    overall: float

    @classmethod
    def of(
        cls, known: OutputKernel, alpha: np.ndarray, *, couples: bool
    ) -> OutputUnits:
        """Return the units for one alpha, or one for each output."""
        m = known.n_outputs
        if not couples:
            return cls(known.diagonal() / alpha, None, np.ones(m), 1.0)
        overall = float(np.exp(np.mean(np.log(alpha))))
        scales = np.sqrt(overall / np.broadcast_to(alpha, m))
        relation = scales[:, None] * known.matrix() * scales / overall
        return cls(np.diagonal(relation), relation, scales, overall)

    def of_output_kernel(self, of_relation: np.ndarray) -> np.ndarray:
        """Return H with dJ = tr(H dL), from the derivative by D L D / alpha."""
        return self.scales[:, None] * of_relation * self.scales / self.overall

    def of_log_alpha(
        self, of_relation: np.ndarray, of_scales: np.ndarray
    ) -> np.ndarray:
        """Return the derivative by each log alpha, given those by log D too."""
        assert self.relation is not None
        found = -np.sum(of_relation * self.relation, axis=0)
        return found + (of_scales.mean() - of_scales) / 2
