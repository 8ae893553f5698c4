"""The kernel that is learned where the user leaves it to the data.

*Squared loss.* A linear kernel plus a Matern 5/2 kernel with a width for each column of
standardised rows: the weights of both against noise of variance one, and the widths,
minimise the restricted likelihood of independent outputs that share the kernel. The
search starts from one width for all columns, which it learns first. A Laplacian kernel,
by the sum of the distances along the columns, is learned in the place of the Matern
kernel as well: its functions are rough, and close to sums of functions of few columns,
as those of many tables are. Which of them is kept is told by rows that are left out,
not by the likelihood, which errs where the noise is not what it supposes. With few rows
for so many widths they fit too closely: one width is a candidate then, and is all there
is above `MOST_WIDTHS` columns. Of many rows some are enough to choose a candidate by,
which is then learned on all of them.

*Other smooth losses*, those of classes among them: a linear plus a Matern 5/2 kernel
with one width for all standardised columns, and both weights, minimise the loss of the
held-out rows of folds; so do a linear plus a Laplacian kernel, from there. The mean of
the two is taken: which of them is better the folds tell badly, and it is better than
either on most sets. A width for each column does not pay on most sets, nor does a
search for the second minimum that this loss may have with few rows, a nearly linear
kernel (docs/reproductions/class_peers.md).

The priors are those of the kernels. Rows are those of dense arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from okl.kernels import Constant, Kernel, Laplacian, Linear, Matern, per_feature
from okl.operators import Dense
from okl.problems import Observed
from okl.selection.criteria import (
    Criterion,
    FoldsLikelihood,
    LeaveOneOutError,
    RestrictedLikelihood,
)
from okl.selection.learning import learn
from okl.selection.path import largest_alpha
from okl.selection.sensitivity import shares_of_columns
from okl.selection.standard_columns import StandardColumns
from okl.solvers import solve
from okl.structures import Identity

Folds = Sequence[tuple[np.ndarray, np.ndarray]]

# With more columns than this all have the same width.
MOST_WIDTHS = 500
# With fewer rows than this for each width, one width for all columns may be better.
ROWS_PER_WIDTH = 5
# Where the weights of the linear and of the other part start; noise is one.
_LINEAR, _MATERN = 1.0, 10.0
# Iterations of a search at most, of one that is only a start of another, of one that
# starts near its end, and of one by folds, whose criterion is as exact as fits that end
# at a tolerance are. What more of them would change says nothing: less than one in a
# log likelihood.
_ITERATIONS, _FIRST, _LAST, _OF_FOLDS = 40, 10, 12, 6
# With at least twice as many rows the candidates are compared on so many.
SOME_ROWS = 400
# Distances along columns, n^2 d, above which there is no Laplacian kernel: they are no
# product of matrices.
_MOST_DISTANCES = 1e8
# Of the fit that tells how much each column counts.
_TOL, _MAX_ITER = 1e-4, 500
# Of the fits to the folds.
_FOLD_TOL = 1e-6


@dataclass(frozen=True)
class LearnedKernel:
    """A kernel that was learned, in the units of X.

    Attributes
    ----------
    kernel : Kernel
        Resolved. For the squared loss its size is that of the outputs: the alpha at
        which it fits independent outputs best is the variance of their noise. For other
        losses that alpha is one.
    relevances : array (n_features,)
        The share of each column in the squared derivatives of the predictions at that
        alpha, times its variance; they sum to one, or are all zero.
    smallest : float
        That alpha as a part of the largest that matters for independent outputs.
    """

    kernel: Kernel
    relevances: np.ndarray
    smallest: float


def learn_kernel(
    X: np.ndarray,
    observed: Observed,
    folds: Folds,
    *,
    fit_intercept: bool,
    row_weights: np.ndarray | None = None,
) -> LearnedKernel:
    """Learn a kernel for all outputs.

    Parameters
    ----------
    X : array (n_samples, n_features)
        Not all columns may be constant.
    observed : Observed
        The targets, normalised, of a smooth loss; not in long form.
    folds : sequence of pairs of arrays
        Row numbers to train on and to test, for losses that are not squared.
    fit_intercept : bool
    row_weights : array (n_samples,), optional
        How much each row counts for means and variances.
    """
    columns = StandardColumns.of(X, row_weights, centred=fit_intercept)
    search = _Search(columns.rows(X), observed, fit_intercept, row_weights)
    if "quadratic" in observed.loss.capabilities:
        kernel = search.of_squared_loss()
    else:
        kernel = search.of_folds(folds)
    fit = search.fit(kernel)
    if "quadratic" in observed.loss.capabilities:
        kernel = scaled(kernel, fit.variance)
    return LearnedKernel(
        columns.in_units(kernel), columns.of_all(fit.relevances), fit.smallest
    )


class _Fit(NamedTuple):
    """A fit of independent outputs at alpha = 1.

    Attributes
    ----------
    relevances : array (n_varying,)
        The shares of the columns.
    smallest : float
        That alpha as a part of the largest that matters.
    variance : float
        What the kernel, and noise of variance one, is to be multiplied by to have the
        size of the outputs: their mean y'P y over the degrees of freedom, which the
        restricted likelihood profiles out.
    """

    relevances: np.ndarray
    smallest: float
    variance: float


def scaled(kernel: Kernel, factor: float) -> Kernel:
    """Return linear plus a weighted kernel times a factor, zero left out."""
    if not factor > 0:
        return kernel
    linear, rest = kernel.left, kernel.right
    weight = Constant(rest.left.value * factor)
    return Linear(scales=linear.scales * factor) + weight * rest.right


def _with_laplacian(kernel: Kernel, n_features: int) -> Kernel:
    """Return linear plus weighted Laplacian of the widths of a Matern kernel.

    Its mean distance of standardised rows is about the root of the mean square of that
    of the Matern kernel.
    """
    weight, matern = kernel.right.left, kernel.right.right
    inverse = 1.0 / matern.length_scale
    all_inverse = np.broadcast_to(inverse, n_features)
    gamma = inverse * np.linalg.norm(all_inverse) / all_inverse.sum()
    return kernel.left + weight * Laplacian(gamma)


def _mean(one: Kernel, other: Kernel) -> Kernel:
    """Return the mean of two kernels that are linear plus a weighted one."""
    linear = clone(one.left).set_params(
        scales=(one.left.scales + other.left.scales) / 2
    )
    first, second = (
        Constant(kernel.right.left.value / 2) * kernel.right.right
        for kernel in (one, other)
    )
    return linear + (first + second)


@dataclass(frozen=True)
class _Search:
    """What is learned from: standardised rows Z and their targets."""

    Z: np.ndarray
    observed: Observed
    fit_intercept: bool
    row_weights: np.ndarray | None

    @property
    def _start(self) -> Kernel:
        """Linear plus Matern, of the same width for all columns."""
        d = self.Z.shape[1]
        return Linear(scales=_LINEAR / d) + Constant(_MATERN) * Matern(d**0.5, 2.5)

    def of_squared_loss(self) -> Kernel:
        """Return the best candidate, learned on all rows."""
        some = self._some()
        candidates = some._candidates()
        best = candidates[0]
        if len(candidates) > 1:
            best = min(candidates, key=some._left_out_error)
        return best if some is self else self._likeliest(best, _LAST)

    def _candidates(self) -> list[Kernel]:
        """Return what is linear plus Matern or Laplacian, learned on these rows."""
        n, d = self.Z.shape
        several = 1 < d <= MOST_WIDTHS
        compares = not several or n < ROWS_PER_WIDTH * d
        one_width = self._likeliest(self._start, _ITERATIONS if compares else _FIRST)
        found = [one_width] if compares else []
        if several:
            wider = one_width.left + per_feature(one_width.right, self.Z)
            found.append(self._likeliest(wider, _ITERATIONS))
        if n**2 * d <= _MOST_DISTANCES:
            found.append(self._likeliest(_with_laplacian(found[-1], d), _ITERATIONS))
        return found

    def of_folds(self, folds: Folds) -> Kernel:
        """Return the mean of linear plus Matern and plus Laplacian, with one width."""
        n, d = self.Z.shape
        criterion = FoldsLikelihood(
            self.observed, folds, fit_intercept=self.fit_intercept, tol=_FOLD_TOL
        )
        smooth = self._learned(self._start, criterion, _OF_FOLDS)
        if n**2 * d > _MOST_DISTANCES:
            return smooth
        rough = self._learned(_with_laplacian(smooth, d), criterion, _OF_FOLDS)
        return _mean(smooth, rough)

    def fit(self, kernel: Kernel) -> _Fit:
        """Return what the fit at alpha = 1 tells."""
        inputs = self.observed.inputs(
            Dense(kernel(self.Z)), fit_intercept=self.fit_intercept
        )
        formulation = self.observed.formulate(inputs, Identity())
        solution = solve(formulation.problem, 1.0, tol=_TOL, max_iter=_MAX_ITER)
        coefficients = formulation.coefficients(solution.dual_coef)
        targets, weights = self.observed.targets, self.observed.weights
        observed = np.ones_like(targets) * (1.0 if weights is None else weights > 0)
        free = observed.sum(axis=0) - self.fit_intercept
        variances = np.sum(targets * coefficients, axis=0) / np.maximum(free, 1.0)
        return _Fit(
            shares_of_columns(kernel, self.Z, coefficients),
            1.0 / largest_alpha(formulation.problem),
            float(np.mean(variances)),
        )

    def _some(self) -> _Search:
        """Return the search on every few rows, where there are many and all observed.

        There are enough of them to learn widths.
        """
        (n, d), weights = self.Z.shape, self.row_weights
        enough = max(SOME_ROWS, ROWS_PER_WIDTH * d)
        if n < 2 * enough or not self.observed.complete:
            return self
        rows = np.arange(0, n, n // enough)
        some = self.Z[rows], self.observed.targets[rows]
        if any(np.all(np.ptp(values, axis=0) == 0) for values in some):
            return self
        return _Search(
            self.Z[rows],
            self.observed.restrict(rows),
            self.fit_intercept,
            None if weights is None else weights[rows],
        )

    def _likeliest(self, start: Kernel, max_iter: int) -> Kernel:
        criterion = RestrictedLikelihood(
            self.observed, fit_intercept=self.fit_intercept
        )
        return self._learned(start, criterion, max_iter)

    def _learned(self, start: Kernel, criterion: Criterion, max_iter: int) -> Kernel:
        return learn(
            self.Z,
            self.observed,
            start,
            Identity(),
            1.0,
            criterion,
            fit_intercept=self.fit_intercept,
            parameters={"alpha": "fixed"},
            row_weights=self.row_weights,
            max_iter=max_iter,
        ).kernel

    def _left_out_error(self, kernel: Kernel) -> float:
        criterion = LeaveOneOutError(self.observed, fit_intercept=self.fit_intercept)
        return criterion.evaluate(Dense(kernel(self.Z)), 1.0, Identity()).value
