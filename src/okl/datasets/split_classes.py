"""Classes of which some were split into several labels by mistake.

Labels of the same class cannot be told apart by the inputs; an output kernel that
discovers which labels belong together pools their examples.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.utils import check_random_state

# Dinuzzo et al. (2011), section 5.1: which of the five labels share a class.
_SIMULATIONS: tuple[tuple[tuple[int, ...], ...], ...] = (
    ((0,), (1,), (2,), (3,), (4,)),
    ((0, 1), (2,), (3,), (4,)),
    ((0,), (1,), (2, 3, 4)),
    ((0,), (1, 2), (3, 4)),
)


def make_split_classes(
    simulation: int | Sequence[Sequence[int]] = 3,
    *,
    n_per_class: int = 500,
    n_features: int = 100,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw sim0 to sim3 of Dinuzzo et al. (2011), section 5.1.

    Each class is a Gaussian of unit variance; the means are the corners of a
    simplex with edges of length sqrt(2). Each example has one of the labels of its
    class, at random.

    Parameters
    ----------
    simulation : int or sequence of sequences of int, default=3
        0 to 3 for sim0 to sim3, or the labels of each class.
    n_per_class : int, default=500
        Examples of each class.
    n_features : int, default=100
        Dimension, at least the number of classes.
    random_state : int, RandomState or None, default=None
        As in scikit-learn.

    Returns
    -------
    X : array (n_samples, n_features)
    y : array of int (n_samples,)
    """
    rng = check_random_state(random_state)
    groups = _SIMULATIONS[simulation] if isinstance(simulation, int) else simulation
    # unit vectors are at distance sqrt(2) from each other
    means = np.eye(len(groups), n_features)
    means -= means.mean(axis=0)
    X, y = [], []
    for mean, labels in zip(means, groups, strict=True):
        X.append(mean + rng.normal(size=(n_per_class, n_features)))
        y.append(rng.choice(np.asarray(labels), size=n_per_class))
    return np.concatenate(X), np.concatenate(y)
