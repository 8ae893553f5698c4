"""A problem with the squared loss, seen from the eigenbasis of its operator.

With K = U diag(d) U' everything depends on the data through d and U'Y: the part of
Y outside the range of K is lost whatever the model, and adds a constant to primal
and dual alike. A path shares one decomposition among all its alphas.
"""

from __future__ import annotations

from dataclasses import dataclass

from okl._array import Array, epsilon, inner
from okl._output_kernel import OutputKernel
from okl.certificate import bounds
from okl.problems.problem import Problem


@dataclass(frozen=True)
class Rotated:
    """The data of a problem in the eigenbasis of K.

    Attributes
    ----------
    problem : Problem
        Where it comes from.
    eigenvalues : array (k, 1)
        d > 0, a column: it scales the rows of what it multiplies.
    targets : array (k, n_outputs)
        U'Y.
    constant : float
        The loss of the part of Y outside the range of K.
    """

    problem: Problem
    eigenvalues: Array
    targets: Array
    constant: float
    _outside: Array | None

    @classmethod
    def of(cls, problem: Problem) -> Rotated:
        """Rotate a problem; the operator keeps its decomposition."""
        spectrum = problem.operator.spectrum
        rotated = spectrum.vectors.T @ problem.targets
        outside = problem.targets - spectrum.vectors @ rotated
        lost = inner(outside, outside)
        total = inner(problem.targets, problem.targets)
        rounding = (epsilon(rotated) * problem.operator.n_samples) ** 2
        if lost <= rounding * total:
            outside = None
        return cls(problem, spectrum.eigenvalues[:, None], rotated, lost / 2, outside)

    def bounds(
        self, coefficients: Array, output_kernel: OutputKernel, alpha: float
    ) -> tuple[float, float]:
        """Return primal and dual value of the model with U'Theta (k, n_outputs)."""
        primal, dual = bounds(
            _Diagonal(self.eigenvalues),
            self.targets,
            coefficients,
            output_kernel,
            alpha=alpha,
            structure=self.problem.structure,
            loss=self.problem.loss,
        )
        return primal + self.constant, dual + self.constant

    def lift(
        self, coefficients: Array, output_kernel: OutputKernel, alpha: float
    ) -> Array:
        """Return Theta (n_samples, n_outputs) from U'Theta (k, n_outputs).

        Outside the range of K the dual variables are C = Y / alpha: they change no
        prediction, and make alpha C the residual of the model in every direction.
        """
        lifted = self.problem.operator.spectrum.vectors @ coefficients
        if self._outside is None:
            return lifted
        return lifted + output_kernel.multiply(self._outside) / alpha


@dataclass(frozen=True)
class _Diagonal:
    """K in its own eigenbasis."""

    eigenvalues: Array

    def __matmul__(self, right: Array) -> Array:
        return self.eigenvalues * right
