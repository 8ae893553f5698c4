"""A warning where columns of X are too unlike in size for the kernel."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import RBF

from okl import (
    KernelAutoencoder,
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
    output_kernel_path,
)
from okl.kernels import (
    Average,
    Columns,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    PerOutput,
    Polynomial,
)
from tests.samples import draw

N = 20
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4)) * [1.0, 2e4, 1e-2, 0.0] + [0.0, 0.0, 0.0, 1e6]
Y = draw(N, 2).Y
LOUD = [
    "rbf",
    "laplacian",
    Matern(),
    Gaussian(0.5),
    Gaussian(0.5) + Linear(),
    3.0 * Laplacian(0.1),
    Average([Linear(), Gaussian(0.5)]),
    Columns(Gaussian(), [2, 1]),
]
QUIET = [
    "linear",
    Polynomial(),
    Gaussian([1.0, 1e-8, 1e4, 1.0]),
    Matern(length_scale=[1.0, 1e4, 1e-2, 1.0]),
    Columns(Gaussian(), [0, 2, 3]),  # constant columns do not count
    Columns(Gaussian(), 0) + Columns(Gaussian(), 1),
    RBF(1.0),
]


@pytest.mark.parametrize("kernel", LOUD, ids=repr)
def test_columns_that_do_not_count_are_named(kernel):
    with pytest.warns(UserWarning, match="Standardise X") as caught:
        OutputKernelRegressor(kernel, "identity").fit(X, Y)
    (warning,) = caught
    assert "2e+04, of the column 1, and less than" in str(warning.message).replace(
        f"{X[:, 1].std():.3g}", "2e+04"
    )
    assert f" 2 ({X[:, 2].std():.3g})" in str(warning.message)
    assert " 3 (" not in str(warning.message)
    assert warning.filename == __file__


@pytest.mark.parametrize("kernel", QUIET, ids=repr)
def test_columns_may_be_unlike_where_the_kernel_tells_them_apart(kernel):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OutputKernelRegressor(kernel, "identity").fit(X, Y)


def test_what_is_no_column_of_numbers():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OutputKernelRegressor("precomputed", "identity").fit(
            np.diag(10.0 ** X[:, 0]), Y
        )
        OutputKernelRegressor(structure="identity").fit(sp.csr_array(X), Y)
        # 900 times is not yet too much, and a row of weight zero is not there
        likely = np.column_stack([np.tile([1.0, -1.0], N // 2), X[:, 0]])
        likely[:, 1] *= 900 / X[:, 0].std()
        OutputKernelRegressor(structure="identity").fit(likely, Y)
        likely[-1] = 1e9, 0.0
        weights = np.r_[np.ones(N - 1), 0.0]
        OutputKernelRegressor(structure="identity").fit(likely, Y, weights)


@pytest.mark.parametrize(
    "fit",
    [
        lambda: OutputKernelRegressorCV("rbf", alphas=2, cv=2).fit(X, Y),
        lambda: OutputKernelClassifier().fit(X, Y[:, 0] > 0),
        lambda: OutputKernelClassifierCV("rbf", alphas=2, cv=2).fit(X, Y[:, 0] > 0),
        lambda: KernelAutoencoder(1, kernel="laplacian").fit(X),
        lambda: output_kernel_path(X, Y, alphas=2),
        lambda: OutputKernelRegressor(
            PerOutput([Gaussian(), Matern()]), "identity"
        ).fit(X, Y),
    ],
    ids=["search", "classes", "classes-search", "autoencoder", "path", "per-output"],
)
def test_every_fit_warns_once_and_points_here(fit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    (warning,) = [w for w in caught if "Standardise X" in str(w.message)]
    assert warning.filename == __file__


def test_columns_of_a_table_are_called_by_name():
    table = pd.DataFrame(X, columns=["age", "income", "ratio", "year"])
    wide = pd.concat([table, *(table[["age"]].add_prefix(i) for i in "abcdef")], axis=1)
    with pytest.warns(UserWarning, match=r"'income'.* 'ratio' \(.*\), 'age' \(") as one:
        OutputKernelRegressor(structure="identity").fit(table, Y)
    assert "more" not in str(one[0].message)
    with pytest.warns(UserWarning, match=r"'ratio'.* and 3 more\. Gaussian compares"):
        OutputKernelRegressor(structure="identity").fit(wide, Y)
