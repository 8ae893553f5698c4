"""Hyperparameters of every kernel, and derivatives by their logarithms."""

import pickle
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from okl.kernels import (
    Average,
    CallableKernel,
    Columns,
    Constant,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    PerOutput,
    Polynomial,
    RationalQuadratic,
    per_feature,
)
from okl.kernels import differentiable as blocks

from .instances import INSTANCES

each = pytest.mark.parametrize(
    "instance", INSTANCES, ids=[instance.label for instance in INSTANCES]
)
LEARNED = [
    instance
    for instance in INSTANCES
    if instance.kernel.resolve(instance.make_X(1)).hyperparameters(instance.make_X(1))
]
each_learned = pytest.mark.parametrize(
    "instance", LEARNED, ids=[instance.label for instance in LEARNED]
)

ARD = np.array([0.2, 1.5, 0.7, 0.05])
OF_DIFFERENCES = [
    Gaussian(ARD),
    Laplacian(ARD),
    Matern(ARD, 0.5),
    Matern(ARD, 2.5),
    RationalQuadratic(ARD, 0.6),
    Periodic(10 * ARD, 20 * ARD),
]
# Every kernel that takes a value for each feature.
OF_FEATURES = [*OF_DIFFERENCES, Polynomial(3, ARD, 0.5), Linear(scales=ARD)]


@pytest.fixture
def in_blocks(monkeypatch):
    """What sets the number of rows that are taken at a time."""

    def set_rows(n_rows):
        monkeypatch.setattr(blocks, "BLOCK_ENTRIES", 0)
        monkeypatch.setattr(blocks, "BLOCK_ROWS", n_rows)

    return set_rows


def setting(instance):
    """The resolved kernel, rows, other rows, and weights of their matrices."""
    X, Z = instance.make_X(1), instance.make_X(2)[:6]
    rng = np.random.default_rng(4)
    square, wide = rng.normal(size=(len(X), len(X))), rng.normal(size=(len(X), 6))
    return instance.kernel.resolve(X), X, Z, square, wide


def by_differences(kernel, X, value, step=1e-4):
    """The derivative of value(kernel) by the log of each parameter, to fourth order."""
    result = {}
    for name, current in ((one.name, one.value) for one in kernel.hyperparameters(X)):
        slopes = np.zeros(np.size(current))
        for k in range(slopes.size):
            direction = np.zeros(slopes.size)
            direction[k] = 1.0
            direction = direction.reshape(np.shape(current))

            def at(t, name=name, current=current, direction=direction):
                moved = current * np.exp(t * direction)
                return value(clone(kernel).set_params(**{name: moved[()]}))

            wide, narrow = at(2 * step) - at(-2 * step), at(step) - at(-step)
            slopes[k] = (8 * narrow - wide) / (12 * step)
        result[name] = slopes.reshape(np.shape(current))
    return result


def agree(found, expected, scale):
    """To 1e-6 of the derivative; the differences round at 1e-16 / 1e-4 of the sum."""
    assert found.keys() == expected.keys()
    for name, value in found.items():
        assert np.shape(value) == np.shape(expected[name])
        assert_allclose(value, expected[name], rtol=1e-6, atol=1e-10 * scale)


@each_learned
def test_gradient_is_the_limit_of_differences(instance):
    kernel, X, Z, square, wide = setting(instance)
    scale = np.abs(kernel(X)).sum()

    def of_square(kernel):
        return np.vdot(square, kernel(X))

    def of_wide(kernel):
        return np.vdot(wide, kernel(X, Z))

    agree(kernel.gradient(X, square), by_differences(kernel, X, of_square), scale)
    agree(kernel.gradient(X, wide, Z=Z), by_differences(kernel, X, of_wide), scale)


@each
def test_names_and_shapes_are_those_of_the_hyperparameters(instance):
    kernel, X, Z, square, wide = setting(instance)
    values = {one.name: one.value for one in kernel.hyperparameters(X)}
    for found in (kernel.gradient(X, square), kernel.gradient(X, wide, Z=Z)):
        assert found.keys() == values.keys()
        for name, value in values.items():
            assert np.shape(found[name]) == np.shape(value)
    # what is listed can be set, and setting it changes nothing
    same = clone(kernel).set_params(**values)
    assert_allclose(same(X, Z), kernel(X, Z), rtol=1e-14)


@each
def test_every_number_that_is_a_parameter_is_listed(instance):
    kernel, X, *_ = setting(instance)
    listed = {one.name for one in kernel.hyperparameters(X)}
    words = ("gamma", "length_scale", "alpha", "periodicity", "scales", "value")
    expected = {
        name
        for name, value in kernel.get_params().items()
        if name.split("__")[-1] in (*words, "coef0")
        and "function" not in name
        and value is not None
        and np.all(np.asarray(value) > 0)
    }
    assert {name for name in listed if "weights" not in name} == expected


