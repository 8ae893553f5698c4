"""What needs no kernel: the trivial rivals of the study of data in long form.

The rows, the splits and the scores are those of `long_form`. **mean of the task**
predicts the mean of the training rows of each task, or for mines their share.
**interpolation**, for the Parkinson's scores, draws straight lines between a person's
own training recordings over time and predicts the last value beyond them; it uses none
of the voice features, only the day of a recording. **one line** is a linear model of
all rows that does not look at the task: scikit-learn's `RidgeCV`, or for mines
`LogisticRegressionCV`. **one each** is a model per task, fitted to its own rows, with a
kernel and an alpha of its own: `OutputKernelRegressorCV` with the seven kernels of its
short list.
"""

from __future__ import annotations

import warnings

import numpy as np
from benchmarks.measure import machine
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from okl import OutputKernelRegressorCV
from reproductions.comparing import standard_error
from reproductions.long_form import N_SPLITS, Set, sets
from reproductions.report import table, write_page

# The column of X with the days since a person joined the trial.
TIME = 2


class _Given:
    """Predictions that were made before, in front of a judge of models."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def predict(self, X: np.ndarray, task: np.ndarray) -> np.ndarray:
        return self.values

    decision_function = predict

    def inverse_transform(self, values: np.ndarray) -> np.ndarray:
        return values


def task_means(data: Set, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Predict the mean of the training rows of each row's task."""
    predicted = np.empty(len(test))
    for task in np.unique(data.ids):
        own = train[data.ids[train] == task]
        predicted[data.ids[test] == task] = data.y[own].mean()
    return predicted


def interpolated(data: Set, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Interpolate the training rows of each row's task over time."""
    predicted = np.empty(len(test))
    for task in np.unique(data.ids):
        own = train[data.ids[train] == task]
        own = own[np.argsort(data.X[own, TIME])]
        asked = data.ids[test] == task
        times = data.X[test[asked], TIME]
        predicted[asked] = np.interp(times, data.X[own, TIME], data.y[own])
    return predicted


def one_line(data: Set, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Predict by a linear model of all rows, whatever their task."""
    if data.classes:
        few = LogisticRegressionCV(
            Cs=np.geomspace(1e-4, 1e2, 7), scoring="roc_auc", l1_ratios=(0.0,),
            use_legacy_attributes=False,
        )  # fmt: skip
        model = make_pipeline(StandardScaler(), few)
        return model.fit(data.X[train], data.y[train]).decision_function(data.X[test])
    model = make_pipeline(StandardScaler(), RidgeCV(np.geomspace(1e-2, 1e4, 13)))
    return model.fit(data.X[train], data.y[train]).predict(data.X[test])


def one_each(data: Set, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Predict by a model per task that has a kernel and an alpha of its own."""
    scaled = StandardScaler().fit(data.X[train]).transform(data.X)
    predicted = np.empty(len(test))
    for task in np.unique(data.ids):
        own, asked = train[data.ids[train] == task], data.ids[test] == task
        model = OutputKernelRegressorCV(
            structures="identity", kernels="short_list", alphas=20
        )
        with warnings.catch_warnings():
            # few rows may make a kernel of no use, or an alpha at the end of its grid
            warnings.simplefilter("ignore", UserWarning)
            model.fit(scaled[own], data.y[own])
        predicted[asked] = model.predict(scaled[test[asked]])
    return predicted


def scores(data: Set, rival) -> np.ndarray:
    """Return the scores of a rival (n_splits,)."""
    found = []
    for seed in range(N_SPLITS):
        train, test = data.split(np.arange(len(data.y)), data.n_train, seed)
        given = _Given(np.asarray(rival(data, train, test), dtype=float))
        found.append(data.judge(given, data.X[test], test, given))
    return np.array(found)


def run() -> None:
    rows = []
    for name, data in sets():
        rivals = {"mean of the task": task_means, "one line": one_line}
        if not data.classes:
            rivals["one each"] = one_each
        if name == "parkinsons":
            rivals["interpolation"] = interpolated
        for rival, predict in rivals.items():
            values = scores(data, predict)
            error = f"{values.mean():.3f} ± {standard_error(values):.3f}"
            rows.append((name, rival, data.score, error))
    write_page(
        "rivals",
        f"""# Trivial rivals

`python -m reproductions rivals`. {__doc__.split(chr(10) * 2, 1)[1]}
{table(["set", "rival", "score", f"mean over {N_SPLITS} splits"], rows)}

Beside the [study](long_form.md): one line for all rows explains the exam scores better
than one model per school, though worse than all schools drawn to their mean, and finds
mines as well as the best structure does; no relations are learned in either. A kernel
and an alpha for each task explain less of the exam scores than one for all, and of the
Parkinson's scores no more.

The Parkinson's scores of one person lie on a smooth curve over time (in the source,
most of them were interpolated between visits), so that a line between two recordings
tells more than any model of the voice. The study of that set compares structures with
each other; it is no way to predict the score.

Machine: {machine()}.
""",
    )
