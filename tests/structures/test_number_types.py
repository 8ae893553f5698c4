"""A parameter of low precision must not make the certificate one."""

from fractions import Fraction

import numpy as np
import pytest

from okl import OutputKernelRegressor
from okl.losses import Huber
from okl.structures import Cluster, Mean, Sparse, TraceBall
from tests.samples import draw

KINDS = [np.float16, np.float32, Fraction]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "make",
    [
        lambda number: Sparse(number(0.25), number(0.125)),
        lambda number: TraceBall(number(0.125)),
        lambda number: Cluster(2, number(8.0), number(0.5), number(2.0)),
        lambda number: Mean(number(0.5)),
    ],
    ids=["sparse", "trace-ball", "cluster", "mean"],
)
def test_structures(make, kind):
    X, Y, _ = draw(20, 4)
    found = OutputKernelRegressor(structure=make(kind), alpha=0.3).fit(X, Y)
    expected = OutputKernelRegressor(structure=make(float), alpha=0.3).fit(X, Y)
    assert type(found.certificate_.primal) is float
    assert type(found.certificate_.dual) is float
    assert found.certificate_ == expected.certificate_


@pytest.mark.parametrize("kind", KINDS)
def test_losses(kind):
    X, Y, _ = draw(20, 4)
    found = OutputKernelRegressor(loss=Huber(kind(0.5)), alpha=0.3).fit(X, Y)
    expected = OutputKernelRegressor(loss=Huber(0.5), alpha=0.3).fit(X, Y)
    assert found.certificate_ == expected.certificate_
