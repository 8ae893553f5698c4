r"""The proximal point of a penalty on L with bounds, and a budget, for eigenvalues.

Given a symmetric matrix Z and w > 0 it is the L that solves

.. math:: \min_L\; \tfrac\varepsilon2 \operatorname{tr} L^{-1}
          + \tfrac w2 \|L - Z\|^2, \qquad
          \text{lower} \le l_i \le \text{upper}, \quad \sum_i l_i \le \text{budget}

L has the eigenvectors of Z. With the eigenvalues z_i of Z and a multiplier nu >= 0 of
the budget, l_i = g(z_i - nu / w), where g(u) is the root l of w (l - u) = eps / (2 l^2)
clipped to the bounds. The derivative of L by Z has divided differences of g as its
factors, less a term that keeps tr L where the budget is used up.
"""

from __future__ import annotations

from typing import NamedTuple

from okl.numerics.arrays import Array, eigh, namespace, symmetric
from okl.optimization.crossing import crossing
from okl.optimization.interior import Interior, reflect, reflect_columns
from okl.optimization.second_derivative import Divided, SecondDerivative, Zero

# The most Newton steps for the cubic equations; from the right of the root these
# descend to it.
_NEWTON_STEPS = 100


class Near(NamedTuple):
    """The L that minimises R(L) + w ||L - Z||^2 / 2."""

    output_kernel: Array  # L (m, m)
    penalty: float  # R(L)
    derivative: SecondDerivative  # from a change of Z to that of L


def nearest(matrix: Array, weight: float, allowed: Interior) -> Near:
    """Return L, where R(L) = eps tr L^-1 / 2, given symmetric Z (m, m) and w > 0.

    The bounds and eps are those of ``allowed``. The direction 1, if it is set apart,
    has its given eigenvalue whatever Z is.
    """
    xp, m = namespace(matrix), matrix.shape[0]
    average = xp.zeros_like(matrix)
    if allowed.mean is not None:
        average, matrix = average + allowed.mean / m, reflect(matrix)[1:, 1:]
    if matrix.shape[0] == 0:
        return Near(average, 0.0, Zero())
    values, vectors = eigh(symmetric(matrix))
    found = _within(values, allowed, weight)

    def excess(shift: float) -> float:
        inside = _within(values - shift, allowed, weight)
        return float(xp.sum(inside)) - allowed.budget

    shift, shared = 0.0, float(xp.sum(found)) > allowed.budget
    if shared:
        high = float(xp.max(xp.abs(values))) + allowed.budget
        while excess(high) > 0:
            high = 2 * high
        shift = crossing(excess, 0.0, high)
        found = _within(values - shift, allowed, weight)

    if allowed.mean is not None:
        none = xp.zeros((1, m - 1), dtype=vectors.dtype)
        vectors = reflect_columns(xp.concat([none, vectors]).T).T
    slopes = _slopes(found, values - shift, allowed, weight)
    eps = allowed.inverse
    return Near(
        average + symmetric((vectors * found) @ vectors.T),
        eps / 2 * float(xp.sum(1 / found)) if eps > 0 else 0.0,
        Divided(vectors, values, found, slopes, shared),
    )


def _within(values: Array, allowed: Interior, weight: float) -> Array:
    """Return the clipped roots g(u) of some u."""
    xp = namespace(values)
    if allowed.inverse == 0:
        return xp.clip(values, allowed.lower, allowed.upper)
    half = allowed.inverse / (2 * weight)
    # to the right of the root, where the cubic is convex and increasing
    roots = xp.clip(values, 0.0, None) + half ** (1 / 3)
    for _ in range(_NEWTON_STEPS):
        slope = roots * (3 * roots - 2 * values)
        moved = roots - (roots * roots * (roots - values) - half) / slope
        if not bool(xp.any(moved < roots)):
            break
        roots = moved
    return xp.clip(roots, allowed.lower, allowed.upper)


def _slopes(found: Array, values: Array, allowed: Interior, weight: float) -> Array:
    """Return the derivatives of g, zero at a bound."""
    xp = namespace(values)
    inside = (found > allowed.lower) & (found < allowed.upper)
    if allowed.inverse == 0:
        return xp.astype(inside, values.dtype)
    slopes = weight / (weight + allowed.inverse / found**3)
    return xp.where(inside, slopes, xp.zeros_like(slopes))
