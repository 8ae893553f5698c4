"""Trivial rivals of denoising: filters of neighbouring pixels, and the mean digit.

A filter learns nothing: each pixel becomes a weighted mean (Gaussian), or the median,
of those around it, in the same digit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from scipy.ndimage import gaussian_filter, median_filter

from reproductions.noisy_digits import NOISES, parts, plus_minus
from reproductions.report import table

SIDE = 16
Filter = Callable[[np.ndarray], np.ndarray]


def _gaussian(width: float, rows: np.ndarray) -> np.ndarray:
    digits = rows.reshape(-1, SIDE, SIDE)
    return gaussian_filter(digits, width, axes=(1, 2)).reshape(rows.shape)


def _median(size: int, rows: np.ndarray) -> np.ndarray:
    digits = rows.reshape(-1, SIDE, SIDE)
    return median_filter(digits, size, axes=(1, 2)).reshape(rows.shape)


FILTERS: dict[str, dict[str, Filter]] = {
    "Gaussian filter": {
        f"width {width:g}": partial(_gaussian, width)
        for width in (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
    },
    "median filter": {f"{size} x {size}": partial(_median, size) for size in (3, 5)},
}


def filter_errors(
    noisy: np.ndarray,
    clean: np.ndarray,
    held_out: np.ndarray,
    draws: Sequence[tuple[np.ndarray, np.ndarray]],
) -> dict[str, tuple[str, list[float]]]:
    """Return of each rival its setting and the test errors of the draws.

    A filter has the setting with the least error on the rows held out. The mean digit
    is that of the noisy training rows of a draw.
    """

    def error(made: np.ndarray, rows: np.ndarray) -> float:
        return float(np.mean((made - clean[rows]) ** 2))

    means = [error(noisy[train].mean(axis=0)[None], test) for train, test in draws]
    found = {"mean digit": ("", means)}
    for name, family in FILTERS.items():
        setting = min(family, key=lambda s: error(family[s](noisy[held_out]), held_out))
        chosen = family[setting]
        found[name] = setting, [error(chosen(noisy[test]), test) for _, test in draws]
    return found


def rival_table(clean):
    """Return the test errors of the trivial rivals."""
    (_, held_out), *draws = parts()
    rows = [
        (noise, name, plus_minus(errors), setting or "–")
        for noise, add in NOISES.items()
        for name, (setting, errors) in filter_errors(
            add(clean, np.random.default_rng(1)), clean, held_out, draws
        ).items()
    ]
    return table(["noise", "rival", "test error", "setting"], rows)
