"""Which criterion is chosen."""

import numpy as np
import pytest

from okl.losses import Huber, Softmax, Squared
from okl.operators import Dense
from okl.problems import Observed
from okl.selection.criteria import (
    NAMES,
    FoldsError,
    FoldsLikelihood,
    LeaveOneOutError,
    RestrictedLikelihood,
    automatic,
    choose_criterion,
)
from okl.structures import Frobenius, Identity, Mean
from tests.samples import draw, targets_for
from tests.selection.criteria.differences import (
    OBSERVED,
    ROW_WEIGHTS,
    N,
    folds_of,
)


def chosen(loss, structure, weights=None, *, n_features=2, spec="auto"):
    _, Y = targets_for(loss, N)
    return choose_criterion(
        spec,
        Observed(Y, loss, weights),
        structure,
        folds_of(N),
        n_features=n_features,
        fit_intercept=True,
    )


@pytest.mark.parametrize(
    ("loss", "structure", "weights", "n_features", "expected"),
    [
        (Squared(), Identity(), None, 2, RestrictedLikelihood),
        (Squared(), Identity(), None, 3, LeaveOneOutError),
        (Squared(), Mean(), ROW_WEIGHTS, 2, RestrictedLikelihood),
        (Squared(), Identity(), OBSERVED, 2, RestrictedLikelihood),
        (Squared(), Mean(), OBSERVED, 2, RestrictedLikelihood),
        (Squared(), Mean(), OBSERVED, 3, FoldsError),
        (Squared(), Frobenius(), None, 2, FoldsLikelihood),
        (Huber(), Identity(), None, 2, FoldsLikelihood),
        (Softmax(), Identity(), None, 2, FoldsLikelihood),
    ],
)
def test_what_auto_is(loss, structure, weights, n_features, expected):
    criterion = chosen(loss, structure, weights, n_features=n_features)
    assert type(criterion) is expected


def test_many_related_targets_are_not_joined(monkeypatch):
    monkeypatch.setattr(automatic, "_MOST_JOINED", 10)
    assert type(chosen(Squared(), Mean(), OBSERVED)) is FoldsLikelihood
    assert type(chosen(Squared(), Identity(), OBSERVED)) is RestrictedLikelihood


@pytest.mark.parametrize("name", NAMES)
def test_every_name_makes_a_criterion_that_can_be_evaluated(name):
    criterion = chosen(Squared(), Identity(), spec=name)
    _, _, K = draw(N, 3)
    assert np.isfinite(criterion.evaluate(Dense(K), 1.0, Identity()).value)
