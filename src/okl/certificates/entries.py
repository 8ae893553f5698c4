r"""How targets and dual variables are arranged, and what the certificate asks of them.

Targets, predictions and dual points are arrays of one shape: a matrix, with an entry
for every output in each row, or in long form a column, with the entry of the one output
that the row names. The column stands for a matrix C whose other entries are zero, and
of a product with C only the entries at the observations are needed. The bounds of
`okl.certificates.bounds` are written once, for both arrangements; the operations in
which these differ are here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from okl.coding.tasks import LongCoefficients, Tasks
from okl.losses import Loss
from okl.numerics.arrays import Array, column_inner, column_sums, inner, namespace
from okl.numerics.few_entries import crossed
from okl.output_kernels import OutputKernel


class Entries(ABC):
    """The arrangement of the arrays of a problem, and K.

    Attributes
    ----------
    every_output : bool
        Whether a row has an entry for each output, so that outputs may be mixed.
    shared : bool
        Whether all outputs have the same K, so that outputs may be rotated.
    """

    every_output: ClassVar[bool]
    shared: bool = True

    @abstractmethod
    def sums(self, rows: Array) -> Array:
        """Return the sum over all entries that share an intercept (n_outputs,)."""

    @abstractmethod
    def spread(self, values: Array, rows: Any = None) -> Array:
        """Return one number per output in a shape that can be added to the array.

        With ``rows``, to these rows of it, given by number.
        """

    @abstractmethod
    def balanced(self, rows: Array) -> Array:
        """Return the array less the mean of the entries that share an intercept."""

    @abstractmethod
    def best_intercept(
        self, loss: Loss, targets: Array, predictions: Array, weights: Array | None
    ) -> Array:
        """Return the b (n_outputs,) that minimises the loss at these predictions."""

    @abstractmethod
    def gram(self, left: Array, right: Array) -> Array:
        """Return C'KD (n_outputs, n_outputs) for two sets of dual variables."""

    def dual_norm(self, dual: Array, kernel: OutputKernel) -> float:
        """Return tr(C'KC L)."""
        return inner(self.gram(dual, dual), kernel.matrix())

    @abstractmethod
    def squared_norm(
        self, theta: Any, predictions: Array, kernel: OutputKernel
    ) -> float:
        """Return tr(L^+ Theta'K Theta), infinite where Theta leaves the range of L."""

    @abstractmethod
    def implied(
        self, theta: Any, outside: Array, kernel: OutputKernel, alpha: float
    ) -> Array:
        """Return alpha C with Theta = C L, and outside the range of L another array."""

    @abstractmethod
    def along(
        self,
        dual: Array,
        theta: Any,
        predictions: Array,
        vectors: Array,
    ) -> tuple[Array, Array]:
        """Return ``|C v|^2`` and ``<C v, F v>`` for the columns v of an array.

        F are the predictions of a model for all outputs, C is any dual point.
        """

    @abstractmethod
    def mixed(self, dual: Array, vectors: Array, scales: Array) -> Array:
        """Return the entries of C V diag(scales) V'."""


class EntryMatrix(Entries):
    """An entry for every output in each row: arrays (n_samples, n_outputs).

    Parameters
    ----------
    operator : object
        K, anything that multiplies a matrix from the left. If it has an attribute
        ``shared`` that is False, each output has a matrix of its own.
    """

    every_output: ClassVar[bool] = True

    def __init__(self, operator: Any) -> None:
        self.operator = operator
        self.shared = getattr(operator, "shared", True)

    def sums(self, rows: Array) -> Array:
        """Return the column sums."""
        return column_sums(rows)

    def spread(self, values: Array, rows: Any = None) -> Array:
        """Return the numbers: they broadcast."""
        return values

    def balanced(self, rows: Array) -> Array:
        """Return an array with columns that sum to zero."""
        return rows - namespace(rows).mean(rows, axis=0)

    def best_intercept(
        self, loss: Loss, targets: Array, predictions: Array, weights: Array | None
    ) -> Array:
        """Return the b (n_outputs,) that minimises the loss at these predictions."""
        return loss.best_intercept(targets, predictions, weights)

    def gram(self, left: Array, right: Array) -> Array:
        """Return C'KD (n_outputs, n_outputs)."""
        return crossed(left, self.operator @ right)

    def dual_norm(self, dual: Array, kernel: OutputKernel) -> float:
        """Return tr(C'KC L) by products, without C'KC."""
        return inner(dual, kernel.multiply(self.operator @ dual))

    def squared_norm(
        self, theta: Any, predictions: Array, kernel: OutputKernel
    ) -> float:
        """Return tr(L^+ Theta'K Theta), infinite where Theta leaves the range of L."""
        return kernel.quotient(theta, predictions)

    def implied(
        self, theta: Any, outside: Array, kernel: OutputKernel, alpha: float
    ) -> Array:
        """Return alpha Theta L^+, and outside the range of L the array given."""
        return kernel.solve(alpha * theta, outside)

    def along(
        self,
        dual: Array,
        theta: Any,
        predictions: Array,
        vectors: Array,
    ) -> tuple[Array, Array]:
        """Multiply both arrays by the vectors, and sum over their rows."""
        rows = dual @ vectors
        return column_inner(rows, rows), column_inner(rows, predictions @ vectors)

    def mixed(self, dual: Array, vectors: Array, scales: Array) -> Array:
        """Return C V diag(scales) V'."""
        return (dual @ vectors * scales) @ vectors.T


