r"""The L near a given matrix whose eigenvalues are within bounds and share a budget.

.. math:: \min_L\; \tfrac\varepsilon2 \operatorname{tr} L^{-1}
          + \tfrac w2 \|L - Z\|^2, \qquad
          \text{lower} \le l_i \le \text{upper}, \quad \sum_i l_i \le \text{budget}

has the eigenvectors of Z, and with its eigenvalues z_i and a multiplier nu >= 0 of the
budget l_i is g(z_i - nu / w), g(u) the root of w (l - u) = eps / (2 l^2), clipped. How
L moves with Z follows from divided differences of g, less what keeps the sum.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from okl.numerics.arrays import Array, eigh, epsilon, namespace, symmetric
from okl.optimization.crossing import crossing
from okl.optimization.interior import Interior

# Newton's method for the cubic equations: it is monotone from the right of the root.
_NEWTON_STEPS = 100
# Eigenvalues nearer than this, in machine epsilons of the largest, are taken for equal.
_EQUAL = 1e3


class Near(NamedTuple):
    """The L that minimises R(L) + w ||L - Z||^2 / 2."""

    output_kernel: Array  # L (m, m)
    penalty: float  # R(L)
    derivative: Callable[[Array], Array]  # from a change of Z to that of L


def nearest(matrix: Array, weight: float, allowed: Interior) -> Near:
    """Return L, where R(L) = eps tr L^-1 / 2, given symmetric Z (m, m) and w > 0.

    The bounds and eps are those allowed; no direction is set apart.
    """
    xp = namespace(matrix)
    if matrix.shape[0] == 0:
        return Near(matrix, 0.0, lambda change: change)
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

    @cache  # a line search asks for L alone
    def quotients() -> tuple[Array, Array, float]:
        slopes = _slopes(found, values - shift, allowed, weight)
        rows, columns = values[:, None], values[None, :]
        close = _EQUAL * epsilon(values) * xp.max(xp.abs(values))
        apart = xp.abs(rows - columns) > close
        differences = xp.where(apart, rows - columns, xp.ones_like(rows))
        equal = xp.minimum(slopes[:, None], slopes[None, :])
        ratios = (found[:, None] - found[None, :]) / differences
        return xp.where(apart, ratios, equal), slopes, float(xp.sum(slopes))

    def derivative(change: Array) -> Array:
        divided, slopes, total = quotients()
        inside = vectors.T @ change @ vectors
        moved = divided * inside
        if shared and total > 0:
            kept = float(xp.sum(slopes * xp.linalg.diagonal(inside))) / total
            identity = xp.eye(values.shape[0], dtype=values.dtype)
            moved = moved - identity * (kept * slopes)
        return vectors @ moved @ vectors.T

    eps = allowed.inverse
    penalty = eps / 2 * float(xp.sum(1 / found)) if eps > 0 else 0.0
    return Near(symmetric((vectors * found) @ vectors.T), penalty, derivative)


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
