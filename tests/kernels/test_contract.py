"""What every kernel must do, run on every instance."""

import pickle
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from .instances import INSTANCES

each = pytest.mark.parametrize(
    "instance", INSTANCES, ids=[instance.label for instance in INSTANCES]
)
each_sparse = pytest.mark.parametrize(
    "instance",
    [instance for instance in INSTANCES if instance.takes_sparse],
    ids=[instance.label for instance in INSTANCES if instance.takes_sparse],
)


def resolved(instance):
    X, Z = instance.make_X(1), instance.make_X(2)[:6]
    return instance.kernel.resolve(X), X, Z


@each
def test_matrix_is_fresh_float64_and_finite(instance):
    kernel, X, Z = resolved(instance)
    before, copy = kernel(X, Z), X.copy()
    K = kernel(X, Z)
    assert type(K) is np.ndarray
    assert K.dtype == np.float64
    assert K.shape == (len(X), len(Z))
    assert np.isfinite(K).all()
    K[...] = -1  # the caller may write into the result
    assert_array_equal(kernel(X, Z), before)
    assert_array_equal(X, copy)


@each
def test_symmetric_and_positive_semi_definite(instance):
    kernel, X, _ = resolved(instance)
    K = kernel(X)
    assert_array_equal(K, K.T)
    eigenvalues = np.linalg.eigvalsh(K)
    assert eigenvalues[-1] > 0
    assert eigenvalues[0] >= -1e-10 * eigenvalues[-1]


@each
def test_entry_depends_on_its_two_rows_only(instance):
    kernel, X, Z = resolved(instance)
    one_by_one = [
        [kernel(X[[i]], Z[[j]]).item() for j in range(len(Z))] for i in range(len(X))
    ]
    assert_allclose(kernel(X, Z), one_by_one, rtol=1e-12, atol=1e-12)


@each
def test_rectangular_is_block_of_square(instance):
    kernel, X, Z = resolved(instance)
    square = kernel(np.vstack([X, Z]))
    n = len(X)
    assert_allclose(kernel(X, Z), square[:n, n:], rtol=1e-12, atol=1e-12)
    assert_allclose(kernel(X), square[:n, :n], rtol=1e-12, atol=1e-12)
    assert_allclose(kernel(X, X.copy()), square[:n, :n], rtol=1e-12, atol=1e-12)


@each
def test_diagonal(instance):
    kernel, X, _ = resolved(instance)
    diagonal = kernel.diagonal(X)
    assert diagonal.shape == (len(X),)
    assert diagonal.dtype == np.float64
    assert_allclose(diagonal, np.diagonal(kernel(X)), rtol=1e-12)


@each
def test_features_explain_the_matrix(instance):
    kernel, X, _ = resolved(instance)
    Phi = kernel.features(X)
    if repr(kernel) == "Linear()":
        assert Phi is X
    if Phi is not None:
        assert_allclose(Phi @ Phi.T, kernel(X), atol=1e-12)


@each
def test_only_what_users_supply_may_fail_to_be_psd(instance):
    kernel, _, _ = resolved(instance)
    supplied = any(name in repr(kernel) for name in ("Gram(", "CallableKernel("))
    assert instance.kernel.is_psd is kernel.is_psd is not supplied


@each
def test_resolve_is_idempotent_and_leaves_the_kernel_alone(instance):
    before = repr(instance.kernel)
    kernel, X, Z = resolved(instance)
    assert repr(instance.kernel) == before
    assert kernel is not instance.kernel
    assert type(kernel) is type(instance.kernel)
    again = kernel.resolve(Z)
    assert repr(again) == repr(kernel)
    assert_array_equal(again(X, Z), kernel(X, Z))


@each
def test_clone_and_pickle_give_the_same_function(instance):
    kernel, X, Z = resolved(instance)
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
        assert copy is not kernel
        assert repr(copy) == repr(kernel)
        assert copy.get_params().keys() == kernel.get_params().keys()
        assert_array_equal(copy(X, Z), kernel(X, Z))
    # Also before the data are known.
    assert repr(clone(instance.kernel)) == repr(instance.kernel)


@each
def test_every_parameter_can_be_set_by_its_deep_name(instance):
    kernel = clone(instance.kernel)
    params = kernel.get_params(deep=True)
    for key, value in params.items():
        kernel.set_params(**{key: value})
        assert kernel.get_params(deep=True)[key] is value
    assert repr(kernel) == repr(instance.kernel)
    with pytest.raises(ValueError, match="Invalid parameter 'nonsense'"):
        kernel.set_params(nonsense=1)


@each
def test_repr_starts_with_the_class(instance):
    assert repr(instance.kernel).startswith(type(instance.kernel).__name__ + "(")


@each_sparse
@pytest.mark.parametrize(
    "to_sparse", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array]
)
def test_sparse_equals_dense(instance, to_sparse):
    X, Z = instance.make_X(1), instance.make_X(2)[:6]
    S, T = to_sparse(X), to_sparse(Z)
    dense = instance.kernel.resolve(X)
    kernel = instance.kernel.resolve(S)
    K = kernel(S)
    assert type(K) is np.ndarray
    assert_array_equal(K, K.T)
    assert_allclose(K, dense(X), rtol=1e-12, atol=1e-12)
    assert_allclose(kernel(S, T), dense(X, Z), rtol=1e-12, atol=1e-12)
    assert_allclose(kernel(X, T), dense(X, Z), rtol=1e-12, atol=1e-12)
    assert_allclose(kernel(S, Z), dense(X, Z), rtol=1e-12, atol=1e-12)
    assert_allclose(kernel.diagonal(S), dense.diagonal(X), rtol=1e-12)


@each_sparse
def test_sparse_rows_may_have_unsorted_indices(instance):
    X = instance.make_X(1)
    S = sparse.csr_array(X)
    for start, stop in zip(S.indptr[:-1], S.indptr[1:], strict=True):
        S.indices[start:stop] = S.indices[start:stop][::-1].copy()
        S.data[start:stop] = S.data[start:stop][::-1].copy()
    S.has_sorted_indices = False
    assert_array_equal(S.toarray(), X)
    kernel = instance.kernel.resolve(X)
    assert_allclose(kernel(S), kernel(X), rtol=1e-12, atol=1e-12)


@each
def test_integers_and_single_precision_are_read_as_float64(instance):
    kernel, X, _ = resolved(instance)
    X = np.round(X)
    K = kernel(X)
    for other in (X.astype(int), X.astype(np.float32)):
        assert kernel(other).dtype == np.float64
        assert_allclose(kernel(other), K, rtol=1e-6)


@pytest.mark.parametrize(
    "instance",
    [
        instance
        for instance in INSTANCES
        if type(instance.kernel).__name__
        in {
            "Constant",
            "Cosine",
            "Gaussian",
            "Laplacian",
            "Linear",
            "Matern",
            "Periodic",
            "Polynomial",
            "RationalQuadratic",
        }
    ],
    ids=lambda instance: instance.label,
)
def test_at_most_one_matrix_beside_the_result(instance):
    kernel = instance.kernel.resolve(instance.make_X(1))
    X = np.random.default_rng(0).normal(size=(600, 3))
    kernel(X[:5])  # whatever is allocated once
    tracemalloc.start()
    K = kernel(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert K.nbytes <= peak <= 2.2 * K.nbytes
