"""Kernels of one's own, learned by a search before it tries them."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from okl import (
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
)
from okl.estimators.search.plan import planned
from okl.kernels import (
    Average,
    Columns,
    Gaussian,
    Learnable,
    Linear,
    Matern,
    PerOutput,
    RationalQuadratic,
    Row,
)
from okl.losses import Quantile
from okl.model_selection import GradientSearchCV
from okl.parameters import Tied

RNG = np.random.default_rng(0)
N = 60
X = RNG.normal(size=(N, 3))
Y = np.column_stack([np.sin(2 * X[:, 0]), np.cos(X[:, 1])])
Y += 0.1 * RNG.normal(size=Y.shape)
LABELS = np.where(Y[:, 0] > 0.5, "b", np.where(Y[:, 1] > 0.5, "c", "a"))
WIDTHS = Gaussian(np.ones(3))


def regressor(**parameters):
    given = {"structures": "identity", "alphas": 4} | parameters
    return OutputKernelRegressorCV(**given)


def learned(kernel, parameters=None, **more):
    search = GradientSearchCV(OutputKernelRegressor(kernel, "identity"), parameters)
    return search.fit(X, Y, **more).best_estimator_.kernel_


@pytest.mark.parametrize(
    "kernel",
    [
        WIDTHS,
        Gaussian(),
        2.0 * Matern(1.0, 2.5) + Linear(),
        RationalQuadratic(1.0),
        Columns(Gaussian(1.0), [0]) * Columns(Gaussian(1.0), [1]),
    ],
    ids=repr,
)
def test_it_is_learned_as_a_gradient_search_learns_it(kernel):
    weights = np.random.default_rng(1).uniform(0.5, 2.0, N)
    weights /= weights.mean()  # only the ratios count for the search
    for more in ({}, {"sample_weight": weights}):
        found = regressor(kernel=Learnable(kernel)).fit(X, Y, **more)
        expected = learned(kernel, **more)
        assert_allclose(found.kernel_(X), expected(X), rtol=1e-5)
        assert found.certificate_.status == "optimal"
        assert not hasattr(found, "feature_relevances_")


def test_what_is_learned_and_how():
    pair = WIDTHS + Matern(1.0, 1.5)
    left, right = "kernel__left__gamma", "kernel__right__length_scale"
    for ours, theirs in (
        ([left], [left, "alpha"]),
        (left, [left, "alpha"]),
        ([left, "alpha"], [left, "alpha"]),
        ({left: "tied"}, {left: "tied"}),
        (
            {right: "fixed", "alpha": (1e-3, 1.0)},
            {right: "fixed", "alpha": (1e-3, 1.0)},
        ),
    ):
        found = regressor(kernel=Learnable(pair, ours)).fit(X, Y)
        assert_allclose(found.kernel_(X), learned(pair, theirs)(X), rtol=1e-5)
    between = Learnable(Gaussian(1.0), {"kernel__gamma": (0.1, 0.2)})
    assert 0.1 <= regressor(kernel=between).fit(X, Y).kernel_.gamma <= 0.2
    both = Learnable(
        Columns(Gaussian(1.0), [0]) + Columns(Gaussian(1.0), [1]),
        {"kernel__right__kernel__gamma": Tied("kernel__left__kernel__gamma")},
    )
    kernel = regressor(kernel=both).fit(X, Y).kernel_
    assert kernel.left.kernel.gamma == kernel.right.kernel.gamma


def test_the_grid_of_alphas_reaches_below_the_noise():
    search = regressor(kernel=Learnable(WIDTHS), alphas=20, eps=None).fit(X, Y)
    model = OutputKernelRegressor(WIDTHS, "identity")
    alpha = GradientSearchCV(model).fit(X, Y).best_params_["alpha"]
    assert search.alphas_.min() == pytest.approx(0.1 * alpha, rel=1e-4)
    assert search.alphas_.max() > alpha
    # as far as the one that was learned with the least noise
    several = regressor(kernels=[Learnable(WIDTHS), Learnable(Linear([0, 0, 0]))])
    low = several.set_params(alphas=20, eps=None).fit(X, Y).alphas_.min()
    assert low == pytest.approx(0.1 * alpha, rel=0.5)


def test_the_smallest_alpha_is_no_edge_of_a_kernel_that_was_learned():
    y = np.sin(2 * X[:, 0])
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*is the smallest of its grid")
        search = regressor(kernel=Learnable(Gaussian(1.0)), eps=None).fit(X, y)
    assert search.alpha_ == search.alphas_.min()


def test_a_forecast_counts_what_is_to_be_learned():
    rows, targets = np.tile(X, (10, 1)), np.tile(Y, (10, 1))
    rows = rows + np.arange(600)[:, None] / 600
    many = Average([Columns(Gaussian(1.0), [q % 3]) for q in range(12)])
    one, two, large = (
        regressor(kernels=kernels).forecast(rows, targets)
        for kernels in (
            [Learnable(Gaussian(1.0)), "rbf"],
            [Learnable(Gaussian(1.0)), Learnable(Gaussian(2.0))],
            [Learnable(many), "rbf"],
        )
    )
    assert one.seconds < two.seconds < large.seconds
    assert large.memory > 2 * one.memory
    few = regressor(kernel=Learnable(many), max_memory=20)
    *_, search = planned(few, rows, targets, None, None, {})
    n = len(search.learning.X)
    assert 10 < n < 300  # whose arrays fit
    assert search.learning.arrays * 8 * n**2 <= 20 * 2**20


def test_the_best_of_several_is_kept():
    one = Learnable(WIDTHS)
    search = regressor(kernels=["linear", one, Learnable(Matern(1.0))], alphas=8)
    assert "2 of them learned from 60 rows" in search.forecast(X, Y).plan
    search.fit(X, Y)
    assert_allclose(search.kernel_.gamma, learned(WIDTHS).gamma, rtol=1e-5)
    assert one.kernel is WIDTHS
    assert_allclose(WIDTHS.gamma, 1.0)
    again = clone(search).fit(X, Y)
    assert_allclose(again.predict(X), search.predict(X))
    assert_allclose(pickle.loads(pickle.dumps(search)).predict(X), search.predict(X))


def test_beside_one_that_is_made_of_the_data():
    search = regressor(kernels=[Learnable(Matern(10.0)), "auto"]).fit(X, Y)
    assert isinstance(search.kernel_.left, Linear)
    assert search.feature_relevances_.sum() == pytest.approx(1.0)
    search.set_params(kernels=[Learnable(WIDTHS), "linear"]).fit(X, Y)
    assert not hasattr(search, "feature_relevances_")


def test_as_a_term_of_several():
    kernels = [Learnable(WIDTHS), Row()]
    search = regressor(kernel=kernels, structures="frobenius", cv=3).fit(X, Y)
    assert_allclose(search.kernel_[0].gamma, learned(WIDTHS).gamma, rtol=1e-5)
    assert isinstance(search.kernel_[1], Row)


def test_classes_labels_and_other_losses():
    search = OutputKernelClassifierCV(
        kernels=[Learnable(WIDTHS), "linear"], structures="identity", alphas=3, cv=3
    )
    search.fit(X, LABELS)
    assert search.kernel_.gamma[2] < search.kernel_.gamma.max()
    assert search.score(X, LABELS) > 0.8
    search.fit(X, (Y > 0).astype(int))
    assert search.kernel_.gamma.shape == (3,)
    other = regressor(kernel=Learnable(WIDTHS), loss="huber", alphas=3, cv=3).fit(X, Y)
    assert other.kernel_.gamma[2] < other.kernel_.gamma.max()


def test_names_of_columns_missing_targets_and_tasks():
    frame = pd.DataFrame(X, columns=["u", "v", "w"])
    kernel = Columns(Gaussian(), ["u"]) + Columns(Gaussian(), ["v", "w"])
    named = regressor(kernel=Learnable(kernel)).fit(frame, Y)
    assert named.kernel_.right.columns == [1, 2]
    holes = Y.copy()
    holes[::3, 1] = np.nan
    assert regressor(kernel=Learnable(WIDTHS)).fit(X, holes).score(X, holes) > 0.8
    task = np.arange(N) % 2
    tasks = regressor(kernel=Learnable(Gaussian()), structures="mean")
    assert tasks.fit(X, Y[:, 0], task=task).score(X, Y[:, 0], task=task) > 0.5


@pytest.mark.parametrize(
    ("kernel", "rows", "message"),
    [
        (Learnable("rbf"), N, "kernel of Learnable must be an object of okl.kernels"),
        (Learnable(PerOutput([WIDTHS])), N, "kernel of Learnable must be an object"),
        (
            Learnable(Gaussian()),
            4,
            r"Learnable\(kernel=Gau.* learned here: only 4 rows",
        ),
        (
            Learnable(Gaussian(), ["kernel__width"]),
            N,
            "'kernel__width', which is not a continuous",
        ),
        (Learnable(Gaussian()) + Linear(), N, "cannot be evaluated before a search"),
    ],
)
def test_what_cannot_be_learned(kernel, rows, message):
    for given in ({"kernel": kernel}, {"kernels": [kernel, "linear"]}):
        with pytest.raises((ValueError, TypeError), match=message):
            regressor(**given).fit(X[:rows], Y[:rows])


class OfOnesOwn(Quantile):
    """A loss that is not smooth, and not said to bear outliers."""

    capabilities = Quantile.capabilities - {"robust"}


def test_a_loss_of_ones_own_without_a_gradient():
    with pytest.raises(ValueError, match=r"here: the loss OfOnesOwn.* is not smooth"):
        regressor(kernel=Learnable(Gaussian()), loss=OfOnesOwn()).fit(X, Y)


def test_single_fits_learn_no_kernel():
    for model in (
        OutputKernelRegressor(Learnable(Gaussian())),
        GradientSearchCV(OutputKernelRegressor(Learnable(Gaussian()))),
    ):
        with pytest.raises(
            TypeError, match=r"cannot be evaluated before .* without Learnable"
        ):
            model.fit(X, Y)
    with pytest.raises(
        TypeError, match="cannot be evaluated before a search has learned it"
    ):
        OutputKernelClassifier(Learnable(Gaussian())).fit(X, LABELS)


def test_a_kernel_that_is_the_same_for_all_rows_tells_nothing():
    rows = np.column_stack([X, np.full(N, 1.5)])
    constant = Learnable(Columns(Linear(), [3]))
    found = regressor(kernel=constant).fit(rows, Y)
    assert_allclose(found.predict(rows), np.tile(Y.mean(axis=0), (N, 1)))
    best = regressor(kernels=[constant, "rbf"]).fit(rows, Y)
    assert isinstance(best.kernel_, Gaussian)


def test_without_a_kernel_it_is_made_of_the_data():
    one = regressor(kernel=Learnable()).fit(X, Y)
    other = regressor(kernel="auto").fit(X, Y)
    assert_allclose(one.predict(X), other.predict(X))
    for given in ({"kernel": Learnable()}, {"kernels": ["linear", Learnable()]}):
        with pytest.warns(UserWarning, match="No kernel was learned: only 4 rows"):
            regressor(**given).fit(X[:4], Y[:4])
