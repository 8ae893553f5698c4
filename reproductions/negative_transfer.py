"""Two groups of outputs with little in common, learned together and apart.

In Table 3 of the 2015 paper two groups of attributes of animals, colour and limb shape,
are detected in images. If both groups are learned together, methods that expect all
tasks to share one structure lose a little of what they gain on each group apart; the
sparse method does not. The images are not available, so three other sets stand in:

- *animals*: the same two groups of attributes, as strengths of association with 50
  kinds of animals, from the 69 other attributes;
- *voices*: two scores of Parkinson's disease and five measures of the shimmer of the
  voice, from the other columns (no measure of the shimmer is an input);
- *songs*: emotions and instruments, the tags of 10 to 90 % of the songs in CAL500, from
  68 audio features.

Trivial rivals: **one each**, one model per output with a kernel (of the seven of the
short list of the searches) and an alpha of its own, chosen by leaving rows out one by
one, and **training mean**, the means of the training targets, for labels the same score
for all rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from benchmarks.measure import machine
from sklearn.metrics import average_precision_score
from sklearn.preprocessing import StandardScaler

from okl import OutputKernelClassifierCV, OutputKernelRegressorCV
from reproductions.candidates import NAMES, candidates, parameters
from reproductions.choosing import best_of_each, certified, noted_warnings
from reproductions.comparing import standard_error, with_error
from reproductions.report import save_figure, table, write_page
from reproductions.trivial import OneEach, training_mean
from reproductions.two_groups import TwoGroups, two_groups

N_ALPHAS = 13


def label_losses(X: np.ndarray, Y: np.ndarray, train, test) -> dict[str, tuple]:
    """Return 1 - average precision of every label, and the model, per candidate."""
    search = OutputKernelClassifierCV(
        "rbf", loss="squared", alphas=N_ALPHAS, cv=5, scoring="average_precision"
    )
    models = best_of_each(search, candidates(Y.shape[1]), X[train], Y[train])
    return {
        name: (
            1
            - average_precision_score(
                Y[test], model.decision_function(X[test]), average=None
            ),
            model,
        )
        for name, model in models.items()
    }


def target_losses(X: np.ndarray, Y: np.ndarray, train, test) -> dict[str, tuple]:
    """Return the nMSE of every target, and the model, per candidate."""
    targets = StandardScaler().fit(Y[train])
    search = OutputKernelRegressorCV(
        "rbf",
        alphas=N_ALPHAS,
        cv=5,
        scoring="neg_mean_squared_error",
        normalize_y=False,
    )
    models = best_of_each(
        search, candidates(Y.shape[1]), X[train], targets.transform(Y[train])
    )
    return {
        name: (
            np.mean(
                (targets.inverse_transform(model.predict(X[test])) - Y[test]) ** 2
                / Y.var(axis=0),
                axis=0,
            ),
            model,
        )
        for name, model in models.items()
    }


def rival_losses(
    labelled: bool, X: np.ndarray, Y: np.ndarray, train, test
) -> list[float]:
    """Return the mean losses of identity and of the trivial rivals."""
    known, n_rows = Y[train], len(test)
    if labelled:
        kind, score, method = (
            OutputKernelClassifierCV,
            "average_precision",
            "decision_function",
        )
    else:
        kind, score, method = (
            OutputKernelRegressorCV,
            "neg_mean_squared_error",
            "predict",
        )
    options = {"structures": "identity", "alphas": N_ALPHAS, "scoring": score}
    models = [kind("rbf", cv=5, **options), OneEach(kind(**options))]
    made = [getattr(model.fit(X[train], known), method)(X[test]) for model in models]
    made.append(training_mean(known, n_rows))
    if labelled:
        return [1 - average_precision_score(Y[test], scores) for scores in made]
    return [np.mean((P - Y[test]) ** 2 / Y.var(axis=0)) for P in made]


def rival_table(data: TwoGroups) -> str:
    """Return the loss of identity, apart, and how much more the rivals lose."""
    overlap = data.splits.overlap
    rows = []
    for group, Y in data.groups.items():
        losses = []
        for train, test in data.splits:
            X = StandardScaler().fit(data.X[train]).transform(data.X)
            losses.append(rival_losses(data.labelled, X, Y, train, test))
        alone, *others = np.array(losses).T
        differences = (with_error(v - alone, overlap, form="+.4f") for v in others)
        rows.append((group, with_error(alone, overlap), *differences))
    return table(["group, apart", "identity", "one each", "training mean"], rows)


def between(L: np.ndarray, size: int) -> float:
    """Return how much of L relates the first outputs to the others, from 0 to 1."""
    norm = np.linalg.norm
    within = norm(L[:size, :size]) * norm(L[size:, size:])
    return norm(L[:size, size:]) / within**0.5 if within > 0 else 0.0


def compare(data: TwoGroups) -> dict[str, np.ndarray]:
    """Return per candidate, split by split: losses and relation of the groups.

    The columns: first group apart, together; second group apart, together; `between`
    of the model of both.
    """
    losses = label_losses if data.labelled else target_losses
    first, second = data.groups.values()
    both = np.hstack([first, second])
    size = first.shape[1]
    rows: dict[str, list] = {name: [] for name in NAMES}
    for train, test in data.splits:
        X = StandardScaler().fit(data.X[train]).transform(data.X)
        parts = [losses(X, Y, train, test) for Y in (first, second, both)]
        for name, outcomes in rows.items():
            (apart_1, _), (apart_2, _), (together, model) = (p[name] for p in parts)
            outcomes.append(
                (
                    apart_1.mean(),
                    together[:size].mean(),
                    apart_2.mean(),
                    together[size:].mean(),
                    between(model.output_kernel_, size),
                )
            )
    return {name: np.array(outcomes) for name, outcomes in rows.items()}


def loss_table(data: TwoGroups, results: Mapping[str, np.ndarray]) -> str:
    """Return losses apart and what learning together changes, per candidate."""
    overlap = data.splits.overlap
    header = ["structure"]
    for group in data.groups:
        header += [f"{group}, apart", "together"]
    rows = [
        (
            name,
            with_error(apart_1, overlap),
            with_error(both_1 - apart_1, overlap, form="+.4f"),
            with_error(apart_2, overlap),
            with_error(both_2 - apart_2, overlap, form="+.4f"),
            f"{np.mean(relation):.2f}",
        )
        for name, (apart_1, both_1, apart_2, both_2, relation) in (
            (name, values.T) for name, values in results.items()
        )
    ]
    return table([*header, "L between groups"], rows)


def section(data: TwoGroups, results: Mapping[str, np.ndarray]) -> str:
    """Return the part of the page on one set."""
    first, second, across = data.correlations()
    groups = " and ".join(
        f"{Y.shape[1]} of {group}" for group, Y in data.groups.items()
    )
    splits = data.splits
    loss = "1 - average precision" if data.labelled else "nMSE"
    return f"""## {data.name.capitalize()}

