r"""Output kernels whose eigenvalues are bounded and share a budget.

Several structures of the multi-task literature are one convex set: each eigenvalue of
L lies between two bounds, their sum does not exceed a budget, and the penalty is at
most a weight on tr L^-1,

.. math:: R(L) = \tfrac{\varepsilon}{2} \operatorname{tr} L^{-1}, \qquad
          \text{lower} \le l_i \le \text{upper}, \quad \sum_i l_i \le \text{budget}.

Where the average of the outputs is to be treated by itself, the direction 1 is an
eigenvector of L with a given eigenvalue, and all this holds on its complement.

The best L then has the eigenvectors of P in the update, and those of S in the
conjugate, so that both separate into problems of single eigenvalues. With p_i the
eigenvalues of P and s_i those of S (on the complement of 1, where that is set apart),

- the update is l_i = clip(z sqrt(p_i + eps), lower, upper), z from the budget;
- the conjugate is a minimum over one multiplier nu >= 0 of the budget,
  nu budget + sum_i max over l in [lower, upper] of (s_i - nu) l - eps / (2 l).

A structure of this kind has only to return its bounds, as its `region`.
"""

from __future__ import annotations

from abc import abstractmethod

from okl.numerics.arrays import Array, eigh, epsilon, inner, namespace, symmetric
from okl.optimization.crossing import crossing
from okl.optimization.interior import Interior, reflect
from okl.optimization.near import Near, nearest
from okl.output_kernels import OutputKernel
from okl.structures.base import DualBound, Structure, scaled_below

_INF = float("inf")
# What rounding may add to a bound, relative to the largest eigenvalue allowed.
_ROUNDING = 1e-10


class SpectralSet(Structure):
    """Base of the structures that bound eigenvalues of L and their sum."""

    @abstractmethod
    def region(self, n_outputs: int) -> Interior:
        """Return the bounds on the eigenvalues of L, and eps."""

    def largest_eigenvalue(self, like: Array) -> float:
        """Return the largest eigenvalue allowed, or that of the average if larger."""
        m = like.shape[1]
        allowed = self.region(m)
        size = m if allowed.mean is None else m - 1
        of_mean = 0.0 if allowed.mean is None else allowed.mean
        if size == 0:
            return of_mean
        left = allowed.budget - (size - 1) * allowed.lower
        return max(of_mean, min(allowed.upper, left))

    def penalty(self, output_kernel: Array) -> float:
        """Return eps tr L^-1 / 2 within the set, else infinity."""
        m = output_kernel.shape[0]
        allowed = self.region(m)
        xp = namespace(output_kernel)
        inside = output_kernel
        rounding = _ROUNDING * float(xp.max(xp.abs(output_kernel)))
        if allowed.mean is not None:
            reflected = reflect(output_kernel)
            inside = reflected[1:, 1:]
            first = xp.eye(1, m, dtype=inside.dtype)[0, :]
            off = reflected[0, :] - allowed.mean * first
            if float(xp.max(xp.abs(off))) > rounding:
                return _INF
        if inside.shape[0] == 0:
            return 0.0
        values, _ = eigh(inside)
        if (
            float(values[0]) < allowed.lower - rounding
            or float(values[-1]) > allowed.upper + rounding
            or float(xp.sum(values)) > allowed.budget * (1 + _ROUNDING)
        ):
            return _INF
        if allowed.inverse == 0:
            return 0.0
        if not float(values[0]) > 0:
            return _INF
        return allowed.inverse * float(xp.sum(1 / values)) / 2

    def conjugate(self, matrix: Array) -> float:
        """Return R*(S), finite everywhere."""
        allowed = self.region(matrix.shape[0])
        inside, total = matrix, 0.0
        if allowed.mean is not None:
            reflected = reflect(matrix)
            inside, total = reflected[1:, 1:], allowed.mean * float(reflected[0, 0])
        if inside.shape[0] == 0:
            return total
        values, _ = eigh(symmetric(inside))
        return total + _support(values, allowed)

    def dual_bound(self, matrix: Array, output_kernel: OutputKernel) -> DualBound:
        """In a ball, return <S, L> for eigenvalues of S scaled below their bound.

        At the optimum all eigenvalues of S on the range of L are <S, L> over the
        budget. Near it R*(S), the budget times the largest of them, would cost a gap of
        first order because of their spread. Where <S, L> is not positive, S is little
        but rounding, and R*(S) itself costs nothing.
        """
        factor, allowed = output_kernel.factor(), self.region(matrix.shape[0])
        bound = inner(factor, matrix @ factor)
        if not allowed.is_ball or bound <= 0:
            return super().dual_bound(matrix, output_kernel)
        vectors, limits = scaled_below(matrix, bound / allowed.budget)
        shortest = float(namespace(limits).min(limits))
        return DualBound(
            bound, directions=(vectors, limits), unscaled=bound / shortest**2
        )

    def near(self, matrix: Array, weight: float) -> Near:
        """Return the L that minimises R(L) + weight ||L - Z||^2 / 2."""
        return nearest(matrix, weight, self.region(matrix.shape[0]))

    def update(self, matrix: Array, *, tol: float = 1e-6) -> Array:
        """Return the L with eigenvalues clip(z sqrt(p_i + eps), lower, upper)."""
        allowed = self.region(matrix.shape[0])
        if allowed.mean is None:
            return _update(symmetric(matrix), allowed)
        inside = _update(symmetric(reflect(matrix)[1:, 1:]), allowed)
        return _whole(inside, allowed.mean)


