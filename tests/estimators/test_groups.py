"""Groups are held out together where a splitter takes them, else a warning comes."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

from okl import OutputKernelRegressorCV


def sample():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(8), 5)
    X = np.repeat(rng.normal(size=(8, 3)), 5, axis=0) + 0.01 * rng.normal(size=(40, 3))
    Y = np.repeat(rng.normal(size=(8, 2)), 5, axis=0)
    return X, Y, groups


def searched(**options):
    given = {"alphas": [1.0, 0.1], "cv": None}
    return OutputKernelRegressorCV("rbf", "identity", **given | options)


@pytest.mark.filterwarnings("ignore:The alpha chosen")
def test_groups_without_a_splitter_are_ignored_with_a_warning():
    X, Y, groups = sample()
    with pytest.warns(UserWarning, match="groups are ignored"):
        ignored = searched().fit(X, Y, groups=groups)
    plain = searched().fit(X, Y)
    np.testing.assert_array_equal(ignored.scores_, plain.scores_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="The alpha chosen")
        searched(cv=GroupKFold(4)).fit(X, Y, groups=groups)


@pytest.mark.filterwarnings("ignore:The alpha chosen")
def test_alphas_of_outputs_are_chosen_on_folds_that_are_given():
    X, Y, groups = sample()
    alone = searched(alpha_per_output=True).fit(X, Y)
    np.testing.assert_allclose(alone.alpha_, 0.1)
    apart = searched(alpha_per_output=True, cv=GroupKFold(4))
    apart.fit(X, Y, groups=groups)
    np.testing.assert_allclose(apart.alpha_, 1.0)
