"""Losses: how a prediction is judged, and how targets become numbers.

A loss V(y, f) is convex in the score f. It appears in three places: in the
primal objective through its value, in the dual through its convex conjugate

    V*(y, u) = sup over f of <u, f> - V(y, f),

and at both ends of an estimator, which codes targets before the fit and maps
scores to predictions after it. Losses hold parameters, never targets.

Shapes: targets, scores and dual variables are (n_samples, n_outputs).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

from okl._array import Array
from okl._component import Component

Kind = Literal["binary", "multiclass", "multilabel"]


class Loss(Component, ABC):
    """Base of the losses.

    Attributes
    ----------
    capabilities : frozenset of str
        What solvers may rely on: ``"quadratic"`` says that V is half the squared
        distance, so that a known output kernel has a closed form, the intercept
        is centring, and outputs may be rotated.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def value(self, targets: Array, scores: Array) -> float:
        """Return the sum over samples of V(y_i, f_i)."""

    @abstractmethod
    def negative_gradient(self, targets: Array, scores: Array) -> Array:
        """Return -dV/df at each sample; alpha times the dual variables of a model."""

    @abstractmethod
    def dual_value(self, targets: Array, negative_gradient: Array) -> float:
        """Return the sum over samples of -V*(y_i, -a_i), for a = alpha times C."""

    @abstractmethod
    def dual_scales(
        self, targets: Array, negative_gradient: Array, limits: Array
    ) -> Array:
        """Choose the factor t_j in [0, limits_j] of each column of the dual point.

        The larger the dual value of ``negative_gradient * t``, the tighter the
        certificate; any choice in the loss' domain is a valid bound.
        """

    @abstractmethod
    def encode(self, labels: Any, kind: Kind, n_classes: int) -> Array:
        """Code labels as targets (n_samples, n_outputs).

        Parameters
        ----------
        labels : array
            Class numbers (n_samples,), or for ``"multilabel"`` the indicators
            (n_samples, n_labels) of zeros and ones.
        kind : {"binary", "multiclass", "multilabel"}
            The kind of classification.
        n_classes : int
            The number of classes, or of labels.
        """

    @abstractmethod
    def decide(self, scores: Array, kind: Kind) -> Array:
        """Map scores (n_samples, n_outputs) to labels, coded as for `encode`."""
