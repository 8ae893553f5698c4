"""What every loss must do, run on every instance."""

import pickle

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from okl.losses import LOSSES as NAMES
from okl.losses import Envelope, Huber, Logistic, Loss, Quantile, Squared, as_loss
from tests.instances import LOSSES

each = pytest.mark.parametrize("loss", LOSSES, ids=[repr(loss) for loss in LOSSES])
CLASSIFYING = [loss for loss in LOSSES if loss.coding is not None]
classifying = pytest.mark.parametrize(
    "loss", CLASSIFYING, ids=[repr(loss) for loss in CLASSIFYING]
)

KINDS = {
    "binary": (np.array([0, 1, 1, 0, 1]), 2),
    "multiclass": (np.array([0, 2, 1, 2, 3]), 4),
    "multilabel": (np.array([[0, 1, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]]), 3),
}


def targets_and_scores(loss, seed=0):
    rng = np.random.default_rng(seed)
    if loss.coding is None:
        targets = rng.normal(size=(5, 4))
    else:
        labels, n_classes = KINDS["multiclass"]
        targets = loss.coding.encode(labels, "multiclass", n_classes)
    return targets, rng.normal(size=targets.shape)


def weights_of(loss, seed=0):
    """Return integer weights, some zero: of each entry where the loss has a choice."""
    rng = np.random.default_rng(seed)
    columns = 1 if loss.name == "softmax" else 4
    weights = rng.integers(0, 4, size=(5, columns)).astype(float)
    weights[0], weights[1] = 0.0, 2.0
    return weights


@each
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_is_that_of_the_value(loss, weighted):
    targets, scores = targets_and_scores(loss)
    w = weights_of(loss) if weighted else None
    gradient = -loss.negative_gradient(targets, scores, w)
    h = 1e-5
    for i in range(scores.shape[0]):
        for j in range(scores.shape[1]):
            step = np.zeros_like(scores)
            step[i, j] = h
            up, down = (loss.value(targets, scores + s, w) for s in (step, -step))
            assert gradient[i, j] == pytest.approx((up - down) / (2 * h), abs=1e-8)


@each
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [1.0, 1e4])
def test_value_and_gradient_together_are_both(loss, weighted, size):
    targets, scores = targets_and_scores(loss)
    w = weights_of(loss) if weighted else None
    value, gradient = loss.value_and_negative_gradient(targets, size * scores, w)
    assert value == pytest.approx(loss.value(targets, size * scores, w), rel=1e-14)
    expected = loss.negative_gradient(targets, size * scores, w)
    assert_allclose(gradient, expected, rtol=1e-13, atol=1e-15)


@each
@pytest.mark.parametrize("weighted", [False, True])
def test_a_damped_curvature_ends_at_a_quadratic_that_is_never_below(loss, weighted):
    targets, here = targets_and_scores(loss)
    w = weights_of(loss) if weighted else None
    for size in (0.1, 3.0, 100.0):
        scores = size * here
        above = loss.damped_curvature(targets, scores, w, share=1.0)
        if above is None:
            pytest.skip("has no better than Newton's steps, shortened")
        newton = loss.damped_curvature(targets, scores, w, share=0.0)
        curvature = loss.curvature(targets, scores, w)
        assert_array_equal(newton.diagonal, curvature.diagonal)
        assert np.all(above.diagonal >= curvature.diagonal)
        value, gradient = loss.value_and_negative_gradient(targets, scores, w)
        for step in np.random.default_rng(1).normal(size=(20, *scores.shape)):
            for length in (1e-3, 1.0, 3 * size):
                moved = length * step
                bound = value - np.sum(gradient * moved)
                bound += np.sum(above.diagonal * moved**2) / 2
                there = loss.value(targets, scores + moved, w)
                assert there <= bound + 1e-12 * max(abs(bound), value)


