"""Scores: predictions where targets are missing, and relations that are known.

The first are scikit-learn's over the targets that are not NaN. Each has a scorer, made
by `sklearn.metrics.make_scorer`, to be the ``scoring`` of `GridSearchCV`,
`cross_val_score` and the CV estimators: scikit-learn's own (``scoring="r2"``) take no
NaN.

====================== ================================== ==========================
function               scorer, the larger the better      of
====================== ================================== ==========================
`r2_score`             ``r2_scorer``                      predictions
`mean_squared_error`   ``neg_mean_squared_error_scorer``  predictions
`mean_absolute_error`  ``neg_mean_absolute_error_scorer`` predictions
`accuracy_score`       ``accuracy_scorer``                classes, labels
`roc_auc_score`        ``roc_auc_scorer``                 scores of 2 classes, labels
`log_loss`             ``neg_log_loss_scorer``            probabilities
====================== ================================== ==========================

``neg_log_loss_scorer`` is the mean log likelihood of the observed labels. The other
functions compare a learned output kernel with known relations:

========================== ========================================================
function                   of the pairs of outputs ...
========================== ========================================================
`support_precision_score`  ... that are estimated to be related, the fraction that is
`support_recall_score`     ... that are related, the fraction estimated to be
`support_f1_score`         the harmonic mean of the two
========================== ========================================================
"""

from okl.metrics.labels import log_loss as log_loss
from okl.metrics.labels import roc_auc_score as roc_auc_score
from okl.metrics.missing import accuracy_score as accuracy_score
from okl.metrics.missing import mean_absolute_error as mean_absolute_error
from okl.metrics.missing import mean_squared_error as mean_squared_error
from okl.metrics.missing import r2_score as r2_score
from okl.metrics.scorers import accuracy_scorer as accuracy_scorer
from okl.metrics.scorers import (
    neg_log_loss_scorer as neg_log_loss_scorer,
)
from okl.metrics.scorers import (
    neg_mean_absolute_error_scorer as neg_mean_absolute_error_scorer,
)
from okl.metrics.scorers import (
    neg_mean_squared_error_scorer as neg_mean_squared_error_scorer,
)
from okl.metrics.scorers import r2_scorer as r2_scorer
from okl.metrics.scorers import roc_auc_scorer as roc_auc_scorer
from okl.metrics.support import support_f1_score as support_f1_score
from okl.metrics.support import support_precision_score as support_precision_score
from okl.metrics.support import support_recall_score as support_recall_score
