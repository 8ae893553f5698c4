"""Scores of a learned output kernel against relations that are known.

========================== ========================================================
function                   of the pairs of outputs ...
========================== ========================================================
`support_precision_score`  ... that are estimated to be related, the fraction that is
`support_recall_score`     ... that are related, the fraction estimated to be
`support_f1_score`         the harmonic mean of the two
========================== ========================================================
"""

from okl.metrics.support import support_f1_score as support_f1_score
from okl.metrics.support import support_precision_score as support_precision_score
from okl.metrics.support import support_recall_score as support_recall_score
