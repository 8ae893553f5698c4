"""The kernel matrix that a criterion judges, and the way back from it to parameters.

A criterion returns thin factors of the weights of entries of K. Where all outputs have
one kernel its derivatives are contracted with the product of these factors, for which
the kernel keeps what it computed for K. A kernel for each output (`PerOutput`) has as
many matrices: to keep as much for each would fill the memory. Kernels are evaluated
again instead, block by block, which takes little time compared with the fits. Several
kernels, each with an output kernel of its own, have such weights each.

Where a criterion needs no entries between groups of rows, as those of tasks that it
takes for unrelated, a kernel is evaluated group by group, and the other entries are
zeros: for ten groups in a tenth of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from okl.kernels import Kernel, KernelTerms, PerOutput, Row, square_matrix
from okl.operators import Dense, Operator, OperatorTerms, SeparableSum, Term
from okl.operators.terms import RowOperator
from okl.selection.criteria import TermDerivative

# From derivatives of a criterion, one for each kernel, to those by their parameters.
Pullback = Callable[[tuple[TermDerivative, ...]], list[dict[str, Any]]]
_OfOne = Callable[[TermDerivative], dict[str, Any]]


def matrix_of(kernel: Kernel | PerOutput | KernelTerms, X: Any) -> Operator:
    """Return the matrix of a kernel, or those of several."""
    if isinstance(kernel, KernelTerms):
        return _together([_of_term(one, X) for one in kernel.kernels])
    return _of_term(kernel, X)


def matrix_and_pullback(
    kernel: Kernel | PerOutput | KernelTerms,
    X: Any,
    groups: Sequence[np.ndarray] | None = None,
) -> tuple[Operator, Pullback]:
    """Return the matrix, and what takes derivatives there to those by parameters.

    With groups of rows, only the entries of one kernel inside of these.
    """
    several = isinstance(kernel, KernelTerms)
    kernels = kernel.kernels if isinstance(kernel, KernelTerms) else [kernel]
    found = [_matrix_and_pullback(one, X, groups) for one in kernels]
    operators = [operator for operator, _ in found]

    def pullback(terms: tuple[TermDerivative, ...]) -> list[dict[str, Any]]:
        pairs = zip(found, terms, strict=True)
        return [of_one(term) for (_, of_one), term in pairs]

    return _together(operators) if several else operators[0], pullback


def _matrix_and_pullback(
    kernel: Kernel | PerOutput | Row, X: Any, groups: Sequence[np.ndarray] | None
) -> tuple[Operator, _OfOne]:
    if isinstance(kernel, Row):
        return _of_term(kernel, X), lambda found: {}
    if isinstance(kernel, PerOutput):

        def of_each(found: TermDerivative) -> dict[str, Any]:
            assert found.right is not None
            return kernel.gradient(X, found.left, found.right)

        return _of_term(kernel, X), of_each
    if groups is None:
        K, pullback = kernel.value_and_pullback(X)
    else:
        K, pullback = _in_groups(kernel, X, groups)
    operator = Dense(K, owned=False, trusted=kernel.is_psd)
    return operator, lambda found: pullback(found.weights())


def _in_groups(
    kernel: Kernel, X: Any, groups: Sequence[np.ndarray]
) -> tuple[np.ndarray, Callable[[np.ndarray], dict[str, Any]]]:
    """Return K inside of groups of rows, zeros elsewhere, and the way back."""
    K, found = np.zeros((X.shape[0],) * 2), []
    for rows in groups:
        inside, pullback = kernel.value_and_pullback(X[rows])
        K[np.ix_(rows, rows)] = inside
        found.append((np.ix_(rows, rows), pullback))

    def summed(weights: np.ndarray) -> dict[str, Any]:
        parts = [pullback(weights[at]) for at, pullback in found]
        return {name: sum(part[name] for part in parts) for name in parts[0]}

    return K, summed


def _of_term(kernel: Kernel | PerOutput | Row, X: Any) -> Operator:
    if isinstance(kernel, Row):
        return RowOperator(np.ones(X.shape[0]))
    if not isinstance(kernel, PerOutput):
        return _dense(kernel, X)
    return SeparableSum(
        tuple(
            Term(_dense(term.kernel, X), term.outputs, term.scales)
            for term in kernel.terms()
        )
    )


def _together(operators: list[Any]) -> OperatorTerms:
    return OperatorTerms(tuple(operators))


def _dense(kernel: Kernel, X: Any) -> Dense:
    return Dense(square_matrix(kernel, X), owned=False, trusted=kernel.is_psd)
