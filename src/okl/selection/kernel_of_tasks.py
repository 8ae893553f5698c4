"""A kernel learned once more, for the relation of tasks that was found.

A kernel is first learned for independent tasks, of which each has few rows and says
little. Once it is known how tasks are related, the rows of all of them are about the
same functions. The parameters move on from where they are to those at which all targets
are likeliest, under that relation: the restricted likelihood of data in long form
(`criteria/joined.py`). If the output kernel is given up to a parameter, as `Mean` is,
that is learned along; one that was fitted stays as it is.
"""

from __future__ import annotations

import numpy as np

from okl.operators import Dense
from okl.problems import Observed
from okl.selection.criteria import RestrictedLikelihood
from okl.selection.learned_kernel import LearnedKernel
from okl.selection.learning import learn
from okl.selection.path import largest_alpha
from okl.selection.sensitivity import shares_of_columns
from okl.selection.standard_columns import StandardColumns
from okl.selection.standard_kernel import StandardKernel
from okl.solvers import solve
from okl.structures import Fixed, Structure

# Iterations at most, as of a kernel's first search.
_ITERATIONS = 40
# Tolerance and iterations of the fit that tells how much each column counts.
_TOL, _MAX_ITER = 1e-4, 500
# What is added to an output kernel that was fitted, as a part of its mean diagonal, so
# that no function of a task is impossible.
_RIDGE = 1e-6


def learn_for_relation(
    standard: StandardKernel,
    X: np.ndarray,
    observed: Observed,
    criterion: RestrictedLikelihood,
    structure: Structure,
    output_kernel: np.ndarray | None,
    alpha: float,
    *,
    row_weights: np.ndarray | None,
) -> LearnedKernel:
    """Learn a kernel of tasks for their relation.

    Parameters
    ----------
    standard : StandardKernel
        From which learning starts.
    X : array (n_samples, n_features)
    observed : Observed
        The targets, normalised, with the squared loss, in long form.
    criterion : RestrictedLikelihood
        Of these; it knows whether tasks have free intercepts.
    structure : Structure
        The one that was chosen.
    output_kernel : array (n_tasks, n_tasks) or None
        The one that was fitted with it; None if the structure fixes it.
    alpha : float
        The one that was chosen; it stays as it is.
    row_weights : array (n_samples,) or None
        How much each row counts for means.

    Returns
    -------
    LearnedKernel

    Raises
    ------
    numpy.linalg.LinAlgError
        If targets have no likelihood where learning starts.
    """
    relation = structure if output_kernel is None else _fixed(output_kernel)
    columns, fit_intercept = standard.columns, criterion.fit_intercept
    Z = columns.rows(X)
    found = learn(
        Z,
        observed,
        standard.whole,
        relation,
        alpha,
        criterion,
        fit_intercept=fit_intercept,
        parameters={"alpha": "fixed"},
        row_weights=row_weights,
        max_iter=_ITERATIONS,
        # a narrow kernel is zero between rows far apart
        all_matter=False,
    )
    learned = standard.with_whole(found.kernel)
    operator = Dense(learned.whole(Z))
    inputs = observed.inputs(operator, fit_intercept=fit_intercept)
    problem = observed.formulate(inputs, found.structure).problem
    solution = solve(problem, alpha, tol=_TOL, max_iter=_MAX_ITER)
    deviations = StandardColumns.of(Z, row_weights, centred=True).deviations
    coefficients = solution.dual_coef.dense()
    shares = shares_of_columns(learned.inside, Z, coefficients, deviations)
    searched = observed.formulate(inputs, structure).problem
    smallest = alpha / largest_alpha(searched, decomposes=False)
    kernel = learned.on(X, row_weights)
    return LearnedKernel(kernel, columns.of_all(shares), smallest, learned)


def _fixed(output_kernel: np.ndarray) -> Fixed:
    """Return a matrix that was fitted, with a ridge."""
    m = len(output_kernel)
    return Fixed(output_kernel + _RIDGE * np.trace(output_kernel) / m * np.eye(m))
