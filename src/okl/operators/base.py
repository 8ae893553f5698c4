"""The interface of an operator: what solvers ask of a kernel matrix.

A solver never asks how K is stored. An operator offers products, one
eigendecomposition that is computed once and kept, solves with a shift, and the
three changes that estimators need: centring (for a free intercept), restriction
to some rows (the training part of a fold) and products with the rows left out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from okl.coding.tasks import Tasks
from okl.numerics.arrays import Array, count, epsilon, namespace
from okl.numerics.threads import threads_for
from okl.operators.by_task import ByTask
from okl.operators.centred_rows import CentredRows
from okl.operators.low_rank import NystroemFactor, nystroem
from okl.output_kernels import OutputKernel

# Centred values below this multiple of the machine epsilon, relative to what they were
# before, are rounding: rows that do not differ leave nothing to learn from.
CENTERING_ROUNDING = 16.0
# What eigensolvers leave of a zero eigenvalue of a matrix of n rows stays below n^(1/2)
# / 5 machine epsilons of the largest (n = 100 to 2000, linear, polynomial and Gaussian
# kernels of low rank, centred or not); this much more is cut.
_SPECTRUM_ROUNDING = 4.0
# Up to so many rows a matrix is decomposed where only its root is asked for.
_FEW_ROWS = 1000


@dataclass(frozen=True)
class Spectrum:
    """K = U diag(d) U' on its range.

    Attributes
    ----------
    eigenvalues : array (k,)
        d > 0, ascending; values at rounding level are left out.
    vectors : array (n_samples, k)
        Orthonormal columns U; of a `DiagonalOperator` no array, but an object that
        multiplies, as does its transpose.
    """

    eigenvalues: Array
    vectors: Array

    @classmethod
    def above_rounding(cls, values: Array, vectors: Array, n_rows: int) -> Spectrum:
        """Keep the eigenvalues above what rounding leaves of a zero.

        No more is cut. At a very small alpha C = residuals / alpha is large along small
        eigenvalues d, so that d C^2 counts in C'KC and would be missed.
        """
        largest = float(values[-1]) if values.shape[0] else 0.0
        rounding = _SPECTRUM_ROUNDING * n_rows**0.5 * epsilon(values)
        keep = values > max(largest, 0.0) * rounding
        first = values.shape[0] - count(keep)
        return cls(values[first:], vectors[:, first:])

    @property
    def norm(self) -> float:
        """The largest eigenvalue of K."""
        return float(self.eigenvalues[-1]) if self.eigenvalues.shape[0] else 0.0


class Operator(ABC):
    """What multiplies arrays (n_samples, n_outputs): a kernel matrix for each output.

    Attributes
    ----------
    shared : bool
        Whether all outputs have the same matrix.
    several : bool
        Whether there are several matrices, each of which has an L of its own.
    clipped : bool
        Whether a matrix differs from the one given by negative eigenvalues that were
        set to zero. Coefficients outside its range are then not harmless: the kernel
        of new rows knows nothing of the clipping.
    workspace : float
        How many more arrays of the size of the matrix may be formed: a factorisation
        takes one, a decomposition two.
    largest_entry : float
        The largest entry of the matrix as it was evaluated, before it was centred: its
        entries have rounding errors of this times the machine epsilon. Zero where
        products are taken with features, which are exact.
    features : array (n_samples, n_features) or None
        Phi with K = Phi Phi', where that is how K is kept, dense.
    sparse_rows : CentredRows or None
        The same, where Phi is sparse and a matrix (n_features, n_features) fits.
    """

    shared: ClassVar[bool] = True
    several: ClassVar[bool] = False
    clipped: bool = False
    workspace: float = float("inf")
    largest_entry: float = 0.0
    features: Array | None = None
    sparse_rows: CentredRows | None = None

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """The number of rows."""

    @property
    @abstractmethod
    def norm(self) -> float:
        """The largest eigenvalue."""

    @abstractmethod
    def __matmul__(self, right: Array) -> Array:
        """Return K times an array (n_samples, p)."""

    @abstractmethod
    def diagonal(self) -> Array:
        """Return the diagonal of K (n_samples,), of several K_q (n_samples, p)."""

    @property
    @abstractmethod
    def work(self) -> float:
        """The multiplications of a product with one column."""

    @abstractmethod
    def low_rank(self, rank: int) -> NystroemFactor:
        """Return R with K ~ R R', of at most so many columns."""

    @abstractmethod
    def solve(self, right: Array, shift: float) -> Array:
        """Return (K + shift I)^-1 times an array (n_samples, p), for shift > 0.

        Raises
        ------
        numpy.linalg.LinAlgError
            If the shifted matrix is numerically singular.
        """

    @abstractmethod
    def centered(self, weights: Array | None = None) -> tuple[Operator, Array]:
        """Return HKH', H = I - 1w', and the means of the rows of K, shaped as diagonal.

        The operator may take over the memory of this one, which must not be used
        afterwards.

        Parameters
        ----------
        weights : array (n_samples,), optional
            w, summing to one: the means are K w. None for 1 / n_samples.
        """

    @abstractmethod
    def scaled(self, roots: Array) -> Operator:
        """Return diag(roots) K diag(roots), on the memory of this one.

        Parameters
        ----------
        roots : array (n_samples,)
        """

    @abstractmethod
    def verified(self) -> Operator:
        """Return the operator, made PSD if it is not so by construction.

        Raises
        ------
        ValueError
            If an eigenvalue is negative beyond what rounding explains.
        """

    def feature_coefficients(
        self, targets: Array, output_kernel: OutputKernel, alpha: float
    ) -> Array | None:
        """Return W with f(x) = phi(x)'W for the squared loss and a given L.

        W = Phi'C L (n_features, n_outputs) minimises ||Y - Phi W||^2 + alpha
        tr(L^+ W'W). Computed from rounded coefficients C L, the entries of W that
        belong to a large feature, which are small, would have no correct digit; here W
        is found without C. None, the default, where no features are stored.
        """
        return None

    @abstractmethod
    def restrict(self, rows: Any) -> Operator:
        """Return a fresh operator of some of the rows."""

    @abstractmethod
    def block(self, rows: Any, output: int | None = None) -> Array:
        """Return K[rows, rows] (k, k) as an array, for few rows.

        It is that of one ``output``, which must be given unless all share one matrix.
        """

    @abstractmethod
    def cross(self, rows: Any, columns: Any) -> Any:
        """Return K[rows, columns] as something that multiplies from the left."""


