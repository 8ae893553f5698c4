"""Labels as targets, and scores as labels.

A classifier fits scores to numbers, the targets. A *coding* defines how labels become
targets, how labels are decided from scores, and which probabilities the scores stand
for. A loss names the coding that it is made for (`okl.losses.Loss.coding`); solvers do
not use it.

There are three kinds of labels. With ``"binary"`` and ``"multiclass"`` a row has one
label, given as a class number (n_samples,). With ``"multilabel"`` it has any number of
labels, given as indicators (n_samples, n_labels) of zeros and ones. Targets and scores
are (n_samples, n_outputs).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np

from okl.numerics.arrays import Array, namespace

# How much the sum of the probabilities of a row may differ from one.
_ROUNDING = 1e-9

Kind = Literal["binary", "multiclass", "multilabel"]


class LabelCoding(ABC):
    """How labels become targets, and scores become labels."""

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
        """Return the labels decided from scores (n_samples, n_outputs)."""

    def log_probabilities(self, scores: np.ndarray, kind: Kind) -> np.ndarray:
        """Return the logarithms of the class probabilities (n_samples, n_classes).

        For ``"multilabel"`` it is that of each label, (n_samples, n_labels).

        Raises
        ------
        AttributeError
            If the scores do not stand for probabilities.
        """
        raise AttributeError(
            "These scores have no probabilities; use loss='logistic' or loss='softmax'."
        )

    @abstractmethod
    def check(self, targets: Array, weights: Array | None = None) -> None:
        """Refuse targets that are not in this coding.

        Parameters
        ----------
        targets : array (n_samples, n_outputs)
        weights : array (n_samples, n_outputs) or (n_samples, 1), optional
            Where a weight is zero the target is not checked.

        Raises
        ------
        ValueError
        """


class Signs(LabelCoding):
    """-1 and +1: one column for two classes, else one per class or label."""

    def encode(self, labels: Any, kind: Kind, n_classes: int) -> np.ndarray:
        """Return +1 for the classes or labels of a row, -1 for all others."""
        labels = np.asarray(labels)
        if kind == "multiclass":
            labels = labels[:, None] == np.arange(n_classes)
        elif kind == "binary":
            labels = labels[:, None]
        return np.where(labels > 0, 1.0, -1.0)

    def check(self, targets: Array, weights: Array | None = None) -> None:
        """Refuse targets that are neither -1 nor +1."""
        xp = namespace(targets)
        wrong = xp.abs(targets) != 1.0
        wrong = wrong if weights is None else wrong & (weights > 0)
        if xp.any(wrong):
            raise ValueError(
                "Targets of this loss must be -1 or +1, with one column for two "
                f"classes; got {float(targets[wrong][0]):g}. Convert indicators of 0 "
                "and 1 by 2 * Y - 1."
            )

    def decide(self, scores: np.ndarray, kind: Kind) -> np.ndarray:
        """Return the column of the largest score, or the sign as 0 or 1."""
        if kind == "multiclass":
            return np.argmax(scores, axis=1)
        decisions = (scores > 0).astype(np.intp)
        return decisions[:, 0] if kind == "binary" else decisions


class LogOdds(Signs):
    """Signs, with scores that are the logarithms of p / (1 - p).

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
    """0 and 1, one column per class, with scores as unnormalised log probabilities.

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
        """Refuse rows that are no probabilities; expected targets are allowed."""
        xp = namespace(targets)
        wrong = xp.abs(xp.sum(targets, axis=1, keepdims=True) - 1.0) > _ROUNDING
        wrong = wrong | (targets < 0.0)
        wrong = wrong if weights is None else wrong & (weights > 0)
        if xp.any(wrong):
            raise ValueError(
                "Targets of this loss must be 0 or 1, with one column for each class, "
                "or probabilities, and each row must add up to 1. Got a row that does "
                "not."
            )

    def decide(self, scores: np.ndarray, kind: Kind) -> np.ndarray:
        """Return the column of the largest score."""
        return np.argmax(scores, axis=1)

    def log_probabilities(self, scores: np.ndarray, kind: Kind) -> np.ndarray:
        """Return f_c - log sum exp f."""
        return _normalised(scores)


def _normalised(logs: np.ndarray) -> np.ndarray:
    """Return logarithms minus the log of the sum of their exponentials, by row."""
    logs = logs - np.max(logs, axis=1, keepdims=True)
    return logs - np.log(np.sum(np.exp(logs), axis=1, keepdims=True))
