"""The input kernel of problems: centred for a free intercept, weighted by rows."""

from __future__ import annotations

from dataclasses import dataclass

from okl.coding.tasks import Tasks
from okl.losses import Loss
from okl.numerics.arrays import Array, namespace
from okl.operators import Operator
from okl.problems.checks import check_operator


@dataclass(frozen=True)
class Inputs:
    """An operator, centred if the intercept is free; shared by many problems.

    Attributes
    ----------
    operator : KernelOperator
        K, or HKH; with weights of rows H W^(1/2) K W^(1/2) H.
    kernel_means : array (n_samples,) or None
        The means of the rows of K, None without intercept; (n_samples, n_outputs) if
        each output has its own K.
    row_weights : array (n_samples,) or None
        The weights of rows that the operator holds.
    unweighted : Operator or None
        The operator without the weights, if there are any.
    """

    operator: Operator
    kernel_means: Array | None
    row_weights: Array | None = None
    unweighted: Operator | None = None

    @classmethod
    def of(
        cls,
        operator: Operator,
        *,
        fit_intercept: bool,
        row_weights: Array | None = None,
    ) -> Inputs:
        """Centre the operator if asked to, give it the weights, and check it.

        It must not be used afterwards. The matrix that must be PSD is the one that the
        problem sees, HKH with an intercept.

        Parameters
        ----------
        operator : KernelOperator
            K.
        fit_intercept : bool
            Whether to centre it.
        row_weights : array (n_samples,), optional
            From `row_weights_of`: only for losses that take them as data.

        Raises
        ------
        TypeError
            For what is no operator.
        ValueError
            For a matrix that is not square, or not positive semi-definite.
        """
        check_operator(operator)
        share, means = None, None
        if row_weights is not None:
            share = row_weights / namespace(row_weights).sum(row_weights)
        if fit_intercept:
            operator, means = operator.centered(share)
        operator = operator.verified()
        if row_weights is None:
            return cls(operator, means)
        scaled = operator.scaled(namespace(row_weights).sqrt(row_weights))
        return cls(scaled, means, row_weights, operator)

    @property
    def plain(self) -> Operator:
        """The operator without weights: folds take their blocks of it."""
        return self.operator if self.unweighted is None else self.unweighted


def row_weights_of(
    loss: Loss, weights: Array | None, tasks: Tasks | None = None
) -> Array | None:
    """Return weights (n_samples,) that may go into the data, None if they may not.

    In long form they may not: every task has an intercept, and means, of its own.
    """
    if weights is None or weights.shape[1] > 1 or tasks is not None:
        return None
    if "quadratic" not in loss.capabilities:
        return None
    return weights[:, 0]
