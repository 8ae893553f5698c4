"""A kernel matrix that does not fit: 20 000 rows, ten classes, 1024 MiB.

The stored matrix would take 3.2 GB. The yardstick of a product is the work that cannot
be avoided: to evaluate the kernel once, block by block, and to multiply.
"""

from __future__ import annotations

import numpy as np
from sklearn.utils import gen_batches

from benchmarks.measure import Row, alternately, peak_bytes
from okl.kernels import Gaussian
from okl.operators import RowBlocks

N_SAMPLES, N_CLASSES, N_FEATURES, MEMORY = 20_000, 10, 20, 1024
_BLOCK = 800

_CODE = f"""
import numpy as np
from time import perf_counter
from sklearn.datasets import make_blobs
from okl import OutputKernelClassifier
X, y = make_blobs({N_SAMPLES}, {N_FEATURES}, centers={N_CLASSES}, cluster_std=6.0,
                  random_state=0)
# measure
model = OutputKernelClassifier("rbf", "identity", loss="softmax", max_memory={MEMORY})
start = perf_counter()
model.fit(X, y)
assert model.certificate_.status == "optimal"
import sys
print(perf_counter() - start, model.n_iter_, file=sys.stderr)
"""


def run() -> list[Row]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_SAMPLES, N_FEATURES))
    right = rng.normal(size=(N_SAMPLES, N_CLASSES))
    kernel = Gaussian(1 / N_FEATURES)
    operator = RowBlocks(kernel, X, MEMORY * 2**20)

    def evaluate_and_multiply() -> None:
        for block in gen_batches(N_SAMPLES, _BLOCK):
            kernel(X[block], X) @ right

    ours, theirs = alternately(3, lambda: operator @ right, evaluate_and_multiply)
    peak = peak_bytes(_CODE) / 2**20
    size = f"n = {N_SAMPLES:,}, Gaussian, C = {N_CLASSES}, max_memory={MEMORY}"
    return [
        Row(
            f"{size}: a product",
            ours,
            theirs,
            "the kernel evaluated once, and multiplied",
            1 / 1.5,
        ),
        Row(
            f"{size}: softmax to 1e-6, memory at the peak",
            peak,
            MEMORY,
            "max_memory",
            1,
            unit="MiB",
        ),
    ]
