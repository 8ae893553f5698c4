"""Random fits to few observed targets: target matrices with holes, and the long form.

Beside `tests.claims.random_fits`, of whose targets most are there: here 1 to 15 % of a
matrix, or one a row, and the squared loss with a learned output kernel.
``python -m tests.claims.random_observed 17`` runs number 17, without a number all.
"""

import numpy as np

from okl import OutputKernelRegressor, output_kernel_path
from okl.kernels import Gaussian, Laplacian, Linear, Matern
from okl.structures import Cluster, Frobenius, LowRank, Sparse, TraceBall
from tests.claims.random_fits import Case, choose, main

NUMBERS = range(200)
KERNELS = (Linear(), Gaussian(), Laplacian(0.3), Matern(nu=1.5))
STRUCTURES = (
    Frobenius(),
    LowRank(),
    LowRank(2),
    Cluster(2),
    TraceBall(),
    TraceBall(2.0),
    Sparse(0.5),
    Sparse(0.9),
    Sparse(0.99),
)


def draw(number: int) -> Case:
    """Draw the case of a number."""
    rng = np.random.default_rng([2028, number])
    n = int(np.exp(rng.uniform(np.log(10), np.log(400))))
    m = int(np.exp(rng.uniform(np.log(2), np.log(80))))
    d = int(rng.integers(1, 6))
    X = rng.normal(size=(n, d))
    Y = np.sin(X @ rng.normal(size=(d, 3))) @ rng.normal(size=(3, m))
    Y += rng.choice([0.0, 0.1, 1.0]) * rng.normal(size=Y.shape)
    Y *= 10.0 ** rng.uniform(-3, 3)
    weighted, intercept = rng.random() < 0.3, bool(rng.random() < 0.7)
    kernel, structure = choose(rng, KERNELS), choose(rng, STRUCTURES)
    given = {}
    if rng.random() < 0.4:
        task = np.append([0, 1], rng.integers(m, size=n - 2))
        y, given["task"] = Y[np.arange(n), task], task
    else:
        y = np.where(rng.random(Y.shape) < rng.uniform(0.01, 0.15), Y, np.nan)
        y[rng.integers(n)] = Y[0]
    if weighted:
        given["sample_weight"] = rng.uniform(0.1, 3.0, size=y.shape)
    model = OutputKernelRegressor(kernel, structure, fit_intercept=intercept)
    (first,) = output_kernel_path(
        X,
        y,
        kernel=kernel,
        structure=structure,
        fit_intercept=intercept,
        alphas=1,
        **given,
    ).alphas
    part = 10.0 ** rng.uniform(-5, 0.5)
    model.set_params(alpha=float(part * first))
    kind = " ".join(sorted(given)) or "matrix"
    name = f"{number}: n={n} m={m} {structure} {kernel} {part:.1g} alpha_max, {kind}"
    return Case(name, model, X, y, given)


if __name__ == "__main__":
    main(draw, NUMBERS)
