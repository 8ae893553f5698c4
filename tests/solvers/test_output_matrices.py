"""A fit that holds matrices of outputs says so before it allocates them."""

import numpy as np
import pytest

from okl import OutputKernelRegressor
from okl.structures import Cluster, Sparse, TraceBall


@pytest.mark.parametrize("structure", [Sparse(), TraceBall(0.1), Cluster(3)], ids=repr)
def test_too_many_outputs(structure):
    X, Y = np.random.default_rng(0).normal(size=(5, 2)), np.zeros((5, 300_000))
    with pytest.raises(MemoryError, match=r"300000 outputs.*structure='low_rank'"):
        OutputKernelRegressor(structure=structure).fit(X, Y)


def test_a_ball_without_eps_needs_none():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(6, 2)), rng.normal(size=(6, 20_000))
    model = OutputKernelRegressor(structure="trace_ball", alpha=0.1).fit(X, Y)
    assert model.certificate_.status == "optimal"
    assert model.output_kernel_factor_.shape == (20_000, model.rank_)
