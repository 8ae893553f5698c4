"""USPS digits with noise, in draws that do not overlap."""

from __future__ import annotations

import numpy as np

from reproductions.report import data_folder

N_TRAIN, N_HELD_OUT, DRAWS = 1000, 500, 5


def gaussian_noise(clean, rng):
    return clean + rng.normal(scale=0.5, size=clean.shape)


def salt_and_pepper(clean, rng):
    replaced = rng.random(clean.shape) < 0.3
    return np.where(replaced, rng.integers(0, 2, clean.shape), clean)


NOISES = {"Gaussian": gaussian_noise, "salt and pepper": salt_and_pepper}


def digits():
    """Return clean digits and their labels, in random order."""
    with np.load(data_folder("usps") / "usps.npz") as stored:
        clean = np.concatenate([stored["X_train"], stored["X_test"]]) / 2000.0
        labels = np.concatenate([stored["y_train"], stored["y_test"]])
    order = np.random.default_rng(0).permutation(len(clean))
    return clean[order], labels[order]


def parts():
    """Return training and held-out rows of each draw; the first is for choosing."""
    sizes = [N_TRAIN, N_HELD_OUT] * (DRAWS + 1)
    rows = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    return list(zip(rows[::2], rows[1::2], strict=True))


def plus_minus(values, sign="-"):
    """Write 1000 times the mean ± its standard error; sign "+" shows every sign."""
    mean, spread = 1e3 * np.mean(values), 1e3 * np.std(values, ddof=1)
    return f"{mean:{sign}.2f} ± {spread / len(values) ** 0.5:.2f}"
