"""The pictures of a fit, as files: output kernel, its strongest relations, the search.

No screen is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import networkx  # noqa: F401  (the graph needs it: found missing before the fit)
import numpy as np

from okl.cli.class_tree_report import HeldOutClasses
from okl.cli.errors import shown
from okl.cli.letters import missing_letters_said_once
from okl.cli.relations import Relation, Relations
from okl.cli.search import Candidate, Outcome
from okl.cli.settings import label
from okl.inspection import OutputKernelStability
from okl.plotting import (
    ClassTreeDisplay,
    OutputGraphDisplay,
    OutputKernelDisplay,
    RegularizationPathDisplay,
)

_DPI = 150
# Those that show relations; there are none of one output.
OF_RELATIONS = ("output_kernel.png", "output_graph.png")
# The most nodes of a tree that are readable in one picture.
_MOST_NODES = 300


@missing_letters_said_once()
def draw(
    folder: Path,
    outcome: Outcome,
    kept: Candidate,
    related: Candidate,
    outputs: Sequence[str],
    score_name: str,
    stability: OutputKernelStability | None = None,
) -> Relations:
    """Write the pictures; return the relations drawn, with the strongest first.

    The relations are those of the candidate ``related``; there are none if there is one
    output. With ``stability``, those that are not stable are grey in the heat map.
    """
    matplotlib.use("agg")
    candidates = outcome.candidates
    path = RegularizationPathDisplay(
        [candidate.alphas for candidate in candidates],
        [candidate.path for candidate in candidates],
        structure_labels=[label(candidate.structure) for candidate in candidates],
        chosen=(candidates.index(kept), kept.column),
        score_name=score_name,
    ).plot()
    _show_best_scores(path)
    _save(path, folder / "path.png", "Held-out scores of the structures")
    of, saved = label(related.structure), related is kept
    if len(outputs) == 1:
        return Relations([], 1, of, saved)
    names = [shown(name) for name in outputs]
    title = f"of {of}{'' if saved else ', which is not saved'}"
    heat_map = OutputKernelDisplay.from_estimator(
        related.model,
        output_names=names,
        stable=None if stability is None else stability.stable,
    )
    _save(heat_map, folder / "output_kernel.png", f"Correlations {title}")
    graph = OutputGraphDisplay.from_estimator(related.model, output_names=names)
    _save(graph, folder / "output_graph.png", f"Strongest correlations {title}")
    strongest = [
        Relation(outputs[i], outputs[j], float(weight), *_how_sure(stability, i, j))
        for (i, j), weight in zip(graph.edges_, graph.weights_, strict=True)
    ]
    return Relations(strongest, len(outputs), of, saved)


def _how_sure(stability: OutputKernelStability | None, i: int, j: int) -> Any:
    """Return the interval of a correlation, and whether its sign is sure."""
    if stability is None:
        return None, False
    found = stability.correlation
    interval = float(found.lower[i, j]), float(found.upper[i, j])
    return interval, bool(stability.stable[i, j])


@missing_letters_said_once()
def draw_class_tree(folder: Path, classes: HeldOutClasses) -> None:
    """Write the tree as text, and a picture of as many levels as are readable."""
    (folder / "class_tree.txt").write_text(classes.drawing() + "\n", encoding="utf-8")
    tree = classes.tree
    sizes = np.cumsum(np.bincount(tree.depths))
    level = max(1, int(np.searchsorted(sizes, _MOST_NODES, side="right")) - 1)
    display = ClassTreeDisplay(
        tree, values=classes.accuracies(), value_name="held-out accuracy"
    )
    title = "Classes, and the held-out accuracy of nodes"
    _save(display.plot(level=level), folder / "class_tree.png", title)


def _show_best_scores(path: Any) -> None:
    """Cut off scores far below the best, as they would hide all differences."""
    means, n_folds = path.scores.mean(axis=-1), path.scores.shape[-1]
    best = np.unravel_index(np.nanargmax(means), means.shape)
    error = path.scores[best].std(ddof=1) / n_folds**0.5
    below_best = means[best] - means[np.isfinite(means)]
    depth = max(4 * np.median(below_best), 8 * error)
    if 0 < depth < below_best.max():
        path.ax_.set_ylim(means[best] - depth, means[best] + 0.3 * depth)


def _save(display: Any, path: Path, title: str) -> None:
    display.ax_.set_title(title, wrap=True)
    display.figure_.savefig(path, dpi=_DPI, bbox_inches="tight")
    plt.close(display.figure_)
