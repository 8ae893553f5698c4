"""A kernel learned once more, for the relation of tasks that was found.

A kernel is first learned for independent tasks, of which each has few rows and says
little. Once it is known how tasks are related, the rows of all of them are about the
same functions. The parameters move on from where they are to those at which all targets
are likeliest, under that relation: the restricted likelihood of data in long form
(`criteria/joined.py`). If the output kernel is given up to a parameter, as `Mean` is,
that may be learned along; one that was fitted stays as it is, and is fitted anew later.
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
    learns_structure: bool,
    row_weights: np.ndarray | None,
) -> tuple[LearnedKernel, Structure]:
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
    learns_structure : bool
        Whether parameters of a structure that fixes the output kernel are learned.
    row_weights : array (n_samples,) or None
        How much each row counts for means.

    Returns
    -------
    LearnedKernel and Structure
        The latter with what was learned of it.

    Raises
    ------
    numpy.linalg.LinAlgError
        If targets have no likelihood where learning starts.
    """
    given = _given(structure, output_kernel, observed.n_outputs, learns_structure)
    columns, fit_intercept = standard.columns, criterion.fit_intercept
    Z = columns.rows(X)
    found = learn(
        Z,
        observed,
        standard.whole,
        given,
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
    means = np.average(Z, axis=0, weights=row_weights)
    deviations = np.sqrt(np.average((Z - means) ** 2, axis=0, weights=row_weights))
    coefficients = solution.dual_coef.dense()
    shares = shares_of_columns(learned.inside, Z, coefficients, deviations)
    relation = found.structure if given is structure else structure
    searched = observed.formulate(inputs, relation).problem
    smallest = alpha / largest_alpha(searched, decomposes=False)
    kernel = learned.on(X, row_weights)
    relevances = columns.of_all(shares)
    return LearnedKernel(kernel, relevances, smallest, learned), relation


def _given(
    structure: Structure, fitted: np.ndarray | None, n_tasks: int, learns: bool
) -> Structure:
    """Return the structure, or the output kernel that it has, as one to be learned."""
    if fitted is not None:
        ridge = _RIDGE * np.trace(fitted) / n_tasks
        return Fixed(fitted + ridge * np.eye(n_tasks))
    if learns:
        return structure
    known = structure.known(np.empty((1, n_tasks)))
    assert known is not None
    return Fixed(known.matrix())
