"""Scores: predictions where targets are missing, and relations that are known.

`r2_score`, `mean_squared_error` and `accuracy_score` are scikit-learn's over the
targets that are not NaN. The others compare a learned output kernel with known
relations:

========================== ========================================================
function                   of the pairs of outputs ...
========================== ========================================================
`support_precision_score`  ... that are estimated to be related, the fraction that is
`support_recall_score`     ... that are related, the fraction estimated to be
`support_f1_score`         the harmonic mean of the two
========================== ========================================================
"""

from okl.metrics.missing import accuracy_score as accuracy_score
from okl.metrics.missing import mean_squared_error as mean_squared_error
from okl.metrics.missing import r2_score as r2_score
from okl.metrics.support import support_f1_score as support_f1_score
from okl.metrics.support import support_precision_score as support_precision_score
from okl.metrics.support import support_recall_score as support_recall_score
