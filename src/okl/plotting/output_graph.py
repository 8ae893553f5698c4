"""Graph of the strongest relations between outputs.

A large output kernel is hard to read as a matrix. Following Figure 3 of [1]_, its
largest off-diagonal entries are drawn as the edges of a graph, and outputs without an
edge are hidden: groups of related outputs then appear as connected components. A zero
of the output kernel is never an edge, so that a sparse one is drawn as it is.

References
----------
.. [1] Dinuzzo, Ong, Gehler and Pillonetto, "Learning output kernels with block
   coordinate descent", ICML 2011, Section 5.2.
"""

from __future__ import annotations

from itertools import compress
from typing import Any, Self

import numpy as np

from okl.plotting._base import OutputDisplay
from okl.plotting._drawing import NEGATIVE, POSITIVE, axes_or_new, require
from okl.plotting._heat_map import shown_relations
from okl.plotting._layout import layout_components
from okl.plotting._output_names import shorten_apart
from okl.plotting._relation_graph import relation_graph, strongest_pairs
from okl.plotting._similarity import similarity

FONT = 9.0  # points, when there is room
CHARACTER = 0.62  # width of an average character, in font sizes
LARGEST_FIGURE = (16.0, 12.0)  # inches


class OutputGraphDisplay(OutputDisplay):
    """Graph whose edges are the strongest relations between outputs.

    Parameters
    ----------
    output_kernel : array-like of shape (n_outputs, n_outputs)
        The output kernel L.
    output_names : sequence of length n_outputs, default=None
        Names of the outputs, their numbers if None.

    Attributes
    ----------
    edges_ : ndarray of shape (n_edges, 2)
        The outputs i < j of each edge, the strongest edge first.
    weights_ : ndarray of shape (n_edges,)
        The entries of the matrix for these edges.
    graph_ : networkx.Graph
        The outputs shown, by number, and the edges with their ``weight``.
    positions_ : dict of int to ndarray of shape (2,)
        The position of each output.
    lines_ : matplotlib LineCollection
        The edges, in the order of ``edges_``.
    texts_ : dict of int to matplotlib Text
        The names of the outputs.
    ax_, figure_ : matplotlib Axes and Figure
        The axes and figure of the graph.

    Examples
    --------
    >>> from okl.plotting import OutputGraphDisplay
    >>> display = OutputGraphDisplay([[1, 0.8], [0.8, 1]], output_names=["cat", "dog"])
    >>> display.plot(top_k=1)  # doctest: +SKIP
    """

    def plot(
        self,
        ax: Any = None,
        *,
        top_k: int | None = None,
        threshold: float | None = None,
        kind: str = "correlation",
        hide_singletons: bool = True,
        layout_seed: int = 0,
        stable: Any = None,
    ) -> Self:
        """Draw the graph.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on, those of a new figure if None. A new figure grows with the
            graph.
        top_k : int, default=None
            The number of edges, those of the largest entries in absolute value; fewer
            if fewer entries differ from zero. If neither it nor `threshold` is given,
            it is the number of outputs, and more if the next entries are equal to the
            last of these.
        threshold : float, default=None
            Draw only entries above this in absolute value.
        kind : {"correlation", "covariance"}, default="correlation"
            Whether entries are divided by the standard deviations of their outputs
            (correlation) or not.
        hide_singletons : bool, default=True
            Hide outputs without an edge. When there is no edge at all, all outputs are
            shown.
        layout_seed : int, default=0
            Another seed gives another drawing of the same graph.
        stable : array-like of bool of shape (n_outputs, n_outputs), default=None
            The relations that may be edges, such as ``stable`` of
            `okl.inspection.output_kernel_stability`; others are no edges, however
            strong. If None, all may be edges.

        Returns
        -------
        OutputGraphDisplay
            This display.
        """
        values = similarity(self.output_kernel, kind)
        shown = shown_relations(stable, len(values))
        if shown is not None:
            values = np.where(shown, values, 0.0)
        self.edges_ = strongest_pairs(values, top_k=top_k, threshold=threshold)
        self.weights_ = values[tuple(self.edges_.T)]
        self.graph_ = relation_graph(values, self.edges_, hide_singletons)
        nodes = list(self.graph_)
        names = shorten_apart([self.output_names[node] for node in nodes])
        labels = dict(zip(nodes, names, strict=True))
        sizes = {
            node: FONT * np.array([CHARACTER * len(label) + 0.8, 2.0])
            for node, label in labels.items()
        }
        self.positions_, extent = layout_components(
            self.graph_, sizes, gap=1.5 * FONT, aspect=4 / 3, seed=layout_seed
        )
        figsize = np.clip(extent / 72 / 0.75, (5.0, 3.75), LARGEST_FIGURE)
        self.ax_ = axes_or_new(ax, "OutputGraphDisplay.plot", figsize=tuple(figsize))
        self.figure_ = self.ax_.figure
        font = self._set_limits(extent)
        self._draw_edges(font)
        self._draw_nodes(labels, font)
        self._draw_legend(font)
        return self

    def _set_limits(self, extent: np.ndarray) -> float:
        """Set the limits of the axes to fit the graph, and return the font size."""
        room = extent + np.array([0, 3 * FONT])  # a line below, for the legend
        self.ax_.set(xlim=(0, room[0]), ylim=(-3 * FONT, extent[1]))
        self.ax_.set_aspect("equal")
        self.ax_.set_axis_off()
        points = 72 * np.array(self.ax_.get_window_extent().size) / self.figure_.dpi
        return FONT * min(1.2, *(points / room))

    def _draw_edges(self, font: float) -> None:
        """Draw the relations: width for strength, colour for sign."""
        ends = [(self.positions_[i], self.positions_[j]) for i, j in self.edges_]
        strengths = np.abs(self.weights_)
        collections = require("matplotlib.collections", "OutputGraphDisplay.plot")
        self.lines_ = collections.LineCollection(
            ends,
            linewidths=font / FONT * (0.5 + 3 * strengths / max(strengths, default=1)),
            colors=[POSITIVE if weight > 0 else NEGATIVE for weight in self.weights_],
            alpha=0.7,
            zorder=1,
        )
        self.ax_.add_collection(self.lines_, autolim=False)

    def _draw_nodes(self, labels: dict[int, str], font: float) -> None:
        """Write each name in a box, over the edges."""
        box = {"boxstyle": "round,pad=0.3", "fc": "white", "ec": "0.6", "lw": font / 16}
        style = {"ha": "center", "va": "center", "fontsize": font, "bbox": box}
        self.texts_ = {
            node: self.ax_.text(
                *self.positions_[node], label, parse_math=False, **style
            )
            for node, label in labels.items()
        }

    def _draw_legend(self, font: float) -> None:
        """Draw the legend: the meaning of the colours, and the strongest relations."""
        lines = require("matplotlib.lines", "OutputGraphDisplay.plot")
        signs = [
            (f"positive, up to {max(self.weights_, default=0):.2g}", POSITIVE),
            (f"negative, down to {min(self.weights_, default=0):.2g}", NEGATIVE),
        ]
        present = [(self.weights_ > 0).any(), (self.weights_ < 0).any()]
        handles = [
            lines.Line2D([], [], color=color, linewidth=2, label=label)
            for label, color in compress(signs, present)
        ]
        if handles:
            self.ax_.legend(
                handles=handles,
                loc="lower center",
                ncols=2,
                frameon=False,
                fontsize=min(font, FONT),
            )
