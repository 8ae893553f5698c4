"""Scorers for searches, with scores that allow missing targets.

scikit-learn's scorers refuse NaN among the targets, and a search then has NaN as its
scores. These scorers are made by the same `sklearn.metrics.make_scorer` from the
functions of this package, and are passed as objects: ``GridSearchCV(...,
scoring=r2_scorer)``. As all of scikit-learn's they take the columns of y in their
order; the ``score`` of an estimator finds those of a data frame by name.
"""

from __future__ import annotations

from sklearn.metrics import make_scorer

from okl.metrics.labels import log_loss, roc_auc_score
from okl.metrics.missing import (
    accuracy_score,
    mean_absolute_error,
    mean_squared_error,
    r2_score,
)
from okl.metrics.quantiles import d2_pinball_score, mean_pinball_loss

# The scores that take a weight for each target, others have one for each row.
WEIGH_TARGETS = (
    r2_score,
    mean_squared_error,
    mean_absolute_error,
    d2_pinball_score,
    mean_pinball_loss,
    roc_auc_score,
    log_loss,
)

r2_scorer = make_scorer(r2_score)
neg_mean_squared_error_scorer = make_scorer(mean_squared_error, greater_is_better=False)
neg_mean_absolute_error_scorer = make_scorer(
    mean_absolute_error, greater_is_better=False
)
accuracy_scorer = make_scorer(accuracy_score)
roc_auc_scorer = make_scorer(
    roc_auc_score, response_method=("decision_function", "predict_proba")
)
neg_log_loss_scorer = make_scorer(
    log_loss, greater_is_better=False, response_method="predict_proba"
)
