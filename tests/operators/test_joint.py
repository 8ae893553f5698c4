"""What maps dual variables to predictions, against the matrix of all entries."""

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.operators import Dense, Features, Kronecker, SeparableSum, Term
from okl.output_kernels import SpectralKernel
from tests.samples import gaussian, psd

N, M = 9, 4
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
C, D = rng.normal(size=(2, N, M))
K, LINEAR = gaussian(X), X @ X.T


def per_output():
    terms = (
        Term(Dense(K.copy()), np.array([0, 2]), np.array([1.0, 3.0])),
        Term(Dense(LINEAR.copy()), np.array([1, 3]), np.array([2.0, 0.5])),
    )
    return SeparableSum(terms), [K, 2 * LINEAR, 3 * K, 0.5 * LINEAR]


def shared(operator, matrix):
    return operator, [matrix] * M


KERNELS = {
    "diagonal": SpectralKernel(np.array([2.0, 1.0, 0.5, 3.0])),
    "full": SpectralKernel.from_matrix(psd(M, 1)),
    "singular": SpectralKernel.from_matrix(psd(M, 2, rank=2)),
}
CASES = {
    "dense": lambda: shared(Dense(K.copy()), K),
    "features": lambda: shared(Features(X.copy()), LINEAR),
    "per-output": per_output,
}
each = pytest.mark.parametrize("case", CASES)
kernels = pytest.mark.parametrize("kernel", KERNELS)


def full(matrices, L):
    """The matrix (n m, n m) of sum_j K_j C L, entries in the order of C.ravel()."""
    matrix = np.zeros((N, M, N, M))
    for s in range(M):
        for t in range(M):
            # C -> K C L sends column s through its own K, then to all t
            matrix[:, t, :, s] = matrices[s] * L[s, t]
    return matrix.reshape(N * M, N * M)


@each
@kernels
def test_products_diagonal_and_blocks(case, kernel):
    operator, matrices = CASES[case]()
    output_kernel = KERNELS[kernel]
    if case == "per-output" and kernel != "diagonal":
        pytest.skip("a kernel per output comes with an L that couples nothing")
    joint = Kronecker(operator, output_kernel)
    matrix = full(matrices, output_kernel.matrix())
    assert_allclose((joint @ C).ravel(), matrix @ C.ravel(), atol=1e-12)
    for product, right in zip(joint.both(C, D), (C, D), strict=True):
        assert_allclose(product.ravel(), matrix @ right.ravel(), atol=1e-12)
    diagonal = np.broadcast_to(joint.diagonal, (N, M)).ravel()
    assert_allclose(diagonal, np.diag(matrix), atol=1e-12)
    assert joint.couples == (kernel != "diagonal")
    rows = np.array([0, 3, 3, 7])
    if joint.couples:
        outputs = np.array([1, 0, 2, 1])
        found = joint.block(rows, outputs)
        places = rows * M + outputs
    else:
        rows = np.array([0, 3, 7])
        found, places = joint.block(rows, 2), rows * M + 2
    assert_allclose(found, matrix[np.ix_(places, places)], atol=1e-12)


def test_any_array_namespace():
    L = SpectralKernel.from_matrix(strict.asarray(psd(M, 1)))
    joint = Kronecker(Dense(strict.asarray(K)), L)
    product = joint @ strict.asarray(C)
    assert product.__array_namespace__() is strict
    assert_allclose(np.asarray(product), K @ C @ psd(M, 1), atol=1e-12)


@each
@kernels
def test_the_eigenvectors_are_those_of_both_matrices(case, kernel):
    joint = Kronecker(CASES[case]()[0], KERNELS[kernel])
    if case == "per-output":
        with pytest.raises(TypeError, match="not those of K and L"):
            joint.spectrum()
        return
    spectrum = joint.spectrum()
    inside = spectrum.coordinates(C)
    assert inside.shape == spectrum.eigenvalues.shape
    product = spectrum.from_coordinates(spectrum.eigenvalues * inside)
    assert_allclose(product, joint @ C, atol=1e-12)
    again = spectrum.coordinates(spectrum.from_coordinates(inside))
    assert_allclose(again, inside, atol=1e-12)
