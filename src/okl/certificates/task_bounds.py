r"""Primal and dual value of a model of observations in long form.

The same two numbers as `okl.certificates.bounds` gives for the target matrix with one
entry a row, all others missing, from columns (n_samples, 1) and matrices of tasks
alone. A dual variable away from its row's own task is zero. So of the products that the
certificate needs, C'KC is a Gram matrix of one function per task; and of C M, which
turns the outputs, only the entries on the observations count: c_i M[t_i, t_i].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from okl.coding.tasks import Tasks
from okl.losses import Loss
from okl.numerics.arrays import Array, inner, namespace
from okl.output_kernels import OutputKernel
from okl.structures import Structure

# A relative gap above this is looked at again from other dual points, so many.
_DOUBTFUL, _TURNS = 1e-10, 8
_DOUBTFUL_RESIDUALS = 1e-7
# What rounding may leave of a sum over a task, relative to the entries.
_UNBALANCED = 1e-8


@dataclass(frozen=True)
class Observations:
    """What is observed, and the Gram matrix of the input kernel.

    Attributes
    ----------
    tasks : Tasks
        The task of each row.
    targets : array (n_samples, 1)
        One target a row.
    weights : array (n_samples, 1) or None
        What multiplies the loss of each row.
    loss : Loss
    structure : Structure
    gram : callable
        From columns a and b, the diagonals of A and B, to A'KB (n_tasks, n_tasks).
    best_intercept : callable or None
        From a loss and predictions (n_samples, 1) to the intercepts that minimise it,
        at each row (n_samples, 1); None without an intercept.
    """

    tasks: Tasks
    targets: Array
    weights: Array | None
    loss: Loss
    structure: Structure
    gram: Callable[[Array, Array], Array]
    best_intercept: Callable[[Loss, Array], Array] | None

    def bounds(
        self,
        dual: Array,
        predictions: Array,
        kernel: OutputKernel,
        *,
        alpha: float,
        intercept: Array | float = 0.0,
        dual_point: Array | None = None,
    ) -> tuple[float, float]:
        """Return the primal value of a model, and the dual value its scores imply.

        Parameters
        ----------
        dual : array (n_samples, 1)
            c.
        predictions : array (n_samples, 1)
            Those of c, without the intercept.
        kernel : OutputKernel
            L.
        alpha : float
            Strength of the regularisation.
        intercept : array (n_samples, 1) or float
            That of each row's task.
        dual_point : array (n_samples, 1), optional
            alpha c, which a loss with kinks must have.
        """
        known = "known" in self.structure.capabilities
        penalty = 0.0 if known else self.structure.penalty(kernel.matrix())
        primal = self.loss.value(self.targets, predictions + intercept, self.weights)
        primal += alpha * (inner(dual, predictions) / 2 + penalty)
        if dual_point is None:
            implied = self._gradient(self.loss, predictions)
        elif self._is_balanced(dual_point):
            implied = dual_point
        else:
            return primal, -float("inf")
        value = self._dual_value(implied, kernel, alpha)
        for _ in range(_TURNS):
            if primal - value <= _DOUBTFUL * abs(primal):
                break
            moved = self._turned(implied, dual, kernel, alpha)
            if moved is None:
                break
            implied, last = moved, value
            value = max(value, self._dual_value(implied, kernel, alpha))
            if value == last:
                break
        quadratic = "quadratic" in self.loss.capabilities
        if quadratic and primal - value > _DOUBTFUL_RESIDUALS * abs(primal):
            # at a very small alpha residuals are differences of nearly equal numbers
            value = max(
                value, self._dual_value(self._near(alpha * dual), kernel, alpha)
            )
        return primal, value

    def _gradient(self, loss: Loss, scores: Array) -> Array:
        """Return minus the gradient of a loss at the best intercept."""
        if self.best_intercept is not None:
            scores = scores + self.best_intercept(loss, scores)
        return loss.negative_gradient(self.targets, scores, self.weights)

    def _is_balanced(self, point: Array) -> bool:
        """Tell whether a point sums to zero over each task if there is an intercept."""
        xp = namespace(point)
        sizes = self.tasks.sums(xp.abs(point))
        within = xp.abs(self.tasks.sums(point)) <= _UNBALANCED * sizes
        return self.best_intercept is None or bool(xp.all(within))

    def _half_gram(self, implied: Array, alpha: float) -> Array:
        gram = self.gram(implied, implied) / (2 * alpha**2)
        return (gram + gram.T) / 2

    def _dual_value(self, implied: Array, kernel: OutputKernel, alpha: float) -> float:
        """Return D at c = implied / alpha, scaled into the domain of R*."""
        bound = self.structure.dual_bound(self._half_gram(implied, alpha), kernel)
        scaled = bound.factor * implied
        if bound.directions is not None:
            # not direction by direction: that would leave the observations
            limits = bound.directions[1]
            smallest = Loss.dual_scales(self.loss, self.targets, scaled, limits)
            scaled = scaled * smallest[0]
        value = self.loss.dual_value(self.targets, scaled, self.weights)
        return value - alpha * bound.value

    def _turned(
        self, implied: Array, dual: Array, kernel: OutputKernel, alpha: float
    ) -> Array | None:
        """Return a gradient of the loss near the boundary of the domain of R*.

        See `okl.certificates.bounds`: each direction is scaled up to its limit or to
        where, for a loss of the largest curvature, the dual value would be largest.
        """
        bound = self.structure.dual_bound(self._half_gram(implied, alpha), kernel)
        if bound.directions is None:
            return None
        xp = namespace(implied)
        vectors, limits = bound.directions
        squares = self.tasks.sums(implied * implied) @ vectors**2
        mixed = kernel.multiply(self.gram(implied, dual))
        slopes = xp.sum(vectors * (mixed @ vectors), axis=0)
        safe = xp.where(squares > 0, squares, xp.ones_like(squares))
        loss = self.loss.smoothed()
        steep = loss.largest_curvature
        steep = steep if self.weights is None else steep * xp.max(self.weights)
        scales = xp.minimum(xp.clip(1 + steep * slopes / safe, 0.0, None), limits)
        own = xp.sum(vectors * scales * vectors, axis=1)
        turned = implied * self.tasks.spread(own)
        return self._near(turned)

    def _near(self, point: Array) -> Array:
        """Return a gradient of the loss, balanced if b is free, near some point."""
        loss = self.loss.smoothed()
        return self._gradient(loss, loss.scores_of(self.targets, point, self.weights))
