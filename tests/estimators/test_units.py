"""The units of targets have no say: what is learned is that of normalised targets."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import KFold

from okl import (
    KernelAutoencoder,
    OutputKernelClassifier,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
    certify,
    output_kernel_path,
)
from okl.estimators.units import Units
from okl.kernels import Gaussian
from okl.losses import Huber
from okl.structures import Cluster, Fixed, Graph, LowRank, Mean, Sparse, TraceBall
from tests.samples import draw, psd

N, M = 18, 3
STRUCTURES = [
    "identity",
    Mean(2.0),
    Fixed(psd(M, 3)),
    Graph(np.ones((M, M)), 0.5),
    "frobenius",
    LowRank(),
    LowRank(1),
    TraceBall(1e-2),
    Cluster(2),
    Sparse(0.5, 1e-2),
]
few = pytest.mark.parametrize(
    "structure", ["identity", "frobenius", Sparse(0.5, 1e-2)], ids=repr
)
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
KINDS = ["complete", "missing", "rows", "entries", "long"]
kinds = pytest.mark.parametrize("kind", KINDS)
# powers of two round nothing, so that what does not depend on units agrees to the bit
POWERS = np.array([2.0**20, 1.0, 2.0**-30])
KERNEL = Gaussian(0.3)


def sample(kind):
    """Return rows, targets, what else fit takes, and what each column of Y is of."""
    X, Y, _ = draw(N, M)
    rng = np.random.default_rng(1)
    if kind == "missing":
        hole = rng.random(Y.shape) < 0.3
        hole[:3] = False
        Y = np.where(hole, np.nan, Y)
    if kind == "rows":
        return X, Y, {"sample_weight": rng.integers(0, 3, N)}
    if kind == "entries":
        return X, Y, {"sample_weight": rng.integers(0, 3, Y.shape) + (X[:, :1] > 0)}
    if kind == "long":
        codes = np.arange(N) % M
        return X, Y[np.arange(N), codes], {"task": codes}
    return X, Y, {}


def in_units(y, units, given, offset=0.0):
    """Return targets in other units, those of its task in each row in long form."""
    own = given.get("task", slice(None))
    return np.broadcast_to(offset, M)[own] + y * units[own]


def combinations():
    """Yield structures, kinds of targets and losses, all but the quickest slow."""
    for structure in STRUCTURES:
        quick = repr(structure) in (
            "'identity'",
            "'frobenius'",
            "Cluster(n_clusters=2)",
        )
        for kind in KINDS:
            for loss in ("squared", Huber(0.5)):
                fast = loss == "squared" if quick else kind == "complete"
                marks = [] if fast else [pytest.mark.slow]
                name = f"{structure!r}-{kind}-{loss!r}"
                yield pytest.param(structure, kind, loss, marks=marks, id=name)


@pytest.mark.parametrize(("structure", "kind", "loss"), list(combinations()))
def test_a_fit_is_that_of_any_other_units(structure, kind, loss):
    X, y, given = sample(kind)
    # the tolerance does not matter: steps are the same
    model = OutputKernelRegressor(KERNEL, structure, 0.3, loss=loss, tol=1e-2)
    one = clone(model).fit(X, y, **given)
    two = clone(model).fit(X, in_units(y, POWERS, given), **given)
    assert two.certificate_ == one.certificate_
    assert two.n_iter_ == one.n_iter_
    assert two.rank_ == one.rank_
    assert_array_equal(two.predict(X), one.predict(X) * POWERS)
    assert_array_equal(two.y_mean_, one.y_mean_ * POWERS)
    assert_array_equal(two.y_scale_, one.y_scale_ * POWERS)
    assert_array_equal(two.dual_coef_, one.dual_coef_ * POWERS)
    L = one.output_kernel_ * np.outer(POWERS, POWERS)
    assert_array_equal(two.output_kernel_, L)
    if loss == "squared":
        std = two.predict(X, return_std=True)[1]
        assert_allclose(std, one.predict(X, return_std=True)[1] * POWERS, rtol=1e-12)


@few
@kinds
def test_a_thousand_times_a_target_and_an_offset(structure, kind):
    X, y, given = sample(kind)
    units, offset = np.array([1000.0, 1.0, 1e-3]), np.array([-1e5, 3.0, 10.0])
    model = OutputKernelRegressor(KERNEL, structure, 0.3)
    one = clone(model).fit(X, y, **given)
    two = clone(model).fit(X, in_units(y, units, given, offset), **given)
    assert_allclose(two.certificate_.primal, one.certificate_.primal, rtol=2e-6)
    # half the squared distance of predictions is at most the gap, where observed
    if two.certificate_.status == "optimal":
        F = (two.predict(X) - offset) / units / one.y_scale_
        G = one.predict(X) / one.y_scale_
        near = 4 * (1e-6 * one.certificate_.primal) ** 0.5
        observed = observed_of(y, given)
        assert_allclose(F[observed], G[observed], atol=near)


def observed_of(y, given):
    """Tell which entries (N, M) have a weight of at least one."""
    if "task" in given:
        return given["task"][:, None] == np.arange(M)
    weights = given.get("sample_weight", np.ones(N))
    return (weights.reshape(N, -1) > 0) & ~np.isnan(y)


@few
@kinds
@intercepts
@pytest.mark.each_value
def test_it_is_the_model_of_the_normalised_targets_mapped_back(
    structure, kind, intercept
):
    X, y, given = sample(kind)
    options = {"fit_intercept": intercept, "tol": 1e-2}
    model = OutputKernelRegressor(KERNEL, structure, 0.3, **options)
    model.fit(X, y, **given)
    mean, scale = model.y_mean_, model.y_scale_
    own = given.get("task", slice(None))
    z = (y - mean[own]) / scale[own]
    inside = clone(model).set_params(normalize_y=False).fit(X, z, **given)
    assert_array_equal(inside.y_mean_, np.zeros(M))
    assert_array_equal(inside.y_scale_, np.ones(M))
    assert model.certificate_ == inside.certificate_
    assert len(model.history_) == len(inside.history_)
    assert model.rank_ == inside.rank_
    assert_allclose(model.dual_coef_, inside.dual_coef_ * scale, rtol=1e-12)
    assert_allclose(model.predict(X), inside.predict(X) * scale + mean, rtol=1e-10)
    L = inside.output_kernel_ * np.outer(scale, scale)
    assert_allclose(model.output_kernel_, L, rtol=1e-12)
    assert_array_equal(model.output_kernel_, model.output_kernel_.T)
    assert_array_equal(model.output_kernel_ == 0, inside.output_kernel_ == 0)
    B = model.output_kernel_factor_
    assert B.shape == (M, model.rank_)
    assert_allclose(B @ B.T, L, atol=1e-12 * np.abs(L).max())
    by_hand = KERNEL(X) @ model.dual_coef_ + model.intercept_
    assert_allclose(model.predict(X), by_hand, rtol=1e-10)
    copy = pickle.loads(pickle.dumps(model))
    assert_allclose(copy.predict(X), model.predict(X), rtol=1e-10)
    if not intercept:
        assert_array_equal(mean, np.zeros(M))
        assert model.intercept_ == 0.0


@intercepts
def test_independent_outputs_are_those_of_before_and_of_kernel_ridge(intercept):
    X, Y, _ = draw(N, M)
    Y = Y * [1e-8, 1.0, 1e12]
    size = np.abs(Y).max(axis=0)
    model = OutputKernelRegressor(KERNEL, "identity", 0.2, fit_intercept=intercept)
    found = clone(model).fit(X, Y).predict(X)
    before = clone(model).set_params(normalize_y=False).fit(X, Y).predict(X)
    assert_allclose(found / size, before / size, atol=1e-10)
    if not intercept:
        ridge = KernelRidge(alpha=0.2, kernel="rbf", gamma=0.3).fit(X, Y)
        assert_allclose(found / size, ridge.predict(X) / size, atol=1e-10)


@kinds
def test_what_is_observed_is_what_counts(kind):
    X, y, given = sample(kind)
    model = OutputKernelRegressor(KERNEL, "identity").fit(X, y, **given)
    Y, weights = y, np.ones((N, M))
    if kind == "long":
        observed = given["task"][:, None] == np.arange(M)
        Y, weights = np.where(observed, y[:, None], 0.0), observed * 1.0
    elif "sample_weight" in given:
        weights = np.broadcast_to(given["sample_weight"].reshape(N, -1), (N, M)) * 1.0
    weights = np.where(np.isnan(Y), 0.0, weights)
    Y = np.nan_to_num(Y)
    mean = np.average(Y, axis=0, weights=weights)
    scale = np.sqrt(np.average((Y - mean) ** 2, axis=0, weights=weights))
    assert_allclose(model.y_mean_, mean, rtol=1e-13)
    assert_allclose(model.y_scale_, scale, rtol=1e-13)
    without = clone(model).set_params(fit_intercept=False).fit(X, y, **given)
    root = np.sqrt(np.average(Y**2, axis=0, weights=weights))
    assert_array_equal(without.y_mean_, np.zeros(M))
    assert_allclose(without.y_scale_, root, rtol=1e-13)


@pytest.mark.parametrize("kind", ["rows", "missing", "long"])
def test_repetitions_holes_and_long_form_have_the_same_units(kind):
    X, y, given = sample(kind)
    model = OutputKernelRegressor(KERNEL, "mean")
    one = clone(model).fit(X, y, **given)
    if kind == "rows":
        rows = np.repeat(np.arange(N), given["sample_weight"])
        two = clone(model).fit(X[rows], y[rows])
    elif kind == "missing":
        strange = np.where(np.isnan(y), 1e9, y)
        two = clone(model).fit(X, strange, sample_weight=1.0 - np.isnan(y))
    else:
        observed = given["task"][:, None] == np.arange(M)
        two = clone(model).fit(X, np.where(observed, y[:, None], np.nan))
    assert_allclose(two.y_mean_, one.y_mean_, rtol=1e-13)
    assert_allclose(two.y_scale_, one.y_scale_, rtol=1e-13)


@intercepts
def test_the_attributes_certify_the_model(intercept):
    X, Y, _ = draw(N, M)
    model = OutputKernelRegressor(KERNEL, alpha=0.1, fit_intercept=intercept)
    model.fit(X, Y * [1000.0, 1.0, 0.01] + 5.0)
    mean, scale = model.y_mean_, model.y_scale_
    again = certify(
        KERNEL(X),
        (Y * [1000.0, 1.0, 0.01] + 5.0 - mean) / scale,
        model.dual_coef_ / scale,
        alpha=0.1,
        structure="frobenius",
        output_kernel=model.output_kernel_ / np.outer(scale, scale),
        intercept=(model.intercept_ - mean) / scale if intercept else None,
    )
    assert again.status == "optimal"
    assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert again.dual == pytest.approx(model.certificate_.dual, rel=1e-6)


def test_one_output_has_numbers():
    X, Y, _ = draw(N, 1)
    model = OutputKernelRegressor(KERNEL)
    model.fit(X, Y[:, 0])
    assert isinstance(model.y_mean_, float)
    assert isinstance(model.y_scale_, float)
    assert model.y_mean_ == pytest.approx(Y.mean())
    assert model.y_scale_ == pytest.approx(Y.std())
    column = model.fit(X, Y)
    assert column.y_mean_.shape == column.y_scale_.shape == (1,)
    # an earlier fit leaves nothing behind
    raw = model.set_params(normalize_y=False).fit(X, Y[:, 0])
    assert raw.y_mean_ == 0.0
    assert raw.y_scale_ == 1.0


@few
@pytest.mark.parametrize("value", [0.1, -3e20, 0.0, 1e-200])
def test_constant_outputs_are_left_alone(structure, value):
    X, Y, _ = draw(N, M)
    # what arithmetic leaves of a constant is no signal either
    Y[:, 1] = value * (1 + np.arange(N) % 2 * np.finfo(float).eps)
    model = OutputKernelRegressor(KERNEL, structure, 0.1).fit(X, Y)
    assert model.y_scale_[1] == 1.0
    assert_allclose(model.predict(X)[:, 1], value, rtol=1e-12)
    both = OutputKernelRegressor(KERNEL, structure, 0.1).fit(X, Y[:, [1, 1, 1]])
    assert_allclose(both.predict(X), np.tile(Y[:, [1]], M), rtol=1e-12)
    assert both.certificate_.status == "optimal"


def test_without_an_intercept_a_constant_is_a_target_like_any_other():
    X, Y, _ = draw(N, M)
    Y[:, 0], Y[:, 1] = 5.0, 0.0
    model = OutputKernelRegressor(KERNEL, fit_intercept=False).fit(X, Y)
    assert_allclose(model.y_scale_[:2], [5.0, 1.0])
    assert np.all(model.predict(X)[:, 0] > 0)
    assert_allclose(model.predict(X)[:, 1], 0.0, atol=1e-12)


@pytest.mark.parametrize("structure", ["identity", "frobenius", LowRank()], ids=repr)
@pytest.mark.parametrize("size", [1e-150, 1e150, 1e300])
def test_squares_of_targets_need_not_be_numbers(structure, size):
    X, Y, _ = draw(N, M)
    one = OutputKernelRegressor(KERNEL, structure, 0.1).fit(X, Y)
    two = OutputKernelRegressor(KERNEL, structure, 0.1).fit(X, Y * [size, 1.0, -size])
    assert two.certificate_.status == "optimal"
    assert_allclose(two.y_scale_, one.y_scale_ * [size, 1.0, size], rtol=1e-12)
    F = two.predict(X) / [size, 1.0, -size]
    assert_allclose(F, one.predict(X), atol=1e-2)
    F, std = two.predict(X, return_std=True)
    assert np.all(np.isfinite(F) & np.isfinite(std))
    assert two.output_kernel_factor_.shape == (M, one.rank_)


def test_an_offset_that_dwarfs_a_target_costs_its_own_rounding_only():
    _, Y, _ = draw(200, M)
    units = Units.of(Y + 1e9, None, free_intercept=True)
    assert_allclose(units.scale, Y.std(axis=0), rtol=1e-6)
    assert_allclose(units.mean, (Y + 1e9).mean(axis=0), rtol=1e-15)
    z = units.normalised(Y + 1e9, None)
    assert_allclose(z, (Y - Y.mean(axis=0)) / Y.std(axis=0), atol=1e-6)
    # the mean is a number near 1e9
    assert_allclose(z.mean(axis=0), 0, atol=1e-7)


def search(**options):
    return OutputKernelRegressorCV(
        KERNEL,
        ["identity", "frobenius"],
        **{"alphas": 2, "eps": 1e-2, "cv": KFold(2), "tol": 1e-2, **options},
    )


@kinds
@pytest.mark.parametrize(
    "loss", ["squared", pytest.param("huber", marks=pytest.mark.slow)]
)
def test_no_choice_depends_on_units(kind, loss):
    X, y, given = sample(kind)
    one = search(loss=loss).fit(X, y, **given)
    two = search(loss=loss).fit(X, in_units(y, POWERS, given), **given)
    assert_array_equal(two.alphas_, one.alphas_)
    # in long form R^2 is of all rows, in whatever units
    if kind != "long":
        assert_array_equal(two.scores_, one.scores_)
        assert two.alpha_ == one.alpha_
        assert repr(two.structure_) == repr(one.structure_)
        assert_array_equal(two.predict(X), one.predict(X) * POWERS)


def test_no_choice_depends_on_a_thousand_and_an_offset():
    X, Y, _ = draw(N, M)
    one = search(tol=1e-6).fit(X, Y)
    two = search(tol=1e-6).fit(X, Y * [1000.0, 1.0, 1e-3] + [-1e5, 3.0, 10.0])
    assert_allclose(two.alphas_, one.alphas_, rtol=1e-9)
    assert_allclose(two.scores_, one.scores_, atol=1e-2)
    assert two.alpha_ == pytest.approx(one.alpha_)
    assert repr(two.structure_) == repr(one.structure_)


@pytest.mark.parametrize("structure", ["identity", "frobenius"])
def test_scores_of_a_search_are_in_the_units_of_the_targets(structure):
    X, Y, _ = draw(N, M)
    Y = Y * [1000.0, 1.0, 0.1]
    found = OutputKernelRegressorCV(
        KERNEL,
        structure,
        alphas=[0.3],
        cv=KFold(3),
        scoring="neg_mean_squared_error",
        tol=1e-9,
    ).fit(X, Y)
    mean, scale = Y.mean(axis=0), Y.std(axis=0)  # of all rows
    raw = OutputKernelRegressor(KERNEL, structure, 0.3, tol=1e-9, normalize_y=False)
    for fold, (train, test) in enumerate(KFold(3).split(X)):
        raw.fit(X[train], (Y[train] - mean) / scale)
        error = mean_squared_error(Y[test], raw.predict(X[test]) * scale + mean)
        assert found.scores_[0, 0, fold] == pytest.approx(-error, rel=1e-3)
    assert_allclose(found.y_scale_, scale)
    single = OutputKernelRegressor(KERNEL, structure, 0.3, tol=1e-9).fit(X, Y)
    assert_allclose(found.predict(X) / scale, single.predict(X) / scale, atol=1e-4)


@pytest.mark.parametrize("kind", ["complete", "missing", "long"])
def test_a_path_takes_targets_as_they_are(kind):
    X, y, given = sample(kind)
    options = {"kernel": KERNEL, "alphas": 3, "eps": 1e-2, "tol": 1e-2}
    one = output_kernel_path(X, y, **given, **options)
    two = output_kernel_path(X, in_units(y, POWERS, given), **given, **options)
    raw = output_kernel_path(X, y, normalize_y=False, **given, **options)
    assert_array_equal(two.alphas, one.alphas)
    assert two.certificates == one.certificates
    for model, other in zip(one, two, strict=True):
        assert_array_equal(other.predict(X), model.predict(X) * POWERS)
        assert_array_equal(other.y_scale_, model.y_scale_ * POWERS)
    assert one[0].normalize_y
    assert not raw[0].normalize_y
    assert_array_equal(raw[0].y_scale_, np.ones(M))


def test_what_has_no_units():
    X, Y, _ = draw(N, M)
    for nonsense in ("no", None, 1, 0.5):
        for model in (OutputKernelRegressor(), OutputKernelRegressorCV()):
            model.set_params(normalize_y=nonsense)
            with pytest.raises(ValueError, match="normalize_y must be True or False"):
                model.fit(X, Y)
    with pytest.raises(TypeError, match="normalize_y"):
        OutputKernelClassifier(normalize_y=True)
    classifier = OutputKernelClassifier().fit(X, Y[:, 0] > 0)
    assert not hasattr(classifier, "y_scale_")
    # rows that are their own targets stay in their units, as in principal components
    autoencoder = KernelAutoencoder(1).fit(X)
    assert not hasattr(autoencoder, "y_scale_")
