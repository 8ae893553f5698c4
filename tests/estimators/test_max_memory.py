"""Kernel matrices that do not fit: row blocks, and errors that name the remedy."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from okl import (
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
    output_kernel_path,
)
from okl.kernels import Gaussian, Kernel, PerOutput
from okl.operators import RowBlocks
from okl.structures import Cluster, Fixed, Sparse, TraceBall
from tests.samples import draw, gaussian

N, M = 60, 3
MATRIX = 8 * N**2 / 2**20  # MiB
LITTLE = 0.9 * MATRIX  # not stored, and evaluated in ten blocks: less takes more
L = Fixed([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 1.0]])


class Plain(Kernel):
    """The Gaussian kernel without checks, which of few rows take most of the time."""

    def __call__(self, X, Z=None):
        return gaussian(X, Z, 0.3)

    def diagonal(self, X):
        return np.ones(len(X))


KERNEL = Plain()


@pytest.fixture
def products(monkeypatch):
    """Count the products with matrices that are not stored."""
    counted = []
    original = RowBlocks.__matmul__

    def matmul(self, right):
        counted.append(right.shape)
        return original(self, right)

    monkeypatch.setattr(RowBlocks, "__matmul__", matmul)
    return counted


@pytest.mark.parametrize("structure", ["identity", "mean", L], ids=repr)
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize("loss", ["squared", "huber"])
@pytest.mark.each_value
def test_regressors_agree(structure, intercept, loss, products):
    X, Y, _ = draw(N, M)
    options = {
        "structure": structure,
        "alpha": 0.1,
        "fit_intercept": intercept,
        "loss": loss,
        "tol": 1e-10,
    }
    stored = OutputKernelRegressor(KERNEL, **options).fit(X, Y)
    assert not products
    blocks = OutputKernelRegressor(KERNEL, max_memory=LITTLE, **options).fit(X, Y)
    assert products
    assert blocks.certificate_.status == "optimal"
    assert_allclose(blocks.predict(X), stored.predict(X), atol=1e-4)


@pytest.mark.parametrize("loss", ["squared", "logistic", "softmax"])
def test_classifiers_agree(loss):
    X, _, _ = draw(N, M)
    y = np.arange(N) % 3
    options = {"structure": "identity", "alpha": 0.1, "loss": loss, "tol": 1e-10}
    stored = OutputKernelClassifier(KERNEL, **options).fit(X, y)
    blocks = OutputKernelClassifier(KERNEL, max_memory=LITTLE, **options).fit(X, y)
    assert_allclose(blocks.decision_function(X), stored.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("structure", ["frobenius", TraceBall(0.5)], ids=repr)
def test_outputs_of_which_some_are_sums_of_others(structure, products):
    X, Y, _ = draw(N, M)
    Y[:, 2] = Y[:, 0] - Y[:, 1]
    options = {"structure": structure, "alpha": 0.1, "tol": 1e-10}
    stored = OutputKernelRegressor(KERNEL, **options).fit(X, Y)
    blocks = OutputKernelRegressor(KERNEL, max_memory=LITTLE, **options).fit(X, Y)
    assert products
    assert blocks.certificate_.status == "optimal"
    assert_allclose(blocks.predict(X), stored.predict(X), atol=1e-4)
    assert_allclose(blocks.intercept_, stored.intercept_, atol=1e-4)


@pytest.mark.parametrize(
    "structure",
    ["frobenius", "low_rank", TraceBall(1e-2), Cluster(2), Sparse(0.5, 1e-2)],
    ids=repr,
)
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_learned_output_kernels_agree(structure, loss):
    X, Y, _ = draw(N, M)
    options = {"structure": structure, "alpha": 0.1, "loss": loss}
    stored = OutputKernelRegressor(KERNEL, **options).fit(X, Y)
    blocks = OutputKernelRegressor(KERNEL, max_memory=LITTLE, **options).fit(X, Y)
    assert blocks.certificate_.status == "optimal"
    assert_allclose(blocks.predict(X), stored.predict(X), atol=1e-2)


@pytest.mark.parametrize("structure", ["identity", "frobenius", "low_rank", Cluster(2)])
@pytest.mark.parametrize("matrices", [1.5, 0.9])  # no decomposition; no matrix
def test_the_hinge(structure, matrices):
    X, _, _ = draw(N, M)
    y = np.arange(N) % 3
    options = {"structure": structure, "alpha": 1.0, "loss": "hinge", "tol": 1e-3}
    stored = OutputKernelClassifier(KERNEL, **options).fit(X, y)
    small = matrices * MATRIX
    products = OutputKernelClassifier(KERNEL, max_memory=small, **options).fit(X, y)
    assert products.certificate_.status == "optimal"
    assert products.certificate_.primal == pytest.approx(
        stored.certificate_.primal, rel=2e-3
    )


def test_weights_and_missing_targets():
    X, Y, _ = draw(N, M)
    weights = np.random.default_rng(0).integers(0, 3, size=N)
    holed = np.where(np.random.default_rng(1).random((N, M)) < 0.2, np.nan, Y)
    for targets in (Y, holed):
        fits = [
            OutputKernelRegressor(
                KERNEL, "identity", 0.1, tol=1e-10, max_memory=max_memory
            ).fit(X, targets, sample_weight=weights)
            for max_memory in (None, LITTLE)
        ]
        stored, blocks = (model.predict(X) for model in fits)
        assert_allclose(blocks, stored, atol=1e-4)


def test_a_kernel_per_output():
    X, Y, _ = draw(N, M)
    kernel = PerOutput([Gaussian(0.3), 2 * Gaussian(0.3), Gaussian(1.0)])
    stored, blocks = (
        OutputKernelRegressor(
            kernel, "identity", 0.1, tol=1e-10, max_memory=max_memory
        ).fit(X, Y)
        for max_memory in (None, MATRIX)
    )
    assert_allclose(blocks.predict(X), stored.predict(X), atol=1e-4)


def test_paths_and_searches():
    X, Y, _ = draw(N, M)
    options = {"kernel": KERNEL, "alphas": 2, "eps": 1e-2, "tol": 1e-8}
    paths = [
        output_kernel_path(X, Y, structure=L, max_memory=max_memory, **options)
        for max_memory in (None, LITTLE)
    ]
    assert_allclose(paths[1].alphas, paths[0].alphas)
    assert_allclose(paths[1][1].predict(X), paths[0][1].predict(X), atol=1e-3)
    searches = [
        OutputKernelRegressorCV(structures=L, max_memory=max_memory, cv=3, **options)
        for max_memory in (None, LITTLE)
    ]
    stored, blocks = (search.fit(X, Y).scores_ for search in searches)
    assert_allclose(blocks, stored, atol=1e-4)
    y = np.arange(N) % 3
    search = OutputKernelClassifierCV(
        structures="identity", loss="softmax", max_memory=LITTLE, cv=2, **options
    )
    assert np.all(np.isfinite(search.fit(X, y).scores_))


def test_a_stored_matrix_that_cannot_be_decomposed():
    X, Y, _ = draw(N, M)
    options = {"alpha": 0.1, "max_memory": 2.5 * MATRIX, "tol": 1e-10}
    one = OutputKernelRegressor(KERNEL, L, **options).fit(X, Y)  # by products
    two = OutputKernelRegressor(KERNEL, L, alpha=0.1).fit(X, Y)
    assert one.n_iter_ > two.n_iter_ == 1
    assert_allclose(one.predict(X), two.predict(X), atol=1e-4)
    factorised = OutputKernelRegressor(KERNEL, "identity", **options).fit(X, Y)
    assert factorised.n_iter_ == 1


@pytest.mark.parametrize("max_memory", [LITTLE, 2.5 * MATRIX])
def test_a_solver_asked_for_that_does_not_fit(max_memory):
    X, Y, _ = draw(N, M)
    model = OutputKernelRegressor(
        KERNEL, L, solver="closed_form", max_memory=max_memory
    )
    with pytest.raises(MemoryError, match=r"'closed_form' forms 2.*solver='auto'"):
        model.fit(X, Y)


@pytest.mark.parametrize("max_memory", [0, -1.0, float("nan"), "1 GB", True])
@pytest.mark.parametrize("model", [OutputKernelRegressor(), OutputKernelRegressorCV()])
def test_limits_that_are_none(max_memory, model):
    X, Y, _ = draw(10, 2)
    with pytest.raises(ValueError, match="max_memory must be a finite number > 0"):
        model.set_params(max_memory=max_memory).fit(X, Y)


def test_less_than_a_row_is_refused_before_any_work():
    X, Y, _ = draw(N, M)
    model = OutputKernelRegressor(KERNEL, max_memory=8.5 * MATRIX / N).fit(X, Y)
    assert model.certificate_.status == "optimal"
    with pytest.raises(MemoryError, match=r"a row at a time, take 0\.0037"):
        model.set_params(max_memory=7.5 * MATRIX / N).fit(X, Y)


def test_a_linear_kernel_needs_no_matrix():
    X, Y, _ = draw(N, M)
    model = OutputKernelRegressor("linear", max_memory=MATRIX / 100).fit(X, Y)
    assert model.certificate_.status == "optimal"


@pytest.mark.parametrize("structure", ["identity", "frobenius"])
def test_many_sparse_columns_are_not_decomposed(structure):
    n, d = 1000, 700
    X = sp.random_array((n, d), density=8 / d, random_state=0, format="csr")
    Y = X @ np.random.default_rng(1).normal(size=(d, 2))
    options = {"kernel": "linear", "structure": structure, "tol": 1e-8}
    peaks, fits = [], []
    for max_memory in (None, 1.0):
        model = OutputKernelRegressor(max_memory=max_memory, **options)
        tracemalloc.start()
        fits.append(model.fit(X, Y))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert model.certificate_.status == "optimal"
    assert peaks[0] > 8 * d * (d + n)
    assert peaks[1] < peaks[0] / 2
    assert_allclose(fits[1].predict(X), fits[0].predict(X), atol=1e-2)
