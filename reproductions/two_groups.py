"""Real sets with two groups of outputs that have little to do with each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reproductions.comparing import Splits
from reproductions.report import data_folder

N_SPLITS = 10
COLOURS = ("black", "yellow")  # from ... to, in the order of the attributes
LIMBS = ("flippers", "tail")


@dataclass(frozen=True)
class TwoGroups:
    """Inputs, two groups of targets, and how the rows are split.

    Labels (0 and 1) are unsigned integers, other targets floats.
    """

    name: str
    X: np.ndarray
    groups: dict[str, np.ndarray]
    splits: Splits

    @property
    def labelled(self) -> bool:
        """Whether the targets are labels."""
        return next(iter(self.groups.values())).dtype.kind == "u"

    def correlations(self) -> tuple[float, float, float]:
        """Return the mean |correlation| within the two groups and between them."""
        first, second = self.groups.values()
        size = first.shape[1]
        matrix = np.abs(np.corrcoef(np.hstack([first, second]).T))
        return (
            _mean_off_diagonal(matrix[:size, :size]),
            _mean_off_diagonal(matrix[size:, size:]),
            float(matrix[:size, size:].mean()),
        )


def two_groups() -> Iterator[TwoGroups]:
    """Yield the sets: animals, voices and songs."""
    yield _animals()
    yield _voices()
    yield _songs()


def _animals() -> TwoGroups:
    with np.load(data_folder("awa_classes") / "awa_classes.npz") as stored:
        values, names = stored["attributes_continuous"], list(stored["attribute_names"])
    colours, limbs = (
        range(names.index(first), names.index(last) + 1)
        for first, last in (COLOURS, LIMBS)
    )
    return TwoGroups(
        "animals",
        np.delete(values, [*colours, *limbs], axis=1),
        {"colour": values[:, colours], "limb shape": values[:, limbs]},
        Splits(50, n_train=40, n_test=10, n_splits=2 * N_SPLITS),
    )


def _voices() -> TwoGroups:
    with np.load(data_folder("parkinsons") / "parkinsons.npz") as stored:
        X, scores, names = stored["X"], stored["Y"], stored["feature_names"]
    shimmer = _starting_with("Shimmer", names)
    # the last is three times another
    measures = [column for column in shimmer if names[column] != "Shimmer:DDA"]
    return TwoGroups(
        "voices",
        np.delete(X, shimmer, axis=1),
        {"UPDRS": scores, "shimmer": X[:, measures]},
        Splits(len(X), n_train=200, n_test=200, n_splits=2 * N_SPLITS),
    )


def _songs() -> TwoGroups:
    with np.load(data_folder("mulan_multilabel") / "cal500.npz") as stored:
        X, tags, names = stored["X"], stored["Y"], stored["label_names"]
    frequent = (tags.mean(axis=0) >= 0.1) & (tags.mean(axis=0) <= 0.9)
    groups = {
        group.lower() + "s": tags[
            :, [k for k in _starting_with(group, names) if frequent[k]]
        ]
        for group in ("Emotion", "Instrument")
    }
    return TwoGroups(
        "songs", X.astype(float), groups, Splits(len(X), 250, 252, N_SPLITS)
    )


def _starting_with(prefix: str, names: Sequence[str]) -> list[int]:
    return [k for k, name in enumerate(names) if name.startswith(prefix)]


def _mean_off_diagonal(matrix: np.ndarray) -> float:
    return float(matrix[~np.eye(len(matrix), dtype=bool)].mean())