def _whole(inside: Array, mean: float) -> Array:
    """Return a matrix with the direction 1 put back, with its own eigenvalue."""
    padded = mean * namespace(inside).eye(inside.shape[0] + 1, dtype=inside.dtype)
    padded[1:, 1:] = inside
    return symmetric(reflect(padded))


def _update(matrix: Array, allowed: Interior) -> Array:
    """Return the update where no direction is set apart."""
    xp = namespace(matrix)
    size = matrix.shape[0]
    if size == 0:
        return matrix
    values, vectors = eigh(matrix)
    # eigenvalues of P that are rounding count as zero, as their roots would be far
    # larger
    rounding = 8 * epsilon(matrix) * size * max(float(values[-1]), 0.0)
    values = xp.where(values > rounding, values, xp.zeros_like(values))
    roots = xp.sqrt(values + allowed.inverse)
    largest = float(roots[-1])
    only = allowed.only(size)
    if only is not None:
        weights = xp.full((size,), only, dtype=matrix.dtype)
    elif largest == 0:  # any L is as good
        weights = xp.full((size,), allowed.budget / size, dtype=matrix.dtype)
    else:

        def weights_at(scale: float) -> Array:
            return xp.clip(scale * (roots / largest), allowed.lower, allowed.upper)

        positive = roots[roots > 0]
        most = allowed.budget if allowed.upper == _INF else allowed.upper
        weights = weights_at(
            crossing(
                lambda scale: float(xp.sum(weights_at(scale))) - allowed.budget,
                0.0,
                most * largest / float(positive[0]),
            )
        )
        if allowed.lower == 0 and allowed.upper == _INF:
            # the sum is linear in z: rescaling makes it exact
            weights = weights * (allowed.budget / xp.sum(weights))
    return symmetric((vectors * weights) @ vectors.T)


def _support(values: Array, allowed: Interior) -> float:
    """Return the supremum of <S, L> - R(L), from above where it is not exact."""
    xp = namespace(values)
    size = values.shape[0]
    if allowed.inverse == 0:
        # all have their lower bound; the rest of the budget goes to the largest
        left = allowed.budget - size * allowed.lower
        descending = xp.clip(xp.flip(values), 0.0, None)
        room = xp.minimum(
            xp.full((size,), allowed.upper - allowed.lower, dtype=values.dtype),
            xp.full((size,), max(left, 0.0), dtype=values.dtype),
        )
        before = xp.cumulative_sum(room) - room
        room = xp.clip(xp.minimum(room, left - before), 0.0, None)
        return allowed.lower * float(xp.sum(values)) + float(xp.sum(descending * room))

    largest = float(values[-1])

    def best(multiplier: float) -> Array:
        below = xp.clip(multiplier - values, epsilon(values) * allowed.inverse, None)
        return xp.clip(
            xp.sqrt(allowed.inverse / (2 * below)), allowed.lower, allowed.upper
        )

    def bound(multiplier: float) -> float:
        weights = best(multiplier)
        gains = (values - multiplier) * weights - allowed.inverse / (2 * weights)
        return multiplier * allowed.budget + float(xp.sum(gains))

    # at the first multiplier one eigenvalue alone takes the budget, at the second
    # each takes its share
    low = largest + allowed.inverse / (2 * allowed.budget**2)
    high = largest + allowed.inverse * size**2 / (2 * allowed.budget**2)
    spent = lambda multiplier: float(xp.sum(best(multiplier))) - allowed.budget  # noqa: E731
    return bound(crossing(spent, low, high))
