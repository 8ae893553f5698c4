"""Columns of X a hundred times as large as they should be: starts that mislead."""

import numpy as np
import pytest

from okl import OutputKernelRegressor
from okl.losses import Huber
from tests.covering import later


@pytest.mark.parametrize("seed", [3, *later(2, 7)])
def test_an_unhelpful_start_is_given_up(seed):
    # L is of rank 4, the range of K, and which directions of the 7 it has changes from
    # round to round: from the last L, and from the C that was best for it, nothing led
    # to the next, and the fits stalled at gaps of up to one
    rng = np.random.default_rng(seed)
    X = 100 * rng.normal(size=(38, 4))
    Y = np.tanh(X @ rng.normal(size=(4, 7)) / 100) + 0.4 * rng.normal(size=(38, 7))
    Y[rng.random(Y.shape) < 0.3] = np.nan
    Y[:2] = np.nan_to_num(Y[:2])
    model = OutputKernelRegressor("linear", "frobenius", loss=Huber(0.4), alpha=1e-3)
    assert model.fit(X, Y).certificate_.status == "optimal"
