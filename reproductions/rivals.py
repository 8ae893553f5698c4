"""What needs no kernel: the trivial rivals of the study of data in long form.

The rows, the splits and the scores are those of `long_form`. **mean of the task**
predicts the mean of the training rows of each task, or for mines their share.
**interpolation**, for the Parkinson's scores, draws straight lines between a person's
own training recordings over time and predicts the last value beyond them; it uses none
of the voice features, only the day of a recording.
"""

from __future__ import annotations

import numpy as np
from benchmarks.measure import machine

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
        rivals = {"mean of the task": task_means}
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

The Parkinson's scores of one person lie on a smooth curve over time (in the source,
most of them were interpolated between visits), so that a line between two recordings
tells more than any model of the voice. The [study](long_form.md) of that set compares
structures with each other; it is no way to predict the score.

Machine: {machine()}.
""",
    )
