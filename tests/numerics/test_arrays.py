"""What the solvers ask of any array library, where the libraries differ."""

import sys
from types import SimpleNamespace

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from okl.numerics import arrays
from okl.numerics.arrays import cholesky, definite_solver, namespace
from tests.samples import psd

# definite, but for rounding: what is inverted as it is loses its sign
NEARLY_SINGULAR = (
    np.vander(np.linspace(0, 1, 12), 12) @ np.vander(np.linspace(0, 1, 12), 12).T
)


class TestArray:
    """LAPACK's options and the standard's functions do the same."""

    @pytest.mark.parametrize("n", [1, 7, 513])
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_eigh(self, n, order):
        A = np.array(psd(n, rank=min(n, 20)), order=order)
        before = A.copy()
        values, vectors = arrays.eigh(A)
        assert_array_equal(A, before)
        assert np.all(np.diff(values) >= 0)
        assert_allclose((vectors * values) @ vectors.T, A, atol=1e-12)
        again, _ = arrays.eigh(A.copy(order=order), overwrite=True)
        assert_allclose(again, values, atol=1e-12)
        other, _ = arrays.eigh(strict.asarray(A))
        assert_allclose(np.asarray(other), values, atol=1e-12)

    def test_column_inner(self):
        left, right = np.random.default_rng(0).normal(size=(2, 7, 3))
        expected = np.diag(left.T @ right)
        assert_allclose(arrays.column_inner(left, right), expected, atol=1e-12)
        there = arrays.column_inner(strict.asarray(left), strict.asarray(right))
        assert_allclose(np.asarray(there), expected, atol=1e-12)

    @pytest.mark.parametrize("order", ["C", "F"])
    def test_solve_definite(self, order):
        A = np.array(psd(6) + np.eye(6), order=order)
        right = np.ones((6, 2))
        found = arrays.solve_definite(A.copy(order=order), right)
        assert_allclose(A @ found, right, atol=1e-12)
        there = arrays.solve_definite(strict.asarray(A), strict.asarray(right))
        assert_allclose(np.asarray(there), found, atol=1e-12)
        with pytest.raises(np.linalg.LinAlgError):
            arrays.solve_definite(-A, right)

    @pytest.mark.parametrize("sign", [1, -1], ids=["definite", "not"])
    def test_definite_solver(self, sign):
        A, right = sign * (psd(6) + np.eye(6)), np.ones((6, 2))
        solve = arrays.definite_solver(A.copy())
        for _ in range(2):
            assert_allclose(A @ solve(right), right, atol=1e-12)
        there = arrays.definite_solver(strict.asarray(A))(strict.asarray(right))
        assert_allclose(np.asarray(there), solve(right), atol=1e-12)

    @pytest.mark.parametrize("shift", [2.0, np.arange(1.0, 7.0)], ids=["one", "each"])
    def test_shifted_solver(self, shift):
        A, right = psd(6, rank=2), np.ones((6, 2))
        solve = arrays.shifted_solver(A.copy(), shift)
        assert_allclose((A + shift * np.eye(6)) @ solve(right), right, atol=1e-12)

    def test_inner_and_epsilon(self):
        A = psd(3)
        for array in (A, A.T.copy(order="F"), strict.asarray(A)):
            assert arrays.inner(array, array) == pytest.approx(np.sum(A * A))
        assert arrays.epsilon(A) == 2.0**-52
        assert arrays.epsilon(strict.asarray(A)) == 2.0**-52
        assert arrays.is_numpy(A)
        assert not arrays.is_numpy(strict.asarray(A))

    def test_inner_of_arrays_in_different_order(self):
        A = np.arange(6.0).reshape(2, 3)
        assert arrays.inner(A, np.asfortranarray(A)) == 55.0


class Bare:
    """An array of a library that has no namespace of its own."""


@pytest.mark.parametrize("xp", [np, strict], ids=["numpy", "strict"])
def test_what_solves_is_symmetric_and_definite(xp):
    """Conjugate gradients end at once with a preconditioner that is not."""
    identity = np.eye(12)
    matrix = NEARLY_SINGULAR + 1e-13 * identity
    solve = definite_solver(xp.asarray(matrix))
    inverse = np.asarray(solve(xp.asarray(identity)))
    assert_allclose(inverse, inverse.T, atol=1e-6 * np.abs(inverse).max())
    rng = np.random.default_rng(0)
    for _ in range(50):
        column = rng.normal(size=(12, 1))
        assert (column.T @ np.asarray(solve(xp.asarray(column)))).item() > 0
    # of a matrix far from singular it is the inverse
    solve = definite_solver(xp.asarray(matrix + identity))
    solved = np.asarray(solve(xp.asarray(identity)))
    assert_allclose(solved @ (matrix + identity), identity, atol=1e-12)


def test_what_solves_is_definite_where_rounding_has_taken_a_direction():
    matrix = psd(12, rank=2)
    solve = definite_solver(strict.asarray(matrix))
    rng = np.random.default_rng(0)
    for _ in range(50):
        column = rng.normal(size=(12, 1))
        assert (column.T @ np.asarray(solve(strict.asarray(column)))).item() > 0


def failing_with(error):
    """Return an array whose library does so at a matrix that is not definite."""

    def linalg_cholesky(array):
        if error is not None:
            raise error
        return SimpleNamespace(values=np.full((2, 2), np.nan))

    library = SimpleNamespace(
        linalg=SimpleNamespace(cholesky=linalg_cholesky),
        isfinite=lambda root: np.isfinite(root.values),
        all=np.all,
    )
    return SimpleNamespace(__array_namespace__=lambda: library)


@pytest.mark.parametrize(
    "matrix",
    [
        -np.eye(2),
        strict.asarray(-np.eye(2)),
        failing_with(None),
        failing_with(RuntimeError("not positive-definite")),
    ],
    ids=["numpy", "strict", "nan", "own-error"],
)
def test_no_root_of_an_indefinite_matrix(matrix):
    """Each library does something else; the callers know one error."""
    with pytest.raises(np.linalg.LinAlgError):
        cholesky(matrix)


@pytest.mark.parametrize("xp", [np, strict], ids=["numpy", "strict"])
def test_root(xp):
    root = np.asarray(cholesky(xp.asarray(np.asarray([[4.0, 2.0], [2.0, 5.0]]))))
    assert_array_equal(root, [[2.0, 0.0], [1.0, 2.0]])


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    with pytest.raises(ModuleNotFoundError, match=r"Bare.*okl\[gpu\]"):
        namespace(Bare())


def test_what_is_no_array_is_named():
    with pytest.raises(TypeError, match="Bare"):
        namespace(Bare())
