"""Searches over the hyperparameters of okl's estimators.

`GradientSearchCV` moves all continuous ones at once, by the gradient of a criterion;
for others, and for a few values of each, scikit-learn's searches do. What is learned,
and how, is said with `okl.parameters`.
"""

from okl.estimators.gradient_search import GradientSearchCV

__all__ = ["GradientSearchCV"]
