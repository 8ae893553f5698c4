"""Which criterion judges kernels: the one asked for by name, or the first that fits.

With the squared loss and a given L the restricted likelihood is the cheapest, and as
good as any. With more than a fifth as many features as rows it prefers kernels that fit
too closely: there the leave-one-out error is better, or that of folds where rows have
several related targets and some are missing. With many such targets, and in all other
cases, the likelihood of folds judges.
"""

from __future__ import annotations

import numpy as np

from okl.problems import Observed
from okl.selection.criteria.base import Criterion
from okl.selection.criteria.closed_form import ClosedFormCriterion
from okl.selection.criteria.fold_checks import Names
from okl.selection.criteria.folds_error import FoldsError
from okl.selection.criteria.folds_likelihood import FoldsLikelihood
from okl.selection.criteria.leave_one_out_error import LeaveOneOutError
from okl.selection.criteria.leave_one_out_likelihood import LeaveOneOutLikelihood
from okl.selection.criteria.restricted_likelihood import RestrictedLikelihood
from okl.selection.folds import Folds
from okl.structures import Structure

_WITHOUT_FOLDS: dict[str, type[ClosedFormCriterion]] = {
    "restricted_likelihood": RestrictedLikelihood,
    "leave_one_out_error": LeaveOneOutError,
    "leave_one_out_likelihood": LeaveOneOutLikelihood,
}
_WITH_FOLDS: dict[str, type[FoldsError] | type[FoldsLikelihood]] = {
    "folds_error": FoldsError,
    "folds_likelihood": FoldsLikelihood,
}
NAMES = ("auto", *_WITHOUT_FOLDS, *_WITH_FOLDS)
# Rows that there should be for each feature.
_ROWS_PER_FEATURE = 5
# Targets of related outputs, if some are missing, whose matrix is factorised.
_MOST_JOINED = 2000


def choose_criterion(
    spec: str,
    observed: Observed,
    structure: Structure,
    folds: Folds,
    *,
    n_features: int,
    fit_intercept: bool,
    one_kernel: bool = True,
    names: Names = None,
) -> Criterion:
    """Return the criterion asked for, or the first that fits.

    Parameters
    ----------
    spec : str
        One of `NAMES`.
    observed : Observed
        Targets, normalised.
    structure : Structure
        The one that kernels are judged with.
    folds : sequence of pairs of arrays
        Row numbers to train on and to test, for the criteria that need them.
    n_features : int
        Of the rows.
    fit_intercept : bool
    one_kernel : bool, default=True
        Whether there is one, for all outputs.
    names : sequence, optional
        What messages call the outputs, or classes.

    Raises
    ------
    ValueError
        For one that does not fit.
    """
    name = spec
    if spec == "auto":
        name = "folds_likelihood"
        if one_kernel:
            name = _first(observed, structure, n_features)
    if not one_kernel and name != "folds_likelihood":
        raise ValueError(
            f"criterion={spec!r} needs one kernel for all outputs; got several "
            "kernels, or one for each output. Use 'folds_likelihood'."
        )
    if name in _WITH_FOLDS:
        criterion = _WITH_FOLDS[name]
        return criterion(observed, folds, fit_intercept=fit_intercept, names=names)
    return _WITHOUT_FOLDS[name](observed, fit_intercept=fit_intercept)


def _first(observed: Observed, structure: Structure, n_features: int) -> str:
    known = structure.known(np.empty((1, observed.n_outputs)))
    if "quadratic" not in observed.loss.capabilities or known is None:
        return "folds_likelihood"
    joined = known.couples and observed.tasks is None and not observed.complete
    if joined:
        assert observed.weights is not None
        if np.count_nonzero(observed.weights) > _MOST_JOINED:
            return "folds_likelihood"
    if _ROWS_PER_FEATURE * n_features > len(observed.counted()):
        return "folds_error" if joined else "leave_one_out_error"
    return "restricted_likelihood"
