"""The likeliest alpha of held-out rows, or a larger one where these leave it open.

Where rows are few, many alphas are about as likely, and which of them is the likeliest
is chance; if it is small, its model is far too sure of new rows. Alphas of a grid are
evenly spaced by their logarithms. If all are equally probable before any row is seen,
the likelihoods of the held-out rows are their probabilities after, up to a factor, and
with these weights log alpha has a mean. The alpha chosen is the one nearest to it, if
that is above the likeliest. A smaller one would be surer than the likeliest, which few
rows do not justify. With many rows few alphas are likely, and the likeliest is chosen.

A path is left where smaller alphas are no better: these count like its last one.
"""

from __future__ import annotations

import numpy as np


def cautious_alpha(alphas: np.ndarray, scores: np.ndarray, n_rows: float) -> int:
    """Return the number of the alpha to choose.

    Parameters
    ----------
    alphas : array (n_alphas,)
        Decreasing, evenly spaced by their logarithms.
    scores : array (n_alphas,)
        Mean log likelihoods of held-out rows; NaN for alphas that were left out, but
        not for all.
    n_rows : float
        How many rows they are the means of, by their weights.
    """
    tried = np.flatnonzero(~np.isnan(scores))
    likely = np.where(np.isnan(scores), -np.inf, scores)
    likely[tried[-1] + 1 :] = scores[tried[-1]]
    logs, best = np.log(alphas), int(np.argmax(likely))
    mean = np.average(logs, weights=np.exp(n_rows * (likely - likely[best])))
    nearest = int(tried[np.argmin(np.abs(logs[tried] - mean))])
    return min(nearest, best)
