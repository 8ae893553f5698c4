"""The file of a model: the pipeline, and the columns it was fitted to.

The format is skops: an archive of arrays and descriptions, not of code. Only objects of
types on a list are created from it (scikit-learn's estimators, NumPy arrays, and okl's
own components, which are listed below), so that a file from an unknown source can be
opened without risk.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import skops.io
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline

from okl import (
    Certificate,
    ClassTree,
    OutputKernelClassifier,
    OutputKernelRegressor,
)
from okl.cli.added_columns import with_deviations, with_intervals
from okl.cli.columns import Kind, plain
from okl.cli.errors import UserError, listing, refusing
from okl.cli.long_form import ids_in
from okl.cli.preprocessing import warn_of_new_values
from okl.coding.tasks import LongCoefficients, Tasks
from okl.estimators.label_coder import LabelCoder
from okl.estimators.process import Process
from okl.estimators.rare_labels import RareLabels
from okl.estimators.refits import Refits
from okl.estimators.score_function import ScoreFunction
from okl.estimators.units import Units
from okl.kernels import KERNELS, Columns, Constant, Product, Sum
from okl.losses import LOSSES
from okl.output_kernels import SpectralKernel, TreeKernel
from okl.posterior import PredictiveVariance, SeparateVariances, TaskVariances
from okl.problems import Observed
from okl.structures import STRUCTURES, Scaled, Tree
from okl.trees import Levels, NodeNames

# The format of the files that `save_model` writes. It is increased whenever older files
# would be read wrongly, or not at all. The first format had no number.
FORMAT = 5


@dataclass(frozen=True)
class TableModel:
    """A model that is fitted to a table and predicts for tables.

    Attributes
    ----------
    pipeline : Pipeline
        From the columns of features, as `okl.cli.columns.plain` returns them, to
        predictions in the units of the table, or labels.
    features, targets : dict of str to str
        The names of the columns and their kinds, in order.
    task_column : tuple of two str, or None
        For tables in long form, the column of the tasks and its kind.
    class_tree : ClassTree or None
        The tree whose leaves are the classes.
    format : int
        The format of the file.
    """

    pipeline: Pipeline
    features: dict[str, Kind]
    targets: dict[str, Kind]
    task_column: tuple[str, Kind] | None = None
    class_tree: ClassTree | None = None
    # not a class attribute: a model read from an older file would then have it as well
    format: int = field(default_factory=lambda: FORMAT)

    def predict(
        self, table: pd.DataFrame, *, std: bool = False, interval: float | None = None
    ) -> pd.DataFrame:
        """Predict the targets of each row of a table that has all features.

        With ``std`` further columns have the standard deviations of new targets, with
        ``interval`` the ends of intervals that hold them with this probability.

        Raises
        ------
        UserError
            If a column of features is missing or not of the kind in the fit, if a task
            did not occur in the fit, or if there are no standard deviations.
        """
        is_sure = std or interval is not None
        if is_sure:
            self.check_std()
        features, asked = self._features_of(table), self._tasks_of(table)
        if is_sure:
            asked |= {"return_std": True, "include_noise": True}
        with refusing("cannot predict", ValueError):
            predictions = self.pipeline.predict(features, **asked)
        if is_sure:
            predictions, deviations = predictions
        predicted = pd.DataFrame(
            predictions.reshape(len(table), -1), columns=list(self.targets)
        )
        truths = [name for name, kind in self.targets.items() if kind == "boolean"]
        predicted = predicted.astype(dict.fromkeys(truths, bool))
        names = list(self.targets)
        if std:
            of_targets = deviations.reshape(len(table), -1)
            predicted = with_deviations(predicted, names, of_targets)
        if interval is not None:
            of_targets = deviations.reshape(len(table), -1)
            predicted = with_intervals(predicted, names, of_targets, interval)
        return predicted

    def check_std(self) -> None:
        """Refuse standard deviations if the model has none.

        Raises
        ------
        UserError
            For classes, and for another loss than the squared one.
        """
        if not is_regressor(self.pipeline):
            raise UserError(
                "--std and --interval are for numbers; this model predicts classes. "
                "Leave them out."
            )
        loss = self.pipeline[-1].loss_
        if "quadratic" not in loss.capabilities:
            raise UserError(
                f"--std and --interval need the squared loss, and this model has "
                f"{loss.name}. Leave them out, or fit with okl fit --loss squared."
            )

    def probabilities(self, table: pd.DataFrame) -> np.ndarray:
        """Return the probabilities of the classes (n_samples, n_classes).

        Raises
        ------
        UserError
            If a column of features is missing or not of the kind in the fit, or if a
            task did not occur in the fit.
        """
        features, asked = self._features_of(table), self._tasks_of(table)
        with refusing("cannot predict", ValueError):
            probabilities: np.ndarray = self.pipeline.predict_proba(features, **asked)
        return probabilities

    def task_of(self, table: pd.DataFrame) -> np.ndarray | None:
        """Return the task of each row, None if the model has no tasks.

        Raises
        ------
        UserError
            If a task did not occur in the fit.
        """
        if self.task_column is None:
            return None
        ids, known = ids_in(table, *self.task_column), self.pipeline[-1].output_names_
        there = set(known.tolist())
        new = [one for one in dict.fromkeys(ids.tolist()) if one not in there]
        if new:
            raise UserError(
                f"the column {self.task_column[0]} has tasks that the table of the fit "
                f"did not have: {listing(new, 5)}; it had {listing(known)}. Leave "
                "their rows out, or fit with some."
            )
        return ids

    def _tasks_of(self, table: pd.DataFrame) -> dict[str, Any]:
        """Return the task of each row as an argument, if the model has tasks."""
        ids = self.task_of(table)
        return {} if ids is None else {"task": ids}

    def _features_of(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the columns of features, in the form of those of the fit."""
        features = plain(table, self.features)
        warn_of_new_values(self.pipeline[0], features)
        return features


