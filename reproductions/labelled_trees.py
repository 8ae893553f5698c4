"""Sets whose classes are the leaves of a tree: training and test rows, and the tree.

*clinc150*: texts of 150 intents in 10 domains, counts of words. *news20*: 20
newsgroups, counts of 1000 groups of words, the tree of the dotted names, its leaves at
depths of two and three. *imclef07a* and *imclef07d*: X-ray images, 80 values each, with
a code of the anatomy and one of the direction, leaves at depth three. (reuters90 is not
here: it has no tree, and several classes a row.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

from okl import ClassTree
from reproductions.report import data_folder

# The folders of those of texts.
TEXTS = {"clinc150": "clinc150", "news20": "news20_w1000"}


@dataclass(frozen=True)
class LabelledTree:
    """Rows, their classes as full paths, and what makes columns of rows.

    Attributes
    ----------
    train, test : array or sparse matrix
        Rows, as they are stored.
    y_train, y_test : array of str
        Paths.
    tree : ClassTree
    columns : callable
        Makes the transformer that is fitted to the training rows.
    texts : bool
        Whether the rows are those of texts.
    """

    train: Any
    test: Any
    y_train: np.ndarray
    y_test: np.ndarray
    tree: ClassTree
    columns: Callable[[], Any]
    texts: bool


@cache
def labelled_tree(name: str) -> LabelledTree:
    """Return a set by its name."""
    folder = TEXTS.get(name)
    return _imclef(name) if folder is None else _texts(folder)


def _texts(folder: str) -> LabelledTree:
    with np.load(data_folder(folder) / f"{folder}.npz") as stored:
        names, parents = stored["node_names"], stored["node_parent"]
        paths = np.array([_path(node, names, parents) for node in stored["class_node"]])
        train, test = (_counts(stored, part) for part in ("train", "test"))
        labels = [paths[stored[f"y_{part}"]] for part in ("train", "test")]
    tree = ClassTree.from_paths(paths)

    def columns() -> TfidfTransformer:
        return TfidfTransformer(sublinear_tf=True)

    return LabelledTree(train, test, *labels, tree, columns, texts=True)


def _imclef(name: str) -> LabelledTree:
    with np.load(data_folder("hmc_images") / f"{name}.npz") as stored:
        names = stored["node_names"]
        rows = [stored[f"X_{part}"].astype(float) for part in ("train", "test")]
        labels = [names[stored[f"y_{part}"]] for part in ("train", "test")]
    tree = ClassTree.from_paths(np.unique(np.concatenate(labels)))
    return LabelledTree(*rows, *labels, tree, StandardScaler, texts=False)


def _path(node: int, names: np.ndarray, parents: np.ndarray) -> str:
    """Return the names from below the root to a node."""
    path = []
    while parents[node] >= 0:
        path.append(str(names[node]))
        node = parents[node]
    return "/".join(reversed(path))


def _counts(stored: Any, part: str) -> sp.csr_matrix:
    arrays = [stored[f"X_{part}_{what}"] for what in ("data", "indices", "indptr")]
    shape = tuple(stored[f"X_{part}_shape"])
    return sp.csr_matrix(tuple(arrays), shape=shape).astype(float)