@each_learned
def test_thin_factors_and_blocks_are_the_full_weights(instance, in_blocks):
    kernel, X, Z, _, _ = setting(instance)
    rng = np.random.default_rng(5)
    for n_rows in (100, 3):
        for q in (1, 30):
            left, right = rng.normal(size=(len(X), q)), rng.normal(size=(len(Z), q))
            in_blocks(100)
            full = kernel.gradient(X, left @ right.T, Z=Z)
            in_blocks(n_rows)
            thin = kernel.gradient(X, left, right, Z=Z)
            assert thin.keys() == full.keys()
            scale = np.abs(left @ right.T).sum()
            for name, value in full.items():
                assert_allclose(thin[name], value, rtol=1e-10, atol=1e-12 * scale)


@each_learned
def test_rows_as_columns_are_the_square_matrix(instance, in_blocks):
    kernel, X, _, square, _ = setting(instance)
    found = kernel.gradient(X, square)
    again = kernel.gradient(X, square, Z=X.copy())
    in_blocks(2)
    in_pieces = kernel.gradient(X, square)
    for name, value in found.items():
        assert_allclose(again[name], value, rtol=1e-10, atol=1e-10)
        assert_allclose(in_pieces[name], value, rtol=1e-10, atol=1e-10)


@each
def test_value_and_pullback(instance):
    kernel, X, Z, square, wide = setting(instance)
    for W, rows in ((square, None), (wide, Z)):
        before = W.copy()
        K, pullback = kernel.value_and_pullback(X, rows)
        assert_allclose(K, kernel(X, rows), rtol=1e-14, atol=1e-14)
        # as often as one likes, and linear in the weights
        first, twice = pullback(W), pullback(-2.0 * W)
        assert_array_equal(W, before)
        assert first.keys() == twice.keys()
        for name, value in first.items():
            assert_allclose(twice[name], -2.0 * np.asarray(value), rtol=1e-9, atol=1e-9)
    K, _ = kernel.value_and_pullback(X)
    assert_array_equal(K, K.T)


@pytest.mark.parametrize(
    "instance",
    [instance for instance in LEARNED if instance.takes_sparse],
    ids=lambda instance: instance.label,
)
def test_sparse_rows_have_the_same_gradient(instance):
    kernel, X, Z, square, wide = setting(instance)
    S, T = sparse.csr_array(X), sparse.csr_array(Z)
    for found, expected in (
        (kernel.gradient(S, square), kernel.gradient(X, square)),
        (kernel.gradient(S, wide, Z=T), kernel.gradient(X, wide, Z=Z)),
    ):
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            assert_allclose(found[name], value, rtol=1e-9, atol=1e-10)
    for one, other in zip(
        kernel.hyperparameters(S), kernel.hyperparameters(X), strict=True
    ):
        assert_allclose(one.bounds, other.bounds, rtol=1e-12)


def test_sparse_rows_in_blocks(in_blocks):
    X, W = np.eye(6), np.arange(36.0).reshape(6, 6)
    expected = Gaussian(0.3).gradient(X, W)["gamma"]
    in_blocks(2)
    found = Gaussian(0.3).gradient(sparse.coo_array(X), W)["gamma"]
    assert found == pytest.approx(expected)


def test_sparse_rows_that_have_no_gradient():
    with pytest.raises(TypeError, match=r"Periodic takes dense X only.*X\.toarray\(\)"):
        Periodic().gradient(sparse.csr_array(np.eye(3)), np.eye(3))


@pytest.mark.parametrize("kernel", OF_FEATURES, ids=repr)
def test_permuted_features_permute_the_gradient(kernel):
    rng = np.random.default_rng(2)
    X, Z, W = rng.normal(size=(9, 4)), rng.normal(size=(5, 4)), rng.normal(size=(9, 5))
    order = np.array([2, 0, 3, 1])
    params = kernel.get_params()
    moved = {key: v[order] for key, v in params.items() if np.ndim(v)}
    permuted = clone(kernel).set_params(**moved)
    found = permuted.gradient(X[:, order], W, Z=Z[:, order])
    for name, value in kernel.gradient(X, W, Z=Z).items():
        expected = value[order] if np.ndim(value) else value
        assert_allclose(found[name], expected, rtol=1e-10)


