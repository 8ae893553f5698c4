"""Cross-validated score along the regularization path.

A cross-validated estimator tries every ``alpha`` of a grid, for each structure of the
output kernel, on each fold. The picture has a curve for each structure: the mean over
folds, with a band of one standard error. It shows whether the best ``alpha`` is inside
the grid, and whether the structures differ by more than chance.

Scores may be missing (NaN: a fit that failed, or that a search left out). An alpha with
scores of fewer folds than others of its structure is left out of the curve, as a mean
over some folds cannot be compared with one over all. If a structure has scores of some
folds only, its name says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from okl.plotting._drawing import axes_or_new
from okl.plotting._fitted import fitted_model
from okl.plotting._output_names import shorten
from okl.plotting._path_scores import (
    chosen_point,
    folds_present,
    mean_and_standard_error,
    on_most_folds,
    structure_labels_of,
)


class RegularizationPathDisplay:
    """Mean score against the strength of regularization, a curve per structure.

    Parameters
    ----------
    alphas : array-like of shape (n_structures, n_alphas)
        Regularization strengths, positive.
    scores : array-like of shape (n_structures, n_alphas, n_folds)
        The score of each fit on the fold that it left out; higher is better.
    structure_labels : sequence of length n_structures, default=None
        Names of the curves, ``"structure 0"`` and so on if None.
    chosen : tuple of two ints, default=None
        The point to mark: its structure, and its position in the grid; none if None.
    score_name : str, default="score"
        The label of the vertical axis.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        The curve of each structure.
    bands_ : list of matplotlib FillBetweenPolyCollection
        One standard error around each curve.
    chosen_ : matplotlib Line2D or None
        The mark of the chosen point.
    ax_, figure_ : matplotlib Axes and Figure
        The axes and figure of the curves.
    """

    def __init__(
        self,
        alphas: Any,
        scores: Any,
        *,
        structure_labels: Sequence[Any] | None = None,
        chosen: tuple[int, int] | None = None,
        score_name: str = "score",
    ) -> None:
        self.alphas = np.asarray(alphas, dtype=float)
        self.scores = np.asarray(scores, dtype=float)
        if self.alphas.ndim != 2 or self.scores.shape[:-1] != self.alphas.shape:
            raise ValueError(
                f"alphas has shape {self.alphas.shape} and scores {self.scores.shape}; "
                "expected (n_structures, n_alphas) and (n_structures, n_alphas, "
                "n_folds): for one structure, pass [alphas] and [scores]."
            )
        if (self.alphas <= 0).any():
            raise ValueError(
                f"alphas goes down to {self.alphas.min()}; expected positive numbers, "
                "because the axis is logarithmic: leave out the others."
            )
        if structure_labels is None:
            structure_labels = [f"structure {i}" for i in range(len(self.alphas))]
        if len(structure_labels) != len(self.alphas):
            raise ValueError(
                f"structure_labels has {len(structure_labels)} names but alphas has "
                f"{len(self.alphas)} structures; give one name per structure."
            )
        # The repr of a structure may have several lines.
        self.structure_labels = [" ".join(str(s).split()) for s in structure_labels]
        self.chosen = chosen
        self.score_name = score_name

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the path that a cross-validated estimator searched.

        Parameters
        ----------
        estimator : estimator
            A fitted `OutputKernelRegressorCV` or `OutputKernelClassifierCV`; or a
            pipeline or search with one inside.
        ax : matplotlib Axes, default=None
            Axes to draw on, those of a new figure if None.

        Returns
        -------
        RegularizationPathDisplay
            The display, drawn.
        """
        advice = "fit a CV estimator first."
        estimator = fitted_model(estimator, ["alphas_", "scores_"], advice)
        scoring = estimator.scoring
        display = cls(
            estimator.alphas_,
            estimator.scores_,
            structure_labels=structure_labels_of(estimator),
            chosen=chosen_point(estimator),
            score_name=scoring if isinstance(scoring, str) else "score",
        )
        return display.plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on, those of a new figure if None.

        Returns
        -------
        RegularizationPathDisplay
            This display.
        """
        ax = axes_or_new(ax, "RegularizationPathDisplay.plot")
        means, errors = mean_and_standard_error(on_most_folds(self.scores))
        self.lines_, self.bands_ = [], []
        for label, alphas, mean, error in zip(
            self._curve_labels(), self.alphas, means, errors, strict=True
        ):
            order = np.argsort(alphas)
            order = order[np.isfinite(alphas + mean)[order]]
            x, y, width = alphas[order], mean[order], error[order]
            (line,) = ax.plot(x, y, marker=".", label=label)
            band = ax.fill_between(
                x, y - width, y + width, color=line.get_color(), alpha=0.2, lw=0
            )
            self.lines_.append(line)
            self.bands_.append(band)
        self.chosen_ = None
        if self.chosen is not None:
            alpha = self.alphas[self.chosen]
            score = mean_and_standard_error(self.scores[self.chosen])[0]
            (self.chosen_,) = ax.plot(
                [alpha],
                [score],
                marker="*",
                markersize=14,
                color=self.lines_[self.chosen[0]].get_color(),
                markeredgecolor="black",
                linestyle="none",
                label=f"chosen: alpha = {alpha:.3g}",
            )
        ax.set(xscale="log", xlabel="alpha", ylabel=f"mean {self.score_name}")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _curve_labels(self) -> list[str]:
        """Return the names of structures, with the number of folds if it is reduced."""
        n_folds = self.scores.shape[-1]
        most = folds_present(self.scores).max(axis=1, initial=0)
        return [
            shorten(label, 60)
            + (f" ({count} of {n_folds} folds)" if 0 < count < n_folds else "")
            for label, count in zip(self.structure_labels, most, strict=True)
        ]
