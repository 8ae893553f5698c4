"""What the solvers ask of any array library, where the libraries differ."""

import sys
from types import SimpleNamespace

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from okl.numerics.arrays import cholesky, definite_solver, namespace

# definite, but for rounding: what is inverted as it is loses its sign
NEARLY_SINGULAR = (
    np.vander(np.linspace(0, 1, 12), 12) @ np.vander(np.linspace(0, 1, 12), 12).T
)


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
