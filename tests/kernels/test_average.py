"""Averages: weights, and parameters of kernels in a list."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from okl.kernels import Average, Gaussian, Laplacian, Linear

rng = np.random.default_rng(7)
X = rng.normal(size=(20, 3))
Z = rng.normal(size=(4, 3))
KERNELS = [Gaussian(0.5), Linear(), Laplacian(2.0)]
STACK = np.stack([kernel(X, Z) for kernel in KERNELS])


def test_no_weights_is_the_mean():
    assert_allclose(Average(KERNELS)(X, Z), STACK.mean(axis=0))
    assert_allclose(Average(tuple(KERNELS))(X, Z), STACK.mean(axis=0))


@pytest.mark.parametrize("scale", [1.0, 7.0])
@pytest.mark.parametrize("weights", [[1, 2, 3], (0.0, 0.5, 0.5), np.array([0, 0, 1])])
def test_weights_are_normalized(weights, scale):
    weights = scale * np.asarray(weights)
    expected = np.average(STACK, axis=0, weights=weights)
    assert_allclose(Average(KERNELS, weights)(X, Z), expected)


def test_nested_parameters():
    average = Average([Gaussian(), Gaussian() + Linear()])
    params = average.get_params()
    assert params["kernels__0"] is average.kernels[0]
    assert {"kernels__0__gamma", "kernels__1__left__gamma"} < params.keys()
    assert average.get_params(deep=False).keys() == {"kernels", "weights"}
    average.set_params(kernels__0__gamma=0.1, kernels__1__left__gamma=0.2)
    assert average.kernels[0].gamma == 0.1
    assert average.kernels[1].left.gamma == 0.2


def test_a_whole_kernel_can_be_set_before_its_parameters():
    kernels = [Linear(), Linear()]
    average = Average(kernels)
    average.set_params(kernels__1__gamma=3.0, kernels__1=Gaussian(), weights=[1, 2])
    assert repr(average.kernels) == "[Linear(), Gaussian(gamma=3.0)]"
    assert average.weights == [1, 2]
    assert repr(kernels) == "[Linear(), Linear()]"  # the given list is not written to


def test_a_new_list_can_be_set_before_its_parameters():
    average = Average([Linear()])
    average.set_params(kernels__1__gamma=3.0, kernels=[Linear(), Gaussian()])
    assert average.kernels[1].gamma == 3.0


@pytest.mark.parametrize("key", ["kernels__2", "kernels__x__gamma", "kernels__0__nu"])
def test_unknown_nested_parameter(key):
    with pytest.raises(ValueError, match=f"Invalid parameter '{key}' for Average"):
        Average([Gaussian(), Linear()]).set_params(**{key: 1.0})


def test_clone_is_independent():
    average = Average([Gaussian(1.0)], [1.0])
    copy = clone(average).set_params(kernels__0__gamma=9.0)
    assert copy.kernels[0].gamma == 9.0
    assert average.kernels[0].gamma == 1.0


def test_grid_search_reaches_the_kernels_in_the_list():
    y = (X[:, 0] ** 2 > 0.5).astype(int)
    svc = SVC(kernel=Average([Gaussian(1.0), Linear()], [1, 1]))
    grid = {"kernel__kernels__0__gamma": [1e-6, 1.0], "kernel__weights": [[1, 1]]}
    search = GridSearchCV(svc, grid, cv=2).fit(X, y)
    best = search.best_params_["kernel__kernels__0__gamma"]
    assert search.best_estimator_.kernel.kernels[0].gamma == best
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] != scores[1]  # gamma did reach the kernel


@pytest.mark.parametrize(
    "weights",
    [
        [1, 2],
        [1, 2, -1],
        [0, 0, 0],
        [1, np.nan, 1],
        [1, np.inf, 1],
        3.0,
        "abc",
        ["a", "b", "c"],
        [1, [2], 3],
        [[1, 2, 3]],
    ],
)
def test_weights_are_checked(weights):
    average = Average(KERNELS, weights)
    with pytest.raises(ValueError, match="weights of Average must be 3 finite numbers"):
        average.resolve(X)


@pytest.mark.parametrize("kernels", [[], None, Gaussian(), "rbf"])
def test_kernels_must_be_a_list(kernels):
    average = Average(kernels)
    with pytest.raises(ValueError, match="kernels of Average must be a list of at lea"):
        average.resolve(X)
    assert clone(average).get_params().keys() >= {"kernels", "weights"}


def test_kernels_must_hold_kernels():
    average = Average([Gaussian(), "linear"])
    with pytest.raises(TypeError, match=r"kernels\[1\] of Average must be an object"):
        average.resolve(X)
    assert average.get_params()["kernels__1"] == "linear"


def test_the_weight_of_one_kernel_is_not_learned():
    X = np.random.default_rng(0).normal(size=(6, 2))
    names = [one.name for one in Average([Gaussian(1.0)]).hyperparameters(X)]
    assert names == ["kernels__0__gamma"]
