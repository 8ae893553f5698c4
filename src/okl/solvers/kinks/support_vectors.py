r"""The hinge loss with nothing that couples the outputs: one machine each, by libsvm.

With L diagonal every output is a support vector machine of its own: with
beta_i = l a_i y_i / alpha, a the multipliers and l the entry of L,

.. math:: \max_\beta\; \sum_i \beta_i
          - \tfrac12 \sum_{ik} \beta_i \beta_k y_i y_k K_{ik}, \qquad
          0 \le \beta_i \le w_i l / \alpha, \qquad \sum_i \beta_i y_i = 0,

which the decomposition method of libsvm (Chang & Lin 2011; `sklearn.svm.SVC`) solves
many times faster than Newton's method while few rows are support vectors. It computes
in single precision, and ends at relative gaps of some 1e-8: what is closer is left to
`okl.solvers.kinks.polishing`.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from okl.losses.separable import weighted
from okl.numerics.arrays import is_numpy
from okl.operators import KernelOperator
from okl.output_kernels import OutputKernel
from okl.problems import Problem

# libsvm stops where no pair of rows violates the conditions of the optimum by more than
# this part of the tolerance on the gap, within bounds.
_SHARE, _CLOSEST, _LOOSEST = 0.1, 1e-7, 1e-3
# Most iterations for each row: at a tiny alpha it may take millions.
_STEPS = 200


def fits(problem: Problem, kernel: OutputKernel) -> bool:
    """Tell whether libsvm solves a problem for this L."""
    operator = problem.operator
    return (
        "linear_dual" in problem.loss.capabilities
        and problem.centered  # libsvm has an intercept
        and problem.entries.every_output
        and not kernel.couples
        and isinstance(operator, KernelOperator)
        and operator.workspace >= 1
        and is_numpy(problem.targets)
    )


def multipliers_of(
    problem: Problem, kernel: OutputKernel, alpha: float, *, tol: float
) -> np.ndarray:
    """Return a (n_samples, n_outputs), its entries at their bounds exactly there."""
    operator, signs = problem.operator, problem.targets
    assert isinstance(operator, KernelOperator)
    # symmetric: the rows are the columns, and contiguous
    K = np.ascontiguousarray(operator.columns(np.arange(operator.n_samples)).T)
    weights = weighted(np.ones_like(signs), problem.weights)
    found = np.zeros_like(signs)
    with config_context(assume_finite=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is seen in the gap
        for j, variance in enumerate(kernel.diagonal()):
            height = float(variance) / alpha
            found[:, j] = _machine(K, signs[:, j], weights[:, j], height, tol)
    return found


def _machine(
    K: np.ndarray, signs: np.ndarray, weights: np.ndarray, height: float, tol: float
) -> np.ndarray:
    """Return the multipliers of one output."""
    multipliers = np.zeros_like(signs)
    rows = np.flatnonzero(weights)
    if np.unique(signs[rows]).size < 2:
        return multipliers  # those of one sign sum to zero only if they are zeros
    machine = SVC(
        C=height,
        kernel="precomputed",
        tol=min(max(_SHARE * tol, _CLOSEST), _LOOSEST),
        max_iter=_STEPS * len(rows),
    )
    machine.fit(
        K[np.ix_(rows, rows)] if len(rows) < len(signs) else K,
        signs[rows],
        sample_weight=None if np.all(weights == 1) else weights[rows],
    )
    places, share = rows[machine.support_], machine.dual_coef_[0] / height
    bounds = signs * weights
    # what is at a bound up to rounding is set to the bound
    at_bound = np.abs(share) >= weights[places] * (1 - 8 * np.finfo(float).eps)
    multipliers[places] = np.where(at_bound, bounds[places], share)
    return multipliers
