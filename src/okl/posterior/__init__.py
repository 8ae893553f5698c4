"""How sure a squared-loss model is of its predictions, with its output kernel given.

The model is the mean of a Gaussian process: f has the prior covariance
k(x, x') L, an observed target adds noise of variance alpha / weight, and the free
intercept has a flat prior.
"""

from okl.posterior.separate import SeparateVariances, TaskVariances
from okl.posterior.variance import PredictiveVariance

__all__ = ["PredictiveVariance", "SeparateVariances", "TaskVariances"]
