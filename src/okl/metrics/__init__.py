"""Scores of predictions with missing targets, of relations, and of classes in trees.

The first are scikit-learn's scores, over the targets that are not NaN. Each has a
scorer, made by `sklearn.metrics.make_scorer`, that can be the ``scoring`` of
`GridSearchCV`, `cross_val_score` and the CV estimators: scikit-learn's own
(``scoring="r2"``) do not accept NaN.

====================== ================================== ==========================
function               scorer, the larger the better      of
====================== ================================== ==========================
`r2_score`             ``r2_scorer``                      predictions
`mean_squared_error`   ``neg_mean_squared_error_scorer``  predictions
`mean_absolute_error`  ``neg_mean_absolute_error_scorer`` predictions
`d2_pinball_score`     a function of the quantile         quantiles
`mean_pinball_loss`    a function of the quantile         quantiles
`accuracy_score`       ``accuracy_scorer``                classes, labels
`roc_auc_score`        ``roc_auc_scorer``                 scores of 2 classes, labels
`log_loss`             ``neg_log_loss_scorer``            probabilities
====================== ================================== ==========================

A scorer of quantiles is ``make_scorer(d2_pinball_score, alpha=0.9)``.
``neg_log_loss_scorer`` is the mean log likelihood of the observed labels. The other
functions compare a learned output kernel with known relations:

========================== ========================================================
function                   of the pairs of outputs ...
========================== ========================================================
`support_precision_score`  ... that are estimated to be related, the fraction that is
`support_recall_score`     ... that are related, the fraction estimated to be
`support_f1_score`         the harmonic mean of the two
========================== ========================================================

For classes in a tree; `ClassTreeScorer` has all of these as a scorer:

============================== ====================================================
function                       what it is
============================== ====================================================
`taxo_loss`                    half the length of the path from truth to answer
`parent_accuracy_score`        answers with the right parent
`level_accuracy_score`         answers below the right node of a level
`hierarchical_precision_score` of the sets of ancestors; also
                               `hierarchical_recall_score`, `hierarchical_f1_score`
`mean_reciprocal_rank`         1 over the rank of the truth
`reject_curve`                 what errors cost when the least sure rows are not
                               answered; `reject_curve_area` is the area below it
============================== ====================================================
"""

from okl.metrics.class_tree import hierarchical_f1_score as hierarchical_f1_score
from okl.metrics.class_tree import (
    hierarchical_precision_score as hierarchical_precision_score,
)
from okl.metrics.class_tree import (
    hierarchical_recall_score as hierarchical_recall_score,
)
from okl.metrics.class_tree import level_accuracy_score as level_accuracy_score
from okl.metrics.class_tree import parent_accuracy_score as parent_accuracy_score
from okl.metrics.class_tree import taxo_loss as taxo_loss
from okl.metrics.class_tree_scorer import ClassTreeScorer as ClassTreeScorer
from okl.metrics.labels import log_loss as log_loss
from okl.metrics.labels import roc_auc_score as roc_auc_score
from okl.metrics.missing import accuracy_score as accuracy_score
from okl.metrics.missing import mean_absolute_error as mean_absolute_error
from okl.metrics.missing import mean_squared_error as mean_squared_error
from okl.metrics.missing import r2_score as r2_score
from okl.metrics.quantiles import d2_pinball_score as d2_pinball_score
from okl.metrics.quantiles import mean_pinball_loss as mean_pinball_loss
from okl.metrics.ranking import RejectCurve as RejectCurve
from okl.metrics.ranking import mean_reciprocal_rank as mean_reciprocal_rank
from okl.metrics.ranking import reject_curve as reject_curve
from okl.metrics.ranking import reject_curve_area as reject_curve_area
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
