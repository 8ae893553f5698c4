r"""Squared norm of L, squared loss: Newton's method in the dual variables C.

The dual, divided by alpha, is smooth, strongly concave and unconstrained,

.. math:: \langle C, Y \rangle - \tfrac{\alpha}{2} \|C\|^2
          - \tfrac18 \|C'KC\|_F^2.

In the eigenbasis of K and, at each step, in that of L, a Hessian product
alpha V + K V S / 2 + KC (V'KC + C'KV) / 2, S = C'KC, is three matrix products. Its
diagonal, with 2 L in place of S, is the preconditioner. (The part of the last term
matters where K has few large eigenvalues and L many small ones: without it there are
many times as many products.) Along a line the dual is a quartic, so the exact
step is the only real root of a cubic.

Every L = S / 2 on the way is PSD. (Newton's method in L itself needs fewer products
where L is well conditioned. Where it is nearly singular, with smooth kernels and as
many outputs as samples, it needs several times as many, or fails.) The best f for this
L has dual variables C(L) in closed form, and the duality gap of the model is exactly
alpha / 2 ||L - C(L)'K C(L) / 2||_F^2.

Where R(L) = ||D^-1 L D^-1||_F^2 / 2, D diagonal, the best L is E S E / 2 with E = D^2,
and norms and inner products of matrices of outputs are tr A E B E.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from okl.certificates import relative_gap
from okl.numerics.arrays import Array, eigh, inner, namespace, row_sums, symmetric
from okl.optimization.conjugate_gradient import conjugate_gradient
from okl.optimization.crossing import crossing
from okl.output_kernels import SpectralKernel
from okl.problems import Rotated
from okl.solvers.neighbours import Neighbours
from okl.solvers.output_kernel.alternation import first_output_kernel
from okl.solvers.output_kernel.value_function import NewtonIterate

# Relative residual of the Newton systems far from the optimum; it shrinks with the
# square root of the gap, which keeps convergence superlinear.
_FORCING = 0.1


class _Metric(NamedTuple):
    """E in some basis, None for the identity; called, E X E."""

    matrix: Array | None

    def __call__(self, inside: Array) -> Array:
        return inside if self.matrix is None else self.matrix @ self.times(inside)

    def times(self, rows: Array) -> Array:
        """Return rows times E."""
        return rows if self.matrix is None else rows @ self.matrix

    @property
    def diagonal(self) -> Array | float:
        """The diagonal of E, or one."""
        if self.matrix is None:
            return 1.0
        return namespace(self.matrix).linalg.diagonal(self.matrix)


def dual_newton(
    prepared: Rotated,
    alpha: float,
    start: Neighbours | None,
    *,
    tol: float,
    scales: Array | None = None,
) -> Iterator[NewtonIterate]:
    """Yield models, without an end.

    The first L is extrapolated from neighbouring alphas. Where none is near it is found
    by `first_output_kernel`, for which ``tol`` is. The scales are the diagonal of D.
    """
    d, targets = prepared.eigenvalues, prepared.targets
    xp = namespace(targets)
    known = Neighbours() if start is None else start
    if known.near(alpha):
        first = known.at(alpha)
    else:
        first = first_output_kernel(prepared, alpha, tol=tol).matrix()
    values, basis = eigh(first)
    weights, targets = xp.clip(values, 0.0, None), targets @ basis
    dual = model = targets / (d * weights + alpha)
    product = None  # C'KC, where it is not that of the model
    while True:
        metric, inverse = _metrics(basis, scales)
        moment = symmetric(model.T @ (d * model))
        identity = xp.eye(weights.shape[0], dtype=weights.dtype)
        # the S for which L is the best
        matching = 2 * inverse(identity * weights)
        squares = inner(weights, xp.linalg.diagonal(matching)) / 2
        primal = alpha / 2 * (inner(model, targets) + squares)
        defect = moment - matching
        gap = alpha / 8 * inner(metric(defect), defect)
        kernel = SpectralKernel(xp.flip(weights), xp.flip(basis, axis=1)).on_range()
        there = known.joined(alpha, kernel.matrix())
        yield NewtonIterate(kernel, primal, primal - gap, there)
        relative = relative_gap(primal, primal - gap, prepared.problem.gap_scale)
        inside = moment if product is None else product
        change = _step(d, targets, dual, inside, weights, metric, alpha, relative)
        dual = dual + change

        product = symmetric(dual.T @ (d * dual))
        values, rotation = eigh(symmetric(metric(product)))
        weights, product = (
            xp.clip(values, 0.0, None) / 2,
            rotation.T @ product @ rotation,
        )
        dual, targets, basis = dual @ rotation, targets @ rotation, basis @ rotation
        model = targets / (d * weights + alpha)


def _step(
    d: Array,
    targets: Array,
    dual: Array,
    moment: Array,
    weights: Array,
    metric: _Metric,
    alpha: float,
    gap: float,
) -> Array:
    """Return the change of C, in the eigenbases of K and L.

    ``moment`` is S = C'KC, and the weights are the eigenvalues of L: E S E is nearly
    diagonal, with twice the weights.
    """
    scaled, half = d * dual, metric(moment) / 2
    in_metric = metric.times(scaled)
    of_last = row_sums(in_metric * scaled) * metric.diagonal + in_metric**2
    diagonal = alpha + d * weights + of_last / 2

    def hessian(direction: Array) -> Array:
        mixed = scaled.T @ direction
        turned = d * (direction @ half) + scaled @ metric(symmetric(mixed))
        return alpha * direction + turned

    gradient = targets - alpha * dual - scaled @ half
    direction = conjugate_gradient(
        hessian,
        gradient,
        lambda residual: residual / diagonal,
        rtol=min(_FORCING, gap**0.5),
    )
    # with S(t) = S + t Q + t^2 R, Q = C'KV + V'KC and R = V'KV, the derivative along
    # V is <G, V> - t (alpha ||V||^2 + (||Q||^2 + 2 <S, R>) / 4) - 3/4 t^2 <Q, R>
    # - t^3 ||R||^2 / 2, for the gradient G at t = 0 and the inner product
    # <A, B> = tr A E B E of matrices of outputs
    mixed = 2 * symmetric(scaled.T @ direction)
    square = direction.T @ (d * direction)
    image, crossed = metric(square), metric(mixed)
    length = _root(
        inner(gradient, direction),
        alpha * inner(direction, direction)
        + inner(crossed, mixed) / 4
        + inner(moment, image) / 2,
        0.75 * inner(mixed, image),
        inner(square, image) / 2,
    )
    return length * direction


def _root(constant: float, linear: float, quadratic: float, cubic: float) -> float:
    """Return t where constant = linear t + quadratic t^2 + cubic t^3, which rises."""
    if not constant > 0:  # no direction to go, by rounding
        return 0.0

    def missing(t: float) -> float:
        return constant - t * (linear + t * (quadratic + t * cubic))

    high = 1.0
    while missing(high) > 0:
        high *= 2
    return crossing(missing, 0.0, high)


def _metrics(basis: Array, scales: Array | None) -> tuple[_Metric, _Metric]:
    """Return E and its inverse in an orthonormal basis, for the diagonal of D."""
    if scales is None:
        return _Metric(None), _Metric(None)
    squares = namespace(basis).asarray(scales, dtype=basis.dtype)[:, None] ** 2
    inside, back = basis.T @ (squares * basis), basis.T @ (basis / squares)
    return _Metric(inside), _Metric(back)
