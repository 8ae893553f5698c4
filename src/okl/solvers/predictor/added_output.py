r"""One more output for a fit whose other outputs stay as they are.

Let f be the functions of a fit and L their output kernel. A new output has the
function b'f + h and the border (L b, b'L b + s) of L. The extended matrix is positive
semi-definite for every b and every s >= 0, and all positive semi-definite extensions
of L are of this form; the squared norm grows by ||h||^2 / s. With
R(L) = mu tr(L) / 2 + nu ||L||^2 / 2 the new output adds to the objective of the fit

.. math::

    \sum_i \tfrac{w_i}2 (y_i - b'f(x_i) - h(x_i))^2 + \alpha \left(
    \frac{\|h\|_k^2}{2 s} + \nu \|L b\|^2 + r(b'L b + s) \right), \qquad
    r(x) = \tfrac\mu2 x + \tfrac\nu2 x^2:

This is jointly convex in the function and the border, as f and L do not move. The
conjugate of r turns it into a problem in two numbers, s and the slope t of r, one of
which is found for each value of the other. For a given t the new output is kernel ridge
regression with the kernel s k + f'M f, M = (2 t L + 2 nu L^2)^+, where s is the
multiplier of the constraint c'Kc / 2 <= t on its dual variables c; and t solves
r'(b'L b + s) = t. Any c with sum zero and any t >= c'Kc / 2 give a lower bound of the
minimum,

.. math::

    \alpha \left( c'y - \tfrac\alpha2 c'W^{-1}c - \tfrac12 g'M g - r^*(t) \right),
    \qquad g_j = \sum_i c_i f_j(x_i),

which is the certificate.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, sqrt

from scipy.optimize import brentq

from okl.numerics.arrays import Array, eigh, inner, namespace, symmetric

# The two numbers are searched for down to this part of their upper bounds; a smaller s
# is zero.
_SMALLEST = 1e-12


@dataclass(frozen=True)
class AddedOutput:
    """The function and the border of a new output."""

    loadings: Array  # b (q,), in the eigenvectors of L
    own_variance: float  # s
    dual: Array  # c (n_samples,); the own function is s times the kernel function of c
    primal: float  # what the new output adds to the objective
    dual_value: float  # the bound below it


@dataclass(frozen=True)
class NewOutput:
    """The problem of one new output, in rows of weight one without intercept."""

    targets: Array  # (n_samples,)
    kernel_matrix: Array  # K (n_samples, n_samples)
    functions: Array  # f at the rows (n_samples, q), in the eigenvectors of L
    eigenvalues: Array  # those of L (q,), > 0
    alpha: float
    mu: float
    nu: float  # not zero if mu is
    own_part: bool  # whether there is an h; else the output combines the others

    def solve(self) -> AddedOutput:
        """Find the slope of r, and what it implies."""
        size = inner(self.targets, self.targets)
        if self.nu == 0 or size == 0:
            return self._at(self.mu / 2)
        # the penalty is at most what the loss is at zero
        largest = self.mu / 2 + sqrt(self.nu * size / self.alpha)

        def excess(logarithm: float) -> float:
            slope = exp(logarithm)
            found = self._at(slope)
            variance = self._variance(found.loadings, found.own_variance)
            return log((self.mu / 2 + self.nu * variance) / slope + 1e-300)

        low, high = log(_SMALLEST * largest), log(2 * largest)
        root = low if excess(low) <= 0 else brentq(excess, low, high)
        return self._at(exp(root))

    def _at(self, slope: float) -> AddedOutput:
        """Return the best function for a slope of r, with primal and dual value."""
        xp, alpha = namespace(self.targets), self.alpha
        precision = self._inverse_penalty(slope)
        # (alpha I + f'M f)^(-1/2), from the singular values of f M^(1/2)
        axes, sizes, _ = xp.linalg.svd(
            self.functions * xp.sqrt(precision), full_matrices=False
        )
        change = 1 / xp.sqrt(alpha + sizes**2) - alpha**-0.5

        def whitened(rows: Array) -> Array:
            return rows * alpha**-0.5 + (axes * change) @ (axes.T @ rows)

        inside = whitened(whitened(self.kernel_matrix).T)
        values, vectors = eigh(symmetric(inside))
        values = xp.clip(values, 0.0, None)
        coordinates = vectors.T @ whitened(self.targets)
        own = _multiplier(values, coordinates, slope) if self.own_part else 0.0
        c = whitened(vectors @ (coordinates / (1 + own * values)))
        b = precision * (self.functions.T @ c)
        image = self.kernel_matrix @ c
        within, variance = inner(c, image), self._variance(b, own)
        residuals = self.targets - self.functions @ b - own * image
        bordering = self.eigenvalues * b
        penalty = own * within / 2 + self.nu * inner(bordering, bordering)
        penalty += self.mu / 2 * variance + self.nu / 2 * variance**2
        primal = inner(residuals, residuals) / 2 + alpha * penalty
        bound = self._bound(c, slope, within if self.own_part else 0.0)
        return AddedOutput(b, own, c, primal, bound)

    def _inverse_penalty(self, slope: float) -> Array:
        """Return the diagonal of M."""
        values = self.eigenvalues
        return 1 / (2 * values * (slope + self.nu * values))

    def _variance(self, b: Array, own: float) -> float:
        """Return b'L b + s."""
        return inner(self.eigenvalues * b, b) + own

    def _bound(self, c: Array, slope: float, within: float) -> float:
        """Return the lower bound at c, scaled where nu = 0 would make r* infinite.

        ``within`` is c'Kc, or zero without an own part, where it does not matter.
        """
        alpha = self.alpha
        if self.nu == 0 and within > 2 * slope:
            c = c * sqrt(2 * slope / within)
        elif self.nu > 0:
            slope = max(slope, within / 2)
        forces = self.functions.T @ c
        value = inner(c, self.targets) - alpha / 2 * inner(c, c)
        value -= inner(self._inverse_penalty(slope) * forces, forces) / 2
        if self.nu > 0:
            value -= (slope - self.mu / 2) ** 2 / (2 * self.nu)
        return alpha * value


def _multiplier(values: Array, coordinates: Array, bound: float) -> float:
    """Return the least s >= 0 with sum_j d_j (v_j / (1 + s d_j))^2 / 2 <= bound."""

    def within(own: float) -> float:
        part = coordinates / (1 + own * values)
        return inner(values * part, part) / 2

    if within(0.0) <= bound:
        return 0.0
    # as d / (1 + s d)^2 <= 1 / (4 s)
    largest = 1.01 * inner(coordinates, coordinates) / (8 * bound)
    low, high = log(_SMALLEST * largest), log(largest)
    if within(exp(low)) <= bound:
        return 0.0
    return exp(brentq(lambda own: log(within(exp(own)) / bound), low, high))
