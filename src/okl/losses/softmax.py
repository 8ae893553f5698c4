"""The softmax loss: the likelihood of one class among several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from okl._array import Array, definite_solver, inner, namespace
from okl.losses.base import Kind, Loss
from okl.losses.logistic import entropy
from okl.losses.separable import divide, unweighted

# What rounding may put outside the probability simplex.
_ROUNDING = 1e-11
# The best intercept: Newton steps, how often one is halved, and how long it may be at
# first; what it must gain of its promise, what promise is nothing or not seen, how much
# smaller those that are not seen must get, and how much smaller is the end.
_STEPS, _HALVINGS, _REACH = 200, 60, 1.0
_ARMIJO, _NOTHING, _UNSEEN, _SMALLER, _SUDDEN = 1e-4, 1e-28, 1e-14, 0.5, 1e-6


class Softmax(Loss):
    r"""The negative log likelihood of a class, one output per class.

    .. math:: V(y, f) = - \langle y, f \rangle + \log \sum_c e^{f_c}, \qquad
              -V^*(y, -a) = - \sum_c q_c \log q_c, \quad q = y - a

    with y coded 0 / 1, q in the probability simplex; two outputs for two classes.
    ``alpha`` is 1 / C of `sklearn.linear_model.LogisticRegression`. Seeger (2006),
    *Cross-validation optimization for large scale hierarchical classification kernel
    methods*, section 3.

    The second derivative in a row, diag(p) - p p', is V V' with
    V = (I - p 1') diag(p)^(1/2) (section 6.1.1).
    """

    name: ClassVar[str | None] = "softmax"
    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"smooth", "classification", "probabilities"}
    )
    largest_curvature: ClassVar[float] = 0.5

    def value(
        self, targets: Array, scores: Array, weights: Array | None = None
    ) -> float:
        """Return the weighted negative log likelihood."""
        return _likelihood(targets, _log_softmax(scores), weights)

    def negative_gradient(
        self, targets: Array, scores: Array, weights: Array | None = None
    ) -> Array:
        """Return y - p."""
        a = targets - _softmax(scores)
        return a if weights is None else weights * a

    def curvature(
        self, targets: Array, scores: Array, weights: Array | None = None
    ) -> Simplex:
        """Return diag(p) - p p' of each row."""
        return Simplex.of(_softmax(scores), weights)

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
        if rows is not None:  # what stands in a missing row does not count
            q = xp.where(rows > 0, q, xp.full_like(q, 1 / q.shape[1]))
        total = xp.sum(q, axis=1)
        if bool(xp.any(q < -_ROUNDING)) or bool(xp.any(xp.abs(total - 1) > _ROUNDING)):
            return -float("inf")
        entropies = entropy(xp.clip(q, 0.0, None))
        return float(xp.sum(entropies if rows is None else rows * entropies))

    def scores_of(
        self, targets: Array, negative_gradient: Array, weights: Array | None = None
    ) -> Array:
        """Return log q, q = y - a / w, none below what a number can be."""
        xp = namespace(targets)
        tiny = float(xp.finfo(targets.dtype).smallest_normal)
        q = targets - unweighted(negative_gradient, weights)
        return xp.log(xp.clip(q, tiny, None))

    def best_intercept(
        self, targets: Array, scores: Array, weights: Array | None = None
    ) -> Array:
        """Minimise by Newton's method in as many numbers as there are classes.

        Where probabilities saturate the second derivative is nearly singular and its
        steps far too long: they are cut at a length that doubles while they succeed.
        """
        xp = namespace(targets)
        b = xp.zeros((targets.shape[1],), dtype=targets.dtype)
        logs = _log_softmax(scores)
        value, reach = _likelihood(targets, logs, weights), _REACH
        last = float("inf")
        for _ in range(_STEPS):
            p = xp.exp(logs)
            slopes = targets - p if weights is None else weights * (targets - p)
            slope = xp.sum(slopes, axis=0)
            step = Simplex.of(p, weights).solve_total(slope)
            if not inner(slope, step) > 0:
                step = slope
            promise = inner(slope, step)
            unseen = _UNSEEN * _size(scores + b, weights)
            # below rounding steps are taken on trust, as long as they get smaller
            trusted = promise <= unseen
            if promise <= _NOTHING * max(abs(value), 1.0) or (
                trusted and promise >= _SMALLER * last
            ):
                break
            if trusted and promise <= _SUDDEN * last:
                # quadratic convergence: nothing is left after this step
                return b + step
            last = promise
            longest = float(xp.max(xp.abs(step)))
            length = min(1.0, reach / longest)
            slack = unseen if trusted else 0.0
            for _ in range(_HALVINGS):
                logs = _log_softmax(scores + b + length * step)
                trial = _likelihood(targets, logs, weights)
                if trial <= value - _ARMIJO * length * promise + slack:
                    break
                length /= 2
            else:
                break
            b, value = b + length * step, trial
            reach = max(2 * length * longest, _REACH)
        return b

    def encode(self, labels: Any, kind: Kind, n_classes: int) -> Array:
        """Code as 0 and 1, one column per class."""
        if kind == "multilabel":
            raise ValueError(
                "The loss 'softmax' is for one class per row, y has several labels per "
                "row; use loss='logistic'."
            )
        return (np.asarray(labels)[:, None] == np.arange(n_classes)).astype(float)

    def decide(self, scores: Array, kind: Kind) -> Array:
        """Return the largest column."""
        return np.argmax(scores, axis=1)

    def log_probabilities(self, scores: Array, kind: Kind) -> Array:
        """Return f_c - log sum exp f."""
        return _log_softmax(scores)


@dataclass(frozen=True)
class Simplex:
    """W = diag(w p) - w p p' in each row, as V V'.

    Attributes
    ----------
    probabilities : array (n_samples, n_classes)
        p.
    roots : array (n_samples, n_classes)
        (w p)^(1/2).
    """

    probabilities: Array
    roots: Array

    @classmethod
    def of(cls, probabilities: Array, weights: Array | None) -> Simplex:
        """Return the curvature at probabilities, of weighted rows."""
        weighted = probabilities if weights is None else weights * probabilities
        return cls(probabilities, namespace(weighted).sqrt(weighted))

    @property
    def separable(self) -> bool:
        """False: the classes share one probability."""
        return False

    @property
    def diagonal(self) -> Array:
        """D = diag(w p)."""
        return self.roots**2

    def project(self, right: Array) -> Array:
        """Return (I - p^(1/2) p^(1/2)') times an array, in each row."""
        xp = namespace(right)
        axis = xp.sqrt(self.probabilities)
        return right - axis * xp.sum(axis * right, axis=1, keepdims=True)

    def solve(self, right: Array) -> Array:
        """Divide rows that sum to zero by (w p)^(1/2), where that is not tiny."""
        return self.project(divide(right, self.roots))

    def factor(self, right: Array) -> Array:
        """Return V times an array."""
        scaled = self.roots * right
        total = namespace(right).sum(scaled, axis=1, keepdims=True)
        return scaled - self.probabilities * total

    def adjoint(self, right: Array) -> Array:
        """Return V' times an array."""
        xp = namespace(right)
        mean = xp.sum(self.probabilities * right, axis=1, keepdims=True)
        return self.roots * (right - mean)

    def solve_total(self, right: Array) -> Array:
        """Solve with the sum over the rows, singular along the classes' sum."""
        solved = self._total(right[:, None])[:, 0]
        return solved - namespace(right).mean(solved)

    @cached_property
    def _total(self) -> Callable[[Array], Array]:
        """What solves with the sum over the rows, made definite."""
        xp = namespace(self.roots)
        weighted = self.roots**2
        diagonal = xp.sum(weighted, axis=0)
        m = diagonal.shape[0]
        identity = xp.eye(m, dtype=diagonal.dtype)
        shift = xp.sum(diagonal) / m + xp.finfo(diagonal.dtype).smallest_normal
        total = identity * (diagonal + 1e-14 * shift) - weighted.T @ self.probabilities
        return definite_solver((total + total.T) / 2 + shift / m)


def _size(scores: Array, weights: Array | None) -> float:
    """Return the size of what is added up in a value, which sets its rounding."""
    xp = namespace(scores)
    rows = 1 + xp.max(xp.abs(scores), axis=1, keepdims=True)
    return float(xp.sum(rows if weights is None else weights * rows))


def _likelihood(targets: Array, logs: Array, weights: Array | None) -> float:
    """Return the weighted negative log likelihood of log probabilities."""
    xp = namespace(logs)
    rows = -xp.sum(targets * logs, axis=1, keepdims=True)
    return float(xp.sum(rows if weights is None else weights * rows))


def _log_softmax(scores: Array) -> Array:
    xp = namespace(scores)
    shifted = scores - xp.max(scores, axis=1, keepdims=True)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=1, keepdims=True))


def _softmax(scores: Array) -> Array:
    return namespace(scores).exp(_log_softmax(scores))
