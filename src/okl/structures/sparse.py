"""A sparse output kernel: outputs that are not related have an entry of zero."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from okl.numerics.arrays import (
    Array,
    cholesky,
    eigh,
    epsilon,
    inner,
    namespace,
    symmetric,
)
from okl.numerics.validation import check_positive
from okl.optimization.near import Near
from okl.optimization.near_sparse import nearest_sparse
from okl.optimization.newton import newton
from okl.optimization.orthant import Orthant
from okl.optimization.regions import Decomposed
from okl.optimization.smooth import InverseTrace, Quadratic
from okl.output_kernels import OutputKernel, SpectralKernel
from okl.parameters.hyperparameter import Hyperparameter
from okl.structures._hyperparameters import inverse_parameter, share_parameter
from okl.structures.base import DualBound, Structure

# A matrix P + eps I whose smallest eigenvalue is below this part of its largest is
# approached from a larger eps.
_BARRIER = 1e-3
# Newton steps: a few suffice, hundreds mean that there is no minimum.
_MAX_STEPS = 300
# The relative residual of their equations: products cost little here.
_FORCING = 1e-2
# The conjugate is computed to this relative gap.
_CONJUGATE_TOLERANCE = 1e-10
# Where L grows beyond this many times sqrt(eps), its conjugate is infinite.
_UNBOUNDED = 1e8


class Sparse(Structure):
    r"""Learn an output kernel with few entries that are not zero.

    .. math:: R(L) = \tfrac12 \Big( \varepsilon \operatorname{tr} L^{-1}
              + \mu \operatorname{tr} L + (1 - \mu) \sum_{ij} |L_{ij}| \Big)

    Sparse Kernel MTL of Ciliberto, Rosasco, Poggio & Villa (2015), *Learning multiple
    visual tasks while discovering their structure*, equation (4). An entry L_st of
    zero says that neither of the outputs s and t helps the other; such zeros are
    exact. ``mu = 1`` is the trace penalty of `LowRank`, smoothed: its optimal L is
    (P + eps I)^(1/2), and eps -> 0 its limit.

    The conjugate has no closed form. With N = I + (1 - mu) G - 2 S,

    .. math:: R^*(S) = \min_{|G_{ij}| \le 1,\, G_{ii} = 0,\, N \succeq 0}
              - \sqrt\varepsilon \operatorname{tr} N^{1/2},

    attained at L = sqrt(eps) N^(-1/2), so any such G bounds it from above.

    Parameters
    ----------
    mu : float, default=0.5
        Between 0, where every entry is penalised, and 1, where only the trace is.
    eps : float, default=1e-3
        Weight of the inverse, > 0, in units of the square of L: keeps L positive
        definite.
    """

    name: ClassVar[str | None] = "sparse"
    capabilities: ClassVar[frozenset[str]] = frozenset({"update", "proximal"})

    def __init__(self, mu: float = 0.5, eps: float = 1e-3) -> None:
        self.mu = mu
        self.eps = eps

    def validate(self, n_outputs: int) -> None:
        """Check that mu is between 0 and 1, and eps above 0."""
        mu: Any = self.mu
        number = isinstance(mu, Real) and not isinstance(mu, bool)
        if not number or not 0 <= mu <= 1:
            raise ValueError(
                f"mu must be a number from 0 (every entry of L is penalised) to 1 "
                f"(only its trace is), got {mu!r}."
            )
        check_positive(self.eps, "eps")

    def hyperparameters(self, n_outputs: int) -> list[Hyperparameter]:
        """Return mu, unless it is 0, and eps."""
        mu = [share_parameter("mu", self.mu)] if self.mu > 0 else []
        return [*mu, inverse_parameter(self.eps)]

    @property
    def _numbers(self) -> tuple[float, float]:
        """1 - mu and eps in full precision, whatever kind of number they are."""
        return 1 - float(self.mu), float(self.eps)

    def region(self, n_outputs: int) -> Orthant:
        """Return the region of positive definite matrices with signs of entries."""
        weight, eps = self._numbers
        return Orthant(weight, inverse=eps)

    def penalty(self, output_kernel: Array) -> float:
        """Return R(L), infinite for a singular L."""
        values = namespace(output_kernel).linalg.eigvalsh(output_kernel)
        return self._penalty(values, output_kernel)

    def _penalty(self, values: Array, output_kernel: Array) -> float:
        """Return R(L), given the ascending eigenvalues of L."""
        xp = namespace(output_kernel)
        if not float(values[0]) > 0:
            return float("inf")
        weight, eps = self._numbers
        trace = float(xp.sum(xp.linalg.diagonal(output_kernel)))
        absolute = float(xp.sum(xp.abs(output_kernel)))
        inverse = eps * float(xp.sum(1 / values))
        return (inverse + (1 - weight) * trace + weight * absolute) / 2

    def conjugate(self, matrix: Array) -> float:
        """Return R*(S) from above, to a relative gap of 1e-10 if rounding allows it.

        Close to the boundary of its domain rounding does not, and the least bound found
        is returned: any feasible G shows that R*(S) is finite.
        """
        xp = namespace(matrix)
        scale = self._numbers[1] ** 0.5
        identity = xp.eye(matrix.shape[0], dtype=matrix.dtype)
        first = xp.full((matrix.shape[0],), scale, dtype=matrix.dtype)
        region = self.region(matrix.shape[0])
        start = Decomposed(first, identity)
        iterates = newton(Quadratic(matrix), region, start, rtol=_FORCING)
        least = float("inf")
        for n_steps, ((values, vectors, entries), _) in enumerate(iterates):
            below = inner(matrix, entries) - self._penalty(values, entries)
            if n_steps == _MAX_STEPS or float(values[-1]) > _UNBOUNDED * scale:
                break
            bound = self.dual_bound(matrix, SpectralKernel(values, vectors))
            if bound.factor == 1.0:
                least = min(least, bound.value)
            if least - below <= _CONJUGATE_TOLERANCE * abs(below):
                break
        return least

    def dual_bound(self, matrix: Array, output_kernel: OutputKernel) -> DualBound:
        """Return the bound with the G that an L implies.

        N is the I + (1 - mu) G - 2 S that is nearest to eps L^-2, entry by entry.
        Where N is not PSD, it is averaged with the identity, which shrinks S. A second
        bound, where outputs may be mixed, shrinks S only in the directions that make N
        negative.
        """
        xp = namespace(matrix)
        identity = xp.eye(matrix.shape[0], dtype=matrix.dtype)
        weight, eps = self._numbers
        wished = output_kernel.spectral().matrix_power(-2) * eps + 2 * matrix
        nearest = symmetric(
            identity + (1 - identity) * xp.clip(wished, -weight, weight)
        )
        values = xp.linalg.eigvalsh(nearest - 2 * symmetric(matrix))
        below = max(-float(values[0]), 0.0)
        mixing = None
        if below > 0:
            below += epsilon(matrix) * matrix.shape[0] * float(values[-1])
            mixing = _shrunk_below(nearest, 2 * symmetric(matrix), eps)
        shrunk = 1 / (1 + below)
        values = xp.clip(shrunk * values + (1 - shrunk), 0.0, None)
        value = -(eps**0.5) * float(xp.sum(xp.sqrt(values)))
        return DualBound(value, shrunk**0.5, mixing=mixing)

    def prox(self, matrix: Array, weight: float) -> Array:
        """Minimise ||L - X||_F^2 / 2 + weight (R(L) - eps tr L^-1 / 2).

        These are soft thresholds; with them `okl.structures.splitting` computes the
        update as published.
        """
        xp = namespace(matrix)
        identity = xp.eye(matrix.shape[0], dtype=matrix.dtype)
        off, _ = self._numbers
        shifted = matrix - weight * (1 - off) / 2 * identity
        threshold = weight * off / 2
        return xp.sign(shifted) * xp.clip(xp.abs(shifted) - threshold, 0.0, None)

    def near(self, matrix: Array, weight: float) -> Near:
        """Return the L near Z by Newton's method, up to rounding."""
        return nearest_sparse(matrix, weight, *self._numbers)

    def update(self, matrix: Array, *, tol: float = 1e-6) -> Array:
        """Return the minimiser of tr(L^-1 P) / 2 + R(L) to a relative gap of tol.

        By Newton's method over the entries that are not zero; see
        `okl.structures.splitting` for the method of the paper.
        """
        xp = namespace(matrix)
        identity = xp.eye(matrix.shape[0], dtype=matrix.dtype)
        weight, eps = self._numbers
        shifted = symmetric(matrix) + eps * identity
        variances, axes = eigh(shifted)
        roots = xp.sqrt(xp.clip(variances, eps, None))
        root = (axes * roots) @ axes.T
        barrier = _BARRIER * variances[-1] - variances[0]
        first = xp.sqrt(xp.linalg.diagonal(shifted))
        order = xp.argsort(first)
        iterates = newton(
            InverseTrace(matrix),
            Orthant(weight, inverse=eps, barrier=float(barrier)),
            Decomposed(xp.take(first, order), xp.take(identity, order, axis=1)),
            rtol=_FORCING,
        )
        for n_steps, ((values, vectors, entries), point) in enumerate(iterates):
            primal = point.value + self._penalty(values, entries)
            inverse = (vectors / values) @ vectors.T
            dual = self._update_dual(inverse @ shifted @ inverse, root)
            if primal - dual <= tol * primal or n_steps == _MAX_STEPS:
                break
        return entries

    def _update_dual(self, gradient: Array, root: Array) -> float:
        """Return tr (Q^(1/2) N Q^(1/2))^(1/2), a lower bound of the update's objective.

        Q = P + eps I. N is the matrix with a unit diagonal and other entries of at most
        1 - mu that is nearest to L^-1 Q L^-1, averaged with I if it is not PSD.
        """
        xp = namespace(gradient)
        identity = xp.eye(gradient.shape[0], dtype=gradient.dtype)
        weight, _ = self._numbers
        nearest = identity + (1 - identity) * xp.clip(
            symmetric(gradient), -weight, weight
        )
        below = max(-float(xp.linalg.eigvalsh(nearest)[0]), 0.0)
        if below > 0:
            below += epsilon(gradient) * gradient.shape[0]
        mixed = (nearest + below * identity) / (1 + below)
        values = xp.linalg.eigvalsh(symmetric(root @ mixed @ root))
        return float(xp.sum(xp.sqrt(xp.clip(values, 0.0, None))))


