"""``okl demo``: three colours from one, or what relations are worth.

A photograph in which one random colour was recorded at each pixel is data in long form:
a row is a pixel, and its task is the channel. Independent channels have a third of the
pixels each; related channels learn from every pixel how bright it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from okl.cli.demos.mosaic_pictures import draw_output_kernel, draw_row
from okl.cli.demos.mosaic_report import write_report
from okl.cli.demos.reconstruction import (
    FAMILIES,
    LEARNED,
    best_model,
    interpolated,
    predicted,
    same_model,
)
from okl.cli.staging import staged_folder
from okl.cli.tables import write_table
from okl.datasets import Mosaic, load_mosaic
from okl.datasets.mosaic import CHANNELS

SIZE = 40
# Upper left pixels of the squares, which are parts of the pagoda; the first is drawn.
CORNERS = ((280, 300), (110, 280), (85, 155), (160, 160))


def run_mosaic(
    out: Path,
    *,
    size: int = SIZE,
    corners: Sequence[tuple[int, int]] = CORNERS,
    note: Callable[[str], None] = lambda line: None,
) -> str:
    """Write tables, pictures and a report of what relating the channels is worth.

    Parameters
    ----------
    out : Path
        The folder; it appears when everything is complete.
    size : int, default=40
        Length of a side in pixels.
    corners : sequence of pairs of ints
        The squares, at least two. The model with relations is chosen on the first
        square, the independent one on each square.
    note : callable
        Called with a line to show before each part of the work.

    Returns
    -------
    str
        The report, also in ``report.txt``.
    """
    first, *others = (
        load_mosaic(corner, size, random_state=seed)
        for seed, corner in enumerate(corners)
    )
    with staged_folder(out) as folder:
        write_table(table_of(first, first.recorded), folder / "mosaic.csv")
        write_table(table_of(first, ~first.recorded), folder / "hidden.csv")
        models = {}
        for name, family in FAMILIES.items():
            note(f"{name}: choosing kernel and alpha by held-out recorded values")
            models[name] = best_model(first, family)
        chosen = max(LEARNED, key=lambda name: models[name].best_score_)

        pictures = {"interpolation": interpolated(first)}
        pictures |= {name: predicted(first, model) for name, model in models.items()}
        errors = {name: [first.error(p)] for name, p in pictures.items()}
        for number, other in enumerate(others, start=2):
            note(f"square {number} of {len(corners)}")
            again = {
                "interpolation": interpolated(other),
                "identity": predicted(other, best_model(other, FAMILIES["identity"])),
                "mean": predicted(other, same_model(other, models["mean"])),
                chosen: predicted(other, same_model(other, models[chosen])),
            }
            for name, picture in again.items():
                errors[name].append(other.error(picture))

        titles = {"interpolated": "interpolation", "independent": "identity"}
        titles |= {"related": chosen}
        draw_row(
            folder / "mosaic.png",
            first,
            {title: pictures[name] for title, name in titles.items()},
        )
        draw_output_kernel(folder / "output_kernel.png", models[chosen])
        channels = models[chosen].output_names_
        pd.DataFrame(models[chosen].output_kernel_, channels, channels).to_csv(
            folder / "output_kernel.csv"
        )
        report = write_report(out, first, models, chosen, errors)
        (folder / "report.txt").write_text(report, encoding="utf-8")
    return report


def table_of(mosaic: Mosaic, entries: np.ndarray) -> pd.DataFrame:
    """Return some entries of the picture as a table in long form.

    Parameters
    ----------
    mosaic : Mosaic
        The mosaic with the true values.
    entries : array of bool (size, size, 3)
        Which.
    """
    row, column, channel = np.nonzero(entries)
    return pd.DataFrame(
        {
            "row": row,
            "column": column,
            "channel": np.array(CHANNELS)[channel],
            "value": mosaic.image[entries],
        }
    )
