"""Experiments 1 and 2 of the low-rank paper: 200 and 100 000 noisy series.

50 hidden processes are mixed, and observed with as much noise as signal at 200 time
points: 100 for training, 100 for choosing alpha. The error is that at the latter
points, against the noisy series, as in the paper. In the paper experiment 2 took 45 s
with rank 50 on a 2011 laptop, and a full-rank L could not be learned at all.

Three trivial rivals use neither the kernel nor the other series: the mean of the
training values of a series, straight lines between them, and the mean of the nearest k,
with the k of the least held-out error. With **own alpha** every series has the alpha of
its own least held-out error, which makes that error look smaller than it is. **alike**
learns no relations: the mean of all series, and the differences of each series from it,
are smoothed separately, which is the structure `Mean(gamma)`.
"""

from __future__ import annotations

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from benchmarks.measure import machine

from okl.datasets import make_mixed_processes
from okl.kernels import Laplacian
from okl.structures import Frobenius, Identity, LowRank
from reproductions.paths import inputs_of, predictions
from reproductions.report import save_figure, table, write_page
from reproductions.trivial import alike, own_choices, smoothers

RANKS = (1, 2, 5, 10, 15, 20, 30, 50, 75, 100)


def run() -> None:
    rows, rivals, shares = [], [], []
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    kernel = Laplacian(gamma=10.0)
    for m, axes in ((200, left), (100_000, right)):
        data = make_mixed_processes(m, random_state=0)
        K = kernel(data.time)
        inputs = inputs_of(K[np.ix_(data.train, data.train)], fit_intercept=False)
        cross = K[np.ix_(data.held_out, data.train)]

        def judged(scores, data=data):
            """Return the errors of each series, against the noisy and the clean one."""
            return (
                np.mean((scores - data.noisy[data.held_out]) ** 2, axis=0),
                np.mean((scores - data.clean[data.held_out]) ** 2, axis=0),
            )

        def curve(structure, data=data, inputs=inputs, cross=cross, judged=judged):
            points, seconds, start = [], 0.0, perf_counter()
            for alpha, scores, _ in predictions(
                inputs, cross, data.noisy[data.train], structure
            ):
                seconds += perf_counter() - start
                points.append((alpha, *judged(scores)))
                start = perf_counter()
            return points, seconds

        bounded = {f"LowRank({p})": LowRank(p) for p in (RANKS if m == 200 else (50,))}
        structures = {"Identity": Identity(), "Frobenius": Frobenius()}
        structures |= {"LowRank": LowRank()} | bounded
        for name, structure in structures.items():
            each, seconds = curve(structure)
            points = [(alpha, np.mean(n), np.mean(c)) for alpha, n, c in each]
            alpha, noisy, clean = min(points, key=lambda point: point[1])
            if name == "Identity":
                _, *of_series = map(np.array, zip(*each, strict=True))
                rivals.append((m, "Identity, own alpha", *own_choices(*of_series), "–"))
            rows.append(
                (
                    f"{m:,}",
                    name,
                    f"{noisy:.3f}",
                    f"{clean:.3f}",
                    f"{alpha:.3g}",
                    f"{seconds:.2f}",
                )
            )
            if "(" not in name or m > 200:
                axes.semilogx(
                    [p[0] for p in points], [p[1] for p in points], label=name
                )
        share = np.mean(data.clean.mean(axis=1) ** 2) / np.mean(data.clean**2)
        shares.append(f"{share:.0%}")
        known = data.noisy[data.train], data.noisy[data.held_out]
        setting, scores = alike(inputs, cross, *known)
        rivals.append((m, "alike", *map(np.mean, judged(scores)), setting))
        for name, family in smoothers(data.time[:, 0], data.train).items():
            tried = []
            for setting, weights in family:
                errors = judged(weights[data.held_out] @ data.noisy[data.train])
                tried.append((m, name, *map(np.mean, errors), setting))
            rivals.append(min(tried, key=lambda rival: rival[2]))
        axes.set(xlabel="alpha", title=f"m = {m:,}", ylabel="held-out error")
        axes.legend()
    header = ["m", "structure", "held-out MSE", "MSE to clean series", "alpha", "s"]
    trivial = [
        (f"{m:,}", name, f"{noisy:.3f}", f"{clean:.3f}", setting)
        for m, name, noisy, clean, setting in rivals
    ]
    write_page(
        "mixed_processes",
        f"""# Mixed processes (experiments 1 and 2)

`python -m reproductions mixed_processes`. {__doc__.split(chr(10) * 2, 1)[1]}
25 alphas down to 1e-5 of alpha_max, every model certified to 1e-6 (under a binding
bound on the rank: stationary). Seconds are those of the path with its held-out
predictions. Machine: {machine()}.

{table(header, rows)}

## Trivial rivals

{table(["m", "rival", *header[2:4], "setting"], trivial)}

Drawing all series to their mean, without learning anything, beats every learned
structure: the mixing coefficients are all positive, so that the mean alone is
{" and ".join(shares)} of what the series without noise are, and what is learned is
above all that they are alike. An alpha for each series fits the noise that it is chosen
by: against the clean series it is worse than one for all. Lines and means of near times
are worse than independent series.

{save_figure(figure, "mixed_processes")}
""",
    )
