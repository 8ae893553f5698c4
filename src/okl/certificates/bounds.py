r"""Primal and dual value of a model: the arithmetic of the certificate.

See `okl.certificates.certificate` for the problem and what the two values prove.
Nothing here knows how a model was found, nor how its arrays are arranged
(`okl.certificates.entries`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from okl.certificates.entries import Entries
from okl.losses import Loss
from okl.numerics.arrays import Array, eigh, namespace, symmetric
from okl.output_kernels import OutputKernel, SpectralKernel
from okl.structures import Structure
from okl.structures.base import DualBound

# Further dual points are tried where the relative gap is above _DOUBTFUL, or above
# _DOUBTFUL_TURN where outputs may not be mixed: there at most _TURNS points are turned
# one from another (`_turned`), until one closes no more than _LITTLE of the gap.
_DOUBTFUL, _DOUBTFUL_TURN, _TURNS, _LITTLE = 1e-7, 1e-10, 8, 0.05
# What rounding may leave of the sum of entries of a dual point that share an
# intercept, relative to these entries.
_UNBALANCED = 1e-8
_INF = float("inf")


def bounds(
    entries: Entries,
    targets: Array,
    theta: Any,
    output_kernel: OutputKernel,
    predictions: Array,
    *,
    alpha: float,
    structure: Structure,
    loss: Loss,
    weights: Array | None = None,
    intercept: Array | float = 0.0,
    free_intercept: bool = False,
    dual_point: Array | None = None,
    tol: float = _DOUBTFUL,
) -> tuple[float, float]:
    """Return the primal value of a model and the dual value its residuals imply.

    This is the arithmetic of `okl.certify`, for arrays that were checked before.

    Parameters
    ----------
    entries : Entries
        How the arrays are arranged, and K.
    targets, predictions : array
        One number an entry; predictions are those of the model without its intercept,
        as `predict` evaluates them.
    theta : array (n_samples, n_outputs), or LongCoefficients
        The coefficients C L, as the entries take them.
    output_kernel : OutputKernel
        L.
    alpha, structure, loss, weights
        The objective; weights broadcast to the targets.
    intercept : array or float
        b, which broadcasts to the predictions.
    free_intercept : bool
        Whether dual points have to sum to zero.
    dual_point : array, optional
        alpha C of the fit, which a loss with kinks must have.
    tol : float, optional
        The relative gap that is enough with a known L and a smooth loss that is not
        quadratic: up to it no second dual point is tried. With quadratic ones it is
        1e-7. With a learned L and other losses there is no second one.
    """
    scores = predictions + intercept
    primal = loss.value(targets, scores, weights) + alpha * (
        entries.squared_norm(theta, predictions, output_kernel) / 2
        + structure.penalty_of(output_kernel)
    )
    point = _DualPoint(
        entries, targets, weights, output_kernel, alpha, structure, loss, free_intercept
    )
    if dual_point is None:
        implied = point.gradient(loss, scores)
    elif free_intercept and not _is_balanced(entries, dual_point):
        return primal, -_INF
    else:
        implied = dual_point
    dual = _best_value(point, implied, theta, predictions, primal, tol)
    if -_INF < dual < 0:
        # C = 0 may be better: its bound is what loss and penalty are never below
        dual = max(dual, point.value(namespace(implied).zeros_like(implied)))
    return primal, dual


def _best_value(
    point: _DualPoint,
    implied: Array,
    theta: Any,
    predictions: Array,
    primal: float,
    tol: float,
) -> float:
    """Return D at the dual point of a model; if the gap is large, the best near it."""
    loss, dual = point.loss, point.value(implied)
    doubtful = _DOUBTFUL if point.exact else _DOUBTFUL_TURN
    if dual == -_INF or primal - dual <= doubtful * abs(primal):
        return dual
    if not (point.exact or point.given):
        dual = _turned(point, implied, theta, predictions, primal, dual)
    quadratic = "quadratic" in loss.capabilities
    has_second = quadratic or (point.given and "smooth" in loss.capabilities)
    enough = _DOUBTFUL if quadratic else tol
    if not has_second or primal - dual <= enough * abs(primal):
        return dual
    # At a very small alpha residuals are differences of nearly equal numbers, which
    # lose their digits; where K is large, a little of them counts for much. On the
    # range of L alpha Theta L^+ is the same dual point at the optimum.
    other = point.entries.implied(theta, implied, point.output_kernel, point.alpha)
    if not point.exact:
        other = point.gradient_near(other)
    return max(dual, point.value(other))


def _turned(
    point: _DualPoint,
    implied: Array,
    theta: Any,
    predictions: Array,
    primal: float,
    dual: float,
) -> float:
    """Return the best dual value of points turned towards the boundary of R*.

    At the optimum all directions of L lie on the boundary of the domain of R*. Scaling
    C by one factor puts a single direction there, and leaves a gap of first order in
    how far the others are from it. Scaling each direction by its own factor may leave
    the domain of the loss, but the nearest gradient of the loss is inside again. A few
    such turns come close to meeting both conditions.
    """
    for _ in range(_TURNS):
        moved = point.turned(implied, theta, predictions)
        if moved is None:
            break
        implied, last = moved, dual
        dual = max(dual, point.value(implied))
        little = dual - last <= _LITTLE * (primal - last)
        if little or primal - dual <= _DOUBTFUL_TURN * abs(primal):
            break
    return dual


@dataclass(frozen=True)
class _DualPoint:
    """What is needed to evaluate D at alpha C, scaled into the domain of R*."""

    entries: Entries
    targets: Array
    weights: Array | None
    output_kernel: OutputKernel
    alpha: float
    structure: Structure
    loss: Loss
    free_intercept: bool

    @property
    def exact(self) -> bool:
        """Whether outputs may be mixed: a quadratic loss, no weights, no tasks."""
        quadratic = "quadratic" in self.loss.capabilities
        return quadratic and self.weights is None and self.entries.every_output

    @property
    def given(self) -> bool:
        """Whether L is fixed, so that every dual point is in the domain of R*."""
        return "known" in self.structure.capabilities

    def gradient(self, loss: Loss, scores: Array) -> Array:
        """Return minus the gradient of a loss, balanced if b is free.

        With the loss minimised over b, its entries that share an intercept sum to zero.
        """
        targets, weights, entries = self.targets, self.weights, self.entries
        if self.free_intercept:
            best = entries.best_intercept(loss, targets, scores, weights)
            scores = scores + entries.spread(best)
        return loss.negative_gradient(targets, scores, weights)

    def gradient_near(self, implied: Array) -> Array:
        """Return the gradient, balanced if b is free, that is near a dual point."""
        loss = self.loss.smoothed()
        return self.gradient(loss, loss.scores_of(self.targets, implied, self.weights))

    def turned(self, implied: Array, theta: Any, predictions: Array) -> Array | None:
        """Return a gradient of the loss near the boundary of the domain of R*.

        Each direction is scaled to where the dual value would be largest if the loss
        had its largest curvature everywhere, and at most to its limit. None if there
        are no directions.
        """
        bound = self._bound(implied, self.output_kernel)
        if bound.directions is None:
            return None
        xp = namespace(implied)
        vectors, limits = bound.directions
        squares, slopes = self.entries.along(implied, theta, predictions, vectors)
        safe = xp.where(squares > 0, squares, xp.ones_like(squares))
        steep = self.loss.smoothed().largest_curvature
        if self.weights is not None:
            steep = steep * xp.max(self.weights)
        scales = xp.minimum(xp.clip(1 + steep * slopes / safe, 0.0, None), limits)
        return self.gradient_near(self.entries.mixed(implied, vectors, scales))

    def _bound(self, implied: Array, kernel: OutputKernel) -> DualBound:
        """Return an upper bound of R*(S), S = C'KC / 2, formed only if it must be."""
        half, structure = 1 / (2 * self.alpha**2), self.structure
        apart = self.entries.every_output and not kernel.couples
        if self.given and (apart or kernel.nodes is not None):
            return DualBound(half * self.entries.dual_norm(implied, kernel))
        half_gram = half * self.entries.gram(implied, implied)
        return structure.dual_bound(symmetric(half_gram), kernel)

    def value(self, implied: Array) -> float:
        """Return D at C = implied / alpha."""
        if self.exact:
            return self._exact_value(implied)
        bound = self._bound(implied, self.output_kernel)
        scaled = bound.factor * implied
        if bound.directions is not None:
            # one factor for all: scaling single directions would leave the domain of
            # the loss, or fill entries that must stay zero
            limits = bound.directions[1]
            scaled = (
                scaled * Loss.dual_scales(self.loss, self.targets, scaled, limits)[0]
            )
        value = self.loss.dual_value(self.targets, scaled, self.weights)
        value -= self.alpha * bound.value
        if bound.unscaled == _INF:
            return value
        whole = self.loss.dual_value(self.targets, implied, self.weights)
        return max(value, whole - self.alpha * bound.unscaled)

    def _exact_value(self, implied: Array) -> float:
        """Return D where outputs may be mixed, and directions scaled one by one."""
        targets, kernel, entries = self.targets, self.output_kernel, self.entries
        if self.free_intercept:
            implied = entries.balanced(implied)
        if entries.shared:
            implied, targets, kernel = _compressed(
                implied, targets, kernel, self.structure
            )
        bound = self._bound(implied, kernel)
        scaled, turned = bound.factor * implied, targets
        if bound.directions is not None:
            vectors, limits = bound.directions
            scaled, turned = scaled @ vectors, targets @ vectors
            scaled = scaled * self.loss.dual_scales(turned, scaled, limits)
        if self.free_intercept:
            # a large scale may have amplified what rounding leaves of the column sums
            scaled = entries.balanced(scaled)
        value = self.loss.dual_value(turned, scaled) - self.alpha * bound.value
        if bound.unscaled < _INF:
            whole = self.loss.dual_value(targets, implied)
            value = max(value, whole - self.alpha * bound.unscaled)
        if bound.mixing is None:
            return value
        mixing, penalty = bound.mixing
        mixed = self.loss.dual_value(targets, implied @ mixing)
        return max(value, mixed - self.alpha * penalty)