class KernelOperator(Operator):
    """Base of the single matrices, symmetric and PSD, (n_samples, n_samples)."""

    @property
    def norm(self) -> float:
        """The largest eigenvalue of K, from its decomposition."""
        return self.spectrum.norm

    @property
    def work(self) -> float:
        """One for each entry, where these are stored."""
        return float(self.n_samples) ** 2

    @abstractmethod
    def columns(self, rows: Array) -> Array:
        """Return the columns of K of these row numbers (n_samples, len(rows))."""

    def low_rank(self, rank: int) -> NystroemFactor:
        """Return R with K ~ R R', one for all outputs."""
        return NystroemFactor((nystroem(self.columns, self.n_samples, rank),))

    def root(self) -> Array | None:
        """Return R (n_samples, k) with K = R R', None where it takes long to find."""
        if self.features is not None:
            return self.features
        if self.n_samples > _FEW_ROWS or self.workspace < 2:
            return None
        values, vectors = self.spectrum.eigenvalues, self.spectrum.vectors
        return vectors * namespace(values).sqrt(values)

    def block(self, rows: Any, output: int | None = None) -> Array:
        """Return K[rows, rows] (k, k) as an array, for few rows."""
        diagonal = self.diagonal()
        xp = namespace(diagonal)
        once, places = xp.unique_inverse(rows)
        identity = xp.eye(once.shape[0], dtype=diagonal.dtype)
        block = self.cross(once, once) @ identity
        return xp.take(xp.take(block, places, axis=0), places, axis=1)

    def by_task(self, tasks: Tasks, block: tuple[Any, Any] | None = None) -> ByTask:
        """Return what multiplies matrices (n_samples, n_tasks) with one entry a row.

        Parameters
        ----------
        tasks : Tasks
            The task of each row of K.
        block : tuple of arrays of int, optional
            Numbers of the rows where products are asked for, and of those that are
            multiplied; None for all of both.
        """
        if block is None:
            return ByTask(self, tasks)
        rows, columns = block
        at = tasks.restrict(rows)
        return ByTask(self.cross(rows, columns), tasks.restrict(columns), at)

    @cached_property
    def spectrum(self) -> Spectrum:
        """The eigendecomposition, computed at the first use and kept."""
        with threads_for(float(self.n_samples) ** 3):
            return self._decompose()

    def __getstate__(self) -> dict[str, Any]:
        """Leave the decomposition behind: it is as large as the matrix."""
        left = ("spectrum", "_singular")
        return {k: v for k, v in vars(self).items() if k not in left}

    @abstractmethod
    def _decompose(self) -> Spectrum: ...

    @abstractmethod
    def centered(self, weights: Array | None = None) -> tuple[KernelOperator, Array]:
        """Return HKH' and the means of the rows of K (n_samples,)."""

    @abstractmethod
    def scaled(self, roots: Array) -> KernelOperator:
        """Return diag(roots) K diag(roots), on the memory of this one."""

    def verified(self) -> KernelOperator:
        """Return the operator, made PSD if it is not so by construction."""
        return self

    @abstractmethod
    def restrict(self, rows: Any) -> KernelOperator:
        """Return a fresh operator of some of the rows."""
