r"""Primal and dual value of a model: the arithmetic of the certificate.

See `okl.certificates.certificate` for the problem and what the two values prove.
Nothing here knows how a model was found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from okl.losses import Loss
from okl.numerics.arrays import Array, eigh, epsilon, inner, namespace
from okl.output_kernels import OutputKernel
from okl.structures import Structure

# A coefficient matrix this far (relative) outside the range of L has an infinite
# norm; below, it is what rounding leaves.
_OUTSIDE_RANGE = 1e-6

# A relative gap above this is looked at again from other dual points: for a quadratic
# loss from one, else from so many.
_DOUBTFUL, _DOUBTFUL_TURN, _TURNS = 1e-7, 1e-10, 8
# What rounding may leave of a column sum of a dual point, relative to its entries.
_UNBALANCED = 1e-8


def bounds(
    K: Any,
    targets: Array,
    dual_coef: Array,
    output_kernel: OutputKernel,
    *,
    alpha: float,
    structure: Structure,
    loss: Loss,
    weights: Array | None = None,
    intercept: Array | float = 0.0,
    free_intercept: bool = False,
    dual_point: Array | None = None,
    products: Array | None = None,
) -> tuple[float, float]:
    """Return the primal value of a model and the dual value its residuals imply.

    The same as `certify` on arrays that were checked before; K is anything that
    multiplies a matrix from the left. If it has an attribute ``shared`` that is False,
    each output has a matrix of its own, and outputs are not rotated. The dual point,
    alpha C, is that of the fit where one is given, as it must be for a loss with kinks.
    The products K Theta are those that are given, as `predict` evaluates them, or
    evaluated here.
    """
    if products is None:
        products = K @ dual_coef
    scores = products + intercept

    primal = loss.value(targets, scores, weights) + alpha * (
        _squared_norm(dual_coef, products, output_kernel) / 2
        + _penalty(structure, output_kernel)
    )

    if dual_point is not None:
        if free_intercept and not _is_balanced(dual_point):
            return primal, -float("inf")
        implied = dual_point
    else:
        if free_intercept:
            # with the loss minimised over b the columns of its gradient sum to zero
            scores = scores + loss.best_intercept(targets, scores, weights)
        implied = loss.negative_gradient(targets, scores, weights)
    point = _DualPoint(
        K, targets, weights, output_kernel, alpha, structure, loss, free_intercept
    )
    dual = point.value(implied)
    doubtful = _DOUBTFUL if point.exact else _DOUBTFUL_TURN
    if dual == -float("inf") or primal - dual <= doubtful * abs(primal):
        return primal, dual
    if not point.exact:
        dual = _turned(point, implied, products, dual)
    if "quadratic" not in loss.capabilities or primal - dual <= _DOUBTFUL * abs(primal):
        return primal, dual
    # At a very small alpha residuals are differences of nearly equal numbers. On the
    # range of L the same dual point is Theta L^+ as well.
    other = _without_cancellation(implied, dual_coef, output_kernel, alpha)
    if not point.exact:
        other = point.gradient_near(other)
    return primal, max(dual, point.value(other))


def rounding_reference(
    loss: Loss, targets: Array, centered: Array, weights: Array | None
) -> float:
    """Return the objective below which there is nothing but rounding.

    Machine epsilon x the loss at f = 0 of centred targets, and of targets as given
    what is left when their rounding is squared, with something to spare.
    """
    xp = namespace(targets)
    eps = epsilon(targets)
    value = eps * loss.value(centered, xp.zeros_like(centered), weights)
    if centered is not targets:
        value += eps**1.5 * loss.value(targets, xp.zeros_like(targets), weights)
    return value


def _turned(
    point: _DualPoint, implied: Array, predictions: Array, dual: float
) -> float:
    """Return the best dual value of points turned towards the boundary of R*.

    At the optimum all directions of L lie on that boundary. One factor puts a single
    direction there, which leaves a gap of first order in what the others lack; to turn
    each by its own may leave the domain of the loss, to which the nearest gradient
    leads back. A few turns settle both.
    """
    for _ in range(_TURNS):
        moved = point.turned(implied, predictions)
        if moved is None:
            break
        implied, last = moved, dual
        dual = max(dual, point.value(implied))
        if dual == last:
            break
    return dual


def _without_cancellation(
    residual: Array, dual_coef: Array, kernel: OutputKernel, alpha: float
) -> Array:
    """Return alpha Theta L^+, and outside the range of L the residual."""
    difference = alpha * kernel.coordinates(
        dual_coef
    ) / kernel.eigenvalues - kernel.coordinates(residual)
    return residual + kernel.from_coordinates(difference)


@dataclass(frozen=True)
class _DualPoint:
    """What is needed to evaluate D at alpha C, scaled into the domain of R*."""

    K: Any
    targets: Array
    weights: Array | None
    output_kernel: OutputKernel
    alpha: float
    structure: Structure
    loss: Loss
    free_intercept: bool

    @property
    def exact(self) -> bool:
        """Whether outputs may be rotated: a quadratic loss, no weights."""
        return "quadratic" in self.loss.capabilities and self.weights is None

    def turned(self, implied: Array, predictions: Array) -> Array | None:
        """Return a gradient of the loss near the boundary of the domain of R*.

        Each direction is scaled up to its limit or to where, for a loss of the largest
        curvature, the dual value would be largest. None if there are no directions.
        """
        bound = self.structure.dual_bound(self._half_gram(implied), self.output_kernel)
        if bound.directions is None:
            return None
        loss = self.loss.smoothed()
        xp = namespace(implied)
        vectors, limits = bound.directions
        rows = implied @ vectors
        squares = xp.sum(rows * rows, axis=0)
        slopes = xp.sum(rows * (predictions @ vectors), axis=0)
        safe = xp.where(squares > 0, squares, xp.ones_like(squares))
        steep = loss.largest_curvature
        if self.weights is not None:
            steep = steep * xp.max(self.weights)
        scales = xp.minimum(xp.clip(1 + steep * slopes / safe, 0.0, None), limits)
        return self.gradient_near((rows * scales) @ vectors.T)

    def gradient_near(self, implied: Array) -> Array:
        """Return a gradient of the loss, balanced if b is free, near some rows."""
        loss, targets, weights = self.loss.smoothed(), self.targets, self.weights
        scores = loss.scores_of(targets, implied, weights)
        if self.free_intercept:
            scores = scores + loss.best_intercept(targets, scores, weights)
        return loss.negative_gradient(targets, scores, weights)

    def _half_gram(self, implied: Array) -> Array:
        half_gram = implied.T @ (self.K @ implied) / (2 * self.alpha**2)
        return (half_gram + half_gram.T) / 2

    def value(self, implied: Array) -> float:
        """Return D at C = implied / alpha."""
        targets, kernel = self.targets, self.output_kernel
        if self.exact:
            if self.free_intercept:
                implied = _balanced(implied)
            if getattr(self.K, "shared", True):
                implied, targets, kernel = _compressed(
                    implied, targets, kernel, self.structure
                )
        bound = self.structure.dual_bound(self._half_gram(implied), kernel)
        scaled = bound.factor * implied
        if bound.directions is not None:
            vectors, limits = bound.directions
            if self.exact:
                scaled, targets = scaled @ vectors, targets @ vectors
                scaled = scaled * self.loss.dual_scales(targets, scaled, limits)
            else:
                scaled = scaled * Loss.dual_scales(self.loss, targets, scaled, limits)
        if self.exact and self.free_intercept:
            # a large scale would make of rounding a column that does not sum to zero
            scaled = _balanced(scaled)
        value = self.loss.dual_value(targets, scaled, self.weights)
        value -= self.alpha * bound.value
        if not self.exact or bound.mixing is None:
            return value
        mixing, penalty = bound.mixing
        mixed = self.loss.dual_value(targets, implied @ mixing)
        return max(value, mixed - self.alpha * penalty)


def _balanced(rows: Array) -> Array:
    """Return rows with columns that sum to zero."""
    return rows - namespace(rows).mean(rows, axis=0, keepdims=True)


def _is_balanced(rows: Array) -> bool:
    """Tell whether all columns sum to zero, up to rounding."""
    xp = namespace(rows)
    sizes = xp.sum(xp.abs(rows), axis=0)
    return bool(xp.all(xp.abs(xp.sum(rows, axis=0)) <= _UNBALANCED * sizes))


def _squared_norm(dual_coef: Array, products: Array, kernel: OutputKernel) -> float:
    """Return tr(L^+ Theta' K Theta), infinite where Theta leaves the range of L."""
    inside = kernel.coordinates(dual_coef)
    total = inner(dual_coef, dual_coef)
    if total - inner(inside, inside) > _OUTSIDE_RANGE**2 * total:
        return float("inf")
    return inner(inside / kernel.eigenvalues, kernel.coordinates(products))


def _penalty(structure: Structure, kernel: OutputKernel) -> float:
    if "known" in structure.capabilities:
        return 0.0
    if "rotation_invariant" in structure.capabilities:
        kernel = OutputKernel(kernel.eigenvalues)
    return structure.penalty(kernel.matrix())


def _compressed(
    rows: Array, targets: Array, kernel: OutputKernel, structure: Structure
) -> tuple[Array, Array, OutputKernel]:
    """Rotate more outputs than samples into the span of the dual rows.

    A rotation of the outputs changes neither the conjugate of a rotation invariant
    structure nor a quadratic loss; what of the targets lies outside the span has no
    product with the dual point.
    """
    n, m = rows.shape
    if m <= n or "rotation_invariant" not in structure.capabilities:
        return rows, targets, kernel
    xp = namespace(rows)
    values, vectors = eigh(rows @ rows.T)
    roots = xp.sqrt(xp.clip(values, 0.0, None))
    safe = xp.where(roots > 0, roots, xp.ones_like(roots))
    # rows = W diag(roots) Q', so that M Q = M rows' W / roots
    if "known" not in structure.capabilities:
        factor = ((kernel.factor().T @ rows.T) @ vectors) / safe
        kernel = OutputKernel.from_factor(factor.T)
    return vectors * roots, ((targets @ rows.T) @ vectors) / safe, kernel
