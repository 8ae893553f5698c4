"""The likelihood of sets of classes, and the targets that are expected of them."""

import numpy as np
import pytest

from okl.losses import LOSSES, Softmax


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [1.0, 1e4])
def test_targets_are_probabilities_within_the_set(weighted, size):
    rng = np.random.default_rng(0)
    scores = size * rng.normal(size=(30, 5))
    sets = rng.random((30, 5)) < 0.4
    sets[np.arange(30), rng.integers(0, 5, 30)] = True
    w = rng.uniform(0, 2, size=(30, 1)) if weighted else None
    q, value = Softmax().expected(sets, scores, w)
    within = np.logaddexp.reduce(np.where(sets, scores, -np.inf), axis=1)
    logs = np.logaddexp.reduce(scores, axis=1) - within
    assert value == pytest.approx(np.sum(logs if w is None else w[:, 0] * logs))
    assert np.all(q[~sets] == 0)
    expected = np.exp(np.where(sets, scores - within[:, None], -np.inf))
    np.testing.assert_allclose(q, expected, rtol=1e-9, atol=1e-300)


def test_sets_of_one_class_are_that_class():
    scores = np.random.default_rng(1).normal(size=(6, 3))
    targets = np.eye(3)[[0, 1, 2, 2, 1, 0]]
    q, value = Softmax().expected(targets > 0, scores)
    np.testing.assert_array_equal(q, targets)
    assert value == pytest.approx(Softmax().value(targets, scores))


def test_in_another_namespace():
    xp = pytest.importorskip("array_api_strict")
    rng = np.random.default_rng(2)
    scores, sets = rng.normal(size=(7, 4)), rng.random((7, 4)) < 0.7
    sets[:, 0] = True
    q, value = Softmax().expected(xp.asarray(sets), xp.asarray(scores))
    expected, same = Softmax().expected(sets, scores)
    np.testing.assert_allclose(np.asarray(q), expected, rtol=1e-12)
    assert value == pytest.approx(same)


def test_losses_that_take_sets_say_so():
    for cls in LOSSES.values():
        loss = cls()
        if "sets" in loss.capabilities:
            loss.expected(np.ones((1, 2), dtype=bool), np.zeros((1, 2)))
        else:
            with pytest.raises(TypeError, match="does not support sets of classes"):
                loss.expected(np.ones((1, 2), dtype=bool), np.zeros((1, 2)))
