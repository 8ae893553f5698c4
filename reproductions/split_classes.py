"""sim0 to sim3: classes that were split into several labels by mistake.

The sets are mixtures of Gaussians in 100 dimensions with 5 labels and 500 examples a
class; 5 % of the rows are for training, in 20 random splits. The kernel is linear. In
sim0 the labels are the classes; in the others some labels share a class and cannot be
told apart.

Trivial rivals: the most frequent training label, the nearest of the labels' means, and
scikit-learn's `LogisticRegression` at the best of seven C.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestCentroid

from okl.datasets import make_split_classes
from okl.losses import Squared
from okl.structures import Frobenius, Identity
from reproductions.paths import inputs_of, predictions
from reproductions.report import save_figure, table, write_page
from reproductions.trivial import peak_accuracies

SPLITS = 20
# The best alpha may lie above alpha_max, where Frobenius still learns.
GRID = {"alphas": 31, "eps": 1e-6, "above": 100.0}
STRUCTURES = {"identity": Identity(), "learned": Frobenius()}
RIVALS = {
    "most frequent": [DummyClassifier()],
    "nearest mean": [NearestCentroid()],
    "logistic": [LogisticRegression(C=C) for C in np.geomspace(1e-4, 1e2, 7)],
}


def drawn(simulation: int, split: int):
    """Return rows and labels, and which are for training and for test."""
    X, y = make_split_classes(simulation, random_state=split)
    order = np.random.default_rng(split).permutation(len(y))
    return X, y, *np.split(order, [len(y) // 20])


def rivals(simulation: int) -> list[str]:
    """Return the mean accuracies of the rivals in percent."""
    found = []
    for split in range(SPLITS):
        X, y, train, test = drawn(simulation, split)
        accuracy = peak_accuracies(RIVALS, (X[train], y[train]), (X[test], y[test]))
        found.append([accuracy[name] for name in RIVALS])
    return [f"{value:.2f}" for value in 100 * np.mean(found, axis=0)]


def accuracies(simulation: int, *, fit_intercept: bool):
    """Return accuracies in percent (n_splits, n_alphas) per structure."""
    curves = {name: [] for name in STRUCTURES}
    for split in range(SPLITS):
        X, y, train, test = drawn(simulation, split)
        targets = Squared().coding.encode(y[train], "multiclass", 5)
        inputs = inputs_of(X[train] @ X[train].T, fit_intercept=fit_intercept)
        cross = X[test] @ X[train].T
        for name, structure in STRUCTURES.items():
            curves[name].append(
                [
                    np.mean(scores.argmax(axis=1) == y[test])
                    for _, scores, _ in predictions(
                        inputs, cross, targets, structure, **GRID
                    )
                ]
            )
    return {name: 100 * np.array(values) for name, values in curves.items()}


def run() -> None:
    rows = []
    figure, axes = plt.subplots(
        2, 4, figsize=(13, 6), layout="constrained", sharex=True
    )
    for row, fit_intercept in enumerate((False, True)):
        for simulation in range(4):
            curves = accuracies(simulation, fit_intercept=fit_intercept)
            peaks = {name: values.max(axis=1) for name, values in curves.items()}
            gain = peaks["learned"] - peaks["identity"]
            error = gain.std(ddof=1) / SPLITS**0.5
            rows.append(
                (
                    f"sim{simulation}",
                    "yes" if fit_intercept else "no",
                    f"{peaks['identity'].mean():.2f}",
                    f"{peaks['learned'].mean():.2f}",
                    f"{gain.mean():+.2f} ± {error:.2f}",
                )
            )
            axis = axes[row, simulation]
            relative = np.geomspace(100, 100 * GRID["eps"], GRID["alphas"])
            for name, values in curves.items():
                axis.semilogx(relative, values.mean(axis=0), label=name)
            axis.set_title(
                f"sim{simulation}, {'with' if fit_intercept else 'no'} intercept"
            )
    axes[0, 0].legend()
    for axis in axes[1]:
        axis.set_xlabel("alpha / alpha_max")
    for axis in axes[:, 0]:
        axis.set_ylabel("accuracy (%)")
    trivial = [(f"sim{simulation}", *rivals(simulation)) for simulation in range(4)]
    header = ["data", "intercept", "identity, peak", "learned, peak", "paired gain"]
    write_page(
        "split_classes",
        f"""# Split classes (sim0 to sim3)

`python -m reproductions split_classes`. {__doc__.split(chr(10) * 2, 1)[1]}
Peaks are over 31 alphas from 100 alpha_max down, per split and in percent, as in Figure
2 of the paper; gains are paired over splits, ± one standard error. The paper has no
intercept: learning the relations gains on sim1 to sim3 and costs a little on sim0,
where there is nothing to learn; a free intercept, which takes the frequencies of the
labels out of what is learned, leaves less to gain.

{table(header, rows)}

The trivial rivals, peaks too:

{table(["data", *RIVALS], trivial)}

Where there are relations to learn, some trivial rival has as much as learning them
without an intercept: the nearest of the labels' means on sim1 and sim2, the most
frequent label, which looks at no input, on sim3. With an intercept independent outputs
are better than all rivals but on sim0, where the nearest mean is.

{save_figure(figure, "split_classes")}
""",
    )
