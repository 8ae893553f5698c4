"""Heat map of the output kernel, with related outputs side by side.

The order of the outputs is arbitrary, so a heat map in that order hides its groups.
Hierarchical clustering (average linkage of the distances 1 - correlation, leaves
ordered so that neighbours are as close as possible [1]_) brings related outputs
together, so that groups appear as blocks on the diagonal. The order depends only on the
correlation: heat maps of correlation and covariance can be compared.

Relations are often much weaker than the entries on the diagonal. The colours therefore
span the entries off the diagonal. The ones on the diagonal of a correlation are grey;
variances on the diagonal of a covariance that are larger have the last colour.
Relations that are given as not stable (`okl.inspection`) are grey as well; the diagonal
is dark then.

References
----------
.. [1] Bar-Joseph, Gifford and Jaakkola, "Fast optimal leaf ordering for hierarchical
   clustering", Bioinformatics, 2001.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from okl.plotting._base import OutputDisplay, of_normalised_outputs
from okl.plotting._drawing import DIVERGING, axes_or_new
from okl.plotting._fitted import fitted_model
from okl.plotting._heat_map import (
    closeness_order,
    colour_limit,
    shown_relations,
    side_of,
)
from okl.plotting._output_names import output_names_of, shorten_apart
from okl.plotting._similarity import similarity

# Greys of entries without a colour: unstable relations, and the diagonal.
NEUTRAL, DIAGONAL = "0.8", "0.3"
SMALLEST_FONT, LARGEST_FONT = 5.0, 10.0


class OutputKernelDisplay(OutputDisplay):
    """Heat map of the matrix that relates the outputs.

    Parameters
    ----------
    output_kernel : array-like of shape (n_outputs, n_outputs)
        The output kernel L.
    output_names : sequence of length n_outputs, default=None
        Names of the outputs, their numbers if None.

    Attributes
    ----------
    order_ : ndarray of shape (n_outputs,)
        The output shown in each row.
    im_ : matplotlib AxesImage
        The heat map. Its colours end at the largest entry off the diagonal, or at a
        tenth of the largest on it if relations are weaker; use ``im_.set_clim(-1, 1)``
        to compare two correlations.
    colorbar_ : matplotlib Colorbar or None
        The scale of colours.
    ax_, figure_ : matplotlib Axes and Figure
        The axes and figure of the heat map.
    panels_ : list of OutputKernelDisplay
        After ``from_estimator``, the displays of all kernels; with one kernel, only
        this one.

    Examples
    --------
    >>> from okl.plotting import OutputKernelDisplay
    >>> display = OutputKernelDisplay([[1, 0.8], [0.8, 1]], output_names=["cat", "dog"])
    >>> display.plot()  # doctest: +SKIP
    """

    panels_: list[Any]

    def plot(
        self,
        ax: Any = None,
        *,
        kind: str = "correlation",
        reorder: bool = True,
        cmap: Any = None,
        colorbar: bool = True,
        stable: Any = None,
    ) -> Self:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on, those of a new figure if None.
        kind : {"correlation", "covariance"}, default="correlation"
            Whether entries are divided by the standard deviations of their outputs.
            Outputs of zero variance have correlation zero, even with themselves.
        reorder : bool, default=True
            Whether to put related outputs side by side, rather than keep their order.
        cmap : str or matplotlib Colormap, default=None
            Diverging colours, whose middle stands for zero; ``"RdBu_r"`` if None.
        colorbar : bool, default=True
            Draw the scale of colours.
        stable : array-like of bool of shape (n_outputs, n_outputs), default=None
            The relations to show, such as ``stable`` of
            `okl.inspection.output_kernel_stability`; the others are grey. Colours and
            order are the same as for all relations. All are shown if None.

        Returns
        -------
        OutputKernelDisplay
            This display.
        """
        n_outputs = len(self.output_kernel)
        order = closeness_order(self.output_kernel) if reorder else np.arange(n_outputs)
        side = side_of(n_outputs)
        shown = shown_relations(stable, n_outputs)
        ax = axes_or_new(ax, "OutputKernelDisplay.plot", figsize=(1.2 * side, side))
        return self._draw(
            ax, order, kind=kind, cmap=cmap, colorbar=colorbar, shown=shown
        )

    def _draw(
        self,
        ax: Any,
        order: np.ndarray,
        *,
        kind: str,
        cmap: Any,
        colorbar: bool,
        shown: np.ndarray | None,
    ) -> Self:
        """Draw on axes, with the outputs in the given order."""
        values = similarity(self.output_kernel, kind)
        n_outputs = len(values)
        limit = colour_limit(values)
        # the correlation of an output with itself, one, is no relation
        grey = np.eye(n_outputs, dtype=bool) & (kind == "correlation")
        if shown is not None:
            grey |= ~shown
        coloured = np.ma.array(values, mask=grey)
        self.im_ = ax.imshow(
            coloured[np.ix_(order, order)],
            cmap=DIVERGING if cmap is None else cmap,
            vmin=-limit,
            vmax=limit,
        )
        ax.set_facecolor(NEUTRAL)  # visible where nothing is drawn
        if shown is not None and kind == "correlation":
            self._draw_diagonal(ax)
        self.order_, self.ax_, self.figure_ = order, ax, ax.figure
        self.colorbar_ = None
        if colorbar:
            extend = "max" if coloured.filled(0.0).max() > limit else "neither"
            self.colorbar_ = ax.figure.colorbar(self.im_, ax=ax, extend=extend)
            label = kind
            if shown is not None:
                diagonal = ", dark: itself" if kind == "correlation" else ""
                label = f"{kind} (grey: sign not stable{diagonal})"
            self.colorbar_.set_label(label)
        self._label_rows_and_columns()
        return self

    def _draw_diagonal(self, ax: Any) -> None:
        """Draw the diagonal in another grey than unstable relations."""
        apart = ~np.eye(len(self.output_kernel), dtype=bool)
        shade = np.ma.array(np.full(apart.shape, float(DIAGONAL)), mask=apart)
        ax.imshow(shade, cmap="gray", vmin=0.0, vmax=1.0)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        output_names: Sequence[Any] | None = None,
        ax: Any = None,
        **plot_params: Any,
    ) -> Self:
        """Draw the output kernel of a fitted estimator, or that of each of its kernels.

        With several kernels, ``kernel=[k1, k2]``, there is a panel for each, side by
        side, all with the outputs in the order for the sum of output kernels. The title
        of the panel of a `Row` says that it is the covariance of what the inputs do not
        explain.

        Parameters
        ----------
        estimator, output_names
            As in `OutputGraphDisplay.from_estimator`.
        ax : matplotlib Axes, default=None
            Axes to draw on, those of a new figure if None; with several kernels, a
            sequence with one for each.
        **plot_params : dict
            The other parameters of ``plot``; with several kernels, ``stable`` is a
            sequence with one for each.

        Returns
        -------
        OutputKernelDisplay
            The display, drawn; with several kernels that of the first, whose
            ``panels_`` are those of all.
        """
        model = fitted_model(estimator, "output_kernel_")
        kernels = getattr(model, "output_kernels_", [])
        if len(kernels) > 1:
            if output_names is None:
                output_names = output_names_of(model, len(kernels[0]))
            each = [of_normalised_outputs(L, model) for L in kernels]
            panels = [cls(L, output_names=output_names) for L in each]
            _draw_panels(panels, _titles(model), ax, **plot_params)
            return panels[0]
        display = super().from_estimator(
            estimator, output_names=output_names, ax=ax, **plot_params
        )
        display.panels_ = [display]
        return display

    def _label_rows_and_columns(self) -> None:
        """Write as many names as are readable: all of them, or one in every few."""
        names = shorten_apart([self.output_names[output] for output in self.order_])
        box = self.ax_.get_window_extent()
        inches = min(box.width, box.height) / self.figure_.dpi
        points_per_row = 72 * inches / len(names) / 1.2  # 1.2: space between lines
        step = int(np.ceil(SMALLEST_FONT / points_per_row))
        ticks = np.arange(0, len(names), step)
        style = {
            "fontsize": np.clip(step * points_per_row, SMALLEST_FONT, LARGEST_FONT),
            "parse_math": False,
        }
        shown = [names[tick] for tick in ticks]
        upright = max(map(len, shown)) <= 2 and step == 1
        self.ax_.set_xticks(ticks, shown, rotation=0 if upright else 90, **style)
        self.ax_.set_yticks(ticks, shown, **style)