def _shrunk_below(
    limit: Array, matrix: Array, eps: float
) -> tuple[Array, float] | None:
    """Return T with T'MT <= A in the order of PSD matrices, near the identity.

    With A = RR' and R^-1 M R^-T = W diag(s) W', it is T = R^-T W diag(t) W'R',
    t = min(1, s^(-1/2)); with it comes -sqrt(eps) tr (A - T'MT)^(1/2). None if A is
    not positive definite.

    Parameters
    ----------
    limit, matrix : array (m, m)
        A and M, symmetric, M PSD.
    eps : float
    """
    xp = namespace(limit)
    try:
        root = cholesky(limit)
    except np.linalg.LinAlgError:
        return None
    inverse = xp.linalg.inv(root)
    # a bound of the rounding of s, added to s to be on the safe side
    condition = float(xp.linalg.trace(limit)) * inner(inverse, inverse)
    margin = epsilon(limit) * limit.shape[0] * condition
    lengths, axes = eigh(symmetric(inverse @ matrix @ inverse.T))
    lengths = lengths + margin
    shrinking = 1 / xp.sqrt(xp.clip(lengths, 1.0, None))
    left = xp.sqrt(xp.clip(1 - lengths, 0.0, None))
    # the square roots of the eigenvalues of N, better than from N itself
    roots = xp.linalg.svdvals((root @ axes) * left)
    mixing = ((inverse.T @ axes) * shrinking) @ (root @ axes).T
    return mixing, -(eps**0.5) * float(xp.sum(roots))
