r"""The map from dual variables to predictions: the kernel of all their entries.

With L given, the predictions of a model are a linear function of its dual variables C,

.. math:: F = J\, C = K C L,

and a solver of f needs to know nothing of K and L but J. Each kind of J knows how a
product stays cheap, which outputs are coupled, and how few columns of K approximate it:
`Kronecker` for dual variables that are a matrix (each output may have a K of its own,
`okl.operators.SeparableSum`), and `okl.operators.Coupled` for data in long form, where
each row is one entry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

from okl.numerics.arrays import Array, namespace
from okl.operators.base import KernelOperator, Operator
from okl.operators.centred_rows import CentredRows
from okl.operators.joint_spectrum import JointSpectrum
from okl.operators.low_rank import NystroemFactor
from okl.output_kernels import OutputKernel


class JointOperator(ABC):
    """What maps dual variables to predictions, symmetric and PSD.

    Attributes
    ----------
    output_kernel : OutputKernel
        The L that the factor from `low_rank` has still to be multiplied by.
    shared : bool
        Whether all outputs have the same columns in `low_rank`.
    features : array (n_samples, n_features) or None
        Those of `Operator.features`, where dual variables are a matrix.
    sparse_rows : CentredRows or None
        Those of `Operator.sparse_rows`, where dual variables are a matrix.
    """

    output_kernel: OutputKernel
    shared: bool = True
    features: Array | None = None
    sparse_rows: CentredRows | None = None

    @property
    def couples(self) -> bool:
        """Whether a prediction depends on the dual variables of other columns."""
        return self.output_kernel.couples

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """The number of rows."""

    @property
    @abstractmethod
    def work(self) -> float:
        """The multiplications of a product for one column."""

    @abstractmethod
    def __matmul__(self, dual: Array) -> Array:
        """Return the predictions of dual variables (n_samples, p)."""

    def both(self, left: Array, right: Array) -> tuple[Array, Array]:
        """Return the products with two arrays, with one pass over K where it can be."""
        return self @ left, self @ right

    @cached_property
    @abstractmethod
    def diagonal(self) -> Array:
        """The diagonal (n_samples, p)."""

    @abstractmethod
    def block(self, rows: Array, outputs: Any) -> Array:
        """Return the matrix of some entries (k, k).

        Parameters
        ----------
        rows : array of int (k,)
        outputs : array of int (k,), or int
            The column of each entry, or of all; where columns are not coupled all
            entries must be of one column.
        """

    @abstractmethod
    def low_rank(self, rank: int) -> NystroemFactor:
        """Return R with J ~ RR' (x) L, of at most so many columns."""

    def roots(self) -> tuple[Array, Array] | None:
        """Return R (n_samples, k) and B (m, q) with J = R R' (x) B B'.

        None where J is no such product, or where they take long to find.
        """
        return None

    @property
    def n_dimensions(self) -> int | None:
        """How many columns a `narrow_root` has, None where there is none."""
        return None

    def narrow_root(self, rows: Array, outputs: Array) -> Array:
        """Return Phi (k, n_dimensions) with `block` of these entries = Phi Phi'."""
        raise TypeError("This operator has no narrow root.")

    def spectrum(self) -> JointSpectrum:
        """Return the eigendecomposition, where those of K and of L give it.

        Raises
        ------
        TypeError
            Where they do not: outputs have kernels of their own, or rows one output.
        """
        raise TypeError("The eigenvectors of this operator are not those of K and L.")


class Kronecker(JointOperator):
    """C -> K C L.

    Parameters
    ----------
    operator : Operator
        K.
    output_kernel : OutputKernel
        L.
    """

    def __init__(self, operator: Operator, output_kernel: OutputKernel) -> None:
        self._operator = operator
        self.output_kernel = output_kernel
        self.shared = operator.shared
        self.features = operator.features
        self.sparse_rows = operator.sparse_rows

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return self._operator.n_samples

    @property
    def work(self) -> float:
        """The multiplications of a product of K with one column."""
        return self._operator.work

    @property
    def workspace(self) -> float:
        """How many more arrays of the size of K may be formed."""
        return self._operator.workspace

    def __matmul__(self, dual: Array) -> Array:
        """Return K C L."""
        return self.output_kernel.multiply(self._operator @ dual)

    def both(self, left: Array, right: Array) -> tuple[Array, Array]:
        """Return two products, K applied to all columns at once if they share it."""
        if not self._operator.shared:
            return self @ left, self @ right
        images = self._operator @ namespace(left).concat([left, right], axis=1)
        width, multiply = left.shape[1], self.output_kernel.multiply
        return multiply(images[:, :width]), multiply(images[:, width:])

    @cached_property
    def diagonal(self) -> Array:
        """The entries K_ii L_jj."""
        own = self._operator.diagonal()
        rows = own[:, None] if own.ndim == 1 else own
        return rows * self.output_kernel.diagonal()

    def block(self, rows: Array, outputs: Any) -> Array:
        """Return K_ij L_st of some entries (k, k)."""
        if not self.couples or isinstance(outputs, int):
            variance = self.output_kernel.diagonal()[outputs]
            return self._operator.block(rows, outputs) * variance
        xp, L = namespace(rows), self.output_kernel.matrix()
        between = xp.take(xp.take(L, outputs, axis=0), outputs, axis=1)
        return self._operator.block(rows) * between

    def low_rank(self, rank: int) -> NystroemFactor:
        """Return R with K ~ RR'."""
        return self._operator.low_rank(rank)

    def roots(self) -> tuple[Array, Array] | None:
        """Return the roots of K and L."""
        operator = self._operator
        root = operator.root() if isinstance(operator, KernelOperator) else None
        return None if root is None else (root, self.output_kernel.factor())

    def spectrum(self) -> JointSpectrum:
        """Return the decompositions of K, which it keeps, and of L."""
        operator = self._operator
        if not isinstance(operator, KernelOperator):
            return super().spectrum()
        return JointSpectrum(operator.spectrum, self.output_kernel.spectral())
