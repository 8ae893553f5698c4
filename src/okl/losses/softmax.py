"""The softmax loss: the likelihood of one class among several."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from okl.coding.labels import LabelCoding, OneHot
from okl.losses.base import Loss
from okl.losses.logistic import entropy
from okl.losses.separable import unweighted
from okl.losses.simplex import Simplex
from okl.numerics.arrays import (
    Array,
    column_sums,
    inner,
    namespace,
    row_inner,
    row_sums,
)
from okl.optimization.vector import minimise

# What rounding may put outside the probability simplex.
_ROUNDING = 1e-11
# Exponentials of scores up to this size do not overflow.
_SAFE = 300.0
# A start moves equal probabilities this part of the way to the targets, if there are so
# many classes: with fewer the second derivative at zero is not so much too small.
_SURE, _MANY = 0.25, 100
# Rounding of a value, relative to the size of what is added up in it.
_UNSEEN = 1e-14


class Softmax(Loss):
    r"""The negative log likelihood of a class, one output per class.

    .. math:: V(y, f) = - \langle y, f \rangle + \log \sum_c e^{f_c}, \qquad
              -V^*(y, -a) = - \sum_c q_c \log q_c, \quad q = y - a

    with y coded 0 / 1 and q in the probability simplex. Two classes are two outputs.
    ``alpha`` is 1 / C of `sklearn.linear_model.LogisticRegression`. Seeger (2006),
    *Cross-validation optimization for structured Hessian kernel methods*, section 3.

    The second derivative in a row, diag(p) - p p', is V V' with
    V = (I - p 1') diag(p)^(1/2) (section 6.1.1).
    """

    name: ClassVar[str | None] = "softmax"
    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"smooth", "differences", "classification", "probabilities", "sets"}
    )
    coding: ClassVar[LabelCoding] = OneHot()
    largest_curvature: ClassVar[float] = 0.5

    def value(
        self, targets: Array, scores: Array, weights: Array | None = None
    ) -> float:
        """Return the weighted negative log likelihood."""
        return _likelihood(targets, _log_softmax(scores)[0], weights)

    def negative_gradient(
        self, targets: Array, scores: Array, weights: Array | None = None
    ) -> Array:
        """Return y - p."""
        return _residuals(targets, _softmax(scores), weights)

    def value_and_negative_gradient(
        self, targets: Array, scores: Array, weights: Array | None = None
    ) -> tuple[float, Array]:
        """Return both from one set of exponentials."""
        logs, p = _log_softmax(scores)
        return (
            _likelihood(targets, logs, weights),
            _residuals(targets, p, weights),
        )

    def curvature(
        self, targets: Array, scores: Array, weights: Array | None = None
    ) -> Simplex:
        """Return diag(p) - p p' of each row."""
        return Simplex(_softmax(scores), weights)

    def expected(
        self, candidates: Array, scores: Array, weights: Array | None = None
    ) -> tuple[Array, float]:
        """Return p among the candidates, normalised, and minus the log of their sum.

        Section 7.3.
        """
        xp = namespace(scores)
        nothing = xp.full_like(scores, -float("inf"))
        among, q = _log_softmax(xp.where(candidates, scores, nothing))
        logs, _ = _log_softmax(scores)
        # log p - log q is the log of the sum for any candidate; take the likeliest
        best = xp.argmax(q, axis=1)
        unit = best[:, None] == xp.arange(q.shape[1])
        sums = xp.sum(xp.where(unit, logs - among, xp.zeros_like(q)), axis=1)
        value = sums if weights is None else weights[:, 0] * sums
        return q, -float(xp.sum(value))

    def dual_value(
        self, targets: Array, negative_gradient: Array, weights: Array | None = None
    ) -> float:
        """Return the entropy of q = y - a / w, -inf outside the simplex."""
        xp = namespace(targets)
        a, rows = negative_gradient, None
        if weights is not None:
            rows = xp.max(weights + xp.zeros_like(a), axis=1, keepdims=True)
            if bool(xp.any((rows == 0) & (a != 0))):
                return -float("inf")
        q = targets - unweighted(a, rows)
        if rows is not None:  # the target of a missing row has no influence
            q = xp.where(rows > 0, q, xp.full_like(q, 1 / q.shape[1]))
        total = xp.sum(q, axis=1)
        if bool(xp.any(q < -_ROUNDING)) or bool(xp.any(xp.abs(total - 1) > _ROUNDING)):
            return -float("inf")
        entropies = entropy(xp.clip(q, 0.0, None))
        return float(xp.sum(entropies if rows is None else rows * entropies))

    def scores_of(
        self, targets: Array, negative_gradient: Array, weights: Array | None = None
    ) -> Array:
        """Return log q, q = y - a / w, with q at least the smallest normal number."""
        xp = namespace(targets)
        tiny = float(xp.finfo(targets.dtype).smallest_normal)
        q = targets - unweighted(negative_gradient, weights)
        return xp.log(xp.clip(q, tiny, None))

    def plausible_scores(self, targets: Array) -> Array | None:
        """Return log q, q a quarter of the way from equal probabilities to the targets.

        Where there are many classes.
        """
        n_classes = targets.shape[1]
        if n_classes < _MANY:
            return None
        return namespace(targets).log(_SURE * targets + (1 - _SURE) / n_classes)

    def best_intercept(
        self, targets: Array, scores: Array, weights: Array | None = None
    ) -> Array:
        """Minimise by Newton's method in n_classes variables."""
        xp = namespace(targets)
        first = xp.zeros((targets.shape[1],), dtype=targets.dtype)
        return minimise(_Shifted.of(targets, scores, weights), first)


class _Shifted(NamedTuple):
    """The likelihood at scores + b, as a function of b.

    Where no exponential can overflow, those of the scores are computed once; <y, f + b>
    is linear in b.

    Attributes
    ----------
    targets, scores, weights : array
        The arguments of the likelihood.
    exponentials : array (n_samples, n_classes) or None
        Those of the scores, None if one would overflow.
    largest : float
        The largest absolute value of the scores.
    given : float
        <y, f>, weighted.
    counts : array (n_classes,)
        The sum of y, weighted.
    size, rows : float
        The size of what is added up in a value, and the sum of the weights of the rows.
    """

    targets: Array
    scores: Array
    weights: Array | None
    exponentials: Array | None
    largest: float
    given: float
    counts: Array
    size: float
    rows: float

    @classmethod
    def of(cls, targets: Array, scores: Array, weights: Array | None) -> _Shifted:
        xp = namespace(scores)
        y = targets if weights is None else weights * targets
        largest = float(xp.max(xp.abs(scores)))
        given, counts = inner(y, scores), column_sums(y)
        sizes = _size(scores, weights)
        powers = xp.exp(scores) if largest <= _SAFE else None
        return cls(targets, scores, weights, powers, largest, given, counts, *sizes)

    def at(self, b: Array) -> tuple[float, Array]:
        """Return minus the log likelihood, and p."""
        xp = namespace(b)
        powers = self.exponentials
        if powers is None or self.largest + float(xp.max(xp.abs(b))) > _SAFE:
            logs, p = _log_softmax(self.scores + b)
            return _likelihood(self.targets, logs, self.weights), p
        p = powers * xp.exp(b)
        total = row_sums(p)
        p /= total
        logs = xp.log(total)
        whole = xp.sum(logs if self.weights is None else self.weights * logs)
        return float(whole) - self.given - inner(self.counts, b), p

    def newton(self, p: Array) -> tuple[Array, Array]:
        """Return the sums of the residuals, and the Newton step for b."""
        slope = self.counts - column_sums(
            p if self.weights is None else self.weights * p
        )
        return slope, Simplex(p, self.weights).solve_total(slope)

    def rounding(self, b: Array) -> float:
        """Return the rounding of the value."""
        xp = namespace(b)
        return _UNSEEN * (self.size + self.rows * float(xp.max(xp.abs(b))))


def _residuals(targets: Array, p: Array, weights: Array | None) -> Array:
    """Return w (y - p)."""
    return targets - p if weights is None else weights * (targets - p)


def _size(scores: Array, weights: Array | None) -> tuple[float, float]:
    """Return the size of what is added up in a value, and the weights' sum.

    Both are needed for the rounding of the value.
    """
    xp = namespace(scores)
    sizes = 1 + xp.max(xp.abs(scores), axis=1, keepdims=True)
    if weights is None:
        return float(xp.sum(sizes)), float(scores.shape[0])
    return float(xp.sum(weights * sizes)), float(xp.sum(weights))


def _likelihood(targets: Array, logs: Array, weights: Array | None) -> float:
    """Return the weighted negative log likelihood of log probabilities."""
    if weights is None:
        return -inner(targets, logs)
    xp = namespace(logs)
    return -float(xp.sum(weights * row_inner(targets, logs)))


def _log_softmax(scores: Array) -> tuple[Array, Array]:
    """Return log p and p of each row, none of which overflows."""
    xp = namespace(scores)
    logs = scores - xp.max(scores, axis=1, keepdims=True)
    p = xp.exp(logs)
    total = row_sums(p)
    logs -= xp.log(total)
    p /= total
    return logs, p


def _softmax(scores: Array) -> Array:
    """Return p of each row."""
    xp = namespace(scores)
    p = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
    p /= row_sums(p)
    return p
