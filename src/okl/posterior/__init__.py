"""How sure a squared-loss model is of its predictions, with its output kernel given.

The model is the mean of a Gaussian process: f has the prior covariance
k(x, x') L, an observed target adds noise of variance alpha / weight, and the free
intercept has a flat prior. Rows left out say how large noise and signal are, and how
the errors of outputs are correlated, by which the targets observed in a new row tell of
its others.
"""

from okl.posterior.base import Posterior
from okl.posterior.calibration import Calibration, correlation_of_errors
from okl.posterior.conditioning import ConditionedRows
from okl.posterior.held_out_entries import best_distribution
from okl.posterior.incomplete_rows import RowDistribution
from okl.posterior.left_out import RowsLeftOut, covariances_left_out
from okl.posterior.missing_targets import expected_targets
from okl.posterior.row_term import RowTermPosterior
from okl.posterior.separate import SeparateVariances, TaskVariances
from okl.posterior.term_sum import TermSumPosterior
from okl.posterior.variance import PredictiveVariance

__all__ = [
    "Calibration",
    "ConditionedRows",
    "Posterior",
    "PredictiveVariance",
    "RowDistribution",
    "RowTermPosterior",
    "RowsLeftOut",
    "SeparateVariances",
    "TaskVariances",
    "TermSumPosterior",
    "best_distribution",
    "correlation_of_errors",
    "covariances_left_out",
    "expected_targets",
]
