r"""Frobenius structure, squared loss: Newton's method on the dual.

The dual, divided by alpha, is smooth, strongly concave and unconstrained,

.. math:: \langle C, Y \rangle - \tfrac{\alpha}{2} \|C\|^2
          - \tfrac18 \|C'KC\|_F^2.

In the eigenbasis of K, and each step in that of S = C'KC = diag(s), a Hessian
product alpha V + K V S / 2 + KC (V'KC + C'KV) / 2 is two matrix products, and its
first two terms are diagonal: they precondition it (they are the Sylvester solve of
block coordinate descent). Along a line the dual is a quartic, so the exact step is
the only real root of a cubic.

The certificate is not that of the iterate C but of the model built from it: with
L = S / 2 and the best f for this L, whose dual variables C(L) are a closed form,
the duality gap is exactly alpha / 2 ||L - C(L)'K C(L) / 2||_F^2.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from okl.numerics.arrays import Array, eigh, inner, namespace
from okl.optimization.conjugate_gradient import conjugate_gradient
from okl.output_kernels import SpectralKernel
from okl.problems import Problem, Rotated
from okl.solvers.alternation import (
    first_output_kernel,
    known_coefficients,
)
from okl.solvers.base import Solver
from okl.solvers.solution import History, Solution, conclude

# The model is certified again outside the eigenbasis: leave room for rounding.
_SAFETY = 0.9
# Relative residual of the Newton systems far from the optimum; it shrinks with the
# square root of the gap, which keeps convergence superlinear.
_FORCING = 0.1
# Rounds without progress after which rounding is in the way.
_PATIENCE = 20


class DualNewton(Solver):
    """Newton with conjugate gradients in the dual coefficients C."""

    name: ClassVar[str | None] = "dual_newton"
    structure_requires: ClassVar[frozenset[str]] = frozenset({"half_squared_norm"})

    def prepare(self, problem: Problem) -> Rotated:
        """Decompose K."""
        return Rotated.of(problem)

    def solve(
        self,
        prepared: Rotated,
        alpha: float,
        *,
        tol: float,
        max_iter: int,
        start: Array | None = None,
    ) -> Solution:
        """Iterate from the dual coefficients of a neighbouring alpha."""
        d, targets = prepared.eigenvalues, prepared.targets
        xp = namespace(targets)
        history = History(prepared.problem.reference)
        if start is None:
            kernel = first_output_kernel(prepared, alpha, tol=tol)
            roomy = kernel.matrix()
            values, basis = eigh(roomy)
            dual = ((targets @ basis) / (d * values + alpha)) @ basis.T
        else:
            # outside the range of K they are the targets over alpha
            dual = xp.concat([start, targets[start.shape[0] :, :] / alpha])
        basis = xp.eye(targets.shape[1], dtype=targets.dtype)
        best, stalled = float("inf"), 0
        while True:
            moment = dual.T @ (d * dual)
            values, rotation = eigh((moment + moment.T) / 2)
            values = xp.clip(values, 0.0, None)
            dual, targets, basis = dual @ rotation, targets @ rotation, basis @ rotation

            weights = values / 2
            model = targets / (d * weights + alpha)
            primal = alpha / 2 * (inner(model, targets) + inner(weights, weights))
            defect = model.T @ (d * model) / 2 - _diagonal(weights)
            gap = alpha / 2 * inner(defect, defect)
            relative = history.add(primal, primal - gap)
            best, stalled = (relative, 0) if relative < best else (best, stalled + 1)
            n_iter = len(history.records)
            if relative <= _SAFETY * tol or n_iter >= max_iter or stalled >= _PATIENCE:
                break
            dual = dual + _newton_step(d, targets, dual, values, alpha, relative)

        kernel = SpectralKernel(xp.flip(weights), xp.flip(basis, axis=1)).on_range()
        coefficients = kernel.from_coordinates(
            known_coefficients(prepared, kernel, alpha)
        )
        return conclude(
            prepared,
            coefficients,
            kernel,
            alpha,
            tol=tol,
            history=history,
            start=(dual @ basis.T)[: prepared.rank, :],
        )


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
