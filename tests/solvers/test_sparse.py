"""Sparse output kernels that are nearly singular."""

import numpy as np
import pytest

from okl.structures import Sparse
from tests.samples import alpha_max, draw, solve

CASES = [(12, 16, 7, 0.03), (40, 16, 8, 0.3), (40, 16, 9, 0.3), (60, 12, 5, 0.3)]


@pytest.mark.parametrize(("n", "m", "seed", "share"), CASES)
def test_targets_that_are_large_beside_eps(n, m, seed, share):
    # L has two eigenvalues some 1e7 times those that eps keeps from zero: a Newton step
    # in which an entry is put to zero is no longer positive definite
    _, Y, K = draw(n, m, seed)
    Y = 1e4 * Y
    alpha = share * alpha_max(K, Y, intercept=True)
    found = solve(K, Y, Sparse(0.99, 1e-4), alpha, intercept=True)
    assert found.solution.certificate.status == "optimal"
    values = np.linalg.eigvalsh(found.output_kernel.matrix())
    assert values[0] < 1e-5 * values[-1]
