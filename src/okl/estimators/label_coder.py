"""What a classifier keeps of its labels: the classes, and how a loss codes them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from okl.coding.labels import Kind, LabelCoding
from okl.estimators.weights import of_rows

# One for all outputs, or one for each (n_outputs,).
Temperature = float | np.ndarray


@dataclass(frozen=True)
class LabelCoder:
    """From labels to targets, and from scores to labels and probabilities.

    Scores are (n_samples, n_outputs), or (n_samples,) where there is one output.

    Attributes
    ----------
    classes : array (n_classes,)
        Sorted; the numbers of the labels for ``"multilabel"``.
    kind : {"binary", "multiclass", "multilabel"}
    coding : LabelCoding
        That of the loss.
    temperature : float, or array (n_labels,) for ``"multilabel"``
        What scores are divided by before they stand for probabilities.
    """

    classes: np.ndarray
    kind: Kind
    coding: LabelCoding
    temperature: Temperature = 1.0

    @classmethod
    def of(
        cls,
        labels: np.ndarray,
        kind: Kind,
        coding: LabelCoding,
        weights: np.ndarray | None = None,
        classes: np.ndarray | None = None,
    ) -> LabelCoder:
        """Return the coder of training labels.

        Classes of which all rows have weight zero are left out.

        Parameters
        ----------
        labels : array (n_samples,), or indicators (n_samples, n_labels)
        kind : {"binary", "multiclass", "multilabel"}
        coding : LabelCoding
        weights : array, optional
            Of the rows, (n_samples, 1), or of each label.
        classes : array (n_classes,), optional
            All classes, sorted, where more of them are known than labels show.

        Raises
        ------
        ValueError
            If there is one class only.
        """
        if kind == "multilabel":
            return cls(np.arange(labels.shape[1]), kind, coding)
        rows = of_rows(weights)
        if classes is None:
            classes = np.unique(labels if rows is None else labels[rows > 0])
        if len(classes) < 2:
            weighted = "" if rows is None else " where sample_weight is not zero"
            raise ValueError(
                f"y has one class only{weighted}, {classes.tolist()[0]!r}; a "
                "classifier needs at least two classes."
            )
        return cls(classes, "binary" if len(classes) == 2 else "multiclass", coding)

    def targets(self, labels: np.ndarray) -> np.ndarray:
        """Return the targets (n_samples, n_outputs) of labels."""
        if self.kind != "multilabel":
            labels = self.numbers(labels)
        return self.coding.encode(labels, self.kind, len(self.classes))

    def numbers(self, labels: np.ndarray) -> np.ndarray:
        """Return the number of the class of each label.

        A row of weight zero may have a label that is no class: it gets any number.
        """
        return np.clip(np.searchsorted(self.classes, labels), 0, len(self.classes) - 1)

    def decision(self, scores: np.ndarray) -> np.ndarray:
        """Return scores; for two classes one a row, the difference if there are two."""
        if self.kind == "binary" and scores.ndim == 2:
            return scores[:, 1] - scores[:, 0]
        return scores

    def labels(self, scores: np.ndarray) -> np.ndarray:
        """Return the labels that scores decide for."""
        decisions = self.coding.decide(_columns(scores), self.kind)
        return decisions if self.kind == "multilabel" else self.classes[decisions]

    def log_probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the logarithms of the probabilities that scores stand for."""
        scores = _columns(scores) / self.temperature
        return self.coding.log_probabilities(scores, self.kind)

    def at(self, temperature: Temperature) -> LabelCoder:
        """Return the coder whose probabilities are at a temperature."""
        return replace(self, temperature=temperature)

    def of_every_task(self) -> LabelCoder:
        """Return the coder of scores with one column a task, each of two classes."""
        return _OfTasks(self.classes, "multilabel", self.coding, self.temperature)


class _OfTasks(LabelCoder):
    """A coder of labels (n_samples, n_tasks), each one of two classes."""

    def labels(self, scores: np.ndarray) -> np.ndarray:
        """Return the class of each row and task."""
        return self.classes[super().labels(scores)]


def _columns(scores: np.ndarray) -> np.ndarray:
    """Return scores (n_samples, n_outputs), also of one output."""
    return scores.reshape(scores.shape[0], -1)
