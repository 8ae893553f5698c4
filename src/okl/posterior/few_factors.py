r"""The covariance of few factors, for rows that are about as few as their columns.

Columns that go together by k factors have a correlation matrix of k large eigenvalues
above others that noise alone explains. Of n rows and m columns of noise with variance
one the largest sample eigenvalue is near (1 + sqrt(g))^2, g = m / n (Marchenko & Pastur
1967): what is larger by a margin is a factor. A factor that adds d to the variance of
noise shows as the sample eigenvalue

.. math:: \lambda = (1 + d) (1 + g / d),

which is solved for d, and its sample eigenvector v has with the true one the squared
cosine c^2 = (1 - g / d^2) / (1 + g / d). The covariance of least squared error in these
directions is the sum of c^2 d v v' (Donoho, Gavish & Johnstone 2018). All else is
noise of the columns, so that their variances stay as they are.

Correlations that are shrunk alike cannot do that: what few rows ask for is decided by
the factors, and too small by far for the eigenvalues of noise.
"""

from __future__ import annotations

import numpy as np

# How far an eigenvalue of a factor is above the largest of noise, as a ratio:
# expectation and maximisation make more of a factor that is none, round by round.
_MARGIN = 1.1
# The least variance of noise, for columns that repeat each other.
_LEAST = 1e-8


def of_few_factors(covariance: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return a covariance (m, m) with the correlations of its factors alone.

    Variances stay as they are. ``pairs`` (m, m) is as in
    `okl.posterior.incomplete_rows.shrunk`; its largest entry is the number of rows.
    """
    variances = np.diagonal(covariance)
    roots = np.sqrt(np.where(variances > 0, variances, 1.0))
    values, V = np.linalg.eigh(covariance / np.outer(roots, roots))
    values, V = values[::-1], V[:, ::-1]
    added = _added_by_factors(values, float(np.max(pairs, initial=0.0)))
    factors = V[:, : len(added)]
    result = (factors * added) @ factors.T * np.outer(roots, roots)
    np.fill_diagonal(result, variances)
    return result


def _added_by_factors(values: np.ndarray, n: float) -> np.ndarray:
    """Return c^2 d of each factor, from eigenvalues in descending order and n rows."""
    m = len(values)
    k = np.arange(int(min(m, n) // 2))
    means = np.cumsum(values[::-1])[::-1] / np.arange(m, 0, -1)
    noise = np.maximum(means[: len(k) + 1], _LEAST)
    edges = noise[: len(k)] * (1.0 + np.sqrt((m - k) / (n - k))) ** 2
    above = values[: len(k)] > _MARGIN * edges
    n_factors = int(np.cumprod(above).sum())
    if n_factors == 0:
        return np.zeros(0)
    g = (m - n_factors) / (n - n_factors)
    t = values[:n_factors] / noise[n_factors] - 1.0 - g
    d = (t + np.sqrt(np.maximum(t**2 - 4.0 * g, 0.0))) / 2.0
    cosines = np.clip((1.0 - g / d**2) / (1.0 + g / d), 0.0, 1.0)
    return noise[n_factors] * cosines * d
