"""The synthetic series of the authors' code: validation and test error along a path.

There are 200 series at 200 time points, half of these for training and half for
validation; the test error is that at all time points, against the series without noise.
Models have no intercept. The 2017 report has 18.98 at 13.1 (Frobenius) and 18.79 at
29.0 with rank 12 (low rank, not certified).

Three trivial rivals use neither the kernel nor the other series: the mean of the
training values of a series, straight lines between them, and the mean of the nearest k,
with the k of the least validation error. With **own alpha** every series has the alpha
of its own least validation error, which makes that error look smaller than it is.
**alike** learns no relations: the mean of all series, and the differences of each
series from it, are smoothed separately, which is the structure `Mean(gamma)`.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

from okl.losses import Squared
from okl.problems import formulate
from okl.selection.path import alpha_grid
from okl.structures import Frobenius, Identity, LowRank
from reproductions.paths import inputs_of, predictions
from reproductions.report import data_folder, save_figure, table, write_page
from reproductions.trivial import alike, own_choices, smoothers

RANKS = (1, 2, 4, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200)


def run() -> None:
    with np.load(data_folder("okl_synth") / "okl_synth.npz") as stored:
        K, Y, clean = stored["K"], stored["Y"], stored["Y0"]
        train, valid = stored["train_idx"], stored["valid_idx"]
    inputs = inputs_of(K[np.ix_(train, train)], fit_intercept=False)
    # the same alphas for all, those of the learned structures
    problem = formulate(inputs, Y[train], Squared(), Frobenius()).problem
    alphas = alpha_grid(problem, 30, 1e-5)

    def judged(scores):
        """Return validation MSE and test MSE of each series."""
        return (
            np.mean((scores[valid] - Y[valid]) ** 2, axis=0),
            np.mean((scores - clean) ** 2, axis=0),
        )

    def errors(structure):
        """Return alpha, validation MSE, test MSE, rank and status along the path."""
        return [
            (
                alpha,
                *(np.mean(error) for error in judged(scores)),
                solution.output_kernel.rank,
                solution.certificate.status,
            )
            for alpha, scores, solution in predictions(
                inputs, K[:, train], Y[train], structure, alphas=alphas
            )
        ]

    curves = {
        "identity": errors(Identity()),
        "frobenius": errors(Frobenius()),
        "low_rank": errors(LowRank()),
    }
    expected = {
        "identity": "19.95 at 0.81",
        "frobenius": "18.97 at 13.0",
        "low_rank": "18.67 at 42.7",
    }
    best = {name: min(rows, key=lambda row: row[1]) for name, rows in curves.items()}
    by_rank = {
        rank: min(errors(LowRank(rank)), key=lambda row: row[1]) for rank in RANKS
    }

    path = predictions(inputs, K[:, train], Y[train], Identity(), alphas=alphas)
    each = [judged(scores) for _, scores, _ in path]
    rivals = [
        (
            "identity, own alpha",
            *own_choices(*map(np.array, zip(*each, strict=True))),
            "–",
        )
    ]
    setting, scores = alike(inputs, K[:, train], Y[train], Y[valid], valid)
    rivals.append(("alike", *map(np.mean, judged(scores)), setting))
    # the times are evenly spaced
    for name, family in smoothers(np.arange(len(K), dtype=float), train).items():
        tried = (
            (name, *(np.mean(error) for error in judged(W @ Y[train])), setting)
            for setting, W in family
        )
        rivals.append(min(tried, key=lambda rival: rival[1]))

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    for name, rows in curves.items():
        (line,) = left.semilogx(
            [row[0] for row in rows], [row[1] for row in rows], label=name
        )
        left.semilogx(
            alphas, [row[2] + 14.35 for row in rows], ":", color=line.get_color()
        )
    left.set(
        xlabel="alpha",
        ylabel="mean squared error",
        ylim=(17.7, 22),
        title="validation; dotted: test + noise variance",
    )
    left.legend()
    right.semilogx(RANKS, [by_rank[r][1] for r in RANKS], "o-", label="rank at most")
    right.axhline(best["low_rank"][1], color="C2", ls="--", label="no bound")
    right.axhline(best["frobenius"][1], color="C1", ls="--", label="frobenius")
    right.set(xlabel="bound on the rank", ylabel="least validation error")
    right.legend()
    share = np.mean(clean.mean(axis=1) ** 2) / np.mean(clean**2)
    picture = save_figure(figure, "okl_synth")

    chosen = table(
        ["structure", "validation MSE", "at alpha", "test MSE", "rank", "expected"],
        [
            (name, f"{v:.3f}", f"{a:.3g}", f"{t:.3f}", rank, expected[name])
            for name, (a, v, t, rank, _) in best.items()
        ],
    )
    trivial = table(
        ["rival", "validation MSE", "test MSE", "setting"],
        [(name, f"{v:.3f}", f"{t:.3f}", at) for name, v, t, at in rivals],
    )
    ranks = table(
        ["bound on the rank", "validation MSE", "at alpha", "test MSE", "status"],
        [
            (rank, f"{v:.3f}", f"{a:.3g}", f"{t:.3f}", status)
            for rank, (a, v, t, _, status) in by_rank.items()
        ],
    )
    write_page(
        "okl_synth",
        f"""# Synthetic series of the authors' code

`python -m reproductions okl_synth`. {__doc__.split(chr(10) * 2, 1)[1]}
30 alphas from alpha_max down to 1e-5 of it, every model certified to 1e-6.

{chosen}

## Trivial rivals

{trivial}

Drawing all series to their mean, without learning anything, beats every learned
structure: the mean alone is {share:.0%} of what the series without noise are, and what
is learned is above all that they are alike. An alpha for each series fits the noise
that it is chosen by: against the series without noise it is worse than one for all.
Lines and means of near times are worse than independent series.

## Error against the rank

{ranks}

{picture}
""",
    )
