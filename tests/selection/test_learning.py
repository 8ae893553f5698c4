"""Hyperparameters learned by the gradient of a criterion."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from okl.kernels import Gaussian, Linear, Matern, per_feature
from okl.losses import Softmax, Squared
from okl.operators import Dense
from okl.parameters import HyperparameterSpace, Learn, LogNormal, Tied
from okl.problems import Observed
from okl.selection.criteria import (
    NAMES,
    FoldsLikelihood,
    TermDerivative,
    choose_criterion,
)
from okl.selection.descent import Descent
from okl.selection.learning import learn
from okl.selection.objective import Objective, Point
from okl.structures import Frobenius, Graph, Identity, Mean
from tests.samples import draw, draw_classes
from tests.selection.criteria.differences import folds_of

N, M, D = 40, 2, 3


def regression(n=N, m=M, n_features=D):
    X, Y, _ = draw(n, m, n_features=n_features)
    return X, Observed((Y - Y.mean(axis=0)) / Y.std(axis=0), Squared())


def criterion_for(name, observed, structure, fit_intercept=True):
    return choose_criterion(
        name,
        observed,
        structure,
        folds_of(len(observed.targets)),
        n_features=D,
        fit_intercept=fit_intercept,
    )


def run(
    X,
    observed,
    kernel,
    structure=None,
    name="restricted_likelihood",
    fit_intercept=True,
    **kwargs,
):
    structure = Identity() if structure is None else structure
    criterion = criterion_for(name, observed, structure, fit_intercept)
    return learn(
        X,
        observed,
        kernel.resolve(X),
        structure,
        1.0,
        criterion,
        fit_intercept=fit_intercept,
        **kwargs,
    )


def value_at(X, observed, structure, name, kernel, alpha):
    criterion = criterion_for(name, observed, structure)
    return criterion.evaluate(Dense(kernel(X)), alpha, structure).value


GRAPH = Graph(np.ones((M, M)), gamma=0.7)


@pytest.mark.parametrize(
    "structure", [Mean(0.5), GRAPH, Identity()], ids=["mean", "graph", "identity"]
)
@pytest.mark.parametrize("name", NAMES[1:-1])
def test_the_end_is_stationary(name, structure):
    # of the value by differences: no derivative that the search used is trusted
    X, observed = regression()
    kernel = 2.0 * Gaussian(0.3) + Linear(scales=1.0)
    found = run(X, observed, kernel, structure, name)
    space = HyperparameterSpace(
        [
            *(one.within("kernel") for one in found.kernel.hyperparameters(X)),
            *(one.within("structure") for one in structure.hyperparameters(M)),
        ]
    )
    learned = "structure__gamma" in found.parameters
    assert learned == (structure.hyperparameters(M) != [])

    def objective(theta):
        values = space.unpack(theta[:-1])
        kernel = type(found.kernel)(found.kernel.left, found.kernel.right)
        kernel = kernel.resolve(X).set_params(
            **{k[8:]: v for k, v in values.items() if k.startswith("kernel__")}
        )
        other = type(structure)(**structure.get_params())
        if learned:
            other.set_params(gamma=values["structure__gamma"])
        alpha = float(np.exp(theta[-1]))
        log_prior = space.log_prior(theta[:-1])[0]
        # around one, and the mean diagonal of K at the start
        centre = (2.0 * Gaussian(0.3) + Linear(scales=1.0)).centered(X).diagonal(X)
        log_prior += LogNormal(np.log(centre.mean()), 3.0).log_density(theta[-1:])
        return value_at(X, observed, other, name, kernel, alpha) - log_prior

    end = np.append(space.pack(found.parameters), np.log(found.alpha))
    assert_allclose(objective(end), found.trace[-1]["value"], rtol=1e-7)
    slope = approx_fprime(end, objective, 1e-6)
    assert found.success
    assert np.abs(slope).max() < 0.02
    start = np.append(
        space.pack(
            {
                "kernel__left__left__value": 2.0,
                "kernel__left__right__gamma": 0.3,
                "kernel__right__scales": 1.0,
                **({"structure__gamma": structure.gamma} if learned else {}),
            }
        ),
        0.0,
    )
    assert objective(end) < objective(start)
    assert_allclose(objective(start), found.trace[0]["value"], rtol=1e-9)
    slope = approx_fprime(start, objective, 1e-6)
    assert_allclose(np.abs(slope).max(), found.trace[0]["gradient_norm"], rtol=1e-3)


@pytest.mark.parametrize("name", NAMES[1:-1])
def test_no_worse_than_a_grid(name):
    X, observed = regression()
    found = run(
        X,
        observed,
        Gaussian(1.0),
        name=name,
        parameters=["kernel__gamma"],
        priors=False,
    )
    assert set(found.parameters) == {"kernel__gamma"}
    assert found.alpha == 1.0
    grid = np.geomspace(1e-3, 1e2, 100)
    values = [value_at(X, observed, Identity(), name, Gaussian(g), 1.0) for g in grid]
    assert found.value <= min(values) + 1e-6 * abs(min(values))


def test_the_marginal_likelihood_of_a_gaussian_process():
    # without an intercept, with the variance at its best value: the same optimum
    X, observed = regression(m=1)
    found = run(X, observed, Gaussian(0.5), fit_intercept=False, priors=False)
    kernel = ConstantKernel(1.0, (1e-4, 1e4)) * RBF(1.0, (1e-2, 1e2))
    process = GaussianProcessRegressor(
        kernel + WhiteKernel(0.1, (1e-6, 1e2)), alpha=0.0, n_restarts_optimizer=2
    ).fit(X, observed.targets[:, 0])
    constant, width, noise = np.exp(process.kernel_.theta)
    assert_allclose(found.kernel.gamma, 1 / (2 * width**2), rtol=2e-3)
    assert_allclose(found.alpha, noise / constant, rtol=2e-3)
    norm = observed.targets[:, 0] @ np.linalg.solve(
        found.kernel(X) / found.alpha + np.eye(N), observed.targets[:, 0]
    )
    likelihood = -found.value - N / 2 * (np.log(2 * np.pi) + 1)
    assert norm > 0
    assert_allclose(likelihood, process.log_marginal_likelihood_value_, rtol=1e-6)


def test_permuted_features_permute_what_is_learned():
    X, observed = regression()
    order = np.array([2, 0, 1])
    kernel = per_feature(Gaussian(0.4), X)
    one = run(X, observed, kernel)
    other = run(X[:, order], observed, kernel)
    assert_allclose(other.kernel.gamma, one.kernel.gamma[order], rtol=2e-2)
    assert_allclose(other.value, one.value, rtol=1e-5)


def test_features_without_influence_get_small_widths():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    Y = np.sin(2 * X[:, :1]) + np.cos([1.0, 2.0] * X[:, 3:])
    observed = Observed(Y + 0.1 * rng.normal(size=Y.shape), Squared())
    gamma = run(X, observed, per_feature(Gaussian(0.3), X)).kernel.gamma
    assert gamma[[1, 2]].max() < gamma[[0, 3]].min() / 10


def test_what_is_fixed_bounded_or_tied():
    X, observed = regression()
    kernel = 1.0 * per_feature(Gaussian(0.4), X) + Matern(1.5, 1.5)
    found = run(
        X,
        observed,
        kernel,
        parameters={
            "kernel__left__left__value": (0.9, 1.1),
            "kernel__left__right__gamma": Learn(tied=True),
            "kernel__right__length_scale": "fixed",
            "alpha": Tied("kernel__left__left__value"),
        },
    )
    assert 0.9 <= found.kernel.left.left.value <= 1.1
    assert np.ptp(found.kernel.left.right.gamma) == 0
    assert found.kernel.right.length_scale == 1.5
    assert found.alpha == found.kernel.left.left.value
    # what was given is left as it was
    assert kernel.left.right.gamma[0] == 0.4


@pytest.mark.parametrize("structure", [Identity(), Frobenius()], ids=str)
def test_classes(structure):
    X, labels, _ = draw_classes(24, 3)
    observed = Observed((labels[:, None] == np.arange(3)) * 1.0, Softmax())
    found = run(X, observed, Gaussian(0.05), structure, "auto", max_iter=3)
    assert set(found.parameters) == {"kernel__gamma", "alpha"}
    values = [record["value"] for record in found.trace]
    assert np.all(np.diff(values) <= 0)
    # evaluated without warm starts, it is what the search saw
    assert_allclose(found.value, found.trace[-1]["criterion"], rtol=1e-4)


def test_a_closed_form_is_not_evaluated_again_at_the_end(monkeypatch):
    X, observed = regression()
    for name in ("restricted_likelihood", "leave_one_out_error"):
        monkeypatch.setattr(Objective, "value", None)
        found = run(X, observed, Gaussian(0.2), name=name, max_iter=5)
        expected = value_at(X, observed, Identity(), name, found.kernel, found.alpha)
        assert_allclose(found.value, expected, rtol=1e-10)


def test_a_failed_evaluation_makes_the_step_shorter():
    X, observed = regression()
    inner = criterion_for("restricted_likelihood", observed, Identity())
    failures = []

    class Fragile(type(inner)):
        def evaluate(self, operator, alpha, structure, **options):
            if alpha < 0.2:
                failures.append(alpha)
                raise np.linalg.LinAlgError("not definite")
            return super().evaluate(operator, alpha, structure, **options)

    criterion = Fragile(observed, fit_intercept=True)
    found = learn(
        X, observed, Gaussian(0.5), Identity(), 1.0, criterion, fit_intercept=True
    )
    assert failures
    assert found.alpha >= 0.2
    assert found.trace[-1]["value"] < found.trace[0]["value"]


def test_rounding_of_the_value_is_an_end_and_a_wrong_gradient_is_not():
    X, observed = regression()
    inner = criterion_for("restricted_likelihood", observed, Identity())

    def search(spoil):
        class Spoilt(type(inner)):
            def evaluate(self, *args, **options):
                return spoil(super().evaluate(*args, **options))

        criterion = Spoilt(observed, fit_intercept=True)
        return learn(
            X, observed, Gaussian(0.5), Identity(), 1.0, criterion, fit_intercept=True
        )

    exact = search(lambda found: found)
    rounded = search(lambda found: replace(found, value=round(found.value, 3)))
    assert rounded.success
    assert_allclose(rounded.objective, exact.objective, atol=0.01)
    wrong = search(
        lambda found: replace(found, terms=(TermDerivative(-found.term.left, None),))
    )
    assert not wrong.success


def test_time_and_iterations_end_it():
    X, observed = regression()
    seen = []
    found = run(
        X,
        observed,
        per_feature(Gaussian(0.4), X),
        max_iter=2,
        watch=lambda iteration, record: seen.append((iteration, record)),
    )
    assert not found.success
    assert seen == list(enumerate(found.trace))
    assert len(seen) == 3
    at_once = run(X, observed, Gaussian(0.4), max_time=1e-9)
    assert not at_once.success
    assert "max_time" in at_once.message
    assert found.message.startswith(
        "all 2 iterations that max_iter allows were done. Raise it"
    )
    assert_allclose(at_once.kernel.gamma, 0.4)


def test_a_gradient_that_does_not_fit_is_told_in_words():
    class Objective:
        """One whose gradient has the wrong sign."""

        criterion = SimpleNamespace(by_fits=False)
        moves_kernel = False
        space = SimpleNamespace(bounds=np.array([[-9.0, 9.0]]))

        def __call__(self, theta):
            value = float(theta[0] ** 2)
            return Point(theta.copy(), value, value, -2 * theta)

    ended, why = Descent(Objective(), np.ones(1), 0.0, None, None).run(30)
    assert not ended
    assert why.startswith("nothing lower was found along the gradient")
    assert why.endswith("narrow bounds, or learn fewer parameters.")


@pytest.mark.parametrize(
    ("change", "kernel", "kwargs", "match"),
    [
        ("constant", Gaussian([1.0, 1.0, 1.0]), {}, r"kernel__gamma\[1\] .* constant"),
        (None, Gaussian(1.0), {"parameters": ["kernel__nu"]}, "'kernel__nu'"),
        (None, Gaussian(1.0), {"parameters": ["structure__gamma"]}, "'structure__gam"),
        (None, Gaussian(1.0), {"parameters": []}, "nothing to learn"),
    ],
)
def test_errors_before_any_work(change, kernel, kwargs, match):
    X, observed = regression()
    criterion = criterion_for("restricted_likelihood", observed, Identity())
    if change == "constant":
        X = X.copy()
        X[:, 1] = 2.7
    with pytest.raises(ValueError, match=match):
        learn(
            X,
            observed,
            kernel,
            Identity(),
            1.0,
            criterion,
            fit_intercept=True,
            **kwargs,
        )


def test_a_constant_column_is_no_trouble_for_one_width():
    X, observed = regression()
    X = X.copy()
    X[:, 1] = 2.7
    kernel = per_feature(Gaussian(0.4), X)
    tied = run(X, observed, kernel, parameters={"kernel__gamma": "tied"}, priors=False)
    one = run(X, observed, Gaussian(0.4), priors=False)
    # each ends where the criterion is flat
    assert_allclose(tied.value, one.value, rtol=1e-6)
    assert_allclose(tied.kernel.gamma, one.kernel.gamma, rtol=0.05)


def test_a_matrix_that_does_not_fit(free_memory):
    X, observed = regression()
    free_memory(1000)
    with pytest.raises(MemoryError, match="fewer rows"):
        run(X, observed, Gaussian(1.0))


class Watched(FoldsLikelihood):
    """The likelihood of folds, and the alphas it was asked for."""

    def evaluate(self, operator, alpha, structure, **options):
        self.__dict__.setdefault("alphas", []).append(alpha)
        return super().evaluate(operator, alpha, structure, **options)

    def cold(self):
        return self


def test_the_first_step_stays_near_where_fits_take_long():
    X, codes, _ = draw_classes(40, 3)
    observed = Observed(np.eye(3)[codes], Softmax())
    criterion = Watched(observed, folds_of(40), fit_intercept=False)
    options = {"fit_intercept": False, "parameters": {"alpha": (1e-6, 1e3)}}
    kernel = Linear().resolve(X)
    learn(X, observed, kernel, Identity(), 300.0, criterion, max_iter=2, **options)
    first, second = np.log(criterion.alphas[:2])
    # one unit of the logarithm, and not one of the bounds
    assert 0.0 < abs(second - first) < 1.0 + 1e-9
