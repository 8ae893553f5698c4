"""Tasks with sparse relations, drawn as the page of `sparse_synthetic` says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

N_FEATURES, N_TRAIN, N_TEST, NOISE = 100, 50, 100, 0.1
# of "a tenth of the mean non-zero entry": the exponent that makes it a deviation
READINGS = {"variance": 0.5, "deviation": 1.0}


@dataclass(frozen=True)
class Tasks:
    """A structure matrix as drawn, with zeros, and as it is after corruption."""

    clean: np.ndarray
    corrupted: np.ndarray

    def rows(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw U, n rows of inputs and their targets."""
        A = self.corrupted
        U, _ = np.linalg.qr(rng.normal(size=(N_FEATURES, len(A))))
        X = rng.normal(size=(n, N_FEATURES))
        return X, X @ U @ A + NOISE**0.5 * rng.normal(size=(n, len(A)))


def draw(n_tasks: int, share: float, reading: str, rng: np.random.Generator) -> Tasks:
    """Draw A as the page says; eigenvalues that corruption makes negative become zero.

    A tenth of the mean non-zero entry is the variance of the corruption or its standard
    deviation, as the reading says.
    """
    rows, columns = np.triu_indices(n_tasks, 1)
    n_pairs = max(round((share * n_tasks - 1) * n_tasks / 2), 0)
    chosen = rng.permutation(len(rows))[:n_pairs]
    half = np.diag(rng.uniform(size=n_tasks) / 2)
    half[rows[chosen], columns[chosen]] = rng.uniform(size=n_pairs)
    A = half + half.T
    A += max(-np.linalg.eigvalsh(A)[0], 0) * np.eye(n_tasks)
    A /= A.max()
    scale = (A[A != 0].mean() / 10) ** READINGS[reading]
    noise = np.triu(rng.normal(scale=scale, size=A.shape))
    values, vectors = np.linalg.eigh(A + noise + np.triu(noise, 1).T)
    return Tasks(A, (vectors * np.clip(values, 0, None)) @ vectors.T)


def problem(
    n_tasks: int, share: float, reading: str, seed: int
) -> tuple[Tasks, np.ndarray, np.ndarray]:
    """Return the tasks, and rows for training followed by rows for test."""
    rng = np.random.default_rng([seed, n_tasks, round(100 * share)])
    tasks = draw(n_tasks, share, reading, rng)
    return tasks, *tasks.rows(N_TRAIN + N_TEST, rng)
