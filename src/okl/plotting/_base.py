"""Base of the displays of the output kernel: their data, and its source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from okl.plotting._fitted import fitted_model
from okl.plotting._output_names import check_output_names, output_names_of
from okl.plotting._similarity import check_output_kernel


class OutputDisplay(ABC):
    """A picture of the output kernel.

    Parameters
    ----------
    output_kernel : array-like of shape (n_outputs, n_outputs)
        The output kernel L.
    output_names : sequence of length n_outputs, default=None
        Names of the outputs, their numbers if None.
    """

    def __init__(
        self, output_kernel: Any, *, output_names: Sequence[Any] | None = None
    ) -> None:
        self.output_kernel = check_output_kernel(output_kernel)
        self.output_names = check_output_names(output_names, len(self.output_kernel))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        output_names: Sequence[Any] | None = None,
        ax: Any = None,
        **plot_params: Any,
    ) -> Self:
        """Draw the output kernel of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator, with ``output_kernel_``; or a pipeline that ends in
            one, a search (`GridSearchCV`) or a `TransformedTargetRegressor` over one.
            For a regressor, which has ``y_scale_``, the output kernel of normalised
            outputs is drawn: covariances of outputs in different units cannot be
            compared.
        output_names : sequence of length n_outputs, default=None
            Names of the outputs. If None, those of the estimator: the columns of the
            targets, else the classes if there is one output per class, else numbers.
        ax : matplotlib Axes, default=None
            Axes to draw on, those of a new figure if None.
        **plot_params : dict
            The other parameters of ``plot``.

        Returns
        -------
        display
            The display, drawn.
        """
        estimator = fitted_model(estimator, "output_kernel_")
        L = of_normalised_outputs(estimator.output_kernel_, estimator)
        if output_names is None:
            output_names = output_names_of(estimator, len(L))
        return cls(L, output_names=output_names).plot(ax, **plot_params)

    @abstractmethod
    def plot(self, ax: Any = None) -> Self:
        """Draw on axes, and return the display."""


def of_normalised_outputs(L: np.ndarray, estimator: Any) -> np.ndarray:
    """Return an output kernel as that of normalised outputs, if these have scales.

    Entries that are zero up to rounding can then be recognised by the largest entry.
    """
    # y_scale_ of an extension is that of the new outputs only
    own = getattr(estimator, "y_scale_", None)
    scale = getattr(estimator, "_scale_of_all", own)
    return L if scale is None else L / np.outer(scale, scale)
