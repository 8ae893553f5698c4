"""Several kernels and smooth losses."""

import numpy as np
import pytest

from okl import OutputKernelClassifier
from okl.kernels import Gaussian, Linear
from okl.structures import Sparse, TraceBall


def fitted(structures, alpha, loss, n=40):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=n), [-0.5, 0.5])
    kernels = [Gaussian(0.3), Linear()]
    return OutputKernelClassifier(kernels, structures, alpha, loss=loss).fit(X, y)


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
@pytest.mark.parametrize("other", ["frobenius", Sparse()], ids=str)
def test_no_function_has_the_cost_of_its_output_kernels(loss, other):
    # eps tr L^-1 / 2 is what the trace ball takes for any L: without it no step from
    # zero seems to lower the objective
    model = fitted([TraceBall(2.0), other], 5.0, loss)
    assert model.certificate_.status == "optimal"
    assert model.n_iter_ < 10