@each
@pytest.mark.parametrize("weighted", [False, True])
def test_curvature_is_that_of_the_gradient(loss, weighted):
    targets, scores = targets_and_scores(loss)
    w = weights_of(loss) if weighted else None
    curvature = loss.curvature(targets, scores, w)
    rng = np.random.default_rng(1)
    h = 1e-6
    for _ in range(5):
        v = rng.normal(size=scores.shape)
        up, down = (loss.negative_gradient(targets, scores + s * v, w) for s in (h, -h))
        product = curvature.factor(curvature.adjoint(v))
        assert_allclose(product, (down - up) / (2 * h), atol=1e-8)
        largest = loss.largest_curvature * (1 if w is None else w.max())
        assert np.vdot(v, product) <= largest * np.vdot(v, v) * (1 + 1e-12)


@each
@pytest.mark.parametrize("weighted", [False, True])
def test_factors_of_the_curvature(loss, weighted):
    targets, scores = targets_and_scores(loss)
    w = weights_of(loss) if weighted else None
    curvature = loss.curvature(targets, scores, w)
    rng = np.random.default_rng(2)
    v, u = rng.normal(size=(2, *scores.shape))
    V_v = curvature.factor(v)
    assert np.vdot(V_v, u) == pytest.approx(np.vdot(v, curvature.adjoint(u)))
    projected = curvature.project(v)
    assert_allclose(curvature.project(projected), projected, atol=1e-14)
    assert_allclose(curvature.factor(projected), V_v, atol=1e-14)
    assert_allclose(np.sqrt(curvature.diagonal) * projected, V_v, atol=1e-14)
    assert_allclose(curvature.factor(curvature.solve(V_v)), V_v, atol=1e-13)
    sums = curvature.factor(curvature.adjoint(u)).sum(axis=0)
    b = curvature.solve_total(sums)
    back = curvature.factor(curvature.adjoint(b + np.zeros_like(u))).sum(axis=0)
    assert_allclose(back, sums, atol=1e-11)


@each
def test_value_is_convex_and_a_sum_over_samples(loss):
    targets, scores = targets_and_scores(loss)
    other = targets_and_scores(loss, seed=1)[1]
    ends = loss.value(targets, scores) + loss.value(targets, other)
    assert loss.value(targets, (scores + other) / 2) <= ends / 2
    rows = [loss.value(targets[[i]], scores[[i]]) for i in range(len(targets))]
    assert_allclose(sum(rows), loss.value(targets, scores), rtol=1e-14)


@each
@pytest.mark.parametrize("weighted", [False, True])
def test_fenchel_young_with_equality_at_the_gradient(loss, weighted):
    # V(y, f) + V*(y, -a) >= <-a, f>, and dual_value is -V*(y, -a)
    for seed in range(20):
        targets, scores = targets_and_scores(loss, seed)
        w = weights_of(loss, seed) if weighted else None
        a = loss.negative_gradient(targets, scores, w)
        value = loss.value(targets, scores, w)
        gap = value - loss.dual_value(targets, a, w) + np.vdot(a, scores)
        assert gap == pytest.approx(0, abs=1e-12 * (1 + value))
        elsewhere = targets_and_scores(loss, seed + 100)[1]
        gap = (
            loss.value(targets, elsewhere, w)
            - loss.dual_value(targets, a, w)
            + np.vdot(a, elsewhere)
        )
        # where V is linear between both scores it is equal there, too
        assert gap > (0 if "smooth" in loss.capabilities else -1e-12 * (1 + value))


@each
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_of_a_gradient(loss, weighted):
    loss = loss.smoothed()  # at a kink there is no one gradient
    for scale in (0.1, 1.0, 10.0):
        targets, scores = targets_and_scores(loss)
        w = weights_of(loss) if weighted else None
        a = loss.negative_gradient(targets, scale * scores, w)
        found = loss.scores_of(targets, a, w)
        assert_allclose(loss.negative_gradient(targets, found, w), a, atol=1e-13)
        # what no scores have as a gradient gets near it, and is finite
        for outside in (-100 * a, a + 100.0):
            beyond = loss.scores_of(targets, outside, w)
            assert np.all(np.isfinite(beyond))
            there = loss.negative_gradient(targets, beyond, w)
            assert np.isfinite(loss.dual_value(targets, there, w))
            distance = np.linalg.norm(there - outside)
            if loss.name != "softmax":  # where it is the nearest in another sense
                assert distance <= np.linalg.norm(a - outside)