class OneEntryPerRow(EntryMatrix):
    """A target matrix in which each row has the entry of its task: C has no others.

    Parameters
    ----------
    operator : object
        K.
    tasks : Tasks
        The output of each row.
    """

    def __init__(self, operator: Any, tasks: Tasks) -> None:
        super().__init__(operator)
        self.tasks = tasks

    def implied(
        self, theta: Any, outside: Array, kernel: OutputKernel, alpha: float
    ) -> Array:
        """Return alpha C of Theta = C L, whose rows are c_i times those of L.

        For a task whose row of L is zero the array given is taken.
        """
        xp = namespace(theta)
        own = kernel.rows(xp.asarray(self.tasks.codes))
        squares = xp.sum(own * own, axis=1, keepdims=True)
        ones = xp.ones_like(squares)
        safe = xp.where(squares > 0, squares, ones)
        column = alpha * xp.sum(theta * own, axis=1, keepdims=True) / safe
        given = xp.sum(self.tasks.scatter(ones) * outside, axis=1, keepdims=True)
        return self.tasks.scatter(xp.where(squares > 0, column, given))


class EntryColumn(Entries):
    """The entry of the one output that each row names: columns (n_samples, 1).

    Parameters
    ----------
    tasks : Tasks
        The output of each row.
    by_task : object
        What makes functions f_t of a column, and the products <g_s, f_t> of a column
        with functions; see `okl.operators.by_task`.
    """

    every_output: ClassVar[bool] = False

    def __init__(self, tasks: Tasks, by_task: Any) -> None:
        self.tasks = tasks
        self.by_task = by_task

    def sums(self, rows: Array) -> Array:
        """Return the sum over the rows of each task (n_tasks,)."""
        return self.tasks.sums(rows)

    def spread(self, values: Array, rows: Any = None) -> Array:
        """Return one number a task at the rows of each, (n_samples, 1)."""
        tasks = self.tasks if rows is None else self.tasks.restrict(rows)
        return tasks.spread(values)

    def balanced(self, rows: Array) -> Array:
        """Return a column that sums to zero over each task."""
        xp = namespace(rows)
        counts = xp.clip(self.sums(xp.ones_like(rows)), 1.0, None)
        return rows - self.spread(self.sums(rows) / counts)

    def best_intercept(
        self, loss: Any, targets: Array, predictions: Array, weights: Array | None
    ) -> Array:
        """Return the b (n_tasks,) that minimises the loss; 0 for a task without rows.

        Losses that are no sum over outputs cannot be asked for it.
        """
        return loss.best_shared(targets, predictions, weights, self.tasks)

    def gram(self, left: Array, right: Array) -> Array:
        """Return C'KD (n_tasks, n_tasks), the products of one function per task."""
        return self.by_task.gram(left, self.by_task.functions(right))

    def squared_norm(
        self, theta: LongCoefficients, predictions: Array, kernel: OutputKernel
    ) -> float:
        """Return tr(C'K C L), which is the sum of c_i F_i."""
        return inner(theta.column, predictions)

    def implied(
        self,
        theta: LongCoefficients,
        outside: Array,
        kernel: OutputKernel,
        alpha: float,
    ) -> Array:
        """Return alpha c, which the coefficients hold."""
        return alpha * theta.column

    def along(
        self,
        dual: Array,
        theta: LongCoefficients,
        predictions: Array,
        vectors: Array,
    ) -> tuple[Array, Array]:
        """Compute both from C'C, which is diagonal, and C'F = C'KDL, where F = KDL."""
        squares = self.sums(dual * dual) @ vectors**2
        crossed = theta.output_kernel.multiply(self.gram(dual, theta.column))
        slopes = namespace(dual).sum(vectors * (crossed @ vectors), axis=0)
        return squares, slopes

    def mixed(self, dual: Array, vectors: Array, scales: Array) -> Array:
        """Multiply each entry by the diagonal of V diag(scales) V' at its own task."""
        own = namespace(dual).sum(vectors * scales * vectors, axis=1)
        return dual * self.spread(own)