def _is_balanced(entries: Entries, point: Array) -> bool:
    """Tell whether entries that share an intercept sum to zero, up to rounding."""
    xp = namespace(point)
    sizes = entries.sums(xp.abs(point))
    return bool(xp.all(xp.abs(entries.sums(point)) <= _UNBALANCED * sizes))


def _compressed(
    rows: Array, targets: Array, kernel: OutputKernel, structure: Structure
) -> tuple[Array, Array, OutputKernel]:
    """Rotate more outputs than samples into the span of the dual rows.

    A rotation changes neither R* of a rotation invariant structure nor a quadratic
    loss; targets outside the span are orthogonal to the dual point and do not count.
    """
    n, m = rows.shape
    if m <= n or "rotation_invariant" not in structure.capabilities:
        return rows, targets, kernel
    xp = namespace(rows)
    values, vectors = eigh(rows @ rows.T)
    roots = xp.sqrt(xp.clip(values, 0.0, None))
    safe = xp.where(roots > 0, roots, xp.ones_like(roots))
    # rows = W diag(roots) Q', so that M Q = M rows' W / roots
    inside = structure.known(rows[:, :n])
    if inside is None:
        factor = ((kernel.factor().T @ rows.T) @ vectors) / safe
        inside = SpectralKernel.from_factor(factor.T)
    return vectors * roots, ((targets @ rows.T) @ vectors) / safe, inside
