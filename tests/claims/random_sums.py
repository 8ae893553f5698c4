"""Random fits of several kernels, each with an output kernel of its own.

Beside `tests.claims.random_fits`, whose fits have one: two or three kernels, the last
of some the term of a row. ``python -m tests.claims.random_sums 17`` runs number 17,
without a number all of them.
"""

import numpy as np

from okl import OutputKernelClassifier, OutputKernelRegressor
from okl.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial, Row
from okl.losses import Quantile
from okl.structures import Cluster, LowRank, Sparse, TraceBall
from tests.claims.random_fits import Case, choose, main

NUMBERS = range(200)
KERNELS = (Linear(), Gaussian(), Laplacian(), Matern(), Polynomial(degree=2))
# Twice the one that most take.
STRUCTURES = (
    "frobenius",
    "frobenius",
    "identity",
    LowRank(),
    TraceBall(2.0),
    Sparse(0.5),
    Cluster(2),
)
CLASSES = ("logistic", "softmax", "hinge", "squared_hinge")
REGRESSION = ("squared", "huber", Quantile(0.3))


def draw(number: int) -> Case:
    """Draw the case of a number."""
    rng = np.random.default_rng([2027, number])
    n, d, m = int(rng.integers(20, 120)), int(rng.integers(2, 40)), rng.integers(3, 9)
    X = rng.normal(size=(n, d))
    hidden = np.tanh(X @ rng.normal(size=(d, 3)) / np.sqrt(d))
    noise = rng.uniform(0.1, 1.0) * rng.normal(size=(n, m))
    Y = hidden @ rng.normal(size=(3, m)) + noise
    kernels = [choose(rng, KERNELS) for _ in range(rng.integers(2, 4))]
    if rng.random() < 0.3:
        kernels[-1] = Row()
    structures = [choose(rng, STRUCTURES) for _ in kernels]
    alpha = float(10.0 ** rng.uniform(-3.5, 1))
    classifies, missing = rng.random() < 0.6, rng.random() < 0.3
    loss = choose(rng, CLASSES if classifies else REGRESSION)
    holes = rng.random(Y.shape) < 0.3
    holes[:2] = False
    estimator = OutputKernelClassifier if classifies else OutputKernelRegressor
    if not classifies:
        y = np.where(holes, np.nan, Y) if missing else Y
    elif missing and loss != "softmax":
        y = np.where(holes, np.nan, Y > 0)
        y[0], y[1] = 0.0, 1.0
    else:
        y = Y.argmax(axis=1)
        y[:m] = np.arange(m)
    name = f"{number}: n={n} m={m} {loss} {structures} {kernels} {alpha:.1g}"
    model = estimator(kernels, structures, alpha, loss=loss)
    return Case(name + (" missing" if missing else ""), model, X, y)


if __name__ == "__main__":
    main(draw, NUMBERS)
