"""The pictures of a fit, as files: output kernel, its strongest relations, the search.

They are drawn without a screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import networkx  # noqa: F401  (the graph needs it: found missing before the fit)
import numpy as np

from okl.cli.search import Outcome
from okl.cli.settings import label
from okl.plotting import (
    OutputGraphDisplay,
    OutputKernelDisplay,
    RegularizationPathDisplay,
)

_DPI = 150


@dataclass(frozen=True)
class Relation:
    """Two outputs, and the correlation that the output kernel gives them."""

    first: str
    second: str
    correlation: float


def draw(
    folder: Path, outcome: Outcome, outputs: Sequence[str], score_name: str
) -> list[Relation]:
    """Write the pictures; return the relations drawn, the strongest first."""
    matplotlib.use("agg")
    model, search = outcome.chosen.model, outcome.search
    heat_map = OutputKernelDisplay.from_estimator(model, output_names=outputs)
    _spread_colours(heat_map)
    _save(heat_map, folder / "output_kernel.png")
    graph = OutputGraphDisplay.from_estimator(model, output_names=outputs)
    _save(graph, folder / "output_graph.png")
    path = RegularizationPathDisplay(
        search.alphas_,
        search.scores_,
        structure_labels=[label(c.structure) for c in outcome.candidates],
        chosen=outcome.chosen.place,
        score_name=score_name,
    ).plot()
    _show_best_scores(path)
    _save(path, folder / "path.png")
    return [
        Relation(outputs[i], outputs[j], float(weight))
        for (i, j), weight in zip(graph.edges_, graph.weights_, strict=True)
    ]


def _spread_colours(heat_map: Any) -> None:
    """Let the colours span the correlations off the diagonal.

    Those of classes are small, and would all look white beside the ones on the
    diagonal. Below 0.1 they should.
    """
    shown = np.array(heat_map.im_.get_array())
    np.fill_diagonal(shown, 0.0)
    limit = max(np.abs(shown).max(), 0.1)
    if len(shown) > 1 and limit < 0.9:
        heat_map.im_.set_clim(-limit, limit)
        heat_map.colorbar_.set_label("correlation (beyond the scale: 1, the diagonal)")


def _show_best_scores(path: Any) -> None:
    """Cut off scores far below the best, which would hide all differences."""
    means, n_folds = path.scores.mean(axis=-1), path.scores.shape[-1]
    best = np.unravel_index(np.nanargmax(means), means.shape)
    error = path.scores[best].std(ddof=1) / n_folds**0.5
    below_best = means[best] - means[np.isfinite(means)]
    depth = max(4 * np.median(below_best), 8 * error)
    if 0 < depth < below_best.max():
        path.ax_.set_ylim(means[best] - depth, means[best] + 0.3 * depth)


def _save(display: Any, path: Path) -> None:
    display.figure_.savefig(path, dpi=_DPI, bbox_inches="tight")
    plt.close(display.figure_)
