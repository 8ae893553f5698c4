"""Structures: the penalty R on the output kernel L.

L is a symmetric positive semi-definite matrix (n_outputs, n_outputs) that says
how the outputs are related. A structure either fixes it (`known`) or penalises
it: R(L), convex. Everything that a solver or the certificate needs of a
structure follows from three functions of one small matrix,

* the penalty R(L);
* its conjugate R*(S) = sup over PSD L of <S, L> - R(L);
* the step, argmin over PSD L of tr(L^-1 P) / 2 + R(L), the best output kernel
  for given predictions.

The capabilities say which solvers may be used. Structures hold parameters,
never data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from okl._array import Array
from okl._component import Component
from okl._output_kernel import OutputKernel


class Structure(Component, ABC):
    """Base of the structures.

    Attributes
    ----------
    capabilities : frozenset of str
        What solvers may rely on:

        - ``"identity"``: L = I, so that outputs are solved independently;
        - ``"known"``: L does not depend on the targets (`known`);
        - ``"rotation_invariant"``: R(Q L Q') = R(L) for any Q with orthonormal
          columns, and compressing L to a subspace does not raise R: outputs may be
          rotated and reduced to the span of the targets;
        - ``"half_squared_norm"``: R(L) = ||L||_F^2 / 2;
        - ``"half_trace"``: R(L) = tr(L) / 2, with at most `max_rank` eigenvalues
          above zero;
        - ``"step"``: the step has a closed form or a solver.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset()

    def validate(self, n_outputs: int) -> None:
        """Check the parameters against the number of outputs, before any work.

        Raises
        ------
        ValueError
            If a parameter is out of range or does not fit the number of outputs.
        """

    def known(self, like: Array) -> OutputKernel | None:
        """Return the fixed L for the columns of an array (., n_outputs), or None.

        The result lives in the namespace of ``like``.
        """
        return None

    def max_rank(self, n_outputs: int) -> int:
        """Return the largest rank that L may have."""
        return n_outputs

    @abstractmethod
    def penalty(self, output_kernel: Array) -> float:
        """Return R(L) for a PSD matrix L (m, m), the rank constraint aside."""

    @abstractmethod
    def conjugate(self, matrix: Array) -> float:
        """Return R*(S) for a PSD matrix S (m, m); it may be infinite."""

    def dual_domain(self, matrix: Array) -> tuple[Array, Array] | None:
        """Return (W, t) such that S scaled as below has a conjugate of zero.

        Where R* is finite on a bounded set only, a dual point C has to be scaled
        into it: with S = C'KC / 2 = W diag(s) W', the columns of CW may be
        multiplied by anything in [0, t_j]. None (the default) means that R* is
        finite everywhere.
        """
        return None

    @abstractmethod
    def step(self, matrix: Array, *, tol: float = 1e-6) -> Array:
        """Return the L that minimises tr(L^-1 P) / 2 + R(L), for a PSD P (m, m).

        A bound on the rank is left aside.

        Parameters
        ----------
        matrix : array (m, m)
            P = F'K^+F of the current predictions F.
        tol : float, default=1e-6
            Relative gap of a step without a closed form.
        """
