r"""Squared norm of L, squared loss: Newton's method in the dual variables C.

The dual, divided by alpha, is smooth, strongly concave and unconstrained,

.. math:: \langle C, Y \rangle - \tfrac{\alpha}{2} \|C\|^2
          - \tfrac18 \|C'KC\|_F^2.

In the eigenbasis of K, and each step in that of S = C'KC = diag(s), a Hessian
product alpha V + K V S / 2 + KC (V'KC + C'KV) / 2 is two matrix products, and its
first two terms are diagonal: they precondition it. Along a line the dual is a quartic,
so the exact step is the only real root of a cubic.

Every L = S / 2 on the way is PSD. (Newton's method in L itself needs fewer products
where L is well conditioned. Where it is nearly singular, with smooth kernels and as
many outputs as samples, it needs several times as many, or fails.) The best f for this
L has dual variables C(L) in closed form, and the duality gap of the model is exactly
alpha / 2 ||L - C(L)'K C(L) / 2||_F^2.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from okl.certificates import relative_gap
from okl.numerics.arrays import Array, eigh, inner, namespace
from okl.optimization.conjugate_gradient import conjugate_gradient
from okl.optimization.smooth import symmetric
from okl.output_kernels import SpectralKernel
from okl.problems import Rotated
from okl.solvers.alternation import first_output_kernel
from okl.solvers.value_function import NewtonIterate

# Relative residual of the Newton systems far from the optimum; it shrinks with the
# square root of the gap, which keeps convergence superlinear.
_FORCING = 0.1


def dual_newton(
    prepared: Rotated, alpha: float, start: tuple[Array, Array] | None, *, tol: float
) -> Iterator[NewtonIterate]:
    """Yield models, without an end.

    Parameters
    ----------
    prepared : Rotated
        A problem with R(L) = ||L||_F^2 / 2.
    alpha : float
        Strength of the regularisation.
    start : tuple of arrays or None
        Dual variables of a neighbouring alpha on the range of K, and the basis they are
        in; None to begin with those of a first L.
    tol : float
        Relative tolerance of that L.
    """
    d, targets = prepared.eigenvalues, prepared.targets
    xp = namespace(targets)
    if start is None:
        first = first_output_kernel(prepared, alpha, tol=tol)
        values, basis = eigh(first.matrix())
        targets = targets @ basis
        dual = targets / (d * values + alpha)
    else:
        dual, basis = start
        targets = targets @ basis
        # outside the range of K they are the targets over alpha
        dual = xp.concat([dual, targets[prepared.rank :, :] / alpha])
    while True:
        values, rotation = eigh(symmetric(dual.T @ (d * dual)))
        values = xp.clip(values, 0.0, None)
        dual, targets, basis = dual @ rotation, targets @ rotation, basis @ rotation

        weights = values / 2
        model = targets / (d * weights + alpha)
        primal = alpha / 2 * (inner(model, targets) + inner(weights, weights))
        defect = model.T @ (d * model) / 2 - _diagonal(weights)
        gap = alpha / 2 * inner(defect, defect)
        kernel = SpectralKernel(xp.flip(weights), xp.flip(basis, axis=1)).on_range()
        there = (dual[: prepared.rank, :], basis)
        yield NewtonIterate(kernel, primal, primal - gap, there)
        relative = relative_gap(primal, primal - gap, prepared.problem.reference)
        dual = dual + _newton_step(d, targets, dual, values, alpha, relative)


def _newton_step(
    d: Array, targets: Array, dual: Array, values: Array, alpha: float, gap: float
) -> Array:
    """Return the change of the dual coefficients, in the eigenbasis of S."""
    scaled = d * dual
    diagonal = alpha + d * (values / 2)

    def hessian(direction: Array) -> Array:
        mixed = scaled.T @ direction
        return diagonal * direction + scaled @ ((mixed + mixed.T) / 2)

    gradient = targets - diagonal * dual
    direction = conjugate_gradient(
        hessian,
        gradient,
        lambda residual: residual / diagonal,
        rtol=min(_FORCING, gap**0.5),
    )
    return _exact_step(d, dual, values, direction, gradient, alpha) * direction


def _exact_step(
    d: Array,
    dual: Array,
    values: Array,
    direction: Array,
    gradient: Array,
    alpha: float,
) -> float:
    """Maximise the quartic along the direction.

    With S(t) = S + t Q + t^2 R, Q = C'KV + V'KC and R = V'KV, its derivative is
    <G, V> - t (alpha ||V||^2 + (||Q||^2 + 2 <S, R>) / 4) - 3/4 t^2 <Q, R>
    - t^3 ||R||^2 / 2, for the gradient G at t = 0.
    """
    scaled = d * direction
    mixed = dual.T @ scaled
    mixed = mixed + mixed.T
    square = direction.T @ scaled
    xp = namespace(dual)
    cubic = [
        -inner(square, square) / 2,
        -0.75 * inner(mixed, square),
        -alpha * inner(direction, direction)
        - inner(mixed, mixed) / 4
        - inner(values, xp.linalg.diagonal(square)) / 2,
        inner(gradient, direction),
    ]
    roots = np.roots(cubic)
    return float(roots[np.argmin(np.abs(roots.imag))].real) if roots.size else 0.0


def _diagonal(values: Array) -> Array:
    xp = namespace(values)
    return xp.eye(values.shape[0], dtype=values.dtype) * values
