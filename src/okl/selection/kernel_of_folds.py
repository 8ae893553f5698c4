"""The kernel of losses without a closed form, by the loss of held-out rows of folds.

A linear plus a Matern 5/2 kernel with one width for all columns is learned to minimise
that loss, and then a linear plus a Laplacian kernel that starts from it. The mean of
the two is taken, unless one is clearly better: folds tell small differences badly, and
the mean is better than either on most sets.

Columns that do not matter are noise in the distances of rows, which one width for all
cannot remove. A width for each column can, but with few rows it fits the folds too
closely: parameters that do nothing raise the log likelihood of these very rows by about
a half each. Widths are kept where they raise it by a quarter each, but no more is asked
of more than 70, as a prior holds many widths together. A rule that chance hardly ever
meets would refuse widths on many sets where they are better; where they are not they do
little harm. The loss of classes is minus a log likelihood: where even a loss of zero
would not raise it enough, widths are not tried.

A function may be smooth along some columns and rough along others. Of two kernels that
are learned apart each has to fit along all of them, and so has their mean. Widths and
weights of both are also learned together, from the start of the search, and each can
take the columns that suit it. This sum is taken where it is clearly better: where it
pays for the widths of both, if those of each did not pay.

Where few columns of many matter, the linear part may take all the weight as long as
there is one width: none is left for the other kernel, whose widths then have no slope.
Widths that do not pay from there are learned again from where the search began.

Columns may be standardised, or have one scale: of pixels, which share a unit, those
that hardly vary say little, and standardised they say as much as the others. One scale
is taken only where it is clearly better, as units of columns mostly mean nothing. That
is judged by the Matern kernel with one width, and only the scale that is taken goes on.

Of very many classes or labels the most frequent ones are enough for all of that
(`okl.selection.frequent_classes`). What is found is then learned on all of them.

With few rows there may be a second minimum, a nearly linear kernel. To search for it
does not pay on most sets (docs/reproductions/class_peers.md). It does where columns are
nearly copies of each other, and their small differences tell classes apart: kernels
learned from the usual start then say nothing. Where they say little, and a linear
kernel of a large weight is clearly better, the search starts from there as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from okl.kernels import Kernel, Linear
from okl.problems import Observed
from okl.selection.criteria import FoldsLikelihood
from okl.selection.folds import Folds
from okl.selection.frequent_classes import frequent_classes
from okl.selection.learning import Learned
from okl.selection.linear_plus import (
    MOST_DISTANCES,
    MOST_WIDTHS,
    first_kernel,
    mean,
    with_laplacian,
    with_widths,
)
from okl.selection.standard_rows import StandardRows

# Most iterations of a search, whose criterion is no more exact than fits that end at a
# tolerance; and of one that only tells whether widths pay.
_ITERATIONS, _TRIED = 6, 3
# And of one that starts from the kernel of some classes.
_OF_ALL = 3
# Relative gap of the fits to the folds.
_TOL = 1e-6
# By how much each width has to raise a log likelihood, and all of them at most. With a
# smaller maximum images of digits have widths, and predict a little worse.
_EACH, _ALL = 0.25, 17.5
# By how much the log likelihood of one kernel is above that of the mean, to be clear.
_CLEAR = 3.0
# Weights of a linear kernel, far above that of the start, and one that is next to none.
_WEIGHTS, _NONE = (1e2, 1e4, 1e6), 1e-9
# They are tried where what was learned leaves more than this part of the loss.
_EXPLAINED = 0.5


def kernel_of_folds(
    choices: Sequence[StandardRows], folds: Folds
) -> tuple[int, Kernel]:
    """Return the kernel of the least loss of held-out rows, if unclear the mean of two.

    Parameters
    ----------
    choices : sequence of StandardRows
        The same rows in one or several scales of the columns. The first is taken unless
        another is clearly better.
    folds : sequence of pairs of arrays
        Row numbers to train on and to test.

    Returns
    -------
    number : int
        Which of the choices was taken.
    kernel : Kernel
        On the rows of that choice.
    """
    some = frequent_classes(choices[0])
    if some is None:
        return _searched(choices, folds)
    few = some.folds(folds, len(choices[0].Z))
    number, kernel = _searched([some.of(rows) for rows in choices], few)
    rows = choices[number]
    found = rows.learned(kernel, _criterion(rows, folds), _OF_ALL, near=True)
    return number, found.kernel


def _criterion(rows: StandardRows, folds: Folds) -> FoldsLikelihood:
    return FoldsLikelihood(
        rows.observed, folds, fit_intercept=rows.fit_intercept, tol=_TOL
    )


def _searched(choices: Sequence[StandardRows], folds: Folds) -> tuple[int, Kernel]:
    """Return the scale that is taken, and the best kernel on it, of all classes."""
    observed, criterion = choices[0].observed, _criterion(choices[0], folds)
    start = first_kernel(choices[0].Z.shape[1])

    def smooth(rows: StandardRows) -> Learned:
        return rows.learned(start, criterion, _ITERATIONS)

    number, begun = 0, smooth(choices[0])
    for other in range(1, len(choices)):
        # a scale that is worth a search is better before it
        before = [choices[one].value(start, criterion) for one in (0, other)]
        if before[1] >= before[0]:
            continue
        found = smooth(choices[other])
        if _gain(observed, begun.value, found.value) > _CLEAR:
            number, begun = other, found
    rows = choices[number]
    # with starts of its own: fits of such kernels are far from those of others
    weight = _clearly_better_weight(rows, begun.value, _criterion(rows, folds))
    if weight is not None:
        steep = first_kernel(rows.Z.shape[1], weight)
        begun = min(begun, rows.learned(steep, criterion, _ITERATIONS), key=_value)
    return number, _best_kernel(rows, begun, criterion).kernel


def _clearly_better_weight(
    rows: StandardRows, value: float, criterion: FoldsLikelihood
) -> float | None:
    """Return a large weight of a linear kernel whose loss is clearly below this.

    None also where this loss is far below that of constants, as it is on most sets:
    where little is lost, folds may prefer a linear kernel that errs by much elsewhere.
    """
    d = rows.Z.shape[1]

    def loss(weight: float) -> float:
        return rows.value(Linear(scales=weight / d), criterion)

    if value < _EXPLAINED * loss(_NONE):
        return None
    losses = [loss(weight) for weight in _WEIGHTS]
    best = int(np.argmin(losses))
    clear = _gain(rows.observed, value, losses[best]) > _CLEAR
    return _WEIGHTS[best] if clear else None


class _Found(NamedTuple):
    """A kernel, and the loss of held-out rows."""

    kernel: Kernel
    value: float


def _best_kernel(
    rows: StandardRows, smooth: Learned, criterion: FoldsLikelihood
) -> _Found:
    """Return what the Matern kernel and others that start from it come to."""
    n, d = rows.Z.shape
    observed, first = rows.observed, first_kernel(d)

    def learned(start: Kernel, max_iter: int = _ITERATIONS) -> Learned:
        return rows.learned(start, criterion, max_iter)

    found, begun = [smooth], [first]
    if n**2 * d <= MOST_DISTANCES:
        found.append(learned(with_laplacian(found[0].kernel, d)))
        begun.append(with_laplacian(first, d))
    best = min(found, key=_value)
    gain = partial(_gain, observed, best.value)
    asked = min(_EACH * (d - 1), _ALL)

    def pays(one: Learned) -> bool:
        return gain(one.value) > asked

    def widened(start: Kernel, max_iter: int = _ITERATIONS) -> Learned:
        return learned(with_widths(start, rows.Z), max_iter)

    alike, able = found, 1 < d <= MOST_WIDTHS
    if able and gain(0.0) > asked:
        if pays(widened(best.kernel, _TRIED)):
            found = [widened(one.kernel) for one in found]
            found = [
                one if pays(one) else min(one, widened(start), key=_value)
                for one, start in zip(found, begun, strict=True)
            ]
        elif pays(widened(first, _TRIED)):
            found = [widened(start) for start in begun]
    kept = _one_or_mean(rows, found, criterion)
    # the widths of both have to pay, where those of each did not
    price = max(2 * asked, _CLEAR) if found is alike else _CLEAR
    if able and len(found) > 1 and _gain(observed, kept.value, 0.0) > price:
        together = widened(mean(*begun))
        if _gain(observed, kept.value, together.value) > price:
            return _Found(together.kernel, together.value)
    return kept


def _one_or_mean(
    rows: StandardRows, found: Sequence[Learned], criterion: FoldsLikelihood
) -> _Found:
    """Return the mean of two kernels, or the better one if it is clearly better."""
    best = min(found, key=_value)
    alone = _Found(best.kernel, best.value)
    if len(found) == 1:
        return alone
    both = mean(*(one.kernel for one in found))
    value = rows.value(both, criterion)
    clear = _gain(rows.observed, value, best.value) > _CLEAR
    return alone if clear else _Found(both, value)


def _gain(observed: Observed, before: float, after: float) -> float:
    """Return by how much less loss of held-out rows raises their log likelihood.

    Of classes it is the difference. A loss of numbers is about half a square over the
    variance of the noise, which is unknown: the best variance gives the likelihood.
    """
    if "probabilities" in observed.loss.capabilities:
        return before - after
    targets, weights = observed.targets, observed.weights
    counted = np.broadcast_to(True if weights is None else weights > 0, targets.shape)
    n_targets = np.count_nonzero(counted)
    return float(n_targets / 2 * np.log(before / after)) if after > 0 else np.inf


def _value(learned: Learned) -> float:
    return learned.value
