"""The derivatives of criteria, against central differences of their values."""

import numpy as np
from numpy.testing import assert_allclose

from okl.operators import Dense
from okl.structures import Fixed
from tests.samples import psd

N, M = 14, 3
# A row is left out, repeated, or counts less than one.
ROW_WEIGHTS = np.linspace(0.0, 3.0, N)[:, None]
OBSERVED = (np.random.default_rng(3).random((N, M)) > 0.2) * 1.0


def folds_of(n, k=3):
    """Return shuffled folds."""
    parts = np.array_split(np.random.default_rng(0).permutation(n), k)
    return [(np.setdiff1d(np.arange(n), part), part) for part in parts]


def value(criterion, K, alpha, structure):
    """Return J at a kernel matrix."""
    return criterion.evaluate(Dense(K.copy()), alpha, structure).value


def recording(structure):
    """Return a structure whose gradient is W, with dJ = tr(W dL)."""

    def gradient(self, left, right=None):
        weights = left if right is None else left.T @ right
        return {"weights": (weights + weights.T) / 2}

    kind = type(structure)
    recorded = type(kind.__name__, (kind,), {"gradient": gradient})
    return recorded(**structure.get_params(deep=False))


def assert_derivatives(
    criterion, K, alpha, structure, *, step=1e-5, rtol=1e-6, atol=1e-8
):
    """Compare the derivatives along K, log alpha and a coupled L with differences.

    The absolute tolerance is a part of the value.
    """
    found = criterion.evaluate(Dense(K.copy()), alpha, structure)

    def difference(at):
        return (at(step) - at(-step)) / (2 * step)

    scale = abs(found.value)
    assert found.term.of_structure.keys() <= structure.gradient(np.eye(M)).keys()
    # a direction without structure, and neither semi-definite nor small
    change = psd(len(K), 1) + np.cos(np.add.outer(K[0], K[0]))
    expected = difference(lambda t: value(criterion, K + t * change, alpha, structure))
    assert_allclose(found.term.along(change), expected, rtol=rtol, atol=atol * scale)
    slopes = np.atleast_1d(found.log_alpha)
    for j, slope in enumerate(slopes):
        axis = (np.arange(len(slopes)) == j) if np.ndim(alpha) else 1.0
        expected = difference(
            lambda t, e=axis: value(criterion, K, alpha * np.exp(t * e), structure)
        )
        assert_allclose(slope, expected, rtol=rtol, atol=atol * scale)
    known = structure.known(np.zeros((1, M)))
    found = criterion.evaluate(Dense(K.copy()), alpha, recording(structure))
    if known is None or not known.couples:
        assert not found.term.of_structure
        return
    L, change = known.matrix(), psd(M, 9)
    expected = difference(lambda t: value(criterion, K, alpha, Fixed(L + t * change)))
    along = np.vdot(found.term.of_structure["weights"], change)
    assert_allclose(along, expected, rtol=rtol, atol=atol * scale)
