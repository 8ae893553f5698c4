"""Random fits of what `tests.claims.random_fits` leaves out.

There one kernel meets no quantile loss, no ball without ``eps``, no weights and no long
form but with the squared loss. ``python -m tests.claims.random_others 17`` runs number
17, ``0:300`` a range, without a number all of them.
"""

import numpy as np

from okl import OutputKernelClassifier, OutputKernelRegressor, output_kernel_path
from okl.kernels import Gaussian, Laplacian, Linear, Matern
from okl.losses import Quantile
from okl.structures import (
    Cluster,
    Fixed,
    Frobenius,
    Identity,
    LowRank,
    Mean,
    Sparse,
    TraceBall,
)
from tests.claims.random_fits import Case, choose, main

NUMBERS = range(300)
KERNELS = (Linear(), Gaussian(), Laplacian(), Matern())
CLASSES = ("logistic", "softmax", "hinge", "squared_hinge")


def draw(number: int) -> Case:
    """Draw the case of a number."""
    rng = np.random.default_rng([2029, number])
    n = int(np.exp(rng.uniform(np.log(20), np.log(400))))
    d, m = int(rng.integers(1, 8)), int(rng.integers(2, 11))
    X = rng.normal(size=(n, d))
    Y = np.sin(X @ rng.normal(size=(d, 3))) @ rng.normal(size=(3, m))
    Y += choose(rng, [0.1, 0.5, 1.0]) * rng.standard_t(3, size=Y.shape)
    factor = rng.normal(size=(m, m))
    structure = choose(
        rng,
        [
            Frobenius(),
            Frobenius(),
            LowRank(),
            LowRank(2),
            TraceBall(),
            TraceBall(1.0),
            Sparse(0.5),
            Cluster(2),
            Mean(),
            Identity(),
            Fixed(factor @ factor.T / m),
        ],
    )
    loss = choose(
        rng,
        ["huber", *(Quantile(q) for q in (0.1, 0.5, 0.9)), *CLASSES],
    )
    long = rng.random() < 0.3 and loss != "softmax"
    classifies = loss in CLASSES
    given = {}
    if long:
        task = np.append(np.repeat(np.arange(m), 2), rng.integers(m, size=n))[:n]
        y, given["task"] = Y[np.arange(n), task], task
        if classifies:
            y = (y > 0).astype(int)
            y[:2] = [0, 1]
    elif loss == "softmax":
        y = Y.argmax(axis=1)
        y[:m] = np.arange(m)
    elif classifies:
        y = (Y > 0).astype(int)
        y[0], y[1] = 0, 1
    else:
        y = Y
        if rng.random() < 0.25:
            y = np.where(rng.random(Y.shape) < rng.uniform(0.05, 0.6), np.nan, Y)
            y[0] = Y[0]
    if rng.random() < 0.3:
        given["sample_weight"] = rng.choice([0.0, 0.5, 1.0, 3.0], size=n)
        given["sample_weight"][: 2 * m] = 1.0
    kernel, intercept = choose(rng, KERNELS), bool(rng.random() < 0.7)
    estimator = OutputKernelClassifier if classifies else OutputKernelRegressor
    model = estimator(kernel, structure, loss=loss, fit_intercept=intercept)
    (largest,) = output_kernel_path(
        X, Y, kernel=kernel, structure="identity", alphas=1
    ).alphas
    part = 10.0 ** rng.uniform(-5, 0.5)
    model.set_params(alpha=float(part * largest))
    kind = " ".join(["complete" if not np.isnan(y).any() else "missing", *given])
    name = f"{number}: n={n} m={m} {loss} {structure} {kernel} {part:.1g}, {kind}"
    return Case(name + ("" if intercept else ", no intercept"), model, X, y, given)


if __name__ == "__main__":
    main(draw, NUMBERS)
