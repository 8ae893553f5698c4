"""Default searches of many classes, beside `LogisticRegressionCV`.

Of few rows a class the kernel is learned, on the most frequent classes and then on all:
the linear rival takes far less, so that there is a limit in seconds. Of texts with many
rows ours is linear as well, and both choose one parameter by five folds. Notes tell the
log losses of new rows.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from benchmarks.measure import Row, alternately
from okl import OutputKernelClassifierCV

# Classes, rows of each, and the limit in seconds.
FEW_ROWS = ((60, 5, 20.0), (100, 5, 60.0), (100, 10, 120.0))
N_FEATURES, N_NEW = 10, 10
# Of texts: classes, rows, words in the vocabulary and in a text.
TEXTS = (100, 12_000, 3000, 15)


def run() -> list[Row]:
    return [*few_rows(), texts()]


def few_rows() -> list[Row]:
    rows = []
    for n_classes, n_rows, limit in FEW_ROWS:
        rng = np.random.default_rng(0)
        means = rng.normal(size=(n_classes, N_FEATURES))
        y = np.repeat(np.arange(n_classes), n_rows + N_NEW)
        X = means[y] + 0.5 * rng.normal(size=(len(y), N_FEATURES))
        new = np.tile(np.arange(n_rows + N_NEW) >= n_rows, n_classes)
        X = StandardScaler().fit(X[~new]).transform(X)
        work = f"search, {n_classes} classes of {n_rows} rows, {N_FEATURES} features"
        seconds, linear, losses = _both(X, y, new)
        note = f"{losses}; LogisticRegressionCV takes {linear:.2g} s"
        rows.append(Row(work, seconds, limit, "the limit set", 1, note=note))
    return rows


def texts() -> Row:
    n_classes, n_rows, n_words, length = TEXTS
    rng = np.random.default_rng(0)
    common = rng.dirichlet(np.full(n_words, 0.2))
    own = rng.dirichlet(np.full(n_words, 0.05), size=n_classes)
    y = rng.integers(n_classes, size=n_rows)
    counts = [rng.multinomial(length, 0.8 * common + 0.2 * own[c]) for c in y]
    X = TfidfTransformer(sublinear_tf=True).fit_transform(sparse.csr_array(counts))
    new = np.arange(n_rows) % 6 == 0
    work = f"search, {n_rows} texts of {n_classes} classes, {n_words} words"
    ours, theirs, losses = _both(X, y, new)
    return Row(work, ours, theirs, "LogisticRegressionCV", 1, note=losses)


def _both(X: Any, y: np.ndarray, new: np.ndarray) -> tuple[float, float, str]:
    """Fit both to some rows; return their seconds, and the log losses of the others."""
    theirs = LogisticRegressionCV(
        l1_ratios=(0,), use_legacy_attributes=False, scoring="neg_log_loss", cv=5
    )
    models = OutputKernelClassifierCV(), theirs
    fits = [partial(model.fit, X[~new], y[~new]) for model in models]
    with warnings.catch_warnings():  # L-BFGS ends at its limit where C is large
        warnings.simplefilter("ignore", ConvergenceWarning)
        ours, linear = alternately(1, *fits)
    losses = [log_loss(y[new], model.predict_proba(X[new])) for model in models]
    note = "log loss {:.3f}, of LogisticRegressionCV {:.3f}".format(*losses)
    return ours, linear, note
