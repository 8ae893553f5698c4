"""The published algorithm for the structure step, corrected."""

from itertools import islice, pairwise

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq

from okl import OutputKernelRegressor
from okl.structures import Sparse, Structure
from okl.structures.splitting import primal_dual_splitting, prox_of_inverse_trace
from tests.samples import draw, psd

M = 5


def last(matrix, prox, steps):
    *_, L = islice(primal_dual_splitting(matrix, prox), steps)
    return L


@pytest.mark.parametrize("mu", [0.0, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_it_finds_the_sparse_step(mu, seed):
    structure, P = Sparse(mu, eps=1.0), psd(M, seed)
    found = last(P + structure.eps * np.eye(M), structure.prox, 300)
    expected = structure.update(P, tol=1e-12)
    assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())
    assert np.mean((found == 0) == (expected == 0)) == 1


def test_without_a_penalty_on_entries_it_finds_the_root():
    Q = psd(M, 1) + np.eye(M)
    found = last(Q, Sparse(1.0).prox, 500)
    assert_allclose(found @ found, Q, atol=1e-8)


def positive_root(z, weight):
    """Return the x > 0 of x^3 - z x^2 = weight."""
    largest = abs(z) + weight ** (1 / 3)
    return brentq(lambda x: x * x * (x - z) - weight, 0, 2 * largest, xtol=1e-18)


@pytest.mark.parametrize("weight", [1e-8, 1e-2, 1.0, 1e4])
def test_prox_of_the_inverse_trace_solves_its_equation(weight):
    rng = np.random.default_rng(0)
    for scale in (1e-4, 1.0, 1e4):
        Z = scale * rng.normal(size=(M, M))
        Z = Z + Z.T
        X = prox_of_inverse_trace(Z, weight)
        # X = Z + weight X^-2 has the eigenvectors of Z. Eigenvalues are compared, and
        # not X^-2 with a condition number of 1e10
        values, vectors = np.linalg.eigh(Z)
        roots = [positive_root(value, weight) for value in values]
        expected = (vectors * roots) @ vectors.T
        assert_allclose(X, expected, atol=1e-12 * np.abs(X).max())
        assert np.linalg.eigvalsh(X)[0] > 0


@pytest.mark.parametrize("structure", [Sparse(0.3), Sparse(0.0), Sparse(1.0)], ids=repr)
@pytest.mark.parametrize("weight", [1e-3, 0.5, 20.0])
def test_prox_of_the_sparse_penalty(structure, weight):
    """Three-point inequality for any other matrix, and Moreau's identity."""
    rng = np.random.default_rng(1)

    def h(L):
        absolute = (1 - structure.mu) * np.abs(L).sum()
        return (structure.mu * np.trace(L) + absolute) / 2

    for _ in range(20):
        X = rng.normal(size=(M, M))
        X = X + X.T
        L = structure.prox(X, weight)
        assert_allclose(L, L.T)
        value = weight * h(L) + np.sum((L - X) ** 2) / 2
        for _ in range(20):
            other = L + rng.choice([0.01, 1.0]) * rng.normal(size=(M, M))
            other = (other + other.T) / 2
            rival = weight * h(other) + np.sum((other - X) ** 2) / 2
            assert (
                value + np.sum((L - other) ** 2) / 2
                <= rival + 1e-10 * abs(rival) + 1e-10
            )
        # the conjugate of h is the indicator of a box around mu I / 2
        dual = (X - L) / weight
        centred = 2 * dual - structure.mu * np.eye(M)
        assert np.abs(centred).max() <= 1 - structure.mu + 1e-9
        inside = np.clip(
            2 * X / weight - structure.mu * np.eye(M),
            structure.mu - 1,
            1 - structure.mu,
        )
        assert_allclose(centred, inside, atol=1e-9 / weight)


def test_any_array_namespace():
    P = psd(M) + 0.1 * np.eye(M)
    structure = Sparse(0.3)
    here = last(P, structure.prox, 5)
    there = last(strict.asarray(P), structure.prox, 5)
    assert there.__array_namespace__() is strict
    assert_allclose(np.asarray(there), here, atol=1e-13)


class Blocks(Structure):
    """Unrelated groups of outputs, R = tr(L) / 2: all a structure with a prox needs."""

    capabilities = frozenset({"update"})

    def __init__(self, groups, eps=0.1):
        self.groups = groups
        self.eps = eps

    def _mask(self):
        groups = np.asarray(self.groups)
        return groups[:, None] == groups

    def penalty(self, output_kernel):
        if np.any(output_kernel[~self._mask()]):
            return np.inf
        inverse = np.trace(np.linalg.inv(output_kernel))
        return (self.eps * inverse + np.trace(output_kernel)) / 2

    def conjugate(self, matrix):
        values = np.linalg.eigvalsh(np.eye(len(matrix)) - 2 * matrix * self._mask())
        if values[0] < 0:
            return np.inf
        return -np.sqrt(self.eps) * np.sqrt(values).sum()

    def dual_bound(self, matrix, output_kernel):
        largest = 2 * np.linalg.eigvalsh(matrix * self._mask())[-1]
        factor = min(1.0, (1 - 1e-12) / max(largest, 1e-300))
        bound = super().dual_bound(factor * matrix, output_kernel)
        return bound._replace(factor=factor**0.5)

    def prox(self, matrix, weight):
        return matrix * self._mask() - weight / 2 * np.eye(len(matrix))

    def update(self, matrix, *, tol=1e-6):
        shifted = matrix + self.eps * np.eye(len(matrix))
        steps = islice(primal_dual_splitting(shifted, self.prox), 2000)
        for old, new in pairwise(steps):
            if np.abs(new - old).max() <= 1e-8 * np.abs(new).max():
                break
        return new


def test_a_structure_of_a_user_that_has_a_proximal_map():
    X, Y, _ = draw(12, 4)
    groups = [0, 0, 1, 1]
    joint = OutputKernelRegressor(structure=Blocks(groups, 1.0), alpha=0.3).fit(X, Y)
    assert joint.certificate_.status == "optimal"
    assert not np.any(joint.output_kernel_[:2, 2:])
    for part in (slice(0, 2), slice(2, 4)):
        alone = OutputKernelRegressor(
            structure=Sparse(1.0, 1.0), alpha=0.3, kernel=joint.kernel_
        ).fit(X, Y[:, part])
        assert_allclose(joint.predict(X)[:, part], alone.predict(X), atol=1e-3)
