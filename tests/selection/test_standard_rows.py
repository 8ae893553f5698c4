"""Standardised rows: what a kernel of theirs is learned from."""

import numpy as np

from okl.kernels import Constant, Gaussian, Linear
from okl.losses import Squared
from okl.problems import Observed
from okl.selection.criteria import RestrictedLikelihood
from okl.selection.standard_rows import StandardRows


def test_a_width_may_have_no_influence_where_the_search_starts():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(40, 2))
    Z[:, 1] = np.arange(40) == 0  # differs in one row, by the root of 40 deviations
    Z = (Z - Z.mean(0)) / Z.std(0)
    observed = Observed(np.sin(Z[:, :1]), Squared())
    start = Linear(scales=1.0) + Constant(10.0) * Gaussian(np.array([0.5, 100.0]))
    rows = StandardRows(Z, observed, True, None)
    criterion = RestrictedLikelihood(observed, fit_intercept=True)
    assert np.all(start.right(Z)[0, 1:] == 0.0)
    gamma = rows.learned(start, criterion, 40).kernel.right.right.gamma
    assert 0.1 < gamma[1] < 5.0  # the prior is around one half
