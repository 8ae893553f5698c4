"""Random splits, and what the differences between methods on them are worth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Splits:
    """Training and test rows drawn at random, anew for every split, always the same."""

    n_rows: int
    n_train: int
    n_test: int
    n_splits: int

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for seed in range(self.n_splits):
            order = np.random.default_rng(seed).permutation(self.n_rows)
            yield order[: self.n_train], order[self.n_train :][: self.n_test]

    @property
    def overlap(self) -> float:
        """How far the splits are from independent, for `standard_error`.

        n_test / n_train if every split uses all rows (Nadeau & Bengio 2003, *Inference
        for the generalization error*); in proportion less if it uses a part of them.
        """
        used = (self.n_train + self.n_test) / self.n_rows
        return self.n_test / self.n_train * used


def standard_error(values: np.ndarray, overlap: float = 0.0) -> float:
    """Return the standard error of the mean of values from independent splits.

    Where splits share rows the variance of their values counts 1 / n_splits + overlap
    times.
    """
    share = 1 / len(values) + overlap
    return float((share * np.var(values, ddof=1)) ** 0.5)


def with_error(values: np.ndarray, overlap: float = 0.0, *, form: str = ".3f") -> str:
    """Return mean ± standard error, with the sign of the mean if the form has one.

    A mean further than two standard errors from zero is bold if the form has a sign.
    A single value has no error.
    """
    mean = np.mean(values)
    if len(values) == 1:
        return f"{mean:{form}}"
    error = standard_error(values, overlap)
    text = f"{mean:{form}} ± {error:{form.lstrip('+')}}"
    return f"**{text}**" if form.startswith("+") and abs(mean) > 2 * error else text
