"""scikit-learn's callbacks see every task once, and leave the model alone."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from okl import (
    KernelAutoencoder,
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
)
from tests.samples import draw

X, Y, _ = draw(20, 3)
LABELS = (Y > 0).astype(int)


class Counting:
    """A callback that writes down what it hears."""

    def __init__(self):
        self.calls = []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(
        self,
        estimator,
        context,
        *,
        X=None,
        y=None,
        metadata=None,
        fitted_estimator=None,
    ):
        self.calls.append(f"begin {context.task_name}")

    def on_fit_task_end(
        self,
        estimator,
        context,
        *,
        X=None,
        y=None,
        metadata=None,
        fitted_estimator=None,
    ):
        self.calls.append(f"end {context.task_name}")


@pytest.mark.parametrize(
    ("cls", "y"), [(OutputKernelRegressor, Y), (OutputKernelClassifier, LABELS)]
)
def test_a_single_fit_is_one_task(cls, y):
    callback = Counting()
    model = cls().set_callbacks(callback).fit(X, y)
    root = callback.calls[1].removeprefix("begin ")
    assert callback.calls == ["setup", f"begin {root}", f"end {root}", "teardown"]
    assert_array_equal(model.predict(X), cls().fit(X, y).predict(X))


@pytest.mark.parametrize(
    ("cls", "y"), [(OutputKernelRegressorCV, Y), (OutputKernelClassifierCV, LABELS)]
)
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_search_is_its_folds_and_the_refit(cls, y, n_jobs):
    callback = Counting()
    options = {"kernel": "rbf", "structures": "identity", "loss": "squared"}
    options |= {"alphas": 2, "cv": 4, "n_jobs": n_jobs}
    model = cls(**options).set_callbacks(callback).fit(X, y)
    root = callback.calls[1].removeprefix("begin ")
    assert callback.calls == [
        "setup",
        f"begin {root}",
        *["begin fold", "end fold"] * 4,
        "begin refit",
        "end refit",
        f"end {root}",
        "teardown",
    ]
    assert_array_equal(model.scores_, cls(**options).fit(X, y).scores_)


def test_a_search_of_kernels_tells_of_both_stages():
    callback = Counting()
    search = OutputKernelRegressorCV(kernels="short_list", alphas=2)
    search.set_callbacks(callback).fit(X, Y)
    # of seven kernels two go on to five folds
    names = [c.removeprefix("end ") for c in callback.calls if c.startswith("end ")]
    assert names[:-1] == ["leave-one-out"] * 7 + ["fold"] * 10 + ["refit"]


def test_a_kernel_that_is_learned_is_a_step():
    callback = Counting()
    options = {"kernel": "auto", "alphas": 2, "cv": 4}
    OutputKernelRegressorCV(**options).set_callbacks(callback).fit(X, Y)
    names = [c.removeprefix("end ") for c in callback.calls if c.startswith("end ")]
    assert names[:-1] == ["kernel"] + ["fold"] * 4 + ["refit"]


def test_an_autoencoder_is_one_task():
    callback = Counting()
    codes = KernelAutoencoder().set_callbacks(callback).fit_transform(X)
    root = callback.calls[1].removeprefix("begin ")
    assert callback.calls == ["setup", f"begin {root}", f"end {root}", "teardown"]
    assert_array_equal(codes, KernelAutoencoder().fit_transform(X))


@pytest.mark.parametrize("cls", [OutputKernelRegressor, OutputKernelRegressorCV])
def test_a_failed_fit_is_torn_down(cls):
    callback = Counting()
    model = cls().set_callbacks(callback)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full_like(X, np.nan), Y)
    assert callback.calls.count("setup") == callback.calls.count("teardown")