@pytest.mark.parametrize("kernel", OF_FEATURES, ids=repr)
def test_one_number_for_all_features_has_the_sum_of_the_derivatives(kernel):
    rng = np.random.default_rng(2)
    X, W = rng.normal(size=(9, 4)), rng.normal(size=(9, 9))
    numbers = {key: 0.3 for key, v in kernel.get_params().items() if np.ndim(v)}
    one = clone(kernel).set_params(**numbers)
    each_one = per_feature(one, X)
    assert_allclose(each_one(X), one(X), rtol=1e-12)
    found = each_one.gradient(X, W)
    for name, value in one.gradient(X, W).items():
        assert np.shape(found[name]) == ((4,) if name in numbers else ())
        assert np.sum(found[name]) == pytest.approx(value, rel=1e-9)


def test_per_feature_goes_into_all_parts():
    X = np.random.default_rng(0).normal(size=(6, 3))
    kernel = Average([3 * Matern(2.0), Columns(Gaussian(0.5), [0, 2])]) + Linear()
    found = per_feature(kernel, X)
    assert_array_equal(found.left.kernels[0].right.length_scale, [2.0, 2.0, 2.0])
    assert_array_equal(found.left.kernels[1].kernel.gamma, [0.5, 0.5])
    assert kernel.left.kernels[0].right.length_scale == 2.0
    assert repr(per_feature(found, X)) == repr(found)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_matern_has_no_derivative_between_equal_rows(nu):
    X = np.array([[0.3, -1.0], [0.3, -1.0], [2.0, 5.0]])
    only_pair = np.zeros((3, 3))
    only_pair[0, 1] = 1.0
    found = Matern([1.0, 0.2], nu).gradient(X, only_pair)["length_scale"]
    assert_allclose(found, 0.0, atol=1e-14)


@pytest.mark.parametrize("distance", [1e-5, 1e-7, 1e-10])
def test_matern_between_nearly_equal_rows(distance):
    # 1 / r is large there, and must not blow up the rounding of squares
    X = np.array([[1e2, 1e2], [1e2 + distance, 1e2], [0.0, 0.0]])
    only_pair = np.zeros((3, 3))
    only_pair[0, 1] = 1.0
    found = Matern([1.0, 1.0], 0.5).gradient(X, only_pair)["length_scale"]
    assert_allclose(found, [distance, 0.0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("kernel", OF_DIFFERENCES, ids=repr)
def test_a_large_offset_of_the_rows_does_not_matter(kernel):
    rng = np.random.default_rng(2)
    X, W = np.round(rng.normal(size=(9, 4)), 3), rng.normal(size=(9, 9))
    expected = kernel.gradient(X, W)
    for name, value in kernel.gradient(X + 2.0**20, W).items():
        assert_allclose(value, expected[name], rtol=1e-6)


def test_zeros_are_not_learned():
    X = np.eye(4)[:, :3]
    assert Constant(0).hyperparameters(X) == []
    assert Constant(0).gradient(X, np.ones((4, 4))) == {}
    kernel = Average([Gaussian(0.1), Constant(1)], [2, 0])
    names = [one.name for one in kernel.hyperparameters(X)]
    assert names == ["kernels__0__gamma", "kernels__1__value"]
    assert kernel.gradient(X, np.ones((4, 4)))["kernels__1__value"] == 0.0
    assert [one.name for one in Polynomial(2, 1.0, 0).hyperparameters(X)] == ["gamma"]


def test_weights_of_an_average_that_are_equal_can_be_learned():
    X = np.eye(4)[:, :3]
    by_name = {o.name: o for o in Average([Linear()] * 3).hyperparameters(X)}
    assert_array_equal(by_name["weights"].value, np.ones(3))


def test_a_kernel_per_output_has_those_of_each_of_its_columns():
    kernel = PerOutput([Gaussian(1.0), 2.0 * Gaussian(0.5)])
    X = np.random.default_rng(0).normal(size=(6, 2))
    left, right = np.random.default_rng(1).normal(size=(2, 6, 4))
    found = kernel.gradient(X, left, right)
    assert [one.name for one in kernel.hyperparameters(X)] == list(found)
    for j, one in enumerate(kernel.kernels):
        own = one.gradient(X, left[:, [j, j + 2]], right[:, [j, j + 2]])
        for name, value in own.items():
            assert found[f"kernels__{j}__{name}"] == pytest.approx(value)
    with pytest.raises(ValueError, match=r"2 columns, .* shape is \(6, 3\)"):
        kernel.gradient(X, left[:, :3], right[:, :3])


def test_white_noise_is_seen_in_the_square_matrix_only(in_blocks):
    from sklearn.gaussian_process.kernels import WhiteKernel

    X, W = np.eye(7), np.arange(49.0).reshape(7, 7)
    kernel = 3.0 * CallableKernel(WhiteKernel(2.0))
    in_blocks(2)
    assert kernel.gradient(X, W)["left__value"] == pytest.approx(6.0 * np.trace(W))
    assert kernel.gradient(X, W, Z=X)["left__value"] == 0.0


@pytest.mark.parametrize("kernel", [Gaussian(), Matern("scale"), 2 * Laplacian()])
def test_an_unresolved_kernel_says_so(kernel):
    X = np.eye(3)
    with pytest.raises(ValueError, match=r"='scale' of .* depends on .*resolve\(X\)"):
        kernel.hyperparameters(X)
    with pytest.raises(ValueError, match=r"='scale' of .* depends on .*resolve\(X\)"):
        kernel.gradient(X, X)


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        (np.ones((4, 3)), None, r"must have the shape \(4, 5\) .* got \(4, 3\)"),
        (np.ones(4), None, r"must have the shape \(4, 5\) .* got \(4,\)"),
        (np.ones((4, 2)), np.ones((5, 3)), r"shapes \(4, q\) and \(5, q\).*\(5, 3\)"),
        (np.ones((4, 2)), np.ones((4, 2)), r"shapes \(4, q\) and \(5, q\).*\(4, 2\)"),
        (np.ones(4), np.ones(5), r"shapes \(4, q\) and \(5, q\).*\(5,\)"),
    ],
)
def test_weights_of_another_shape(left, right, message):
    X, Z = np.zeros((4, 2)), np.zeros((5, 2))
    with pytest.raises(ValueError, match=message):
        Gaussian(1.0).gradient(X, left, right, Z=Z)


