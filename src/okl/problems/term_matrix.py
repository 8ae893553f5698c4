"""Dual variables that are a matrix, shared by several kernels."""

from __future__ import annotations

from typing import Any

from okl.certificates.terms import EntryTerms
from okl.numerics.arrays import Array, namespace
from okl.operators import JointOperator, JointSum, OperatorTerms
from okl.output_kernels import OutputKernel, OutputKernelTerms, TermCoefficients
from okl.problems.target_matrix import TargetMatrix


class TermMatrix(EntryTerms, TargetMatrix):
    """Products and sums for dual variables (n_samples, n_outputs) of several terms.

    Parameters
    ----------
    operator : OperatorTerms
        K_1, K_2, ...
    """

    operator: OperatorTerms

    def joint(self, kernel: OutputKernel) -> JointOperator:
        """Return what maps dual variables to predictions, the L_q given."""
        assert isinstance(kernel, OutputKernelTerms)
        return JointSum(self.operator, kernel)

    def theta(self, dual: Array, kernel: OutputKernel) -> TermCoefficients:
        """Return the coefficients C L_q of a model, which `predictions` takes."""
        assert isinstance(kernel, OutputKernelTerms)
        return TermCoefficients(tuple(term.multiply(dual) for term in kernel.terms))

    def balanced_theta(self, dual: Array, kernel: OutputKernel) -> TermCoefficients:
        """Return C L_q with sums of zero."""
        return self.theta(self.balanced(dual), kernel)

    def offset(self, means: Array, theta: TermCoefficients) -> Array:
        """Return what centring the kernels subtracts from the scores (n_outputs,)."""
        return sum(means[:, q] @ part for q, part in enumerate(theta.parts))

    def squared_lengths(self, dual: Array, kernel: OutputKernel, rows: Any) -> Array:
        """Return ``sum_q c_i' L_q c_i`` for the dual variables of some rows (k,)."""
        return namespace(dual).sum(kernel.multiply(dual) * dual, axis=1)