Outputs: {groups}; mean |correlation| {first:.2f} and {second:.2f} within the groups,
{across:.2f} between them. {splits.n_splits} splits, {splits.n_train} rows for training,
{splits.n_test} for test. Loss: {loss}.

{loss_table(data, results)}

What the rivals lose more than `identity`:

{rival_table(data)}
"""


def verdict(sets: Sequence[TwoGroups], results: Sequence[Mapping]) -> str:
    """Say where learning together changes a loss beyond two standard errors."""
    worse, better, n_changes = [], [], 0
    for data, outcomes in zip(sets, results, strict=True):
        for name, values in outcomes.items():
            for column, group in zip((0, 2), data.groups, strict=True):
                change = values[:, column + 1] - values[:, column]
                far = 2 * standard_error(change, data.splits.overlap)
                n_changes += 1
                if abs(change.mean()) > far:
                    side = worse if change.mean() > 0 else better
                    side.append(f"{name} ({data.name}, {group})")
    return (
        f"Of the {n_changes} changes below {_listed(worse)} for the worse beyond two "
        f"standard errors, and {_listed(better)} for the better; chance alone would "
        f"make about {n_changes / 40:.0f} of either."
    )


def _listed(names: Sequence[str]) -> str:
    return f"{len(names)} are ({', '.join(names)})" if names else "none is"


def change_figure(sets: Sequence[TwoGroups], results: Sequence[Mapping]):
    """Draw what learning together changes, per set, group and candidate."""
    figure, axes = plt.subplots(
        1, len(sets), figsize=(12, 4), layout="constrained", sharey=True
    )
    places = np.arange(len(NAMES))
    for axis, data, outcomes in zip(axes, sets, results, strict=True):
        for offset, column, group in zip(
            (-0.12, 0.12), (0, 2), data.groups, strict=True
        ):
            changes = [v[:, column + 1] - v[:, column] for v in outcomes.values()]
            axis.errorbar(
                [np.mean(change) for change in changes],
                places + offset,
                xerr=[standard_error(c, data.splits.overlap) for c in changes],
                fmt="o",
                markersize=4,
                capsize=2,
                label=group,
            )
        axis.axvline(0, color="0.7", lw=0.8, zorder=0)
        axis.set(title=data.name, xlabel="loss together less loss apart")
        axis.locator_params(axis="x", nbins=5)
        axis.legend(
            fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2
        )
    axes[0].set_yticks(places, list(NAMES))
    axes[0].invert_yaxis()
    return figure


def run() -> None:
    sets = list(two_groups())
    with noted_warnings() as caught:
        results = [compare(data) for data in sets]
    sections = "\n".join(map(section, sets, results))
    write_page(
        "negative_transfer",
        f"""# Unrelated groups of outputs

`python -m reproductions negative_transfer`. {__doc__.split(chr(10) * 2, 1)[1]}
Gaussian kernel with gamma="scale" on inputs standardised on the training rows; alpha
({N_ALPHAS} values) and parameters by 5-fold cross-validation, for each group by itself
and for both together. `together` is the change of the loss against the fit of the group
apart, ± one standard error that allows for shared rows (positive: negative transfer;
bold beyond two errors). `L between groups` is the Frobenius norm of the block of L
between the groups over the geometric mean of those within, 0 if L keeps them apart.
`identity` relates nothing: what changes there is that both groups share one alpha.

{verdict(sets, results)} In the paper's Table 3, too, the drops in colour, 0.2 points of
average precision, are smaller than the ± beside them.

Trivial rivals win twice. On the colours of animals nothing is shown to beat the means
of the training targets, so that there is nothing to transfer. On voices one model per
output, with a kernel of its own, loses 0.04 (UPDRS) and 0.10 (shimmer) less than
`identity`: more than learning together, or any structure, changes.

{sections}
{save_figure(change_figure(sets, results), "negative_transfer")}

Parameters tried: {parameters()}.

{certified(caught)} Machine: {machine()}.
""",
    )
