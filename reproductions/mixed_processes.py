"""Experiments 1 and 2 of the low-rank paper: 200 and 100 000 noisy series.

50 hidden processes, mixed and observed with as much noise as signal at 200 time
points; 100 for training, 100 for choosing alpha. The error is against the noisy
series left out, as in the paper. Experiment 2 took the paper 45 s with rank 50 on
a 2011 laptop; a full-rank L could not be learned at all.
"""

from __future__ import annotations

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

from okl.datasets import make_mixed_processes
from okl.kernels import Laplacian
from okl.structures import Frobenius, Identity, LowRank
from reproductions.paths import inputs_of, predictions
from reproductions.report import save_figure, table, write_page

RANKS = (1, 2, 5, 10, 15, 20, 30, 50, 75, 100)


def run() -> None:
    rows = []
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    kernel = Laplacian(gamma=10.0)
    for m, axes in ((200, left), (100_000, right)):
        data = make_mixed_processes(m, random_state=0)
        K = kernel(data.time)
        inputs = inputs_of(K[np.ix_(data.train, data.train)], fit_intercept=False)
        cross = K[np.ix_(data.held_out, data.train)]

        def curve(structure, data=data, inputs=inputs, cross=cross):
            points, seconds, start = [], 0.0, perf_counter()
            for alpha, scores, _ in predictions(
                inputs, cross, data.noisy[data.train], structure
            ):
                seconds += perf_counter() - start
                noisy = np.mean((scores - data.noisy[data.held_out]) ** 2)
                clean = np.mean((scores - data.clean[data.held_out]) ** 2)
                points.append((alpha, noisy, clean))
                start = perf_counter()
            return points, seconds

        bounded = {f"LowRank({p})": LowRank(p) for p in (RANKS if m == 200 else (50,))}
        structures = {"Identity": Identity(), "Frobenius": Frobenius()}
        structures |= {"LowRank": LowRank()} | bounded
        for name, structure in structures.items():
            points, seconds = curve(structure)
            alpha, noisy, clean = min(points, key=lambda point: point[1])
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
        axes.set(xlabel="alpha", title=f"m = {m:,}", ylabel="held-out error")
        axes.legend()
    header = ["m", "structure", "held-out MSE", "MSE to clean series", "alpha", "s"]
    write_page(
        "mixed_processes",
        f"""# Mixed processes (experiments 1 and 2)

`python -m reproductions mixed_processes`. {__doc__.split(chr(10) * 2, 1)[1]}
25 alphas down to 1e-5 of alpha_max, every model certified to 1e-6 (under a binding
bound on the rank: stationary). Seconds are those of the path with its held-out
predictions, on the machine of the benchmarks.

{table(header, rows)}

{save_figure(figure, "mixed_processes")}
""",
    )
