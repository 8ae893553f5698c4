"""Multi-label sets of Mulan: rows, and an indicator of each label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from reproductions.report import data_folder


def label_set(name: str) -> tuple[Any, np.ndarray]:
    """Return inputs, sparse where they are stored so, and labels of all rows."""
    with np.load(data_folder("mulan_multilabel") / f"{name}.npz") as stored:
        parts = ("_train", "_test") if "Y_train" in stored else ("",)
        Y = np.vstack([stored[f"Y{s}"] for s in parts]).astype(int)
        if f"X{parts[0]}_data" in stored:
            return sp.vstack([_bags(stored, f"X{s}") for s in parts], "csr"), Y
        return np.vstack([stored[f"X{s}"] for s in parts]).astype(float), Y


def _bags(stored: Mapping[str, np.ndarray], name: str) -> sp.csr_matrix:
    parts = tuple(stored[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    return sp.csr_matrix(parts, shape=tuple(stored[f"{name}_shape"]), dtype=float)
