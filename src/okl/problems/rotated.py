"""A problem with the squared loss, seen from the eigenbasis of its operator.

With K = U diag(d) U' everything depends on the data through d and U'Y, and on what
of Y lies outside the range of K only through the inner products of its columns. A
few rows with d = 0 stand for that part, however many samples there are. A path
shares one decomposition among all its alphas.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from okl.certificates.bounds import bounds
from okl.certificates.entries import EntryMatrix
from okl.numerics.arrays import Array, epsilon, inner, namespace
from okl.operators import DiagonalOperator
from okl.output_kernels import SpectralKernel
from okl.problems.problem import Problem
from okl.problems.target_matrix import TargetMatrix

# What the eigenvectors of a centred matrix miss of targets in its range, by rounding,
# in machine epsilons times n_samples. So much is taken for nothing: divided by a tiny
# alpha it would look like coefficients.
_ROUNDING = 100.0


@dataclass(frozen=True)
class Rotated:
    """The data of a problem in the eigenbasis of K.

    Attributes
    ----------
    problem : Problem
        Where it comes from.
    eigenvalues : array (k, 1)
        d, positive and then zero, a column: it scales the rows of what it multiplies.
    targets : array (k, n_outputs)
        U'Y, and below it the triangular factor of what U misses of Y.
    """

    problem: Problem
    eigenvalues: Array
    targets: Array
    _outside: Array | None  # orthonormal columns, of what U misses of Y

    @classmethod
    def of(cls, problem: Problem) -> Rotated:
        """Rotate a problem; the operator keeps its decomposition."""
        xp = namespace(problem.targets)
        spectrum = problem.spectrum
        values, targets = spectrum.eigenvalues, spectrum.vectors.T @ problem.targets
        outside = problem.targets - spectrum.vectors @ targets
        rounding = _ROUNDING * epsilon(targets) * problem.operator.n_samples
        total = inner(problem.targets, problem.targets)
        if inner(outside, outside) <= rounding**2 * total:
            return cls(problem, values[:, None], targets, None)
        basis, triangle = xp.linalg.qr(outside, mode="reduced")
        zeros = xp.zeros((triangle.shape[0],), dtype=values.dtype)
        return cls(
            problem,
            xp.concat([values, zeros])[:, None],
            xp.concat([targets, triangle], axis=0),
            basis,
        )

    @property
    def rank(self) -> int:
        """How many eigenvalues are positive."""
        return int(self.problem.spectrum.eigenvalues.shape[0])

    def as_problem(self) -> Problem:
        """Return the problem in the eigenbasis, which has the same objective.

        Its samples are the rows of the targets here, its operator is diagonal, and the
        coefficients of its models are U'Theta. Each of its solutions, certificate
        included, costs no product with K or U. There is no intercept left: U and what
        it misses of centred targets are orthogonal to 1.
        """
        return replace(
            self.problem,
            targets=self.targets,
            entries=TargetMatrix(DiagonalOperator(self.eigenvalues[:, 0])),
            centered=False,
        )

    def bounds(
        self, coefficients: Array, output_kernel: SpectralKernel, alpha: float
    ) -> tuple[float, float]:
        """Return primal and dual value of the model with U'Theta (k, n_outputs)."""
        return bounds(
            EntryMatrix(DiagonalOperator(self.eigenvalues[:, 0])),
            self.targets,
            coefficients,
            output_kernel,
            self.eigenvalues * coefficients,
            alpha=alpha,
            structure=self.problem.structure,
            loss=self.problem.loss,
        )

    def lift(self, rows: Array) -> Array:
        """Return an array (n_samples, p), as Theta, from its rows here (k, p).

        Outside the range of K the dual variables are C = Y / alpha: they change no
        prediction, and make alpha C the residual of the model in every direction.
        Where K was clipped they would change predictions, and are left out.
        """
        vectors = self.problem.spectrum.vectors
        rank = vectors.shape[1]
        lifted = vectors @ rows[:rank, :]
        if self._outside is not None and not self.problem.operator.clipped:
            lifted = lifted + self._outside @ rows[rank:, :]
        return self.problem.balanced(lifted)
