"""Criteria: how good a kernel is, with the derivatives that a search needs.

=======================  ==================================  ========================
class                    what it judges                      needs
=======================  ==================================  ========================
`RestrictedLikelihood`   the marginal likelihood             squared loss, L given
`LeaveOneOutError`       rows left out one by one            squared loss, L given
`LeaveOneOutLikelihood`  their predictive probability        squared loss, L given
`FoldsError`             held-out rows of folds, no refits   squared loss, L given
`FoldsLikelihood`        held-out rows of folds, by refits   a smooth loss; for a
                                                             gradient, L given or
                                                             ``"frobenius"``
=======================  ==================================  ========================

All are minimised. Several kernels, each with an L of its own, are judged by the
likelihood of folds. Targets may be missing, but where L relates outputs rows cannot be
left out one by one. The rows of tasks are judged by all but the likelihood of folds.
"""

from okl.selection.criteria.automatic import NAMES as NAMES
from okl.selection.criteria.automatic import choose_criterion as choose_criterion
from okl.selection.criteria.base import Criterion as Criterion
from okl.selection.criteria.base import Evaluation as Evaluation
from okl.selection.criteria.base import TermDerivative as TermDerivative
from okl.selection.criteria.folds_error import FoldsError as FoldsError
from okl.selection.criteria.folds_likelihood import (
    FoldsLikelihood as FoldsLikelihood,
)
from okl.selection.criteria.leave_one_out_error import (
    LeaveOneOutError as LeaveOneOutError,
)
from okl.selection.criteria.leave_one_out_likelihood import (
    LeaveOneOutLikelihood as LeaveOneOutLikelihood,
)
from okl.selection.criteria.restricted_likelihood import (
    RestrictedLikelihood as RestrictedLikelihood,
)
