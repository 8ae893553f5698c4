"""Labels as targets, and scores as labels.

A classifier fits scores to numbers. How labels become these numbers, how scores decide
for labels, and which probabilities they stand for is a *coding*; a loss names the one
that it is made for (`okl.losses.Loss.coding`), and solvers know nothing of it.

There are three kinds of labels. A row has one of the ``"binary"`` or ``"multiclass"``
labels, given as class numbers (n_samples,), and any number of the ``"multilabel"``
ones, given as indicators (n_samples, n_labels) of zeros and ones. Targets and scores
are (n_samples, n_outputs).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np

from okl.numerics.arrays import Array, namespace

# How far from one the probabilities of a row may sum to.
_ROUNDING = 1e-9

Kind = Literal["binary", "multiclass", "multilabel"]


class LabelCoding(ABC):
    """How labels become targets, and scores labels."""

    @abstractmethod
    def encode(self, labels: Any, kind: Kind, n_classes: int) -> np.ndarray:
        """Return the targets (n_samples, n_outputs) of labels.

        Parameters
        ----------
        labels : array
            Class numbers (n_samples,), or for ``"multilabel"`` the indicators
            (n_samples, n_labels).
        kind : {"binary", "multiclass", "multilabel"}
        n_classes : int
            The number of classes, or of labels.

        Raises
        ------
        ValueError
            If this kind cannot be coded.
        """

    @abstractmethod
    def decide(self, scores: np.ndarray, kind: Kind) -> np.ndarray:
        """Return the labels that scores (n_samples, n_outputs) decide for."""

    def log_probabilities(self, scores: np.ndarray, kind: Kind) -> np.ndarray:
        """Return the logarithms of the class probabilities (n_samples, n_classes).

        For ``"multilabel"`` those of each label, (n_samples, n_labels).

        Raises
        ------
        AttributeError
            If scores stand for no probabilities.
        """
        raise AttributeError(
            "These scores have no probabilities; use loss='logistic' or loss='softmax'."
        )

    @abstractmethod
    def check(self, targets: Array, weights: Array | None = None) -> None:
        """Refuse targets that `encode` does not make.

        Parameters
        ----------
        targets : array (n_samples, n_outputs)
        weights : array (n_samples, n_outputs) or (n_samples, 1), optional
            Where they are zero a target may be anything.

        Raises
        ------
        ValueError
        """


class Signs(LabelCoding):
    """-1 and +1: one column for two classes, else one per class or label."""

    def encode(self, labels: Any, kind: Kind, n_classes: int) -> np.ndarray:
        """Return +1 for what a row has, -1 for what it has not."""
        labels = np.asarray(labels)
        if kind == "multiclass":
            labels = labels[:, None] == np.arange(n_classes)
        elif kind == "binary":
            labels = labels[:, None]
        return np.where(labels > 0, 1.0, -1.0)

    def check(self, targets: Array, weights: Array | None = None) -> None:
        """Refuse what is neither -1 nor +1."""
        xp = namespace(targets)
        wrong = xp.abs(targets) != 1.0
        wrong = wrong if weights is None else wrong & (weights > 0)
        if xp.any(wrong):
            raise ValueError(
                "Targets of this loss are -1 and +1, one column for two classes; got "
                f"{float(targets[wrong][0]):g}. Indicators of 0 and 1 become such by "
                "2 * Y - 1."
            )

    def decide(self, scores: np.ndarray, kind: Kind) -> np.ndarray:
        """Return the largest column, or the sign as 0 or 1."""
        if kind == "multiclass":
            return np.argmax(scores, axis=1)
        decisions = (scores > 0).astype(np.intp)
        return decisions[:, 0] if kind == "binary" else decisions


class LogOdds(Signs):
    """Signs, of scores that are the logarithm of p / (1 - p).

    The probabilities of several classes, one against the rest, are normalised to sum to
    one.
    """

    def decide(self, scores: np.ndarray, kind: Kind) -> np.ndarray:
        """Return the most probable class, or the labels of probability above 1/2."""
        if kind == "multiclass":
            return np.argmax(np.exp(self.log_probabilities(scores, kind)), axis=1)
        return super().decide(scores, kind)

    def log_probabilities(self, scores: np.ndarray, kind: Kind) -> np.ndarray:
        """Return log 1 / (1 + exp(-f)), normalised over several classes."""
        present = -np.logaddexp(0.0, -scores)
        if kind == "multilabel":
            return present
        if kind == "binary":
            return np.concatenate([-np.logaddexp(0.0, scores), present], axis=1)
        return _normalised(present)


class OneHot(LabelCoding):
    """0 and 1, one column per class, of scores that are unnormalised log probabilities.

    Two classes have two columns.
    """

    def encode(self, labels: Any, kind: Kind, n_classes: int) -> np.ndarray:
        """Return the indicators of the classes."""
        if kind == "multilabel":
            raise ValueError(
                "The loss 'softmax' is for one class per row, y has several labels per "
                "row; use loss='logistic'."
            )
        return (np.asarray(labels)[:, None] == np.arange(n_classes)).astype(float)

    def check(self, targets: Array, weights: Array | None = None) -> None:
        """Refuse rows that are no probabilities, those of expected classes are some."""
        xp = namespace(targets)
        wrong = xp.abs(xp.sum(targets, axis=1, keepdims=True) - 1.0) > _ROUNDING
        wrong = wrong | (targets < 0.0)
        wrong = wrong if weights is None else wrong & (weights > 0)
        if xp.any(wrong):
            raise ValueError(
                "Targets of this loss are 0 and 1, one column for each class, or "
                "probabilities: each row has the sum 1. Got a row that has not."
            )

    def decide(self, scores: np.ndarray, kind: Kind) -> np.ndarray:
        """Return the largest column."""
        return np.argmax(scores, axis=1)

    def log_probabilities(self, scores: np.ndarray, kind: Kind) -> np.ndarray:
        """Return f_c - log sum exp f."""
        return _normalised(scores)


def _normalised(logs: np.ndarray) -> np.ndarray:
    """Return logarithms less that of the sum of their exponentials, row by row."""
    logs = logs - np.max(logs, axis=1, keepdims=True)
    return logs - np.log(np.sum(np.exp(logs), axis=1, keepdims=True))
