"""A fit that bears targets far away does not depend on how far they are.

The Huber and the quantile loss are linear there: as long as no prediction comes near
such a target, its distance adds the same to the objective of every model.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl import OutputKernelRegressor, OutputKernelRegressorCV, certify
from okl.kernels import Gaussian
from okl.losses import Huber, Quantile
from okl.structures import Frobenius, Identity, LowRank, Sparse, TraceBall

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 5))
NEW = RNG.normal(size=(40, 5))
F = np.column_stack([np.sin(X[:, 0]) + X[:, 1], np.cos(X[:, 1]) + 0.5 * X[:, 2]])
Y = F + 0.1 * RNG.normal(size=F.shape)
FAR = RNG.permutation(160).reshape(80, 2) < 8
NEAR = 20.0


def with_far(size):
    return np.where(FAR, size, Y)


def fit(loss, structure, size, **options):
    model = OutputKernelRegressor(
        Gaussian(), structure, 2.0, loss=loss, normalize_y=False, **options
    )
    return model.fit(X, with_far(size))


@pytest.mark.parametrize(
    "structure", [Identity(), Frobenius(), LowRank(), Sparse(0.3), TraceBall(2.0)]
)
@pytest.mark.parametrize("loss", [Huber(), Quantile(), Quantile(0.3)])
def test_a_fit_does_not_depend_on_the_distance(loss, structure):
    exact = fit(loss, structure, NEAR, tol=1e-10).predict(NEW)
    far = fit(loss, structure, 1e6)
    assert far.certificate_.status == "optimal"
    found = certify(far, X, with_far(1e6)).relative_gap
    assert_allclose(found, far.certificate_.relative_gap, atol=1e-8)
    assert_allclose(far.predict(NEW), exact, atol=2e-3)


@pytest.mark.parametrize("fit_intercept", [True, False, "shared"])
def test_tasks_of_other_sizes_are_measured_alike_by_fit_and_certify(fit_intercept):
    rows, task, y = np.vstack([X, X]), np.repeat([0, 1], 80), with_far(1e6).T.ravel()
    y = np.where(task == 1, 1e3 * y, y)
    options = {"normalize_y": False, "fit_intercept": fit_intercept, "loss": "huber"}
    model = OutputKernelRegressor(Gaussian(), "frobenius", 2.0, **options)
    model.fit(rows, y, task=task)
    again = certify(model, rows, y, task=task)
    assert again.gap == pytest.approx(model.certificate_.gap, rel=1e-3)
    relative = model.certificate_.relative_gap
    assert again.relative_gap == pytest.approx(relative, rel=1e-3)


def test_numbers_of_single_precision_can_be_certified():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3))
    y = np.sin(rows[:, :1]) + 0.1 * rng.normal(size=(60, 1))
    y[:3] = 1e6
    options = {"normalize_y": False, "fit_intercept": False, "loss": Huber()}
    model = OutputKernelRegressor(Gaussian(), "identity", 1.0, **options).fit(rows, y)
    arrays = model.kernel_(rows), y, model.dual_coef_
    arrays = [np.asarray(array, dtype=np.float32) for array in arrays]
    how = {"alpha": 1.0, "structure": "identity", "loss": Huber()}
    assert certify(*arrays, tol=1e-3, **how).status == "optimal"


def test_nor_does_the_objective_but_for_the_distance():
    near, far = (fit(Huber(), Frobenius(), size).certificate_ for size in (NEAR, 1e6))
    distances = 1.35 * FAR.sum() * (1e6 - NEAR)
    assert_allclose(far.primal - distances, near.primal, rtol=1e-5)
    assert far.gap < 1e-5 * near.primal


def test_nor_does_a_search():
    options = {"kernel": Gaussian(), "structures": "identity", "loss": Huber()}
    near, far = (
        OutputKernelRegressorCV(**options).fit(X, with_far(size)) for size in (1e3, 1e6)
    )
    assert_allclose(far.alpha_, near.alpha_, rtol=1e-6)
    assert_allclose(far.predict(NEW), near.predict(NEW), atol=2e-3)
