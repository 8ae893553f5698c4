"""scikit-learn's callbacks see every task once, and leave the model alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

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


def assert_folds_and_refit(calls):
    """Compare with the calls of a search: those of four folds and of the refit."""
    root = calls[1].removeprefix("begin ")
    assert calls == [
        "setup",
        f"begin {root}",
        *["begin fold", "end fold"] * 4,
        "begin refit",
        "end refit",
        f"end {root}",
        "teardown",
    ]


SEARCHES = [(OutputKernelRegressorCV, Y), (OutputKernelClassifierCV, LABELS)]
OPTIONS = {"structures": ["identity", "frobenius"], "loss": "squared", "alphas": 2}


@pytest.mark.parametrize(("cls", "y"), SEARCHES)
def test_a_search_is_its_folds_and_the_refit(cls, y):
    callback = Counting()
    model = cls("rbf", cv=4, **OPTIONS).set_callbacks(callback).fit(X, y)
    assert_folds_and_refit(callback.calls)
    assert_array_equal(model.scores_, cls("rbf", cv=4, **OPTIONS).fit(X, y).scores_)


def test_folds_in_other_processes_are_the_same_and_are_seen():
    # in one test, as each worker of pytest-xdist starts processes of its own
    for rows, kernel in ((X, "rbf"), (csr_array(X), "linear")):
        for cls, y in SEARCHES:
            callback = Counting()
            one = cls(kernel, cv=4, **OPTIONS).fit(rows, y)
            two = cls(kernel, cv=4, n_jobs=2, **OPTIONS).set_callbacks(callback)
            two.fit(rows, y)
            assert_folds_and_refit(callback.calls)
            assert_allclose(two.scores_, one.scores_, rtol=1e-9)
            assert two.alpha_ == one.alpha_


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
