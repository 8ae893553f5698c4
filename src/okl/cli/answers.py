"""What ``okl predict`` can write about classes besides the most probable one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_regressor

from okl import ClassTree
from okl.cli.added_columns import with_probabilities
from okl.cli.costs import read_costs
from okl.cli.errors import UserError, listing, refusing
from okl.cli.storage import TableModel
from okl.decisions import decide, deepest_nodes, node_probabilities
from okl.decisions.costs import DECISIONS


@dataclass(frozen=True)
class Asked:
    """The options of ``okl predict`` for classes.

    Attributes
    ----------
    proba : bool
        Whether each class, or label, gets a column of probabilities.
    level : int or None
        The level of the tree whose nodes get a column of probabilities.
    decision : str
        ``"accuracy"``, ``"taxo"``, ``"parent"``, or the file of a cost matrix.
    reject : float or None
        The cost of giving no answer.
    min_probability : float or None
        Answer with the deepest node that is at least so probable.
    """

    proba: bool = False
    level: int | None = None
    decision: str = "accuracy"
    reject: float | None = None
    min_probability: float | None = None


def answer_table(model: TableModel, table: pd.DataFrame, asked: Asked) -> pd.DataFrame:
    """Return the columns of answers, and those of probabilities that are asked for.

    Parameters
    ----------
    model : TableModel
        A model of classes; for ``proba`` alone, it may be one of labels.
    table : DataFrame
        A table with the features of the model.
    asked : Asked

    Raises
    ------
    UserError
        If the model has no probabilities, lacks the single target or the tree that an
        option needs, or the options do not fit it.
    """
    if is_regressor(model.pipeline):
        raise UserError(
            "--proba, --level, --decision, --reject and --min-probability are for "
            "classes, and this model predicts numbers. How sure these are, --std and "
            "--interval say."
        )
    if not hasattr(model.pipeline[-1], "predict_proba"):
        raise UserError(
            "--proba, --level, --decision, --reject and --min-probability need the "
            "probabilities of classes, and this model has none. To get a model that "
            "has them, fit classes by okl fit with --loss softmax, --loss logistic or "
            "--tree."
        )
    if len(model.targets) == 1:
        return _of_classes(model, table, asked)
    if asked != Asked(proba=True):
        raise UserError(
            "--level, --decision, --reject and --min-probability need one target of "
            "classes, and this model has several targets, which are labels. Leave "
            "these options out."
        )
    p = model.probabilities(table)
    return with_probabilities(model.predict(table), "--proba", list(model.targets), p)


def _of_classes(model: TableModel, table: pd.DataFrame, asked: Asked) -> pd.DataFrame:
    """Return a column of classes or nodes, and those of their probabilities."""
    _check(asked, model.class_tree)
    final, (name,), tree = model.pipeline[-1], model.targets, model.class_tree
    classes = final.classes_
    with refusing("cannot answer", ValueError):
        decision = _decision(asked.decision, classes)
        p = model.probabilities(table)
        if asked.min_probability is not None and tree is not None:
            found = deepest_nodes(p, asked.min_probability, classes=classes, tree=tree)
        else:
            found = decide(p, decision, classes=classes, tree=tree, reject=asked.reject)
    answers, nodes = pd.DataFrame({name: found}), np.array([])
    if asked.level is not None and tree is not None:
        nodes = tree.nodes(asked.level)
        values = node_probabilities(p, classes=classes, tree=tree, level=asked.level)
        answers = with_probabilities(answers, "--level", nodes.tolist(), values)
    if asked.proba:
        # a class that is a node of the level already has a column
        new = np.isin(classes, nodes, invert=True)
        names = classes[new].tolist()
        answers = with_probabilities(answers, "--proba", names, p[:, new])
    return answers


def _check(asked: Asked, tree: ClassTree | None) -> None:
    """Refuse options that need a tree if there is none, or exclude each other."""
    if asked.min_probability is not None and asked != Asked(
        asked.proba, asked.level, min_probability=asked.min_probability
    ):
        raise UserError(
            "--min-probability answers with a node, --decision and --reject with a "
            "class; give one of them."
        )
    needed = {
        f"--level {asked.level}": asked.level is not None,
        f"--min-probability {asked.min_probability}": asked.min_probability is not None,
        f"--decision {asked.decision}": asked.decision in ("taxo", "parent"),
    }
    options = [option for option, is_needed in needed.items() if is_needed]
    if tree is None and options:
        raise UserError(
            f"{options[0]} needs a tree of the classes, and this model has none; fit "
            "with okl fit --tree."
        )
    if tree is not None and asked.level is not None:
        with refusing(f"--level {asked.level} does not fit", ValueError):
            tree.level_numbers(asked.level)


def _decision(given: str, classes: np.ndarray) -> Any:
    """Return a decision by its name, or the matrix of costs that a table holds."""
    if given in DECISIONS:
        return given
    path = Path(given)
    if not path.suffix and not path.is_file():
        raise UserError(
            f"--decision {given} is neither one of {listing(DECISIONS)} nor a table of "
            "costs."
        )
    return read_costs(path, classes)
