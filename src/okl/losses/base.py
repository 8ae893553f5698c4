"""Losses: what an error of a prediction costs.

A loss V(y, f) is convex in the score f. It appears in three places: in the primal
objective through its value, in the dual through its convex conjugate

    V*(y, u) = sup over f of <u, f> - V(y, f),

and at both ends of a classifier, which codes labels as targets, and decodes scores, in
the way that the loss is made for (`okl.coding.labels`). Solvers also ask for its second
derivative, through products with a factor of it, and for the intercept that minimises
it. Losses hold parameters, never targets.

Shapes: targets, scores and dual variables are (n_samples, n_outputs). Weights
multiply the loss of each entry, (n_samples, n_outputs), or of each row,
(n_samples, 1); None is one everywhere. An entry of weight zero is missing: its target
may be any finite number, which has no influence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Protocol

from okl.coding.labels import LabelCoding
from okl.numerics.arrays import Array, namespace
from okl.parameters.component import Component


class Curvature(Protocol):
    """The second derivative W = V V' of a loss by the scores, a matrix for each row.

    V = D^(1/2) P, with D diagonal and P a projection in each row.
    """

    @property
    def separable(self) -> bool:
        """Whether W is diagonal, P = I."""

    @property
    def diagonal(self) -> Array:
        """D (n_samples, n_outputs)."""

    @property
    def shared(self) -> Array | None:
        """U, with W = D - u u' for the row u of each row; None where W is D."""

    def project(self, right: Array) -> Array:
        """Return P times an array (n_samples, n_outputs)."""

    def solve(self, right: Array) -> Array:
        """Return V^+ times an array in the range of V; tiny entries of D count as 0."""

    def factor(self, right: Array) -> Array:
        """Return V times an array (n_samples, n_outputs)."""

    def adjoint(self, right: Array) -> Array:
        """Return V' times an array (n_samples, n_outputs)."""

    def product(self, right: Array) -> Array:
        """Return W times an array (n_samples, n_outputs)."""

    @property
    def entries(self) -> Array:
        """The diagonal of W (n_samples, n_outputs)."""

    def solve_total(self, right: Array) -> Array:
        """Solve with the sum of W over the rows; right is (n_outputs,)."""


