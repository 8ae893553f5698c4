"""Fits of arrays of CuPy and PyTorch, on a GPU where there is one.

Neither library is needed to develop okl, so that these tests are skipped where it is
not installed; array-api-strict, on which the solvers run everywhere, is stricter than
both but for what the standard leaves open: the default dtype, the device, and what
becomes of a matrix that is not definite.
"""

from importlib import import_module

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.losses import Hinge, Logistic, Quantile, Softmax, Squared
from okl.structures import Frobenius, Identity, LowRank, Sparse, TraceBall
from tests.samples import draw, solve


@pytest.fixture(params=["cupy", "torch"])
def xp(request):
    """Return a library's namespace, whose new arrays are on the GPU if there is one."""
    library = pytest.importorskip(request.param)
    namespace = import_module(f"array_api_compat.{request.param}")
    if request.param == "cupy":
        try:
            library.cuda.runtime.getDeviceCount()
        except library.cuda.runtime.CUDARuntimeError as error:
            pytest.skip(f"CuPy finds no GPU: {error}")
        yield namespace
    else:
        library.set_default_device("cuda" if library.cuda.is_available() else "cpu")
        yield namespace
        library.set_default_device("cpu")


def targets(loss, Y):
    """Return what a loss takes, of real targets."""
    around = Y - np.mean(Y, axis=0)
    if isinstance(loss, Softmax):
        return np.eye(Y.shape[1])[np.argmax(around, axis=1)]
    return Y if isinstance(loss, Squared | Quantile) else np.sign(around)


@pytest.mark.parametrize(
    "structure",
    [Identity(), Frobenius(), LowRank(), Sparse(), TraceBall()],
    ids=lambda structure: type(structure).__name__,
)
@pytest.mark.parametrize(
    "loss",
    [Squared(), Softmax(), Logistic(), Hinge(), Quantile()],
    ids=lambda loss: type(loss).__name__,
)
def test_the_same_optimum(xp, loss, structure):
    _, Y, K = draw(40, 3)
    Y, options = targets(loss, Y), {"loss": loss, "intercept": True}
    here = solve(K, Y, structure, 0.1, **options).solution.certificate
    there = solve(K, Y, structure, 0.1, xp=xp, **options).solution.certificate
    assert there.status == here.status == "optimal"
    # as close as both certificates promise
    assert_allclose(there.primal, here.primal, rtol=2e-6)


def test_preconditioned_systems(xp):
    """So many rows and classes that the systems of a step are not factorised."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1300, 8))
    squares = (X**2).sum(axis=1)
    K = np.exp(-np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0) / 16)
    Y = np.tanh(X @ rng.normal(size=(8, 3))) @ rng.normal(size=(3, 30))
    Y = targets(Softmax(), Y + 0.3 * rng.normal(size=Y.shape))
    options = {"loss": Softmax(), "intercept": True}
    here = solve(K, Y, Identity(), 1.0, **options).solution
    there = solve(K, Y, Identity(), 1.0, xp=xp, **options).solution
    assert there.certificate.status == "optimal"
    assert_allclose(there.certificate.primal, here.certificate.primal, rtol=2e-6)
    assert there.n_iter <= 2 * here.n_iter
