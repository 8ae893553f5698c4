r"""A kernel and the term of a row, complete targets: both diagonal in one basis.

With K = U diag(d) U' the identity of the rows' own term stays the identity in the
coordinates U'Y, and what U misses of Y, orthogonal to it, is a few rows with d = 0. A
product costs one multiplication an entry there, after one decomposition for all alphas.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from okl.numerics.arrays import Array, epsilon, inner, namespace
from okl.operators import DiagonalOperator, OperatorTerms, RowOperator
from okl.problems import Problem, TermMatrix

# What the eigenvectors of a matrix miss of targets in its range, in machine epsilons
# times the size.
_ROUNDING = 100.0


@dataclass(frozen=True)
class TermEigenbasis:
    """A problem in the eigenbasis of K, and the way back.

    Attributes
    ----------
    problem : Problem
        Its operators are diag(d) and the identity; there is no intercept left, as all
        vectors are orthogonal to 1.
    vectors : array (n_samples, k)
        U.
    outside : array (n_samples, r) or None
        Orthonormal columns, of what U misses of the targets.
    """

    problem: Problem
    vectors: Array
    outside: Array | None

    @classmethod
    def of(cls, problem: Problem) -> TermEigenbasis | None:
        """Rotate a problem, if it is one of these and there is memory."""
        operator = problem.operator
        if not isinstance(operator, OperatorTerms) or len(operator.terms) != 2:
            return None
        K, other = operator.terms
        quadratic = "quadratic" in problem.loss.capabilities
        if not quadratic or problem.weights is not None or K.clipped:
            return None
        if not isinstance(other, RowOperator) or K.workspace < 2:
            return None
        targets, spectrum = problem.targets, K.spectrum
        xp, values, vectors = (
            namespace(targets),
            spectrum.eigenvalues,
            spectrum.vectors,
        )
        inside = vectors.T @ targets
        missed, basis = targets - vectors @ inside, None
        rounding = _ROUNDING * epsilon(targets) * K.n_samples
        if inner(missed, missed) > rounding**2 * inner(targets, targets):
            basis, triangle = xp.linalg.qr(missed, mode="reduced")
            inside = xp.concat([inside, triangle], axis=0)
            zeros = xp.zeros((triangle.shape[0],), dtype=values.dtype)
            values = xp.concat([values, zeros])
        terms = DiagonalOperator(values), DiagonalOperator(xp.ones_like(values))
        rotated = replace(
            problem,
            targets=inside,
            entries=TermMatrix(OperatorTerms(terms)),
            centered=False,
        )
        return cls(rotated, vectors, basis)

    def lift(self, dual: Array) -> Array:
        """Return C (n_samples, n_outputs) from its coordinates."""
        rank = self.vectors.shape[1]
        lifted = self.vectors @ dual[:rank, :]
        if self.outside is None:
            return lifted
        return lifted + self.outside @ dual[rank:, :]
