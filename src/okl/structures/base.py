"""Structures: the penalty R on the output kernel L.

L is a symmetric positive semi-definite matrix (n_outputs, n_outputs) that says
how the outputs are related. A structure either fixes it (`known`) or penalises
it: R(L), convex. Everything that a solver or the certificate needs of a
structure follows from three functions of one small matrix,

* the penalty R(L);
* its conjugate R*(S) = sup over PSD L of <S, L> - R(L);
* the update, argmin over PSD L of tr(L^-1 P) / 2 + R(L), the best output kernel
  for given predictions.

The capabilities say which solvers may be used. Structures hold parameters,
never data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from okl.numerics.arrays import Array, eigh, epsilon, namespace
from okl.optimization.near import Near
from okl.optimization.regions import Region
from okl.optimization.second_derivative import SecondDerivative
from okl.output_kernels import OutputKernel, SpectralKernel
from okl.parameters.hyperparameter import Hyperparameter
from okl.structures.named_outputs import NamedOutputs
from okl.structures.own_kernels import OwnKernels

# Rounding of eigenvalues, in machine epsilons of the largest times the size.
_ROUNDING = 8.0


class DualBound(NamedTuple):
    """An upper bound of R* at a dual point C after scaling; S = C'KC / 2.

    Attributes
    ----------
    value : float
        An upper bound of R* at the C scaled by ``factor`` and ``directions``.
    factor : float
        The number that C is to be multiplied by.
    directions : tuple of arrays (W, limits) or None
        The eigenvectors W of S: each column of CW is also to be multiplied by some
        number from 0 to its limit. None if the columns are not scaled.
    mixing : tuple (T, value) or None
        A bound that may be tighter, where outputs may be mixed: at CT, T (m, m), R* is
        at most ``value``.
    unscaled : float
        An upper bound of R* at C itself, where C is to be scaled.
    """

    value: float
    factor: float = 1.0
    directions: tuple[Array, Array] | None = None
    mixing: tuple[Array, float] | None = None
    unscaled: float = float("inf")


def scaled_below(matrix: Array, bound: float) -> tuple[Array, Array]:
    """Return the eigenvectors of S, and the largest t_j with s_j t_j^2 <= bound.

    The errors of all eigenvalues s_j are of the size of the rounding of the largest
    one. Each counts as the largest number that it may be, so that scaled eigenvalues
    are surely within the bound.
    """
    xp = namespace(matrix)
    values, vectors = eigh(matrix)
    eps = epsilon(matrix)
    size = matrix.shape[0]
    largest = xp.max(xp.abs(values)) if size else 0.0
    rounding = _ROUNDING * eps * size * largest
    values = (xp.clip(values, 0.0, None) + rounding) / bound
    # where S is zero the limit stays finite
    return vectors, 1 / xp.sqrt(xp.clip(values, eps**2, None))


class Response(NamedTuple):
    """R* and its first two derivatives at S = C'KC / 2, where R* is smooth.

    Attributes
    ----------
    value : float
        R*(S).
    output_kernel : array (m, m)
        The best L, argmax <S, L> - R(L), which is the gradient of R*.
    derivative : SecondDerivative
        The second derivative of R*: it maps a change of S to the change of L.
    """

    value: float
    output_kernel: Array
    derivative: SecondDerivative


class Structure(NamedOutputs, OwnKernels, ABC):
    """Base of the structures.

    Attributes
    ----------
    capabilities : frozenset of str
        What solvers may rely on besides the `region`:

        - ``"identity"``: L = I, so that outputs are solved independently;
        - ``"known"``: L does not depend on the targets (`known`);
        - ``"rotation_invariant"``: R(Q L Q') = R(L) for any Q with orthonormal
          columns, and compressing L to a subspace does not raise R: outputs may be
          rotated and reduced to the span of the targets;
        - ``"update"``: the update has a closed form or a solver;
        - ``"response"``: R* has two derivatives (`response`);
        - ``"proximal"``: R* has two derivatives, or has them once a squared distance is
          added to R (`near`).
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

    def hyperparameters(self, n_outputs: int) -> list[Hyperparameter]:
        """Return the continuous parameters that can be learned; none by default.

        A positive number whose value is zero is left out: it has no logarithm. Any
        values within the bounds are valid. Call `validate` first.
        """
        return []

    def gradient(
        self, left: np.ndarray, right: np.ndarray | None = None
    ) -> dict[str, Any]:
        """Return the derivatives of sum_st W_st L_st by these parameters.

        The derivatives are by the logarithm of each parameter, or by its value if it
        has a `LinearScale`. Only for a fixed L: a learned L depends on the data as
        well.

        Parameters
        ----------
        left : array (p, n_outputs), or (n_outputs, n_outputs)
            With ``right`` W is the symmetric part of left' right, which need not be
            formed; without it ``left`` is W itself, symmetric.
        right : array (p, n_outputs), optional
        """
        return {}

    def largest_eigenvalue(self, like: Array) -> float:
        """Return the largest eigenvalue that L may have for the columns of an array.

        Infinite where R does not bound it: how large L becomes then depends on alpha.
        """
        known = self.known(like)
        if known is None:
            return float("inf")
        return known.largest_eigenvalue

    def max_rank(self, n_outputs: int) -> int:
        """Return the largest rank that L may have."""
        return n_outputs

    def region(self, n_outputs: int) -> Region | None:
        """Return R and its domain as Newton's methods need them, or None.

        See `okl.optimization.regions`. None if no such method can minimise R: then f
        and L are found in turn, L by the `update`.
        """
        return None

    @abstractmethod
    def penalty(self, output_kernel: Array) -> float:
        """Return R(L) for a PSD matrix L (m, m), the rank constraint aside."""

    @abstractmethod
    def conjugate(self, matrix: Array) -> float:
        """Return R*(S) for a PSD matrix S (m, m); it may be infinite."""

    def penalty_of(self, kernel: OutputKernel) -> float:
        """Return R(L), from eigenvalues if they are enough; zero where L is known."""
        if "known" in self.capabilities:
            return 0.0
        if "rotation_invariant" in self.capabilities:
            kernel = SpectralKernel(kernel.spectral().eigenvalues)
        return self.penalty(kernel.matrix())

    def response(self, matrix: Array) -> Response:
        """Return R*(S) with its derivatives, for a PSD matrix S (m, m).

        Needed for ``"response"``.
        """
        raise TypeError(f"The conjugate of {self} has no second derivative.")

    def near(self, matrix: Array, weight: float) -> Near:
        """Return the L that minimises R(L) + weight ||L - Z||^2 / 2.

        For a symmetric matrix Z (m, m) and a weight > 0. Needed for ``"proximal"``
        without ``"response"``: R* has two derivatives once such a distance is added.
        """
        raise TypeError(f"The proximal points of {self} are not known.")

    def dual_bound(self, matrix: Array, output_kernel: OutputKernel) -> DualBound:
        """Return how to scale a dual point C, and an upper bound of R* there.

        Where R* is infinite at S = C'KC / 2, C has to be scaled; where R* has no closed
        form, it has to be bounded. The L of a model, in the same coordinates, may be
        used for both. The default does not scale, and returns R*(S).
        """
        return DualBound(self.conjugate(matrix))

    @abstractmethod
    def update(self, matrix: Array, *, tol: float = 1e-6) -> Array:
        """Return the L that minimises tr(L^-1 P) / 2 + R(L), for a PSD P (m, m).

        A bound on the rank is ignored.

        Parameters
        ----------
        matrix : array (m, m)
            P = F'K^+F of the current predictions F.
        tol : float, default=1e-6
            Relative gap of an update without a closed form.
        """
