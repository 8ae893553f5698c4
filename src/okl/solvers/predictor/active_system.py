r"""The equations of Newton's method where the loss has curvature at few entries.

These entries are called *active*; W is their curvature. The change E of the dual
variables is zero elsewhere and solves

.. math:: \alpha W^{-1} E + (J E)_{active} + 1 b' = R_{active}, \qquad 1'E = s,

where the second equation is there only with an intercept b. A system of few active
entries is factorised once, for any number of right sides R. One of many entries has a
small system in its place where K and L have few dimensions, K = Q Q' and L = B B': a
linear kernel, or an L of low rank. Let Phi have a row for each active entry, the
product of a row of Q and one of B, and let D = alpha / W. Then

.. math:: (\Phi \Phi' + D)^{-1}
          = D^{-1} - D^{-1} \Phi (I + \Phi' D^{-1} \Phi)^{-1} \Phi' D^{-1},

and neither J nor Phi is formed (`okl.solvers.predictor.woodbury`). Where L follows C
(`okl.solvers.terms.term_point`) Phi is no such product, and is written out. Any other
system, and one that does not fit in memory, is solved by conjugate gradients, by
products with K.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, definite_solver, namespace, shifted_solver
from okl.numerics.memory import UNQUESTIONED
from okl.problems import Problem
from okl.solvers.predictor.approximation import Prepared
from okl.solvers.predictor.hessian import HessianSystem
from okl.solvers.predictor.woodbury import small_solver, through_few

# Systems up to DIRECT are factorised, and larger ones for which that is the work of at
# most _PRODUCTS products. Where the diagonal of J times the curvature is at most
# _ALPHAS alphas conjugate gradients are quick, and the two limits are _MILD and DIRECT.
DIRECT = 3000
_MILD, _ALPHAS, _PRODUCTS = 1000, 30.0, 10
# Conjugate gradients may take so many products: where steps are solved for too loosely,
# Newton's method takes hundreds of short ones at a small alpha.
_MOST_PRODUCTS = 1000
# How many matrices of its size there are while a system is factorised; and up to how
# many numbers are allocated without a look at the memory.
MATRICES, _FEW = 4, UNQUESTIONED / 8
# The small system in the dimensions of K and L:
_SMALL = 200  # systems up to this size go without it
_COPIES = 3  # of a root that has a row for each entry
_WORTH = 0.5  # the most dimensions, as a part of the size
# Where the curvature times the diagonal of J is above so many alphas solutions are
# refined; above the second number they would have too few digits.
_SHARP, _SHARPEST = 1e6, 1e11
_ENTRIES = 2**22  # numbers that are multiplied at once


def factorises(problem: Problem, size: int, *, n_kept: int = 0) -> bool:
    """Tell whether a system fits in memory, with so many others that are kept."""
    operator = problem.operator
    most = max(operator.workspace * operator.n_samples**2, _FEW)
    return (MATRICES + n_kept) * size**2 <= most


@dataclass(frozen=True)
class ActiveSystem:
    """The equations at one curvature."""

    prepared: Prepared
    curvature: Curvature  # W
    alpha: float
    most_products: int = _MOST_PRODUCTS  # of conjugate gradients

    @cached_property
    def size(self) -> int:
        """The number of equations to be solved at once.

        Outputs that nothing couples have systems of their own.
        """
        xp = namespace(self._weights)
        active = xp.astype(self._weights > 0, xp.int64)
        sizes = xp.sum(active, axis=0)
        coupled = self.prepared.joint.couples
        return int(xp.sum(sizes) if coupled else xp.max(sizes))

    def solve(self, right: Array, sums: Array | None = None, *, rtol: float) -> Array:
        """Return E (n_samples, n_outputs), zero where there is no curvature.

        With an intercept, its columns that have active entries have the given sums,
        zero unless given.
        ``rtol`` is the relative residual of conjugate gradients.
        """
        size, (n, m) = self._n_equations, self._weights.shape
        mild = self._steepest <= _ALPHAS * self.alpha
        product = m * (self.prepared.joint.work + n * m)  # with K, then with L
        low, high = (_MILD, DIRECT) if mild else (DIRECT, size)
        most = high if size**3 / 6 <= _PRODUCTS * product else low
        if size > most or not factorises(self.prepared.problem, size):
            return self._by_conjugate_gradients(right, sums, rtol)
        return self.solve_each(right[:, :, None], sums)[:, :, 0]

    def solve_each(self, rights: Array, sums: Array | None = None) -> Array:
        """Return E (n_samples, n_outputs, q) for q right sides, by factorising."""
        xp, problem = namespace(rights), self.prepared.problem
        if sums is None:
            sums = xp.zeros((problem.n_outputs,), dtype=rights.dtype)
        change = xp.zeros_like(rights)
        for block in self._kept if self._all_fit else self._factorised():
            columns = block.columns
            own = problem.entries.intercepts_of(columns)
            part = change[:, columns, :]
            part[block.mask] = block.solve(rights[:, columns, :][block.mask], sums[own])
            change[:, columns, :] = part
        return change

    @cached_property
    def _weights(self) -> Array:
        """W, zero where it is too small to be divided by."""
        diagonal = self.curvature.diagonal
        xp = namespace(diagonal)
        least = self.alpha * float(xp.finfo(diagonal.dtype).smallest_normal)
        return xp.where(diagonal > least, diagonal, xp.zeros_like(diagonal))

    @cached_property
    def _roots(self) -> tuple[Array, Array] | None:
        """R and B, None where they make no system that is much smaller."""
        joint = self.prepared.joint
        if self.size <= _SMALL or not joint.couples:
            return None
        roots = joint.roots()
        if roots is None or self._steepest > _SHARPEST * self.alpha:
            return None
        return roots if 0 < _n_dimensions(*roots) <= _WORTH * self.size else None

    @cached_property
    def _n_columns(self) -> int | None:
        """The columns of a narrow root of J, None where it saves too little."""
        joint, problem = self.prepared.joint, self.prepared.problem
        number = joint.n_dimensions if self.size > _SMALL else None
        if number is None or self._steepest > _SHARPEST * self.alpha:
            return None
        n, m = self._weights.shape
        most = max(problem.operator.workspace * n**2, _FEW)
        fits = _COPIES * n * m * number <= most
        return number if fits and 0 < number <= _WORTH * self.size else None

    @property
    def _n_equations(self) -> int:
        """The size of what is factorised."""
        if self._roots is not None:
            return _n_dimensions(*self._roots)
        return self.size if self._n_columns is None else self._n_columns

    def _by_root(self, root: Array, weights: Array) -> Callable[[Array], Array]:
        """Return what solves for entries (n_active, p) with Phi and W / alpha."""
        weights, refined = weights[:, None], self._steepest > _SHARP * self.alpha
        xp = namespace(root)
        identity = xp.eye(root.shape[1], dtype=root.dtype)
        small = definite_solver(root.T @ (weights * root) + identity)
        return through_few(
            weights, lambda x: root @ x, lambda y: root.T @ y, small, refined=refined
        )

    def by_roots(self, Q: Array, B: Array) -> Callable[[Array], Array]:
        """Return what solves for the active entries, (n_active, p) row by row."""
        W, alpha, k, q = self._weights, self.alpha, Q.shape[1], B.shape[1]
        xp, (n, m), mask = namespace(W), W.shape, W > 0
        weights, refined = W[mask][:, None] / alpha, self._steepest > _SHARP * alpha
        places = xp.nonzero(xp.reshape(mask, (-1,)))[0]
        noise = xp.full((n, 1), alpha, dtype=W.dtype)
        small = small_solver([(Q, B)], self.curvature, noise)

        def adjoint(entries: Array) -> Array:
            """Return Phi' times entries."""
            whole = xp.zeros((n, m, entries.shape[1]), dtype=W.dtype)
            whole[mask] = entries
            inside = xp.reshape(Q.T @ xp.reshape(whole, (n, -1)), (k, m, -1))
            return xp.reshape(xp.permute_dims(B.T @ inside, (1, 0, 2)), (q * k, -1))

        def image(inside: Array) -> Array:
            """Return Phi times an array (q k, p)."""
            inside = xp.permute_dims(xp.reshape(inside, (q, k, -1)), (1, 0, 2))
            rows = Q @ xp.reshape(B @ inside, (k, -1))
            return xp.take(xp.reshape(rows, (n * m, -1)), places, axis=0)

        solve = through_few(weights, image, adjoint, small, refined=refined)

        def in_parts(right: Array) -> Array:
            width, p = max(_ENTRIES // (n * m), 1), right.shape[1]
            slices = [slice(i, min(i + width, p)) for i in range(0, p, width)]
            return xp.concat([solve(right[:, some]) for some in slices], axis=1)

        return in_parts

    @cached_property
    def _steepest(self) -> float:
        """The largest entry of the curvature times the diagonal of J."""
        xp = namespace(self.curvature.diagonal)
        return float(xp.max(self.curvature.diagonal * self.prepared.joint.diagonal))

    @property
    def _all_fit(self) -> bool:
        """Whether the system fits in memory beside those of all other outputs."""
        others = 0 if self.prepared.joint.couples else self._weights.shape[1] - 1
        return factorises(self.prepared.problem, self._n_equations, n_kept=others)

    @cached_property
    def _kept(self) -> list[_Block]:
        """The factorised systems."""
        return list(self._factorised())

    def _factorised(self) -> Iterator[_Block]:
        """Yield the factorised systems: one, or one for each output."""
        problem, joint = self.prepared.problem, self.prepared.joint
        diagonal = self._weights
        xp = namespace(diagonal)
        n_columns = diagonal.shape[1]
        width = n_columns if joint.couples else 1
        for first in range(0, n_columns, width):
            columns = slice(first, first + width)
            mask = diagonal[:, columns] > 0
            rows, outputs = xp.nonzero(mask)
            if rows.shape[0] == 0:
                continue
            members = None
            if problem.centered:
                own = problem.entries.intercepts_of(columns)
                groups = problem.entries.intercept_groups(rows, outputs)
                members = groups[:, None] == xp.arange(own.stop - own.start)
                members = xp.astype(members, diagonal.dtype)
            if self._roots is not None:
                inverse = self.by_roots(*self._roots)
            elif self._n_columns is not None:
                root = joint.narrow_root(rows, outputs)
                inverse = self._by_root(root, diagonal[mask] / self.alpha)
            else:
                matrix = joint.block(rows, outputs if joint.couples else first)
                shift = self.alpha / diagonal[:, columns][mask]
                inverse = shifted_solver(matrix, shift)
            yield _Block(columns, mask, inverse, members)

    @cached_property
    def _large(self) -> HessianSystem:
        """What conjugate gradients solve, with its preconditioner."""
        columns = self.prepared.approximation.columns
        return HessianSystem(self.prepared, self.curvature, self.alpha, columns)

    def _by_conjugate_gradients(
        self, right: Array, sums: Array | None, rtol: float
    ) -> Array:
        """Solve for E in two parts: one has the sums, the other sums to zero."""
        problem, joint = self.prepared.problem, self.prepared.joint
        curvature, alpha = self.curvature, self.alpha
        first = namespace(right).zeros_like(right)
        if problem.centered and sums is not None:
            shift = problem.entries.spread(problem.entries.solve_total(curvature, sums))
            first = curvature.diagonal * (shift + first)
            right = right - joint @ first - alpha * shift
        return first + self._large.answer(right, rtol=rtol, max_iter=self.most_products)


def _n_dimensions(R: Array, B: Array) -> int:
    return int(R.shape[1] * B.shape[1])


@dataclass(frozen=True)
class _Block:
    """(M + D) e + b = right, a b for each intercept, whose e have a given sum."""

    columns: slice  # the outputs
    mask: Array  # (n_samples, n_columns): the active entries
    inverse: Callable[[Array], Array]  # solves with M + D
    members: Array | None  # (size, n_intercepts): which entries share an intercept

    def solve(self, right: Array, sums: Array) -> Array:
        """Return e (size, q) for q right sides."""
        if self.members is None:
            return self.inverse(right)
        xp = namespace(right)
        ones, total, empty = self._border
        # b takes up the means of the right side in any case: where M is all but
        # singular, they would cancel between two large vectors below
        counts = xp.clip(xp.sum(self.members, axis=0), 1.0, None)[:, None]
        right = right - self.members @ (self.members.T @ right / counts)
        free = self.inverse(right)
        excess = self.members.T @ free - sums[:, None]
        excess = xp.where(empty[:, None], xp.zeros_like(excess), excess)
        return free - ones @ xp.linalg.solve(total, excess)

    @cached_property
    def _border(self) -> tuple[Array, Array, Array]:
        """(M + D)^-1 of the members, their sums, and which have no entries."""
        members = self.members
        assert members is not None
        xp = namespace(members)
        ones = self.inverse(members)
        empty = xp.sum(members, axis=0) == 0
        identity = xp.eye(members.shape[1], dtype=members.dtype)
        total = members.T @ ones + identity * xp.astype(empty, members.dtype)
        return ones, total, empty
