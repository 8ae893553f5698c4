"""How much each column matters to a model whose kernel was learned.

A bar is the share of a column in the changes of predictions: the mean squared
derivative by the column, times its variance. Two columns with the same information
share the relevance that one of them alone would have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from okl.numerics.validation import check_count
from okl.plotting._drawing import axes_or_new
from okl.plotting._fitted import fitted_model
from okl.plotting._output_names import shorten_apart

# Height of a bar in inches, and of everything else.
_BAR, _AROUND = 0.25, 0.9


class FeatureRelevanceDisplay:
    """The relevances of the columns as bars, the largest on top.

    Parameters
    ----------
    relevances : array-like of shape (n_features,)
        Shares of the columns, >= 0.
    feature_names : sequence of length n_features, default=None
        Names of the columns, their numbers if None.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        The bars, from the bottom up.
    ax_, figure_ : matplotlib Axes and Figure
        The axes and figure of the bars.

    Examples
    --------
    >>> from okl.plotting import FeatureRelevanceDisplay
    >>> display = FeatureRelevanceDisplay([0.1, 0.9], feature_names=["age", "height"])
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(
        self, relevances: Any, *, feature_names: Sequence[Any] | None = None
    ) -> None:
        self.relevances = np.asarray(relevances, dtype=float)
        if self.relevances.ndim != 1 or not np.all(self.relevances >= 0):
            raise ValueError(
                "relevances must be one number >= 0 for each column, got "
                f"{relevances!r}."
            )
        n_features = len(self.relevances)
        if feature_names is None:
            feature_names = range(n_features)
        if len(feature_names) != n_features:
            raise ValueError(
                f"feature_names has {len(feature_names)} names for {n_features} "
                "columns; give one name per column."
            )
        self.feature_names = [str(name) for name in feature_names]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: Sequence[Any] | None = None,
        ax: Any = None,
        **plot_params: Any,
    ) -> Self:
        """Draw the relevances of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted `OutputKernelRegressorCV` or `OutputKernelClassifierCV` whose
            kernel was learned (``kernel="auto"``), with ``feature_relevances_``; or a
            pipeline that ends in one, or a search over one.
        feature_names : sequence of length n_features, default=None
            Names of the columns. If None, those of the data frame that the estimator
            was fitted to, else numbers.
        ax : matplotlib Axes, default=None
            Axes to draw on, those of a new figure if None.
        **plot_params : dict
            The other parameters of :meth:`plot`.

        Returns
        -------
        FeatureRelevanceDisplay
            The display, drawn.
        """
        advice = (
            "they are there if kernel='auto' learned a kernel, which needs dense X "
            "with at least five rows, and columns that vary."
        )
        estimator = fitted_model(estimator, "feature_relevances_", advice)
        if feature_names is None:
            feature_names = getattr(estimator, "feature_names_in_", None)
        display = cls(estimator.feature_relevances_, feature_names=feature_names)
        return display.plot(ax, **plot_params)

    def plot(self, ax: Any = None, *, n_features: int = 20) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on, those of a new figure if None.
        n_features : int, default=20
            The most columns to show, the most relevant ones.

        Returns
        -------
        FeatureRelevanceDisplay
            This display.
        """
        shown = min(check_count(n_features, "n_features"), len(self.relevances))
        # the sort is stable, and the largest bar is drawn last, on top
        order = np.argsort(-self.relevances, kind="stable")[:shown][::-1]
        ax = axes_or_new(
            ax,
            "FeatureRelevanceDisplay.plot",
            figsize=(6.0, _AROUND + _BAR * shown),
        )
        self.bars_ = ax.barh(np.arange(shown), self.relevances[order])
        # names are data, not markup
        names = shorten_apart([self.feature_names[number] for number in order])
        ax.set_yticks(np.arange(shown), names, parse_math=False)
        ax.set(xlabel="share of the change of predictions", xlim=(0.0, None))
        self.ax_, self.figure_ = ax, ax.figure
        return self
