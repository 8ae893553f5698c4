"""Random fits of ordinary data, whatever loss, structure and kernel they take.

What a user meets by chance and no example shows: twenty rows of five random classes, a
kernel of high degree, targets of which a quarter are missing. Each fit is drawn from
its own seed, so that one that fails can be looked at alone: ``python -m
tests.claims.random_fits 17`` runs number 17, without a number all 605 of them, and
``605:1500`` further ones, by which nothing was chosen.
"""

import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from okl import OutputKernelClassifier, OutputKernelRegressor, output_kernel_path
from okl.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial
from okl.structures import Cluster, Graph, LowRank, Mean, Sparse, TraceBall

REGRESSION = ("squared", "huber")
CLASSES = ("logistic", "softmax", "hinge", "squared_hinge", "squared")
# How a fit may end: a bound on the rank leaves a gap to the best L of any rank.
PROVED = ("optimal", "rank_limited")


class Case(NamedTuple):
    """An estimator and the data that it is fitted to."""

    name: str
    estimator: Any
    X: np.ndarray
    y: np.ndarray
    given: Mapping[str, np.ndarray] = MappingProxyType({})  # what `fit` takes beside


class Outcome(NamedTuple):
    """What came of a fit."""

    case: Case
    status: str
    gap: float
    seconds: float


def draw(number: int) -> Case:
    """Draw the case of a number."""
    rng = np.random.default_rng([2026, number])
    n, d = int(rng.integers(20, 151)), int(rng.integers(1, 11))
    m = int(rng.integers(1, 21))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1)
    kernel = choose(
        rng,
        [
            Linear(),
            Gaussian(),
            Laplacian(),
            Matern(),
            Polynomial(degree=int(rng.integers(2, 4))),
            Gaussian() + Linear(),
        ],
    )
    weights = np.triu(rng.random((m, m)) * (rng.random((m, m)) < 0.3), 1)
    structure = choose(
        rng,
        [
            "identity",
            "frobenius",
            LowRank(),
            LowRank(int(rng.integers(1, 4))),
            TraceBall(float(rng.uniform(0.5, 5))),
            Sparse(float(rng.uniform(0.05, 1.0))),
            Graph(weights + weights.T, gamma=float(10.0 ** rng.uniform(-1, 1))),
            Mean(gamma=float(10.0 ** rng.uniform(-1, 1))),
            Cluster(min(2, m)),
        ],
    )
    classifies = rng.random() < 0.5
    loss = choose(rng, CLASSES if classifies else REGRESSION)
    hidden = np.tanh(X @ rng.normal(size=(d, 3)) / np.sqrt(d))
    noise = rng.uniform(0.1, 1.0) * rng.normal(size=(n, m))
    Y = hidden @ rng.normal(size=(3, m)) + noise
    missing = rng.random() < 0.25
    strength = 10.0 ** rng.uniform(-5, np.log10(3.0))
    options = {"kernel": kernel, "loss": loss}
    if not classifies:
        if missing:
            Y[rng.random(Y.shape) < rng.uniform(0.05, 0.6)] = np.nan
            Y[0] = np.where(np.isnan(Y[0]), 0.0, Y[0])
        estimator: Any = OutputKernelRegressor(structure=structure, **options)
        y = Y
    elif missing and loss != "softmax" and m > 1:
        y = (Y > 0).astype(float)
        y[rng.random(y.shape) < rng.uniform(0.05, 0.6)] = np.nan
        y[0], y[1] = 0.0, 1.0
        estimator = OutputKernelClassifier(structure=structure, **options)
    else:
        classes = min(max(m, 2), n // 2)
        # a third of the labels have nothing to do with X
        y = Y[:, :classes].argmax(axis=1) if rng.random() < 0.67 else None
        y = rng.integers(0, classes, n) if y is None else y
        y[:2] = [0, 1]
        if isinstance(structure, Graph):  # its size is that of the classes there are
            structure = "mean"
        if isinstance(structure, Cluster) and classes == 2:  # which are one output
            structure = "mean"
        estimator = OutputKernelClassifier(structure=structure, **options)
    # of kernel ridge regression with independent outputs, for lack of the true one
    largest = output_kernel_path(
        X, np.nan_to_num(Y), kernel=kernel, structure="identity", alphas=1
    ).alphas[0]
    estimator.set_params(alpha=float(strength * largest))
    name = f"{number}: n={n} m={m} {loss} {structure} {kernel} {strength:.1g}"
    return Case(name + (" missing" if missing else ""), estimator, X, y)


def fit(case: Case) -> Outcome:
    """Fit, and say how it ended."""
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = case.estimator.fit(case.X, case.y, **case.given)
    seconds = time.process_time() - begin
    certificate = model.certificate_
    return Outcome(case, certificate.status, certificate.relative_gap, seconds)


def report(outcomes: list[Outcome], slow: float) -> str:
    """Say how many fits warned, and how many took long; list those."""
    n = len(outcomes)
    failed = [o for o in outcomes if o.status not in PROVED]
    long = [o for o in outcomes if o.seconds > slow]
    statuses = Counter(o.status for o in outcomes)
    lines = [
        f"{n} fits: {dict(statuses)}; {len(failed)} without a proof "
        f"({100 * len(failed) / n:.1f} %), {len(long)} over {slow:g} s "
        f"({100 * len(long) / n:.1f} %), "
        f"{sum(o.seconds for o in outcomes):.0f} s in all"
    ]
    for o in sorted({*map(id, failed), *map(id, long)}):
        (found,) = [x for x in outcomes if id(x) == o]
        lines.append(
            f"  {found.case.name}: {found.status}, gap {found.gap:.1e}, "
            f"{found.seconds:.1f} s"
        )
    return "\n".join(lines)


def choose(rng: np.random.Generator, options: Any) -> Any:
    """Return one of the options."""
    return options[rng.integers(len(options))]


def main(draw: Callable[[int], Case], numbers: range) -> None:
    """Fit the cases that the command line asks for, and say how they ended.

    It has numbers, ranges such as ``605:1500``, or nothing for all of ``numbers``.
    """
    asked = sys.argv[1:] or [f"{numbers.start}:{numbers.stop}"]
    ranges = [range(*map(int, one.split(":"))) for one in asked if ":" in one]
    single = [int(one) for one in asked if ":" not in one]
    every = [*single, *(number for some in ranges for number in some)]
    print(report([fit(draw(number)) for number in every], slow=5.0))


if __name__ == "__main__":
    main(draw, range(605))
