"""The tree of the classes: a table of edges, or classes that are paths."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from okl import ClassTree
from okl.cli.data import Data
from okl.cli.errors import UserError, listing, refusing
from okl.cli.tables import read_table

# The word that says that the classes are paths; any other is the file of a tree.
PATHS = "paths"
_COLUMNS = ["child", "parent"]
_INTEGER = re.compile(r"-?\d+")


def read_class_tree(option: str, labels: Sequence[str]) -> ClassTree:
    """Return the tree of the option ``--tree``.

    Parameters
    ----------
    option : str
        ``"paths"``, or the name of a table with the columns child and parent.
    labels : sequence of str
        The classes, which may be the paths.

    Raises
    ------
    UserError
        If there is no such table, if it describes no tree, or if no class is a path.
    """
    if option == PATHS:
        with refusing("the classes are not paths of a tree", ValueError, TypeError):
            tree = ClassTree.from_paths(sorted(set(labels)))
        if tree.depth == 1:
            said = f"--tree {PATHS} is for classes that are paths such as animal/dog"
            if pd.to_numeric(pd.Series(labels), errors="coerce").notna().all():
                raise UserError(
                    f"{said}, but these are numbers: {listing(tree.classes_, 3)}. Name "
                    "the column of the classes by --target, or leave --tree out."
                )
            raise UserError(
                f"{said}, but none has a '/': {listing(tree.classes_)}. A tree of one "
                "level relates no classes: give --tree a table with the columns child "
                "and parent, or leave --tree out."
            )
        return tree
    path = Path(option)
    table = read_table(path, text_columns=_COLUMNS)
    missing = [name for name in _COLUMNS if name not in table]
    if missing:
        raise UserError(
            f"{path} has no column {listing(missing)}; a tree is a table with the "
            f"columns child and parent, and this one has: {listing(table)}. If the "
            f"classes are paths such as animal/dog, give --tree {PATHS}."
        )
    children, parents = table["child"], table["parent"]
    if children.isna().any():
        raise UserError(
            f"{path} has no child in row {int(children.isna().argmax()) + 1}; fill it "
            "in, or remove the row."
        )
    twice = children[children.duplicated()]
    if len(twice):
        raise UserError(
            f"{path} has several rows for {listing(twice.unique())}; a node of a tree "
            "has one parent."
        )
    names = [None if pd.isna(parent) else str(parent) for parent in parents]
    if all(map(_INTEGER.fullmatch, map(str, children))):
        # pandas has integers as 3.0 in a column where one is missing
        names = [name and name.removesuffix(".0") for name in names]
    edges = dict(zip(map(str, children), names, strict=True))
    with refusing(f"{path} does not describe a tree", ValueError, TypeError):
        return ClassTree.from_dict(edges)


def classes_in_tree(option: str, data: Data) -> tuple[ClassTree, Data]:
    """Return the tree of the option ``--tree``, and the table with its classes.

    Labels may be full paths or own names of leaves. If all labels are of one of these
    kinds, the tree uses it for its classes. In the table that is returned, labels are
    the names that the tree uses.

    Raises
    ------
    UserError
        If the target is not one column of classes, there is no such tree, or a label is
        not in the tree or an inner node.
    """
    if not data.single_classification or data.ids is not None:
        raise UserError(
            "--tree is for one target of classes; here the task is "
            f"{data.task} of {listing(data.target_kinds, 6)}"
            f"{'' if data.ids is None else ' in long form'}."
        )
    labels = np.asarray(data.y).astype(str)
    tree = read_class_tree(option, labels.tolist())
    with refusing("the tree does not fit the classes", ValueError):
        tree = tree.called_as(labels)
        return tree, replace(data, y=tree.classes_[tree.class_numbers(labels)])