@each
def test_outside_its_domain_the_dual_is_minus_infinity(loss):
    targets, scores = targets_and_scores(loss)
    a = loss.negative_gradient(targets, scores)
    if "quadratic" in loss.capabilities:
        assert np.isfinite(loss.dual_value(targets, -100 * a))
    else:
        assert loss.dual_value(targets, -100 * np.sign(a) - a) == -np.inf
    # the domain holds zero, and is convex
    for factor in (0.0, 0.3, 1.0):
        assert np.isfinite(loss.dual_value(targets, factor * a))


@each
def test_weights_count_rows(loss):
    targets, scores = targets_and_scores(loss)
    w = weights_of(loss)[:, :1]
    counts = w[:, 0].astype(int)
    many, at = np.repeat(targets, counts, axis=0), np.repeat(scores, counts, axis=0)
    assert_allclose(loss.value(targets, scores, w), loss.value(many, at), rtol=1e-13)
    a = loss.negative_gradient(targets, scores, w)
    each_row = np.repeat(a / np.where(w > 0, w, 1), counts, axis=0)
    assert_allclose(loss.negative_gradient(many, at), each_row, atol=1e-14)
    assert_allclose(loss.dual_value(targets, a, w), loss.dual_value(many, each_row))
    b, expected = (
        loss.best_intercept(targets, scores, w),
        loss.best_intercept(many, at),
    )
    value = loss.value(many, at + expected)
    assert_allclose(loss.value(many, at + b), value, rtol=1e-12, atol=1e-12)
    # an entry that does not count may hold anything
    other = targets + (w == 0) * 7.0
    assert_allclose(loss.value(other, scores, w), loss.value(targets, scores, w))


@each
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
@pytest.mark.each_value
def test_best_intercept_is_stationary(loss, weighted, scale):
    for seed in range(5):
        targets, scores = targets_and_scores(loss, seed)
        w = weights_of(loss, seed) if weighted else None
        b = loss.best_intercept(targets, scale * scores, w)
        a = loss.negative_gradient(targets, scale * scores + b, w)
        assert np.all(np.isfinite(b))
        if "smooth" in loss.capabilities:
            assert_allclose(a.sum(axis=0), 0, atol=1e-10 * (1 + np.abs(a).sum()))
        value = loss.value(targets, scale * scores + b, w)
        for step in (1e-3, 0.1, 1.0):
            for sign in (-1, 1):
                for e in np.eye(4):
                    moved = scale * scores + b + sign * step * e
                    slack = 1e-12 * (1 + value)
                    assert loss.value(targets, moved, w) >= value - slack


