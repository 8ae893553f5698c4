"""The kernel of the squared loss: by the restricted likelihood, in closed form.

A linear kernel plus a Matern 5/2 kernel with a width for each column: the weights of
both against noise of variance one, and the widths, minimise the restricted likelihood
of independent outputs that share the kernel. The search starts from one width for all
columns, which it learns first. A Gaussian and a Laplacian kernel are then learned in
place of the Matern kernel, starting from its widths. Which of them is kept is decided
by the error of rows left out, not by the likelihood, which errs where the noise is not
as it supposes. A Gaussian kernel has to be clearly better: its functions are so smooth
that it errs by much where rows are few and far between, which rows left out from among
the others hardly show. With few rows for each width, widths fit too closely: then a
kernel with one width is a candidate as well. Above `MOST_WIDTHS` columns there is one
width only, unless the rows are few. With one width, the few columns of many that matter
may look like noise, and widths that start there do not move: with few rows they start
from a kernel that was not learned as well, and the likelier end is kept. If there are
many rows, some are enough to choose a candidate, which is then learned on all of them.

Columns that are nearly copies of each other, as those of spectra or of lags are, may
say most by their small differences. A kernel learned from a start of as much noise as
signal then ends where all is noise. So rows left out say first how large the weight of
a linear kernel has to be. If they ask for more than that start has, the search starts
from there as well, and that nearly linear kernel is a candidate as it is, if it is far
better: with few rows the likelihood may still prefer noise.
"""

from __future__ import annotations

import numpy as np

from okl.kernels import Gaussian, Kernel, Linear
from okl.operators import Dense
from okl.selection.criteria import LeaveOneOutError, RestrictedLikelihood
from okl.selection.learning import Learned
from okl.selection.linear_plus import (
    MOST_DISTANCES,
    MOST_WIDTHS,
    first_kernel,
    is_nearly_linear,
    nearly_linear,
    with_gaussian,
    with_laplacian,
    with_widths,
)
from okl.selection.standard_rows import StandardRows
from okl.structures import Identity

# With fewer rows than this for each width, one width for all columns may be better.
ROWS_PER_WIDTH = 5
# With at least twice as many rows the candidates are compared on so many.
SOME_ROWS = 400
# Iterations of a search at most, of one that is only a start of another, and of one
# that starts near its end. What more of them would change says nothing: less than one
# in a log likelihood.
_ITERATIONS, _FIRST, _LAST = 40, 10, 12
# By how much rows left out have to be likelier under a Gaussian kernel. Of 67 kinds of
# drawn sets a third as many are then predicted worse by more than a tenth than with
# zero here, and the mean error is the same.
_CLEARLY = 5.0
# And under a nearly linear one that was not learned: by that, and for each target by so
# much more, as if its squared error had to be lower by a third. With less, few rows of
# noise alone may prefer it, and be predicted far from zero.
_FAR_CLEARLY = 0.2
# Weights of a linear kernel, the first that of the start, from which the second is
# reached as well; the least is taken by which rows left out are about as likely as by
# any.
_WEIGHTS, _NEAR, _AS_LIKELY = 10.0 ** np.arange(8), 10.0, 0.5


def learns_widths(n_samples: int, n_features: int) -> bool:
    """Tell whether a width for each column is learned."""
    few = n_samples**2 * n_features <= MOST_DISTANCES
    return n_features > 1 and (n_features <= MOST_WIDTHS or few)


def widths_may_fit_noise(n_samples: int, n_features: int) -> bool:
    """Tell whether rows are so few that one width for all columns may be better."""
    return n_samples < ROWS_PER_WIDTH * n_features


def likeliest_kernel(rows: StandardRows) -> Kernel:
    """Return the best candidate, learned on all rows."""
    some = _some(rows)
    best = min(_candidates(some), key=lambda kernel: _judged(some, kernel))
    return best if some is rows else _likeliest(rows, best, _LAST)


def _candidates(rows: StandardRows) -> list[Kernel]:
    """Return linear plus Matern, Gaussian and Laplacian, learned on these rows."""
    n, d = rows.Z.shape
    several = learns_widths(n, d)
    compares = not several or widths_may_fit_noise(n, d)
    iterations = _ITERATIONS if compares else _FIRST
    starts, found = [first_kernel(d)], []
    weight = _linear_weight(rows)
    if weight > _NEAR:
        starts.append(first_kernel(d, weight))
        found.append(nearly_linear(d, weight))
    ends = [_learned(rows, start, iterations) for start in starts]
    one_width = min(ends, key=lambda end: end.value).kernel
    if compares:
        found.append(one_width)
    if several:
        starts = [one_width, first_kernel(d)] if compares else [one_width]
        ends = [
            _learned(rows, with_widths(start, rows.Z), _ITERATIONS) for start in starts
        ]
        found.append(min(ends, key=lambda end: end.value).kernel)
    others = [with_gaussian(found[-1])]
    if n**2 * d <= MOST_DISTANCES:
        others.append(with_laplacian(found[-1], d))
    return found + [_likeliest(rows, other, _ITERATIONS) for other in others]


def _linear_weight(rows: StandardRows) -> float:
    """Return the least weight of a linear kernel that predicts rows left out well."""
    criterion = _of_rows_left_out(rows)
    # one decomposition is enough for all: only the weight over alpha counts
    operator = Dense(Linear(scales=1 / rows.Z.shape[1])(rows.Z))
    errors = [criterion.value(operator, 1 / w, Identity()).value for w in _WEIGHTS]
    return float(_WEIGHTS[np.argmax(errors <= np.min(errors) + _AS_LIKELY)])


def _some(rows: StandardRows) -> StandardRows:
    """Return every few rows, where there are many and all observed.

    There are enough of them to learn widths.
    """
    n, d = rows.Z.shape
    enough = max(SOME_ROWS, ROWS_PER_WIDTH * d)
    return rows if n < 2 * enough or not rows.observed.complete else rows.spread(enough)


def _likeliest(rows: StandardRows, start: Kernel, max_iter: int) -> Kernel:
    return _learned(rows, start, max_iter).kernel


def _learned(rows: StandardRows, start: Kernel, max_iter: int) -> Learned:
    criterion = RestrictedLikelihood(rows.observed, fit_intercept=rows.fit_intercept)
    return rows.learned(start, criterion, max_iter)


def _judged(rows: StandardRows, kernel: Kernel) -> float:
    """Return the criterion of rows left out, with a handicap for some kernels."""
    criterion = _of_rows_left_out(rows)
    handicap = _CLEARLY * isinstance(kernel.right.right, Gaussian)
    if is_nearly_linear(kernel):
        handicap = _CLEARLY + _FAR_CLEARLY * float(np.sum(criterion.totals))
    return rows.value(kernel, criterion) + handicap


def _of_rows_left_out(rows: StandardRows) -> LeaveOneOutError:
    return LeaveOneOutError(rows.observed, fit_intercept=rows.fit_intercept)
