"""Picture of a tree of classes.

The root is on the left, each depth has a column, and each leaf its own line, so that no
two names overlap; a parent is half way between its first and its last child. A tree
with many classes is high: with ``level`` only the upper part is shown, with the number
of classes below its lowest nodes.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from okl.plotting._drawing import axes_or_new, require
from okl.plotting._fitted import fitted_model
from okl.plotting._output_names import shorten_apart
from okl.trees import ClassTree, check_class_tree

FONT = 8.0  # points, when there is room
CHARACTER = 0.62  # width of an average character, in font sizes
LINE = 1.35  # from one leaf to the next, in font sizes
GAP = 3.0  # between two columns, in font sizes
LARGEST_FIGURE = (24.0, 60.0)  # inches
CALLER = "ClassTreeDisplay.plot"


class ClassTreeDisplay:
    """A tree of classes, with a value for each node as a colour.

    Parameters
    ----------
    class_tree : ClassTree
        The tree.
    values : array-like of shape (n_nodes,), default=None
        A number for each node, such as its variance or the accuracy below it, in the
        order of ``class_tree.names``; NaN for none.
    value_name : str, default="value"
        The name of the values.

    Attributes
    ----------
    graph_ : networkx.DiGraph
        The nodes shown, by name, with edges from parent to child.
    positions_ : dict of name to ndarray of shape (2,)
        The position where the name of each node begins.
    lines_ : matplotlib LineCollection
        The edges.
    texts_ : dict of name to matplotlib Text
        The names.
    points_ : matplotlib PathCollection or None
        The dots that show the values.
    ax_, figure_ : matplotlib Axes and Figure
        The axes and figure of the tree.

    Examples
    --------
    >>> from okl import ClassTree
    >>> from okl.plotting import ClassTreeDisplay
    >>> tree = ClassTree.from_paths(["animal/cat", "animal/dog", "plant"])
    >>> ClassTreeDisplay(tree).plot()  # doctest: +SKIP
    """

    def __init__(
        self, class_tree: ClassTree, *, values: Any = None, value_name: str = "value"
    ) -> None:
        self.class_tree = check_class_tree(class_tree)
        self.values = None if values is None else np.asarray(values, dtype=np.float64)
        self.value_name = value_name
        if self.values is not None and self.values.shape != (class_tree.n_nodes,):
            raise ValueError(
                f"values has the shape {self.values.shape}; the tree has "
                f"{class_tree.n_nodes} nodes and needs a number for each."
            )

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, **plot_params: Any
    ) -> Self:
        """Draw the tree of a fitted estimator with the variances of its nodes.

        Parameters
        ----------
        estimator : estimator
            An estimator fitted with ``structure=okl.structures.Tree(...)``; or a
            pipeline that ends in one, or a search over one.
        ax : matplotlib Axes, default=None
            Axes to draw on, those of a new figure if None.
        **plot_params : dict
            The other parameters of ``plot``.

        Returns
        -------
        ClassTreeDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If the structure of the estimator has no tree.
        """
        model = fitted_model(estimator, "structure_")
        given = model.structure_
        structures = given if isinstance(given, list) else [given]
        of_trees = [s for s in structures if s.class_tree is not None]
        if not of_trees:
            raise ValueError(
                f"{given!r} has no tree of classes to draw; fit with "
                "structure=okl.structures.Tree(class_tree)."
            )
        tree = of_trees[0].class_tree
        # nodes with their own kernels have their variances in separate terms
        variances = sum(
            s.known(np.zeros(1)).variances
            for s in of_trees
            if np.array_equal(s.class_tree.names, tree.names)
        )
        display = cls(tree, values=variances, value_name="variance")
        return display.plot(ax, **plot_params)

    def plot(self, ax: Any = None, *, level: int | None = None) -> Self:
        """Draw the tree.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on, those of a new figure if None. A new figure grows with the
            tree.
        level : int, default=None
            The deepest level to show; None for the whole tree.

        Returns
        -------
        ClassTreeDisplay
            This display.

        Raises
        ------
        ValueError
            If the tree has no such level.
        """
        tree = self.class_tree
        if level is not None:
            tree.level_numbers(level)
        deepest = tree.depth if level is None else level
        nodes = np.flatnonzero(tree.depths <= deepest)
        labels = self._labels(nodes, deepest)
        places, extent = _layout(tree, nodes, labels)
        names = tree.names.tolist()
        self.positions_ = {names[i]: point for i, point in places.items()}
        figsize = np.clip(extent / 72 / 0.9, (4.0, 2.0), LARGEST_FIGURE)
        self.ax_ = axes_or_new(ax, CALLER, figsize=tuple(figsize))
        self.figure_ = self.ax_.figure
        require("networkx", CALLER)
        self.graph_ = tree.to_networkx().subgraph(self.positions_)
        self.ax_.set(xlim=(0, extent[0]), ylim=(extent[1], 0))
        self.ax_.set_axis_off()
        room = 72 * np.array(self.ax_.get_window_extent().size) / self.figure_.dpi
        font = FONT * min(1.2, *(room / extent))
        self._draw_edges(nodes, places)
        style = {"ha": "left", "va": "center", "fontsize": font, "parse_math": False}
        box = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none"}
        self.texts_ = {
            names[i]: self.ax_.text(*places[i], labels[i], bbox=box, **style)
            for i in nodes.tolist()
        }
        self._draw_values(nodes, places, font)
        return self

    def _labels(self, nodes: np.ndarray, deepest: int) -> dict[int, str]:
        """Return own names of nodes, with the number of classes below if cut there."""
        tree = self.class_tree
        sizes = tree.below(np.ones((1, tree.n_classes)))[0].astype(int)
        inner = np.setdiff1d(nodes, tree.leaves)
        cut = set(inner[tree.depths[inner] == deepest].tolist())
        numbers = nodes.tolist()
        names = shorten_apart([str(tree.node_names.own[i]) for i in numbers])
        return {
            i: name + (f" ({sizes[i]})" if i in cut else "")
            for i, name in zip(numbers, names, strict=True)
        }

    def _draw_edges(self, nodes: np.ndarray, places: dict[int, np.ndarray]) -> None:
        """Draw a line from each parent to its children, with a corner before these."""
        parents = self.class_tree.parents
        lines = []
        for i in nodes[1:].tolist():
            (x0, y0), (x1, y1) = places[int(parents[i])], places[i]
            corner = x1 - 0.6 * GAP * FONT
            lines.append([(x0, y0), (corner, y0), (corner, y1), (x1, y1)])
        collections = require("matplotlib.collections", CALLER)
        self.lines_ = collections.LineCollection(
            lines, colors="0.7", linewidths=0.8, zorder=1
        )
        self.ax_.add_collection(self.lines_, autolim=False)

    def _draw_values(
        self, nodes: np.ndarray, places: dict[int, np.ndarray], font: float
    ) -> None:
        """Put a dot before each node that has a value, and add the scale of colours."""
        self.points_ = None
        if self.values is None:
            return
        valued = nodes[np.isfinite(self.values[nodes])]
        if not len(valued):
            return
        at = np.array([places[i] for i in valued.tolist()])
        self.points_ = self.ax_.scatter(
            at[:, 0] - 0.6 * FONT,
            at[:, 1],
            c=self.values[valued],
            s=(0.7 * font) ** 2,
            cmap="viridis",
            zorder=3,
        )
        height = self.ax_.get_window_extent().height / self.figure_.dpi
        self.figure_.colorbar(
            self.points_, ax=self.ax_, label=self.value_name, shrink=min(1, 3 / height)
        )


def _layout(
    tree: ClassTree, nodes: np.ndarray, labels: dict[int, str]
) -> tuple[dict[int, np.ndarray], np.ndarray]:
    """Place the names of nodes, and return the size of the whole, in points.

    Parameters
    ----------
    tree : ClassTree
    nodes : array of int
        The nodes shown, each after its parent.
    labels : dict of int to str

    Returns
    -------
    places : dict of int to ndarray of shape (2,)
        The middle of the left side of each name.
    extent : ndarray of shape (2,)
        Width and height.
    """
    children: dict[int, list[int]] = {i: [] for i in nodes.tolist()}
    for i in nodes[1:].tolist():
        children[int(tree.parents[i])].append(i)
    widths = np.zeros(tree.depth + 2)
    for i, label in labels.items():
        depth = tree.depths[i] + 1
        widths[depth] = max(widths[depth], (CHARACTER * len(label) + GAP) * FONT)
    starts = np.cumsum(widths) + 1.5 * FONT
    heights, line = {}, 1
    stack = [0]
    while stack:  # no recursion: trees may be deeper than Python's calls
        node = stack.pop()
        stack += children[node][::-1]
        if not children[node]:
            heights[node], line = float(line), line + 1
    for i in nodes[::-1].tolist():  # children before their parents
        if children[i]:
            first, last = children[i][0], children[i][-1]
            heights[i] = (heights[first] + heights[last]) / 2
    places = {
        i: np.array([starts[tree.depths[i]], LINE * FONT * heights[i]])
        for i in nodes.tolist()
    }
    return places, np.array([starts[-1], LINE * FONT * line])
