"""Hyperparameters learned by differences, where L has no derivative."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.kernels import Gaussian
from okl.losses import Squared
from okl.operators import Dense
from okl.parameters import HyperparameterSpace
from okl.problems import Observed
from okl.selection.criteria import FoldsLikelihood
from okl.selection.differences import central_differences
from okl.selection.learning import learn
from okl.selection.objective import Model, Objective
from okl.structures import Cluster, Frobenius, LowRank, Sparse, TraceBall
from tests.selection.criteria.differences import folds_of

N = 30


def related():
    """Return rows, and two pairs of outputs that have nothing to do with each other."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    f = np.column_stack([np.sin(2 * X[:, 0]), np.cos(2 * X[:, 1])])
    Y = f[:, [0, 0, 1, 1]] * [1, -1, 1, 1] + 0.5 * rng.normal(size=(N, 4))
    return X, Observed((Y - Y.mean(axis=0)) / Y.std(axis=0), Squared())


X, OBSERVED = related()
KERNEL = Gaussian(0.5)


def criterion():
    return FoldsLikelihood(OBSERVED, folds_of(N), fit_intercept=True)


def run(structure, parameters, **options):
    return learn(
        X,
        OBSERVED,
        KERNEL,
        structure,
        1.0,
        criterion(),
        fit_intercept=True,
        parameters=parameters,
        **options,
    )


def test_differences_within_bounds():
    # central ones are exact for squares; at a bound it is half a step aside
    theta, bounds = np.array([0.3, -1.0]), np.array([[0.0, 1.0], [-1.0, 1.0]])

    def function(t):
        assert np.all((t >= bounds[:, 0]) & (t <= bounds[:, 1]))
        return float(t[0] ** 2 + 3 * t[1])

    assert_allclose(central_differences(function, theta, bounds), [0.6, 3.0])


def test_differences_are_the_derivative_where_there_is_one():
    # of the squared norm the search follows L; here it is told that it cannot
    class Blind(FoldsLikelihood):
        def differentiates(self, structure):
            return False

    space = HyperparameterSpace(
        [one.within("kernel") for one in KERNEL.hyperparameters(X)]
    )
    model, found = Model(KERNEL, Frobenius(), 0.7), []
    # without the derivative a value is no more exact than the root of the gaps
    close = {"fit_intercept": True, "tol": 1e-13}
    for kind in (FoldsLikelihood, Blind):
        one = kind(OBSERVED, folds_of(N), **close)
        found.append(Objective(X, model, one, space, True)(space.start))
    assert_allclose(found[1].value, found[0].value, rtol=1e-6)
    assert_allclose(found[1].gradient, found[0].gradient, rtol=2e-3)


def test_the_learned_mu_is_no_worse_than_a_grid():
    found = run(Sparse(0.5), ["structure__mu"], priors=False)
    kernel = KERNEL.centered(X)
    values = [
        criterion().value(Dense(kernel(X)), 1.0, Sparse(mu)).value
        for mu in (0.05, 0.2, 0.5, 0.8, 1.0)
    ]
    assert set(found.parameters) == {"structure__mu"}
    assert found.value < values[2]
    assert found.value <= min(values) + 1e-3


@pytest.mark.parametrize(
    ("structure", "parameters"),
    [
        (LowRank(), ["alpha"]),
        pytest.param(
            TraceBall(1e-2), ["alpha", "structure__eps"], marks=pytest.mark.slow
        ),
        pytest.param(
            Cluster(2),
            ["alpha", "structure__within", "structure__mean"],
            marks=pytest.mark.slow,
        ),
    ],
    ids=["low_rank", "trace_ball", "cluster"],
)
def test_alpha_and_parameters_of_learned_structures(structure, parameters):
    found = run(structure, parameters)
    assert set(found.parameters) == set(parameters)
    assert found.success
    assert found.trace[-1]["gradient_norm"] < 0.02
    assert found.trace[-1]["value"] < found.trace[0]["value"]
    # evaluated again, from nothing
    assert_allclose(found.value, found.trace[-1]["criterion"], rtol=1e-4)


@pytest.mark.parametrize(
    ("structure", "kernel", "parameters", "message"),
    [
        (Sparse(), KERNEL, {"structure__mu": (0.5, 2.0)}, "mu must be .* got 2"),
        (
            Sparse(mu=0),
            KERNEL,
            ["structure__mu"],
            "'structure__mu', which is not a cont",
        ),
        (
            TraceBall(),
            KERNEL,
            ["structure__eps"],
            "'structure__eps', which is not a con",
        ),
        (LowRank(2), KERNEL, ["structure__rank"], "'structure__rank', which is no"),
        (
            Cluster(2, within=5.0),
            KERNEL,
            {"structure__within": (0.1, 9.0)},
            "within must be at least between",
        ),
        (
            LowRank(),
            Gaussian(np.ones(9)),
            None,
            r"differences in 10 parameters \(kernel__gamma, alpha\) would take 21",
        ),
    ],
)
def test_what_cannot_be_learned_by_differences(structure, kernel, parameters, message):
    rows = np.random.default_rng(1).normal(size=(N, 9))
    with pytest.raises(ValueError, match=message):
        learn(
            rows,
            OBSERVED,
            kernel,
            structure,
            1.0,
            criterion(),
            fit_intercept=True,
            parameters=parameters,
        )