class Loss(Component, ABC):
    """Base of the losses.

    Attributes
    ----------
    capabilities : frozenset of str
        What solvers and estimators may rely on:

        - ``"quadratic"``: V is half the squared distance, so that without weights a
          known output kernel has a closed form, the intercept is centring, outputs
          may be rotated, and the columns of a dual point scaled one by one;
        - ``"smooth"``: V has a second derivative (`curvature`), at most
          ``largest_curvature``;
        - ``"location"``: V depends on y - f only, so that targets may be shifted where
          the intercept is free;
        - ``"robust"``: a target far away counts at most in proportion to its error;
          targets are normalised by quantiles, which it moves little;
        - ``"adaptive"``: a parameter may be left to the data, and ``for_errors(size,
          spread)`` is the loss for errors of that typical size, of targets with that
          spread;
        - ``"active"``: the second derivative is diagonal, and zero at most entries;
        - ``"linear_dual"``: targets are signs, and the conjugate is linear between
          bounds, so that the dual of each output is that of a support vector machine;
        - ``"proximal"``: V has kinks, or few curved entries, and its Moreau envelope is
          known (`okl.losses.envelope`);
        - ``"regression"``, ``"classification"``, ``"multilabel"``: the kinds of targets
          that V is for;
        - ``"differences"``: V depends only on the differences between the scores of a
          row;
        - ``"probabilities"``: scores can be turned into probabilities;
        - ``"sets"``: a row may have a set of possible classes instead of one class
          (`expected`).
    coding : LabelCoding or None
        How labels become targets, and scores become labels; None for a loss that is for
        numbers only.
    largest_curvature : float
        A bound on the eigenvalues of the second derivative, at weight one.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset()
    coding: ClassVar[LabelCoding | None] = None
    largest_curvature: ClassVar[float] = float("inf")

    @property
    def predicted_quantile(self) -> float | None:
        """The quantile of the targets that is predicted, None where none is."""
        return None

    @property
    def scored_quantile(self) -> float | None:
        """The quantile of the targets that predictions are scored as.

        Their score is by the pinball loss; None where it is by squared errors.
        """
        return self.predicted_quantile

    def validate(self) -> None:
        """Check the parameters, before any work.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        """

    @abstractmethod
    def value(
        self, targets: Array, scores: Array, weights: Array | None = None
    ) -> float:
        """Return the weighted sum over samples of V(y_i, f_i)."""

    @abstractmethod
    def negative_gradient(
        self, targets: Array, scores: Array, weights: Array | None = None
    ) -> Array:
        """Return -dV/df at each sample; alpha times the dual variables of a model.

        At a kink of V it is minus some subgradient, which need not be of any use.
        """

    def value_and_negative_gradient(
        self, targets: Array, scores: Array, weights: Array | None = None
    ) -> tuple[float, Array]:
        """Return `value` and `negative_gradient`, computing shared parts once."""
        return (
            self.value(targets, scores, weights),
            self.negative_gradient(targets, scores, weights),
        )

    @abstractmethod
    def curvature(
        self, targets: Array, scores: Array, weights: Array | None = None
    ) -> Curvature:
        """Return the second derivative at the scores."""

    def damped_curvature(
        self,
        targets: Array,
        scores: Array,
        weights: Array | None = None,
        *,
        share: float,
    ) -> Curvature | None:
        """Return the second derivative, damped towards that of a quadratic above V.

        The quadratic touches V at the scores and is nowhere below it. With a share of
        one, a step to its minimum lowers V; with zero it is a Newton step. None for a
        loss where shortened Newton steps do as well.
        """
        return None

    def expected(
        self, candidates: Array, scores: Array, weights: Array | None = None
    ) -> tuple[Array, float]:
        """Return the expected targets, given sets of possible classes, and a value.

        The value is minus the log likelihood of these sets.

        Parameters
        ----------
        candidates : array of bool (n_samples, n_outputs)
            The classes that each row may have.
        scores : array (n_samples, n_outputs)
        weights : array (n_samples, 1), optional

        Raises
        ------
        TypeError
            If this loss takes no sets of classes.
        """
        raise TypeError(
            f"The loss {self.name or self!r} does not support sets of classes (labels "
            "that are inner nodes of a tree)."
        )

    @abstractmethod
    def dual_value(
        self, targets: Array, negative_gradient: Array, weights: Array | None = None
    ) -> float:
        """Return the sum of -V*(y_i, -a_i), -inf outside its domain."""

    def smoothed(self) -> Loss:
        """Return a smooth loss whose negative gradients are dual points of this one.

        A smooth loss returns itself.
        """
        return self

    @abstractmethod
    def scores_of(
        self, targets: Array, negative_gradient: Array, weights: Array | None = None
    ) -> Array:
        """Return scores where the negative gradient is the given one, or near it.

        Such scores are a gradient of the conjugate. The given one may be out of reach.
        """

    def plausible_scores(self, targets: Array) -> Array | None:
        """Return scores near the targets for a solver to start from, or None.

        None where zero is as good a start: where the second derivative at zero is
        nearly that near the minimum.
        """
        return None

    @abstractmethod
    def best_intercept(
        self, targets: Array, scores: Array, weights: Array | None = None
    ) -> Array:
        """Return the b (n_outputs,) that minimises the value at ``scores + b``."""

    def dual_scales(
        self, targets: Array, negative_gradient: Array, limits: Array
    ) -> Array:
        """Choose the factor t_j in [0, limits_j] of each column of the dual point.

        The larger the dual value of ``negative_gradient * t``, the tighter the
        certificate. By default one factor, at most 1, for all columns: the domain of
        the dual is convex and holds zero, so that the point stays inside.
        """
        xp = namespace(limits)
        smallest = float(xp.min(limits)) if limits.shape[0] else 1.0
        return xp.full_like(limits, min(smallest, 1.0))