@pytest.mark.parametrize("seed", range(5))
def test_the_best_intercept_of_scores_far_from_zero_takes_few_steps(seed):
    """It ends at the rounding of the sums, which is that of the scores it is added to.

    Where the scores and b nearly cancel, what is left of them says nothing of that.
    """
    rng = np.random.default_rng(seed)
    scores = 50 + 10 * rng.normal(size=(80, 16))
    targets = np.where(rng.random(scores.shape) < 0.08, 1.0, -1.0)
    targets[0] = 1.0
    steps = []

    class Counting(Logistic):
        def slopes(self, targets, scores):
            steps.append(scores)
            return super().slopes(targets, scores)

    b = Counting().best_intercept(targets, scores)
    assert len(steps) <= 40
    a = Logistic().negative_gradient(targets, scores + b)
    assert_allclose(a.sum(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("spread", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_a_best_intercept_that_the_scores_already_have_is_found_at_once(seed, spread):
    # what is left of it is rounding, of which no digit is worth a step
    rng = np.random.default_rng(seed)
    targets = np.where(rng.random((480, 60)) < 0.02, 1.0, -1.0)
    scores = spread * rng.normal(size=targets.shape)
    there = scores + Logistic().best_intercept(targets, scores)
    steps = []

    class Counting(Logistic):
        def slopes(self, targets, scores):
            steps.append(scores)
            return super().slopes(targets, scores)

    b = Counting().best_intercept(targets, there)
    assert len(steps) <= 12  # there were 57
    assert np.all(np.abs(b) <= 1e-12 * np.abs(there).max(axis=0))


@classifying
def test_a_constant_label_has_a_finite_intercept(loss):
    if loss.name == "softmax":
        targets = np.tile([1.0, 0.0, 0.0], (6, 1))
    else:
        targets = np.ones((6, 3))
    scores = np.random.default_rng(0).normal(size=(6, 3))
    b = loss.best_intercept(targets, scores)
    assert np.all(np.isfinite(b))
    assert loss.value(targets, scores + b) <= loss.value(targets, scores)


@each
def test_extreme_scores(loss):
    targets, scores = targets_and_scores(loss)
    for scale in (1e4, -1e4, 1e8):
        for result in (
            loss.value(targets, scale * scores),
            loss.negative_gradient(targets, scale * scores),
            loss.curvature(targets, scale * scores).diagonal,
            loss.dual_value(targets, loss.negative_gradient(targets, scale * scores)),
        ):
            assert np.all(np.isfinite(result))


def test_dual_scales_are_the_best_of_their_columns():
    loss = Squared()
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
                assert loss.dual_value(targets, a * other) <= best + 1e-12


@each
def test_dual_scales_stay_within_limits_and_domain(loss):
    targets, scores = targets_and_scores(loss)
    a = loss.negative_gradient(targets, scores)
    for limits in (np.full(4, 10.0), np.array([0.1, 2.0, 0.5, 1e9])):
        scales = loss.dual_scales(targets, a, limits)
        assert np.all((scales >= 0) & (scales <= limits))
        assert np.isfinite(loss.dual_value(targets, a * scales))


@classifying
@pytest.mark.parametrize("kind", KINDS)
def test_scores_that_equal_the_targets_decide_for_the_labels(loss, kind):
    labels, n_classes = KINDS[kind]
    if loss.name == "softmax" and kind == "multilabel":
        with pytest.raises(ValueError, match=r"one class per row.*loss='logistic'"):
            loss.coding.encode(labels, kind, n_classes)
        return
    targets = loss.coding.encode(labels, kind, n_classes)
    assert targets.dtype == np.float64
    assert targets.ndim == 2
    assert_array_equal(loss.coding.decide(targets, kind), labels)


@classifying
@pytest.mark.parametrize("kind", KINDS)
def test_probabilities(loss, kind):
    labels, n_classes = KINDS[kind]
    if "probabilities" not in loss.capabilities:
        with pytest.raises(AttributeError, match="have no probabilities; use loss="):
            loss.coding.log_probabilities(np.zeros((5, 1)), kind)
        return
    if loss.name == "softmax" and kind == "multilabel":
        return
    targets = loss.coding.encode(labels, kind, n_classes)
    rng = np.random.default_rng(0)
    for scale in (1.0, 1e4):
        scores = scale * rng.normal(size=targets.shape)
        logs = loss.coding.log_probabilities(scores, kind)
        assert logs.shape == (len(labels), n_classes)
        assert np.all(np.isfinite(logs))
        p = np.exp(logs)
        if kind == "multilabel":
            assert_array_equal(p > 0.5, loss.coding.decide(scores, kind))
        else:
            assert_allclose(p.sum(axis=1), 1, rtol=1e-13)
            assert_array_equal(
                np.argmax(logs, axis=1), loss.coding.decide(scores, kind)
            )


@pytest.mark.parametrize("delta", [0.0, -1.0, np.nan, np.inf, "wide"])
def test_huber_checks_delta(delta):
    with pytest.raises(ValueError, match="delta must be a finite number > 0, got"):
        Huber(delta).validate()


PROXIMAL = [loss for loss in LOSSES if "proximal" in loss.capabilities]
proximal = pytest.mark.parametrize("loss", PROXIMAL, ids=repr)
KINKED = [loss for loss in PROXIMAL if "smooth" not in loss.capabilities]
kinked = pytest.mark.parametrize("loss", KINKED, ids=repr)


@proximal
@pytest.mark.parametrize("moreau_parameter", [0.3, 1.0, 50.0])
def test_the_envelope_is_the_minimum_that_defines_it(loss, moreau_parameter):
    targets, scores = targets_and_scores(loss)
    shift = np.random.default_rng(7).normal(size=scores.shape)
    envelope = Envelope(loss, moreau_parameter, shift)
    z = scores - shift
    u = np.linspace(-12, 12, 48001)
    expected = np.zeros_like(scores)
    for i, j in np.ndindex(scores.shape):
        there = loss.entries(np.full_like(u, targets[i, j]), u)
        expected[i, j] = np.min(there + moreau_parameter / 2 * (u - z[i, j]) ** 2)
    # the grid misses the minimum by half its step at most
    slack = (1 + moreau_parameter * 12) * 2.5e-4
    found = envelope.entries(targets, scores)
    assert np.all(found <= expected + 1e-12)
    assert np.all(found >= expected - slack)
    # below V at z, and nearer the sharper
    assert np.all(found <= loss.entries(targets, z))
    sharper = Envelope(loss, 10 * moreau_parameter, shift)
    assert np.all(found <= sharper.entries(targets, scores) + 1e-15)


@proximal
@pytest.mark.parametrize("weighted", [False, True])
def test_moreau(loss, weighted):
    # with u the proximal point of z, a = sigma (u - z) is minus a subgradient at u:
    # V(u) + V*(-a) = -a u; and the envelopes of V and V* add up to half a square
    targets, scores = targets_and_scores(loss)
    w = weights_of(loss) if weighted else None
    sigma = 2.5
    for scale in (0.1, 1.0, 30.0):
        z = scale * scores
        envelope = Envelope(loss, sigma)
        a = envelope.negative_gradient(targets, z, w)
        weights = np.ones_like(z) if w is None else w
        slopes = a / np.where(weights > 0, weights, 1)
        u = z + slopes / sigma
        value, dual = loss.value(targets, u, w), loss.dual_value(targets, a, w)
        assert value - dual == pytest.approx(-np.vdot(a, u), abs=1e-12 * (1 + scale))
        # e(z) = sigma z^2 / 2 - (V* + |.|^2 / (2 sigma)) envelope, at its maximiser -a
        other = dual - np.vdot(a, slopes) / (2 * sigma) - np.vdot(a, z)
        assert envelope.value(targets, z, w) == pytest.approx(other, abs=1e-11 * scale)


@kinked
def test_the_optimum_is_that_of_the_envelope_around_its_dual_point(loss):
    # with s = a / sigma, a minus a subgradient at f, the envelope has that very slope
    # there, and differs from V by what the way there costs
    targets, _ = targets_and_scores(loss)
    at = loss.scores_of(targets, 0.0 * targets)  # the kink
    a = 0.4 * loss.smoothed().negative_gradient(targets, at - targets)
    assert np.all(a != 0)
    for sigma in (0.1, 1.0, 1e4):
        envelope = Envelope(loss, sigma, a / sigma)
        assert_allclose(envelope.negative_gradient(targets, at), a, atol=1e-12)
        above = envelope.value(targets, at) - loss.value(targets, at)
        assert above == pytest.approx(np.vdot(a, a) / (2 * sigma), abs=1e-9)


@each
def test_a_loss_for_classes_has_a_coding(loss):
    assert ("classification" in loss.capabilities) == (loss.coding is not None)
    if loss.coding is None:
        return
    indicators = np.array([[0, 1], [1, 0]])
    if "multilabel" in loss.capabilities:
        assert loss.coding.encode(indicators, "multilabel", 2).shape == (2, 2)
    else:
        with pytest.raises(ValueError, match="one class per row"):
            loss.coding.encode(indicators, "multilabel", 2)


@each
@pytest.mark.parametrize("weighted", [False, True])
def test_any_array_namespace(loss, weighted):
    targets, scores = targets_and_scores(loss)
    w = weights_of(loss) if weighted else None
    t, s = strict.asarray(targets), strict.asarray(scores)
    v = None if w is None else strict.asarray(w)
    assert_allclose(loss.value(t, s, v), loss.value(targets, scores, w))
    a = loss.negative_gradient(t, s, v)
    assert a.__array_namespace__() is strict
    expected = loss.negative_gradient(targets, scores, w)
    assert_allclose(np.asarray(a), expected)
    assert_allclose(loss.dual_value(t, a, v), loss.dual_value(targets, expected, w))
    # not b itself: a class without weight has none that is best
    b, c = loss.best_intercept(t, s, v), loss.best_intercept(targets, scores, w)
    assert b.__array_namespace__() is strict
    assert_allclose(
        np.asarray(loss.negative_gradient(t, s + b, v)),
        loss.negative_gradient(targets, scores + c, w),
        atol=1e-9,
    )
    here, there = loss.curvature(targets, scores, w), loss.curvature(t, s, v)
    found = loss.scores_of(t, a, v)
    assert found.__array_namespace__() is strict
    assert_allclose(np.asarray(found), loss.scores_of(targets, expected, w), atol=1e-9)
    for name in ("factor", "adjoint", "project", "solve"):
        found = getattr(there, name)(s)
        assert found.__array_namespace__() is strict
        assert_allclose(np.asarray(found), getattr(here, name)(scores), atol=1e-13)


@each
def test_parameters_survive(loss):
    for copy in (clone(loss), pickle.loads(pickle.dumps(loss))):
        assert type(copy) is type(loss)
        assert repr(copy) == repr(loss)
    loss.validate()


@pytest.mark.parametrize("name", NAMES)
def test_a_name_stands_for_the_default_object(name):
    loss = as_loss(name)
    assert isinstance(loss, Loss)
    assert loss.name == name
    assert as_loss(loss) is loss


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ValueError, match=r"Unknown loss 'mse'.*'squared'"):
        as_loss("mse")


@kinked
def test_slopes_reach_their_bounds_and_go_no_further(loss):
    targets, scores = targets_and_scores(loss)
    low, high = loss.slope_bounds(targets)
    assert np.all(low <= high)
    for scale in (0.1, 1.0, 30.0):
        slopes = loss.slopes(targets, scale * scores)
        assert np.all((low <= slopes) & (slopes <= high))
    assert_array_equal(loss.slopes(targets, np.full_like(scores, -1e9)), high)
    assert_array_equal(loss.slopes(targets, np.full_like(scores, 1e9)), low)
    # and -V*(y, -a) is finite just there
    assert np.isfinite(loss.dual_value(targets, low))
    assert np.isfinite(loss.dual_value(targets, high))
    assert loss.dual_value(targets, high + 1e-9) == -np.inf


@pytest.mark.parametrize("q", [0.1, 0.25, 0.5, 0.9])
def test_the_best_intercept_of_quantiles_is_a_weighted_one(q):
    rng = np.random.default_rng(0)
    targets, scores = rng.normal(size=(2, 20, 3))
    counts = rng.integers(0, 3, size=(20, 1))
    loss = Quantile(q)
    b = loss.best_intercept(targets, scores)
    expected = np.quantile(targets - scores, q, axis=0, method="averaged_inverted_cdf")
    assert_allclose(b, expected)
    single = loss.best_intercept(*(np.float32([targets, scores])))
    assert_allclose(single, expected, rtol=1e-5)
    rows = np.repeat(np.arange(20), counts[:, 0])
    b = loss.best_intercept(targets, scores, counts.astype(float))
    assert_allclose(b, loss.best_intercept(targets[rows], scores[rows]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_best_intercept_of_an_extreme_quantile_of_many_rows(dtype):
    targets = np.random.default_rng(0).normal(size=(40_000, 1)).astype(dtype)
    for q in (0.001, 0.999):
        b = Quantile(q).best_intercept(targets, 0 * targets)
        assert_allclose(b, np.quantile(targets, q, axis=0), rtol=0.02)


@pytest.mark.parametrize(("n", "weight", "k"), [(10, 0.1, 3), (6, 0.3, 3)])
def test_the_best_intercept_between_two_errors_is_in_the_middle_of_them(n, weight, k):
    # the sum of k weights is in floating point above, or below, that part of all
    targets, weights = np.arange(n, dtype=float)[:, None], np.full((n, 1), weight)
    b = Quantile(k / n).best_intercept(targets, 0 * targets, weights)
    assert_allclose(b, k - 0.5)


def test_the_best_intercept_of_a_quantile_next_to_one_is_the_largest_error():
    targets = np.arange(10, dtype=np.float32)[:, None]
    assert_allclose(Quantile(1 - 1e-7).best_intercept(targets, 0 * targets), 9.0)