def test_priors_are_around_the_scale_of_the_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3)) * [1.0, 10.0, 0.1]
    v = X.var(axis=0)
    for kernel, name, typical in (
        (Gaussian(np.ones(3)), "gamma", 1 / (3 * v)),
        (Laplacian(np.ones(3)), "gamma", 1 / (3 * v**0.5)),
        (Matern(np.ones(3)), "length_scale", (3 * v) ** 0.5),
        (Gaussian(1.0), "gamma", 1 / (3 * v.mean())),
        (Linear(scales=np.ones(3)), "scales", 1 / (3 * v)),
    ):
        (one,) = kernel.hyperparameters(X)
        assert one.name == name
        assert_allclose(np.exp(one.prior.mean), typical)
        assert_allclose(one.prior.gradient(np.log(typical)), 0.0, atol=1e-12)
        low, high = one.bounds
        assert np.all((low < typical) & (typical < high))
        assert np.all((low < one.value) & (one.value < high))
    resolved = Gaussian().resolve(X[:, :1])
    (one,) = resolved.hyperparameters(X[:, :1])
    assert np.exp(one.prior.mean) == pytest.approx(resolved.gamma)


@pytest.mark.parametrize("to_rows", [np.asarray, sparse.csr_array])
def test_a_column_that_is_constant_has_a_prior(to_rows):
    X = to_rows(np.array([[0.0, 1.0], [0.0, 3.0]]))
    (one,) = Gaussian([1.0, 1.0]).hyperparameters(X)
    assert_allclose(np.exp(one.prior.mean), [1.0, 0.5])
    (one,) = Gaussian(1.0).hyperparameters(to_rows(np.zeros((3, 2))))
    assert np.exp(one.prior.mean) == 0.5


def test_rows_count_in_the_priors_as_often_as_they_weigh():
    X = np.random.default_rng(0).normal(size=(6, 2))
    counts = np.arange(6)
    (weighted,) = Gaussian([1.0, 2.0]).hyperparameters(X, counts.astype(float))
    repeated = np.repeat(X, counts, axis=0)
    (expected,) = Gaussian([1.0, 2.0]).hyperparameters(repeated)
    assert_allclose(weighted.prior.mean, expected.prior.mean)


@each
def test_hyperparameters_can_be_pickled(instance):
    kernel, X, *_ = setting(instance)
    for one in pickle.loads(pickle.dumps(kernel.hyperparameters(X))):
        assert np.all(np.asarray(one.bounds[0]) < np.asarray(one.bounds[1]))


@pytest.mark.parametrize("thin", [True, False])
@pytest.mark.parametrize(
    "kernel",
    [*OF_FEATURES, Constant(0.5) * Linear() + 2 * Gaussian(ARD)],
    ids=lambda value: type(value).__name__,
)
def test_no_matrix_for_each_parameter(kernel, thin, in_blocks):
    values = {k: np.full(30, 0.1) for k, v in kernel.get_params().items() if np.ndim(v)}
    kernel = clone(kernel).set_params(**values)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 30))
    left = rng.normal(size=(400, 5 if thin else 400))
    right = rng.normal(size=(400, 5)) if thin else None
    matrix = 400 * 400 * 8

    def peak():
        tracemalloc.start()
        kernel.gradient(X, left, right)
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return highest

    kernel.gradient(X, left, right)
    assert peak() <= (10 if "left" in repr(kernel) else 6) * matrix
    in_blocks(20)
    assert peak() <= matrix