def save_model(model: TableModel, path: Path) -> None:
    """Write a model."""
    skops.io.dump(model, path)


def load_model(path: Path) -> TableModel:
    """Read a model that `save_model` wrote.

    Raises
    ------
    UserError
        If there is no such file, if it is damaged or of another version of okl, or if
        it contains anything else.
    """
    if not path.is_file():
        hint = "it is a folder" if path.is_dir() else "there is no such file"
        raise UserError(
            f"cannot read the model {path}: {hint}. Give the model.skops that okl fit "
            "wrote."
        )
    # A file may be wrong in any way, so that any exception is an error of the file.
    with refusing(f"{path} is not a complete model of okl fit", Exception):
        foreign = set(skops.io.get_untrusted_types(file=path)) - trusted_types()
        formerly_ours = {name for name in foreign if name.startswith("okl.")}
        if foreign - formerly_ours:
            raise UserError(
                f"it holds {listing(sorted(foreign))}, which okl does not write and "
                "does not load"
            )
        model: Any = None
        if not formerly_ours:
            model = skops.io.load(path, trusted=sorted(trusted_types()))
        if not (formerly_ours or isinstance(model, TableModel)):
            raise UserError(f"it holds a {type(model).__name__}")
    if formerly_ours or vars(model).get("format") != FORMAT:
        raise UserError(
            f"the model {path} was written by another version of okl, in a format that "
            "this one does not read. Run okl fit again, or okl predict of that version."
        )
    return model


def trusted_types() -> set[str]:
    """Return the full names of okl's types that a model may hold."""
    types: Iterable[type] = [
        *KERNELS.values(),
        # the parts of a learned kernel
        *(Columns, Constant, Product, Sum),
        *STRUCTURES.values(),
        *LOSSES.values(),
        *(type(loss.coding) for loss in LOSSES.values() if loss.coding is not None),
        Certificate,
        ClassTree,
        LabelCoder,
        Levels,
        NodeNames,
        LongCoefficients,
        SpectralKernel,
        OutputKernelClassifier,
        OutputKernelRegressor,
        PredictiveVariance,
        Observed,
        Process,
        RareLabels,
        Refits,
        Scaled,
        ScoreFunction,
        SeparateVariances,
        TableModel,
        TaskVariances,
        Tasks,
        Tree,
        TreeKernel,
        Units,
    ]
    return {f"{kind.__module__}.{kind.__qualname__}" for kind in types}
