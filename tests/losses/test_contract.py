"""What every loss must do, run on every instance."""

import pickle

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from okl.losses import LOSSES as NAMES
from okl.losses import Loss, as_loss
from tests.instances import LOSSES

each = pytest.mark.parametrize("loss", LOSSES, ids=[repr(loss) for loss in LOSSES])

KINDS = {
    "binary": (np.array([0, 1, 1, 0, 1]), 2),
    "multiclass": (np.array([0, 2, 1, 2, 3]), 4),
    "multilabel": (np.array([[0, 1, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]]), 3),
}


def targets_and_scores(loss, seed=0):
    labels, n_classes = KINDS["multiclass"]
    targets = loss.encode(labels, "multiclass", n_classes)
    return targets, np.random.default_rng(seed).normal(size=targets.shape)


@each
def test_gradient_is_that_of_the_value(loss):
    targets, scores = targets_and_scores(loss)
    gradient = -loss.negative_gradient(targets, scores)
    h = 1e-5
    for i in range(scores.shape[0]):
        for j in range(scores.shape[1]):
            step = np.zeros_like(scores)
            step[i, j] = h
            up, down = (loss.value(targets, scores + s) for s in (step, -step))
            assert gradient[i, j] == pytest.approx((up - down) / (2 * h), abs=1e-8)


@each
def test_value_is_convex_and_a_sum_over_samples(loss):
    targets, scores = targets_and_scores(loss)
    other = targets_and_scores(loss, seed=1)[1]
    ends = loss.value(targets, scores) + loss.value(targets, other)
    assert loss.value(targets, (scores + other) / 2) <= ends / 2
    rows = [loss.value(targets[[i]], scores[[i]]) for i in range(len(targets))]
    assert_allclose(sum(rows), loss.value(targets, scores), rtol=1e-14)


@each
def test_fenchel_young_with_equality_at_the_gradient(loss):
    # V(y, f) + V*(y, -a) >= <-a, f>, and dual_value is -V*(y, -a)
    for seed in range(20):
        targets, scores = targets_and_scores(loss, seed)
        a = loss.negative_gradient(targets, scores)
        value = loss.value(targets, scores)
        gap = value - loss.dual_value(targets, a) + np.vdot(a, scores)
        assert gap == pytest.approx(0, abs=1e-12 * value)
        elsewhere = targets_and_scores(loss, seed + 100)[1]
        gap = (
            loss.value(targets, elsewhere)
            - loss.dual_value(targets, a)
            + np.vdot(a, elsewhere)
        )
        assert gap > 0


@each
def test_dual_scales_are_the_best_of_their_columns(loss):
    targets, scores = targets_and_scores(loss)
    a = loss.negative_gradient(targets, 3 * scores)
    for limits in (np.full(4, 10.0), np.array([0.1, 2.0, 0.0, 1e9])):
        scales = loss.dual_scales(targets, a, limits)
        assert np.all((scales >= 0) & (scales <= limits))
        best = loss.dual_value(targets, a * scales)
        for j in range(4):
            for t in np.linspace(0, min(limits[j], 5.0), 21):
                other = scales.copy()
                other[j] = t
                assert loss.dual_value(targets, a * other) <= best + 1e-12 * abs(best)


@each
def test_dual_scales_of_nothing_are_finite(loss):
    targets, _ = targets_and_scores(loss)
    scales = loss.dual_scales(targets, 0 * targets, np.full(4, 1e300))
    assert np.all(np.isfinite(scales))
    assert loss.dual_value(targets, 0 * targets * scales) == 0.0
    against = loss.dual_scales(targets, -targets, np.ones(4))
    assert_array_equal(against, 0.0)


@each
@pytest.mark.parametrize("kind", KINDS)
def test_labels_survive_coding(loss, kind):
    labels, n_classes = KINDS[kind]
    targets = loss.encode(labels, kind, n_classes)
    n_outputs = 1 if kind == "binary" else n_classes
    assert targets.shape == (len(labels), n_outputs)
    assert targets.dtype == np.float64
    decided = loss.decide(targets, kind)
    assert_array_equal(decided, labels)
    assert decided.dtype.kind == "i"
    # decisions follow the scores, not only their signs
    shrunk = loss.decide(1e-3 * targets, kind)
    assert_array_equal(shrunk, labels)


@each
def test_the_largest_score_wins(loss):
    scores = np.array([[-3.0, -1.0, -2.0], [0.1, 0.3, 0.2]])
    assert_array_equal(loss.decide(scores, "multiclass"), [1, 1])
    assert_array_equal(loss.decide(scores, "multilabel"), [[0, 0, 0], [1, 1, 1]])
    assert_array_equal(loss.decide(scores[:, :1], "binary"), [0, 1])


@each
def test_any_array_namespace(loss):
    targets, scores = targets_and_scores(loss)
    t, f = strict.asarray(targets), strict.asarray(scores)
    a = loss.negative_gradient(t, f)
    assert_allclose(np.asarray(a), loss.negative_gradient(targets, scores))
    assert_allclose(loss.value(t, f), loss.value(targets, scores))
    assert_allclose(loss.dual_value(t, a), loss.dual_value(targets, np.asarray(a)))
    limits = np.array([0.1, 2.0, 0.0, 1e9])
    assert_allclose(
        np.asarray(loss.dual_scales(t, a, strict.asarray(limits))),
        loss.dual_scales(targets, np.asarray(a), limits),
    )


@each
def test_parameters_survive(loss):
    for copy in (clone(loss), pickle.loads(pickle.dumps(loss))):
        assert repr(copy) == repr(loss)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_stands_for_the_default_object(name):
    assert isinstance(as_loss(name), Loss)
    assert as_loss(name).name == name


def test_what_is_no_loss():
    with pytest.raises(ValueError, match=r"Unknown loss 'hinges'.*okl.losses"):
        as_loss("hinges")
    with pytest.raises(TypeError, match="got 2"):
        as_loss(2)


def test_squared_loss_is_the_formula():
    loss = as_loss("squared")
    y, f = np.array([[1.0, 2.0]]), np.array([[0.0, 5.0]])
    assert loss.value(y, f) == 5.0
    assert_array_equal(loss.negative_gradient(y, f), [[1.0, -3.0]])
    assert loss.dual_value(y, np.array([[1.0, 1.0]])) == 3.0 - 1.0
    assert_array_equal(
        loss.encode(np.array([2, 0]), "multiclass", 3), [[-1, -1, 1], [1, -1, -1]]
    )
    assert_array_equal(loss.encode(np.array([1, 0]), "binary", 2), [[1], [-1]])
