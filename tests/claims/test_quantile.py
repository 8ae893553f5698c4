"""The quantile loss: the part of the targets below, support vectors, scorers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import make_scorer, mean_pinball_loss
from sklearn.svm import SVR

import okl
from okl import OutputKernelRegressor, OutputKernelRegressorCV
from okl.kernels import Gaussian, Linear
from okl.losses import Quantile
from tests.samples import draw

N, M = 41, 3
X, Y, _ = draw(N, M)
STRUCTURES = ["identity", "frobenius", "low_rank", "trace_ball", "sparse"]


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.8])
def test_so_many_targets_are_below(structure, quantile):
    loss = Quantile(quantile)
    model = OutputKernelRegressor(Gaussian(0.3), structure, 0.1, loss=loss).fit(X, Y)
    assert model.certificate_.status == okl.certify(model, X, Y).status == "optimal"
    errors = (Y - model.predict(X)) / Y.std(axis=0)
    met = 1e-3  # of the deviation: as near as the gap makes the rows that are met
    assert np.all(np.mean(errors < -met, axis=0) <= quantile)
    assert np.all(np.mean(errors > met, axis=0) <= 1 - quantile)


def test_without_an_influence_of_the_inputs_it_is_the_quantile():
    model = OutputKernelRegressor(alpha=1e6, loss=Quantile(0.3)).fit(X, Y)
    expected = np.quantile(Y, 0.3, axis=0, method="inverted_cdf")
    assert_allclose(model.predict(X[:1])[0], expected, atol=1e-3)


def test_the_median_is_support_vector_regression_without_a_margin():
    alpha, kernel = 0.3, Gaussian(0.3)
    model = OutputKernelRegressor(kernel, "identity", alpha, loss=Quantile(0.5))
    model.set_params(normalize_y=False, tol=1e-9).fit(X, Y)
    for j in range(M):
        machine = SVR(kernel="precomputed", epsilon=0.0, C=0.5 / alpha, tol=1e-8)
        machine.fit(kernel(X), Y[:, j])
        assert_allclose(model.predict(X)[:, j], machine.predict(kernel(X)), atol=1e-3)


def test_several_kernels_and_missing_targets():
    missing = np.where(np.random.default_rng(1).random(Y.shape) < 0.2, np.nan, Y)
    model = OutputKernelRegressor(
        [Gaussian(0.3), Linear()], ["frobenius", "identity"], 0.1, loss="quantile"
    )
    assert model.fit(X, missing).certificate_.status == "optimal"
    assert okl.certify(model, X, missing).status == "optimal"


@pytest.mark.filterwarnings("ignore:The alpha chosen")
def test_a_search_by_the_loss_itself():
    scoring = make_scorer(mean_pinball_loss, alpha=0.8, greater_is_better=False)
    search = OutputKernelRegressorCV(
        Gaussian(0.3),
        "frobenius",
        loss=Quantile(0.8),
        scoring=scoring,
        alphas=[1, 0.1],
        cv=2,
    ).fit(X, Y)
    assert search.certificate_.status == "optimal"
    assert search.best_score_ < 0


@pytest.mark.parametrize("quantile", [0, 1, -0.5, np.nan, True, "half"])
def test_quantiles_that_are_none(quantile):
    model = OutputKernelRegressor(loss=Quantile(quantile))
    with pytest.raises(ValueError, match="quantile must be a number between 0 and 1"):
        model.fit(X, Y)
