"""The pictures of the mosaic: the true one, the recorded values, the predictions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

from okl.datasets import Mosaic
from okl.plotting import OutputKernelDisplay

_DPI = 150


def draw_row(path: Path, mosaic: Mosaic, pictures: Mapping[str, np.ndarray]) -> None:
    """Write one row of pictures: the true one, the recorded values, and predictions.

    Parameters
    ----------
    path : Path
        The PNG file to write.
    mosaic : Mosaic
        The true picture and what was recorded.
    pictures : mapping of str to array (size, size, 3)
        Predictions; their errors are written below the names.
    """
    matplotlib.use("agg")
    size = len(mosaic.image)
    panels = {
        f"true\n{size} × {size} pixels": mosaic.image,
        "recorded\none colour a pixel": np.where(mosaic.recorded, mosaic.image, 0.0),
    }
    for name, picture in pictures.items():
        panels[f"{name}\nerror {mosaic.error(picture):.3f}"] = picture
    figure, axes = plt.subplots(1, len(panels), figsize=(2.1 * len(panels), 2.55))
    figure.set_layout_engine("constrained", h_pad=0.08)
    for ax, (title, picture) in zip(axes, panels.items(), strict=True):
        ax.imshow(np.clip(picture, 0.0, 1.0), interpolation="nearest")
        ax.set_title(title, fontsize=10)
        ax.set_axis_off()
    figure.savefig(path, dpi=_DPI)
    plt.close(figure)


def draw_output_kernel(path: Path, model: object) -> None:
    """Write the heat map of the correlations of the channels, with their values."""
    matplotlib.use("agg")
    display = OutputKernelDisplay.from_estimator(model)
    for (row, column), value in np.ndenumerate(display.im_.get_array()):
        display.ax_.text(
            column, row, f"{value:.2f}", ha="center", va="center", color="white"
        )
    display.figure_.savefig(path, dpi=_DPI, bbox_inches="tight")
    plt.close(display.figure_)
