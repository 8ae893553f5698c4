"""An alpha for each output, as one alpha for all and weights of the losses of outputs.

The loss of output j is divided by alpha_j. With alpha the geometric mean of the alpha_j
this is a fit at alpha with the loss of output j multiplied by w_j = alpha / alpha_j;
where all are equal it is the fit at that number, without weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from okl.losses import Loss
from okl.problems.observed import Observed

# Losses that are no sum over outputs have neither capability.
_SUMS = frozenset({"regression", "multilabel"})


@dataclass(frozen=True)
class OutputAlphas:
    """The alpha of a fit, and the weights of the losses of outputs.

    Attributes
    ----------
    overall : float
        The geometric mean of the alphas of outputs.
    weights : array (n_outputs,) or None
        ``overall`` divided by each alpha; None where all are equal.
    """

    overall: float
    weights: np.ndarray | None = None

    @classmethod
    def of(cls, alpha: Any, observed: Observed) -> OutputAlphas:
        """Take the alpha given to `fit`, of which the length is still to be checked.

        Raises
        ------
        ValueError
            If there is not one for each output, or the loss is no sum over outputs.
        """
        if isinstance(alpha, Real) or np.ndim(alpha) == 0:
            return cls(float(alpha))
        alphas = np.asarray(alpha, dtype=np.float64)
        check_sum_over_outputs(observed.loss)
        if len(alphas) != observed.n_outputs:
            raise ValueError(
                f"alpha has {len(alphas)} entries, and there are {observed.n_outputs} "
                "outputs: give one number for all of them, or one for each."
            )
        if np.all(alphas == alphas[0]):
            return cls(float(alphas[0]))
        return cls.of_each(alphas)

    @classmethod
    def of_each(cls, alphas: np.ndarray) -> OutputAlphas:
        """Take the alphas (n_outputs,), with weights even where they are equal."""
        overall = float(np.exp(np.mean(np.log(alphas))))
        return cls(overall, overall / alphas)

    def weighted(self, observed: Observed) -> Observed:
        """Return targets whose weights are multiplied by those of their outputs."""
        if self.weights is None:
            return observed
        weights, tasks = observed.weights, observed.tasks
        if weights is None:
            weights = np.ones((len(observed.targets), 1))
        own = self.weights if tasks is None else tasks.spread(self.weights)
        return replace(observed, weights=weights * own)


def check_sum_over_outputs(loss: Loss) -> None:
    """Raise ValueError for a loss whose outputs have no loss of their own."""
    if not _SUMS & loss.capabilities:
        raise ValueError(
            f"The loss {loss.name or loss!r} couples all outputs, so that they cannot "
            "have an alpha each. Use one alpha for all of them, or a loss that is a "
            "sum over outputs, such as 'logistic', 'hinge' or 'squared'."
        )
