"""What may come in: frames, sparse, single precision, read-only, integers, vectors."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from okl import (
    KernelAutoencoder,
    OutputKernelClassifier,
    OutputKernelExtension,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
    certify,
    output_kernel_path,
)
from okl.kernels import Columns, Gaussian, Laplacian, Linear
from okl.structures import LowRank
from tests.samples import draw, gaussian

KERNELS = [
    "rbf",
    "linear",
    "laplacian",
    "matern",
    "poly",
    "cosine",
    "rational_quadratic",
]


@pytest.fixture
def data():
    X, Y, _ = draw(20, 3)
    return X, Y


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("structure", ["identity", "frobenius", "low_rank"])
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.each_value
def test_a_vector_of_targets_gives_vectors(kernel, structure, intercept, data):
    X, Y = data
    model = OutputKernelRegressor(kernel, structure, fit_intercept=intercept)
    vector, column = clone(model).fit(X, Y[:, 0]), clone(model).fit(X, Y[:, :1])
    assert vector.dual_coef_.shape == (20,)
    assert isinstance(vector.intercept_, float)
    assert vector.predict(X[:4]).shape == (4,)
    assert vector.output_kernel_.shape == (1, 1)
    assert column.dual_coef_.shape == (20, 1)
    assert column.predict(X[:4]).shape == (4, 1)
    assert_allclose(column.predict(X)[:, 0], vector.predict(X), rtol=1e-12)
    if intercept:
        assert column.intercept_.shape == (1,)
    else:
        assert column.intercept_ == vector.intercept_ == 0.0


def test_attributes(data):
    X, Y = data
    model = OutputKernelRegressor(structure=LowRank(2), alpha=0.1).fit(X, Y)
    assert model.dual_coef_.shape == (20, 3)
    assert model.intercept_.shape == (3,)
    assert model.output_kernel_.shape == (3, 3)
    assert model.output_kernel_factor_.shape == (3, model.rank_)
    assert_allclose(
        model.output_kernel_factor_ @ model.output_kernel_factor_.T,
        model.output_kernel_,
        atol=1e-14,
    )
    assert isinstance(model.rank_, int)
    assert isinstance(model.n_iter_, int)
    assert isinstance(model.kernel_, Gaussian)
    assert isinstance(model.kernel_.gamma, float)
    assert model.structure_.rank == 2
    assert model.n_features_in_ == 3
    assert model.kernel == "rbf"
    assert not hasattr(model, "feature_names_in_")
    assert not hasattr(model, "output_names_")
    expected = gaussian(X[:5], X, model.kernel_.gamma) @ model.dual_coef_
    assert_allclose(model.predict(X[:5]), expected + model.intercept_, atol=1e-12)


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
class TestFrames:
    """Data frames keep their names."""

    def frames(self, library):
        X, Y, _ = draw(20, 3)
        return (
            library.DataFrame({"age": X[:, 0], "size": X[:, 1], "mass": X[:, 2]}),
            library.DataFrame({"north": Y[:, 0], "south": Y[:, 1], "west": Y[:, 2]}),
        )

    @pytest.mark.parametrize("cls", [OutputKernelRegressor, OutputKernelRegressorCV])
    def test_names(self, library, cls):
        X, Y = self.frames(library)
        options = {"kernel": "rbf"}
        if cls is OutputKernelRegressorCV:
            options |= {"alphas": 2, "cv": 2}
        model = cls(**options).fit(X, Y)
        assert list(model.feature_names_in_) == ["age", "size", "mass"]
        assert list(model.output_names_) == ["north", "south", "west"]
        plain = cls(**options).fit(X.to_numpy(), Y.to_numpy())
        assert_allclose(model.predict(X), plain.predict(X.to_numpy()), rtol=1e-12)
        assert type(model.predict(X)) is np.ndarray
        model.fit(X, Y.to_numpy())
        assert not hasattr(model, "output_names_")

    def test_other_columns_are_errors(self, library):
        X, Y = self.frames(library)
        model = OutputKernelRegressor().fit(X, Y)
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(
                X.rename({"age": "years"})
                if library is pl
                else X.rename(columns={"age": "years"})
            )
        with pytest.raises(ValueError, match="same order"):
            model.predict(X[["size", "age", "mass"]])
        with pytest.raises(ValueError, match="feature"):
            model.predict(X[["age", "size"]])

    def test_label_names(self, library):
        X, Y = self.frames(library)
        labels = library.DataFrame(
            {"wet": (Y.to_numpy()[:, 0] > 0) * 1, "cold": (Y.to_numpy()[:, 1] > 0) * 1}
        )
        model = OutputKernelClassifier().fit(X, labels)
        assert list(model.output_names_) == ["wet", "cold"]
        assert_array_equal(model.classes_, [0, 1])
        assert model.predict(X).shape == (20, 2)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_kernels_on_columns_by_name(make, data):
    X, Y = data
    frame = make({"age": X[:, 0], "height": X[:, 1], "weight": X[:, 2]})
    named = Columns(Gaussian(), ["weight", "age"]) + Columns(Linear(), "height")
    numbered = Columns(Gaussian(), [2, 0]) + Columns(Linear(), [1])
    expected = OutputKernelRegressor(numbered).fit(X, Y).predict(X)
    model = OutputKernelRegressor(named).fit(frame, Y)
    assert_allclose(model.predict(frame), expected, rtol=1e-12)
    assert_allclose(pickle.loads(pickle.dumps(model)).predict(frame), expected)
    assert model.kernel_.right.columns == [1]
    path = output_kernel_path(frame, Y, kernel=named, alphas=[1.0])
    assert_allclose(path[0].predict(frame), expected, rtol=1e-12)
    search = OutputKernelRegressorCV(named, alphas=[1.0], cv=2).fit(frame, Y)
    assert_allclose(search.predict(frame), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="but X has no names"):
        OutputKernelRegressor(named).fit(X, Y)
    with pytest.raises(ValueError, match=r"'weight', which is none .* 'age', 'height'"):
        OutputKernelRegressor(named).fit(make({"age": X[:, 0], "height": X[:, 1]}), Y)
    code = KernelAutoencoder(kernel=named).fit(frame)
    assert_allclose(
        code.transform(frame), KernelAutoencoder(kernel=numbered).fit_transform(X)
    )


def test_a_series_and_names_that_are_not_strings():
    X, Y, _ = draw(12, 2)
    model = OutputKernelRegressor().fit(X, pd.Series(Y[:, 0], name="north"))
    assert model.dual_coef_.shape == (12,)
    assert not hasattr(model, "output_names_")
    model.fit(X, pd.DataFrame(Y, columns=[2020, 2021]))
    assert list(model.output_names_) == ["2020", "2021"]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_array, sp.coo_array])
@pytest.mark.parametrize("structure", ["identity", "frobenius", "low_rank"])
@pytest.mark.each_value
def test_sparse_rows_equal_dense_rows(kernel, make, structure, data):
    X, Y = data
    X = X * (X > 0)
    options = {"alpha": 0.3, "tol": 1e-9}
    dense = OutputKernelRegressor(kernel, structure, **options).fit(X, Y)
    sparse = OutputKernelRegressor(kernel, structure, **options).fit(make(X), Y)
    scale = np.abs(Y).max()
    assert_allclose(sparse.predict(make(X)), dense.predict(X), atol=1e-5 * scale)
    assert_allclose(sparse.predict(X), dense.predict(X), atol=1e-5 * scale)
    assert sparse.certificate_.primal == pytest.approx(
        dense.certificate_.primal, rel=1e-8
    )


@pytest.mark.parametrize("kernel", [*KERNELS, Columns(Laplacian(), slice(0, 2))])
@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_sparse_rows_with_wide_indices(kernel, layout, data):
    # SciPy makes them where it joins and cuts arrays, and scikit-learn lets them pass
    X, Y = data
    X = X * (X > 0)
    wide = sp.coo_array(X)
    wide.coords = tuple(index.astype(np.int64) for index in wide.coords)
    wide = wide.asformat(layout)
    narrow = OutputKernelRegressor(kernel).fit(sp.csr_array(X), Y)
    model = OutputKernelRegressor(kernel).fit(wide, Y)
    assert_array_equal(model.predict(wide), narrow.predict(sp.csr_array(X)))


VARIANTS = {
    "float32": lambda A: A.astype(np.float32),
    "Fortran": np.asfortranarray,
    "strided": lambda A: np.repeat(A, 2, axis=0)[::2],
    "reversed": lambda A: A[::-1].copy()[::-1],
    "list": lambda A: A.tolist(),
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
def test_layout_and_precision_do_not_matter(variant, kernel, data):
    X, Y = data
    X = np.round(X, 2).astype(np.float32).astype(np.float64)
    Y = Y.astype(np.float32).astype(np.float64)
    if kernel == "precomputed":
        X = X @ X.T
    change = VARIANTS[variant]
    expected = OutputKernelRegressor(kernel, alpha=0.5, tol=1e-10).fit(X, Y)
    found = OutputKernelRegressor(kernel, alpha=0.5, tol=1e-10).fit(
        change(X), change(Y)
    )
    tolerance = 1e-4 if variant == "float32" else 1e-9
    assert_allclose(found.predict(change(X)), expected.predict(X), atol=tolerance)
    assert found.dual_coef_.dtype == found.predict(change(X)).dtype == np.float64


def test_integers():
    X, Y = np.arange(12).reshape(6, 2), np.arange(18).reshape(6, 3) % 5
    found = OutputKernelRegressor(alpha=0.5).fit(X, Y)
    expected = OutputKernelRegressor(alpha=0.5).fit(X.astype(float), Y.astype(float))
    assert_array_equal(found.predict(X), expected.predict(X.astype(float)))


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
@pytest.mark.parametrize("structure", ["identity", "frobenius", "low_rank"])
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_what_was_given_is_not_written_to(kernel, structure, intercept, data, tmp_path):
    X, Y = data
    X = X @ X.T if kernel == "precomputed" else X
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "Y.npy", Y)
    mapped = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "XY"]
    model = OutputKernelRegressor(kernel, structure, fit_intercept=intercept)
    from_map = clone(model).fit(*mapped).predict(mapped[0])
    before = X.copy(), Y.copy()
    assert_array_equal(clone(model).fit(X, Y).predict(X), from_map)
    assert_array_equal(X, before[0])
    assert_array_equal(Y, before[1])


def test_a_fitted_model_does_not_follow_later_changes_of_its_data(data):
    # scikit-learn's KernelRidge keeps a reference too; what must not happen is a
    # change by the model itself, so a model and its data may be shared
    X, Y = data
    model = OutputKernelRegressor("precomputed").fit(X @ X.T, Y)
    K = X @ X.T
    expected = model.predict(K)
    model.output_kernel_[...] = 0
    assert_array_equal(model.predict(K), expected)
    assert np.abs(model.output_kernel_).max() > 0


@pytest.mark.parametrize("cls", [OutputKernelRegressor, OutputKernelClassifier])
def test_pickle_clone_and_nested_parameters(cls, data):
    X, Y = data
    y = (Y[:, 0] > Y[:, 0].mean()).astype(int) if cls is OutputKernelClassifier else Y
    model = cls(kernel=Gaussian(0.3), structure=LowRank(2), alpha=0.2).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert_array_equal(copy.predict(X), model.predict(X))
    assert_array_equal(copy.output_kernel_, model.output_kernel_)
    assert copy.certificate_ == model.certificate_
    fresh = clone(model)
    assert not hasattr(fresh, "dual_coef_")
    assert fresh.structure is not model.structure
    fresh.set_params(kernel__gamma=2.0, structure__rank=1, alpha=0.5)
    assert model.kernel.gamma == 0.3
    assert model.structure.rank == 2
    fresh.fit(X, y)
    assert fresh.rank_ <= 1
    assert fresh.kernel_.gamma == 2.0
    assert set(model.get_params()) >= {"kernel__gamma", "structure__rank", "alpha"}
    with pytest.raises(ValueError, match="Invalid parameter 'ranks'"):
        fresh.set_params(structure__ranks=1)


def test_fitting_again_forgets_the_first_fit(data):
    X, Y = data
    model = OutputKernelRegressor().fit(pd.DataFrame(X).add_prefix("x"), Y)
    model.fit(X[:, :2], Y[:, 0])
    expected = OutputKernelRegressor().fit(X[:, :2], Y[:, 0])
    assert_array_equal(model.predict(X[:, :2]), expected.predict(X[:, :2]))
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 2


def test_parameters_are_not_changed_by_fit(data):
    X, Y = data
    kernel, structure = Gaussian(), LowRank(2)
    model = OutputKernelRegressor(kernel, structure).fit(X, Y)
    assert model.kernel is kernel
    assert model.structure is structure
    assert kernel.gamma == "scale"
    assert model.structure_ is not structure


def test_tuning_by_scikit_learn(data):
    X, Y = data
    pipeline = make_pipeline(
        StandardScaler(), OutputKernelRegressor(kernel=Gaussian(), structure=LowRank())
    )
    grid = {
        "outputkernelregressor__kernel__gamma": [0.1, 1.0],
        "outputkernelregressor__structure__rank": [1, None],
        "outputkernelregressor__structure": [LowRank()],
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, Y)
    assert len(search.cv_results_["params"]) == 4
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


@pytest.mark.parametrize("structure", ["identity", "frobenius", "low_rank"])
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_a_precomputed_kernel_equals_the_kernel(structure, intercept, data):
    X, Y = data
    K = gaussian(X)
    options = {"structure": structure, "alpha": 0.2, "fit_intercept": intercept}
    rbf = OutputKernelRegressor(Gaussian(0.5), **options)
    given = OutputKernelRegressor("precomputed", **options)
    assert_allclose(
        cross_val_score(given, K, Y, cv=2), cross_val_score(rbf, X, Y, cv=2), rtol=1e-7
    )
    grid = {"alpha": [0.01, 1.0]}
    searches = [
        GridSearchCV(model, grid, cv=2).fit(rows, Y)
        for model, rows in ((rbf, X), (given, K))
    ]
    assert_allclose(
        *[search.cv_results_["mean_test_score"] for search in searches], rtol=1e-7
    )
    assert given.__sklearn_tags__().input_tags.pairwise
    assert not rbf.__sklearn_tags__().input_tags.pairwise
    given.fit(K, Y)
    assert given.X_fit_ is None
    assert given.kernel_ == "precomputed"
    X_new = X[:5] + 0.1
    assert_allclose(
        given.predict(gaussian(X_new, X)), rbf.fit(X, Y).predict(X_new), atol=1e-9
    )


def test_functions_and_gaussian_process_kernels(data):
    X, Y = data
    expected = OutputKernelRegressor(Gaussian(0.5), tol=1e-10).fit(X, Y).predict(X)
    for kernel in (gaussian, RBF(1.0)):
        model = OutputKernelRegressor(kernel, tol=1e-10).fit(X, Y)
        assert_allclose(model.predict(X), expected, atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
@pytest.mark.parametrize("megabytes", [1e-4, 1e-2])
def test_prediction_in_blocks(kernel, megabytes, data):
    X, Y = data
    new = draw(50, 1, seed=4).X
    if kernel == "precomputed":
        new, X = new @ X.T, X @ X.T
    model = OutputKernelRegressor(kernel).fit(X, Y)
    expected = model.predict(new)
    with sklearn.config_context(working_memory=megabytes):
        assert_allclose(model.predict(new), expected, atol=1e-12)


def test_one_new_row_and_order_of_rows(data):
    X, Y = data
    for kernel in ("rbf", "linear"):
        model = OutputKernelRegressor(kernel).fit(X, Y)
        together = model.predict(X)
        assert_allclose(
            [model.predict(row[None])[0] for row in X], together, atol=1e-12
        )
        assert_allclose(model.predict(X[::-1]), together[::-1], atol=1e-12)


def test_a_linear_kernel_with_many_rows_needs_no_square_matrix():
    import tracemalloc

    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(4000, 5)), rng.normal(size=(4000, 3))
    for structure in ("identity", "frobenius", "low_rank"):
        tracemalloc.start()
        try:
            OutputKernelRegressor("linear", structure).fit(X, Y).predict(X)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 8 * 4000**2 / 20


def test_unfitted_models_say_so(data):
    X, _ = data
    model = OutputKernelRegressor(Linear())
    for use in (
        lambda: model.predict(X),
        lambda: model.output_kernel_,
        lambda: model.output_kernel_factor_,
        lambda: OutputKernelClassifier().decision_function(X),
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            use()
    assert not hasattr(model, "output_kernel_")


def test_a_column_of_classes_warns_as_scikit_learn_does(data):
    X, Y = data
    y = (Y[:, :1] > Y[:, :1].mean()).astype(int)
    with pytest.warns(DataConversionWarning):
        model = OutputKernelClassifier().fit(X, y)
    assert model.predict(X).shape == (20,)


@pytest.mark.parametrize("structure", ["identity", "frobenius"])
def test_a_precomputed_kernel_is_symmetric_up_to_rounding_only(structure):
    _, Y, K = draw(20, 3)
    noisy = K * (1 + 1e-7 * np.random.default_rng(0).normal(size=K.shape))
    model = OutputKernelRegressor("precomputed", structure, 0.1)
    one = model.fit(noisy, Y).dual_coef_
    assert_array_equal(one, model.fit(noisy.T, Y).dual_coef_)
    assert_allclose(one, model.fit(K, Y).dual_coef_, rtol=1e-3, atol=1e-4)


@pytest.mark.filterwarnings("error")
def test_certify_takes_data_frames_without_a_warning():
    X, Y, _ = draw(12, 2)
    frame = pd.DataFrame(X).add_prefix("column_")
    model = OutputKernelRegressor(structure="frobenius").fit(frame, pd.DataFrame(Y))
    assert certify(model, frame, pd.DataFrame(Y)).status == "optimal"
    later = OutputKernelExtension(model).fit(frame[:9], Y[:9, 0] + Y[:9, 1])
    again = certify(later, frame[:9], Y[:9, 0] + Y[:9, 1])
    assert again.status == later.certificate_.status == "optimal"


@pytest.mark.parametrize(
    ("model", "later"),
    [
        (OutputKernelRegressor(), {"alpha": 20.0, "tol": 1e-2}),
        (OutputKernelRegressor(normalize_y=False), {"normalize_y": True}),
        (OutputKernelRegressor("rbf", "identity"), {"fit_intercept": False}),
        (OutputKernelRegressor(alpha=[0.1, 1.0, 2.0]), {"alpha": 1.0}),
        (OutputKernelClassifier(), {"class_weight": "balanced", "alpha": 9.0}),
        (OutputKernelRegressorCV("rbf", alphas=3), {"normalize_y": False}),
    ],
    ids=lambda value: "" if isinstance(value, dict) else type(value).__name__,
)
def test_parameters_set_after_a_fit_are_those_of_the_next(model, later, data):
    X, Y = data
    classifies = isinstance(model, OutputKernelClassifier)
    y = Y[:, 0] > np.quantile(Y[:, 0], 0.3) if classifies else Y
    model.fit(X, y)
    before = certify(model, X, y)
    assert before.relative_gap < 1e-6
    model.set_params(**later)
    after = certify(model, X, y)
    assert (after.primal, after.dual) == (before.primal, before.dual)
    assert after.message == before.message
    # they are, once it is fitted again
    assert certify(model.fit(X, y), X, y).primal != before.primal


def test_parameters_set_after_a_fit_are_not_those_of_an_extension(data):
    X, Y = data
    model = OutputKernelRegressor(alpha=0.3).fit(X, Y[:, :2])
    expected = OutputKernelExtension(model).fit(X, Y[:, 2]).predict(X)
    model.set_params(alpha=20.0, normalize_y=False, fit_intercept=False)
    found = OutputKernelExtension(model).fit(X, Y[:, 2])
    assert_array_equal(found.predict(X), expected)
    assert found.certificate_.status == "optimal"