def _titles(model: Any) -> list[str]:
    """Return the title of the output kernel of each kernel."""
    titles = [type(kernel).__name__ for kernel in model.kernel_]
    if hasattr(model, "residual_kernel_"):
        titles[-1] = "not explained by the inputs"
    return titles


def _draw_panels(
    panels: list[Any],
    titles: list[str],
    ax: Any,
    *,
    kind: str = "correlation",
    reorder: bool = True,
    cmap: Any = None,
    colorbar: bool = True,
    stable: Any = None,
) -> None:
    """Draw displays side by side, with the outputs in the same order."""
    total = np.sum([panel.output_kernel for panel in panels], axis=0)
    order = closeness_order(total) if reorder else np.arange(len(total))
    if ax is None:
        side = side_of(len(total))
        size = 1.2 * side * len(panels), side
        figure = axes_or_new(None, "OutputKernelDisplay", figsize=size).figure
        figure.clear()
        ax = figure.subplots(1, len(panels))
    if np.ndim(ax) != 1 or len(ax) != len(panels):
        raise ValueError(
            f"ax must be a sequence of {len(panels)} axes, one for each kernel of the "
            f"estimator; got {ax!r}."
        )
    each = [None] * len(panels) if stable is None else list(stable)
    if len(each) != len(panels):
        raise ValueError(
            f"stable must be a sequence of {len(panels)} arrays, one for each kernel "
            f"of the estimator; got {len(each)}."
        )
    shown = [shown_relations(one, len(total)) for one in each]
    for panel, title, axes, own in zip(panels, titles, ax, shown, strict=True):
        panel._draw(axes, order, kind=kind, cmap=cmap, colorbar=colorbar, shown=own)
        axes.set_title(title)
        panel.panels_ = panels
