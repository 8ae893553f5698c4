"""What ``okl predict`` can be asked of classes beyond the most probable one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from okl import ClassTree
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
    level : int or None
        Whose nodes get a column of probabilities.
    decision : str
        ``"accuracy"``, ``"taxo"``, ``"parent"``, or the file of a cost matrix.
    reject : float or None
        What no answer costs.
    min_probability : float or None
        Answer with the deepest node as probable as this.
    """

    level: int | None = None
    decision: str = "accuracy"
    reject: float | None = None
    min_probability: float | None = None

    @property
    def nothing(self) -> bool:
        """Whether there is no such option."""
        return self == Asked()


def answer_table(model: TableModel, table: pd.DataFrame, asked: Asked) -> pd.DataFrame:
    """Return a column of answers, and one for each node of a level if asked for.

    Parameters
    ----------
    model : TableModel
        Of one target that is a class.
    table : DataFrame
        With the features of the model.
    asked : Asked

    Raises
    ------
    UserError
        If the model has no probabilities of classes, no tree where one is needed, or
        the options do not fit it.
    """
    final = model.pipeline[-1]
    if len(model.targets) > 1 or not hasattr(final, "predict_proba"):
        raise UserError(
            "--level, --decision, --reject and --min-probability need the "
            "probabilities of one target that is a class, and this model has none. "
            "okl fit with --loss softmax, or --tree, makes one that has."
        )
    _check(asked, model.class_tree)
    (name,), classes, tree = model.targets, final.classes_, model.class_tree
    with refusing("cannot answer", ValueError):
        decision = _decision(asked.decision, classes)
        p = model.probabilities(table)
        if asked.min_probability is not None and tree is not None:
            found = deepest_nodes(p, asked.min_probability, classes=classes, tree=tree)
        else:
            found = decide(p, decision, classes=classes, tree=tree, reject=asked.reject)
    columns: dict[str, Any] = {name: found}
    if asked.level is not None and tree is not None:
        values = node_probabilities(p, classes=classes, tree=tree, level=asked.level)
        names = [f"P({node})" for node in tree.nodes(asked.level).tolist()]
        columns |= dict(zip(names, values.T, strict=True))
    return pd.DataFrame(columns)


def _check(asked: Asked, tree: ClassTree | None) -> None:
    """Refuse options that need a tree without one, or do not go together."""
    if asked.min_probability is not None and asked != Asked(
        asked.level, min_probability=asked.min_probability
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
