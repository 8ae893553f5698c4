"""A path is the single fits at its alphas."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from okl import OutputKernelPath, OutputKernelRegressor, output_kernel_path
from okl.kernels import Gaussian
from okl.structures import Fixed
from tests.instances import STRUCTURES
from tests.samples import alpha_max, centered, draw, psd

each = pytest.mark.parametrize("case", STRUCTURES, ids=lambda case: case.label)


# one parameter, as there are many fits: each of its values is enough
@each
@pytest.mark.parametrize(
    "setting",
    [(False, 4), (True, 25), (False, 25), (True, 4)],
    ids=["no-b-4", "b-25", "no-b-25", "b-4"],
)
def test_every_point_is_the_single_fit(case, setting):
    intercept, m = setting
    X, Y, _ = draw(15, m)
    structure = case.make(m)
    path = output_kernel_path(
        X, Y, structure=structure, fit_intercept=intercept, alphas=4, eps=1e-3, tol=1e-9
    )
    assert isinstance(path, OutputKernelPath)
    assert len(path) == len(path.alphas) == len(path.certificates) == 4
    for i, alpha in enumerate(path.alphas):
        model = path[i]
        assert isinstance(model, OutputKernelRegressor)
        assert model.alpha == alpha
        assert model.certificate_ == path.certificates[i]
        if case.label == "low-rank-2" and model.certificate_.status != "optimal":
            continue  # not convex: a cold start may end elsewhere
        single = OutputKernelRegressor(
            structure=structure, alpha=alpha, fit_intercept=intercept, tol=1e-9
        ).fit(X, Y)
        assert model.certificate_.primal == pytest.approx(
            single.certificate_.primal, rel=1e-8
        )
        scale = np.abs(Y).max()
        assert_allclose(model.predict(X), single.predict(X), atol=1e-4 * scale)
        L = single.output_kernel_
        assert_allclose(model.output_kernel_, L, atol=1e-3 * max(np.abs(L).max(), 1e-9))


def test_it_is_a_sequence():
    X, Y, _ = draw(12, 3)
    path = output_kernel_path(X, Y, alphas=5)
    assert_array_equal(path[-1].dual_coef_, path[4].dual_coef_)
    assert [model.alpha for model in path] == list(path.alphas)
    assert [model.alpha for model in path[1:4:2]] == [path.alphas[1], path.alphas[3]]
    assert path[np.int64(2)].alpha == path.alphas[2]
    assert [model.alpha for model in reversed(path)] == list(path.alphas[::-1])
    for outside in (5, -6):
        with pytest.raises(IndexError):
            path[outside]


def test_models_of_a_path_are_independent():
    X, Y, _ = draw(12, 3)
    path = output_kernel_path(X, Y, alphas=3)
    one = path[0]
    before = path[1].predict(X)
    one.set_params(alpha=99.0).fit(X, -Y)
    assert_array_equal(path[1].predict(X), before)
    assert path[0].alpha == path.alphas[0]


@pytest.mark.parametrize("one_dimensional", [False, True])
def test_names_and_shapes(one_dimensional):
    X, Y, _ = draw(12, 2)
    X, Y = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(Y, columns=["u", "v"])
    path = output_kernel_path(X, Y["u"] if one_dimensional else Y, alphas=3)
    for model in path:
        assert list(model.feature_names_in_) == list("abc")
        if one_dimensional:
            assert model.predict(X).shape == (12,)
            assert isinstance(model.intercept_, float)
        else:
            assert list(model.output_names_) == ["u", "v"]
            assert model.predict(X).shape == (12, 2)
        with pytest.raises(ValueError, match="feature names"):
            model.predict(X.rename(columns={"a": "z"}))


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_the_largest_alpha(intercept):
    X, Y, K = draw(12, 4)
    Kc, _ = centered(K, Y) if intercept else (K, Y)
    L = psd(4, 3)
    expected = {
        "frobenius": alpha_max(K, Y, intercept),
        "low_rank": alpha_max(K, Y, intercept),
        "identity": np.linalg.norm(Kc, 2),
        Fixed(L): np.linalg.norm(Kc, 2) * np.linalg.norm(L, 2),
    }
    for structure, largest in expected.items():
        path = output_kernel_path(
            X,
            Y,
            kernel=Gaussian(0.5),
            structure=structure,
            fit_intercept=intercept,
            alphas=4,
            eps=1e-2,
            normalize_y=False,
        )
        assert_allclose(path.alphas, largest * np.geomspace(1, 1e-2, 4), rtol=1e-10)


def test_given_alphas_are_sorted_and_kept():
    X, Y, _ = draw(12, 3)
    given = [0.1, 10.0, 1.0, 0.1]
    for alphas in (given, tuple(given), np.array(given)):
        path = output_kernel_path(X, Y, alphas=alphas)
        assert_array_equal(path.alphas, [10.0, 1.0, 0.1, 0.1])
    assert_array_equal(given, [0.1, 10.0, 1.0, 0.1])
    assert_array_equal(output_kernel_path(X, Y, alphas=[3]).alphas, [3.0])
    assert len(output_kernel_path(X, Y, alphas=1)) == 1
    assert len(output_kernel_path(X, Y, alphas=np.int64(2))) == 2


def test_precomputed_and_sparse_rows():
    X, Y, K = draw(12, 3)
    expected = output_kernel_path(X, Y, kernel=Gaussian(0.5), alphas=3)
    given = output_kernel_path(K, Y, kernel="precomputed", alphas=3)
    sparse = output_kernel_path(sp.csr_matrix(X), Y, kernel=Gaussian(0.5), alphas=3)
    for one, two, three in zip(expected, given, sparse, strict=True):
        assert_allclose(two.predict(K), one.predict(X), atol=1e-7)
        assert_allclose(three.predict(X), one.predict(X), atol=1e-7)


def test_the_worst_point_is_warned_of_once():
    X, Y, _ = draw(20, 4)
    with pytest.warns(ConvergenceWarning) as caught:
        path = output_kernel_path(X, Y, alphas=8, max_iter=1)
    worst = max(c.relative_gap for c in path.certificates)
    (warning,) = caught
    assert f"{worst:.2g}" in str(warning.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        output_kernel_path(X, Y, alphas=8)


def test_warnings_point_at_the_caller():
    # through the frame that scikit-learn's callbacks put around fit
    X, Y, _ = draw(20, 4)
    model = OutputKernelRegressor(alpha=1e-3, max_iter=1)
    with pytest.warns(ConvergenceWarning) as of_fit:
        model.fit(X, Y)
    with pytest.warns(ConvergenceWarning) as of_path:
        output_kernel_path(X, Y, alphas=3, max_iter=1)
    assert [warning.filename for warning in of_fit] == [__file__]
    assert [warning.filename for warning in of_path] == [__file__]


def test_pickling():
    X, Y, _ = draw(12, 3)
    path = output_kernel_path(X, Y, alphas=3)
    copy = pickle.loads(pickle.dumps(path))
    assert_array_equal(copy[1].predict(X), path[1].predict(X))
    assert path in {path}
    assert copy != path


def test_what_is_kept_is_small():
    X, Y, _ = draw(10, 1)
    Y = np.random.default_rng(0).normal(size=(10, 3000))
    path = output_kernel_path(X, Y, structure="low_rank", alphas=10)
    size = len(pickle.dumps(path))
    assert size < 10 * Y.nbytes


def test_the_alphas_of_the_models_stay():
    X, Y, _ = draw(9, 2)
    path = output_kernel_path(X, Y, alphas=3)
    with pytest.raises(ValueError, match="read-only"):
        path.alphas[0] = 1.0
