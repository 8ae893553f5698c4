r"""The noise of tasks, estimated with the help of the other tasks.

Two residuals tell of a variance hardly more than its order of magnitude, and six leave
it uncertain by a factor of two: where they happen to be small, intervals would be far
too narrow. Suppose that the variances of
tasks have the distribution of nu s / chi^2_nu, and that the estimate v_j of task j has
k_j degrees of freedom, one less than it has rows: that is what its mean takes, be it a
free intercept or drawn to that of the others. (Where tasks have a row each, and no
intercepts of their own, the mean is that of all, and each row tells.) Then v_j / s has
the F distribution with k_j and nu degrees of freedom. The s and nu that make all v_j
likeliest are what tasks have in common, and the expected variance of task j is

.. math:: \frac{\nu s + k_j v_j}{\nu + k_j}.

Where tasks differ much nu is small, and next to nothing is taken from the other tasks;
nor is where a task has many more rows than nu. A task of enough rows whose variance is
all but impossible beside the others has nothing in common with them, and keeps it.
The variances of all tasks must be in the same unit. Where each task was normalised by
itself that is not known, and only variances of few rows are drawn.

References
----------
Smyth (2004), Linear models and empirical Bayes methods for assessing differential
expression in microarray experiments. Statistical Applications in Genetics and Molecular
Biology 3.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import betaln, digamma
from scipy.stats import f

# With so many rows, or more, the variance of a task that may be in a unit of its own
# is its own estimate.
ENOUGH = 6
# A variance that is zero in more than two rows tells that tasks differ, as does one of
# this part of the largest; in two rows targets are often the same by chance.
_ALMOST_ZERO = 1e-6
# How probable it may be that any of the tasks is taken for one that differs.
_BY_CHANCE = 0.05
# Bounds of nu, and how far beyond the variances the logarithm of s may be; where the
# searches for nu start.
_LEAST, _MOST, _BEYOND = 0.1, 1e3, 3.0
_STARTS = (2.0, 30.0)


def with_that_of_others(
    variances: np.ndarray,
    counts: np.ndarray,
    *,
    own_intercepts: bool = True,
    one_unit: bool = True,
) -> np.ndarray:
    """Return the variances of tasks, drawn to what all have, the more the fewer rows.

    Parameters
    ----------
    variances : array (n_tasks,)
        Measured in one unit, anything where there were no rows.
    counts : array (n_tasks,)
        The rows they were measured in.
    own_intercepts : bool, default=True
        Whether each task has a free intercept.
    one_unit : bool, default=True
        Whether targets of all tasks are sure to have one unit. Else those of few rows
        are taken to have, as their own estimates are worse still.
    """
    freedom = np.maximum(counts - 1.0, 0.0)
    if not own_intercepts and not np.any(freedom):
        freedom = np.asarray(counts, dtype=np.float64)
    told = (freedom > 0) & (variances > 0)
    few = counts < ENOUGH
    if not np.any(told) or not (one_unit or np.any(few)):
        return variances
    least = _ALMOST_ZERO * float(np.max(variances[told]))
    seen, alike = told | (freedom > 1), np.zeros(0, dtype=bool)
    clipped = np.clip(variances, least, None)
    while seen.any() and not np.array_equal(seen, alike):
        common, weight = _in_common(clipped[seen], freedom[seen])
        alike = seen
        seen = seen & ~_is_far(clipped / common, freedom, weight, len(variances))
    measured = np.where(freedom > 0, freedom * variances, 0.0)
    drawn = (weight * common + measured) / (weight + freedom)
    return np.where(few | (seen & one_unit), drawn, variances)


def _is_far(
    ratios: np.ndarray, freedom: np.ndarray, weight: float, n_tasks: int
) -> np.ndarray:
    """Tell which tasks of enough rows are too far to have what others have in common.

    The variances are then those of the wrong distribution: with one precise task among
    many that are alike nu is large, and its variance would be that of the others.
    """
    most = _BY_CHANCE / (2 * n_tasks)
    below, above = (
        tail(ratios, np.maximum(freedom, 1), weight) for tail in (f.cdf, f.sf)
    )
    return (np.minimum(below, above) < most) & (freedom >= ENOUGH - 1)


def _in_common(variances: np.ndarray, freedom: np.ndarray) -> tuple[float, float]:
    """Return s and nu, the likeliest."""
    logs = np.log(variances)
    middle = np.average(logs, weights=freedom)
    ratios = freedom * np.exp(logs - middle)

    def unlikeliness(theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return minus the log likelihood, and its slope."""
        s, nu = np.exp(theta)
        relative = ratios / (s * nu)
        rest = freedom - (freedom + nu) * relative / (1 + relative)
        spread = np.log1p(relative) + digamma(nu / 2) - digamma((freedom + nu) / 2)
        terms = (
            (freedom + nu) * np.log1p(relative)
            + freedom * np.log(s * nu)
            + 2 * betaln(freedom / 2, nu / 2)
        )
        slope = np.array([np.sum(rest), np.sum(nu * spread + rest)])
        return float(np.sum(terms)) / 2, slope / 2

    ends = np.min(logs) - middle - _BEYOND, np.max(logs) - middle + _BEYOND
    bounds = [ends, (np.log(_LEAST), np.log(_MOST))]
    found = [
        minimize(
            unlikeliness,
            [0.0, np.log(start)],
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"ftol": 1e-15, "gtol": 1e-9},
        )
        for start in _STARTS
    ]
    s, nu = np.exp(min(found, key=lambda end: end.fun).x)
    return float(s * np.exp(middle)), float(nu)
