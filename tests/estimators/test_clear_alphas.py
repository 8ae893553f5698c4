"""By default an output has an alpha of its own where it is clearly better off so."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import KFold

from okl import OutputKernelClassifierCV, OutputKernelRegressorCV, certify
from okl.estimators.search.alphas_of_outputs import _means_in_errors, clear_alphas
from okl.kernels import Gaussian, Linear, PerOutput
from okl.losses import Squared
from okl.operators import Dense
from okl.problems import Observed
from okl.selection import left_out_residuals as left_out_module
from okl.selection.leave_one_out import leave_one_out
from okl.selection.left_out_residuals import LeftOutResiduals

N = 80
KERNEL = "rbf"


def drawn(*noises, seed=0):
    """Return rows, and outputs of which as much is noise; of infinite noise all."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * N, 4))
    columns = []
    for noise in noises:
        signal = np.sin(X[:, 0]) + rng.normal() * X[:, 1]
        of_noise = rng.normal(size=len(X))
        columns.append(of_noise if np.isinf(noise) else signal + noise * of_noise)
    return X, np.column_stack(columns)


def quiet(model, X, Y, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # alphas at the end of their grid
        return model.fit(X, Y, **given)


@pytest.mark.parametrize("structure", ["identity", "frobenius"])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
def test_an_output_beside_noise_keeps_what_it_is_alone(structure, weighted):
    X, Y = drawn(0.1, np.inf, np.inf)
    given = {"sample_weight": np.tile([1.0, 2.0], N // 2)} if weighted else {}

    def error(**options):
        model = OutputKernelRegressorCV(KERNEL, structure, **options)
        quiet(model, X[:N], Y[:N], **given)
        assert certify(model, X[:N], Y[:N], **given).status == "optimal"
        return np.mean((model.predict(X[N:])[:, 0] - Y[N:, 0]) ** 2), model.alpha_

    default, alphas = error()
    # the two of noise have one in common
    assert alphas[0] < alphas[1] / 10
    assert alphas[1] == alphas[2]
    assert default < 0.7 * error(alpha_per_output=False)[0]


@pytest.mark.parametrize(
    ("structure", "n_rows", "several"),
    [("frobenius", 40, True), ("frobenius", 39, False), ("mean", 39, True)],
)
def test_more_outputs_than_rows_have_one_if_relations_are_learned(
    structure, n_rows, several
):
    # with alphas of their own they are not reduced to as many as rows
    X, Y = drawn(*[0.05, *[np.inf] * 4] * 8)
    model = OutputKernelRegressorCV(KERNEL, structure, alphas=5)
    assert np.ndim(quiet(model, X[:n_rows], Y[:n_rows]).alpha_) == several


@pytest.mark.parametrize("structure", ["identity", "frobenius", "mean"])
def test_outputs_that_are_alike_are_fitted_as_without_it(structure):
    X, Y = drawn(0.5, 0.5, 0.5)
    models = [
        quiet(OutputKernelRegressorCV(KERNEL, structure, **options), X, Y)
        for options in ({}, {"alpha_per_output": False})
    ]
    assert np.ndim(models[0].alpha_) == 0
    assert_array_equal(models[0].predict(X), models[1].predict(X))
    assert_array_equal(models[0].alphas_, models[1].alphas_)


@pytest.mark.parametrize(
    "options",
    [
        {"cv": KFold(3)},
        {"loss": "huber"},
        {"structures": ["identity", "low_rank"]},
        {"kernel": PerOutput([Gaussian(0.3), Gaussian(0.2), Linear()])},
        {"kernel": ["rbf", "linear"]},
        {"alphas": [0.1]},
    ],
    ids=str,
)
def test_elsewhere_there_is_one_alpha(options):
    X, Y = drawn(0.1, np.inf, np.inf)
    if isinstance(options.get("kernel"), list):
        options = options | {"structures": [["identity", "identity"]]}
    options = {"kernel": KERNEL, "structures": "identity", "alphas": 4} | options
    Y[::5, 0] = np.nan
    for targets in (Y, np.where(np.isnan(Y), 0.0, Y)):
        found = quiet(OutputKernelRegressorCV(**options), X, targets)
        assert np.ndim(found.alpha_) == 0


@pytest.mark.parametrize("structure", ["identity", "frobenius"])
def test_an_output_of_few_rows_takes_nothing_from_the_others(structure):
    # the errors of its four rows are so large at a small alpha that with equal weights,
    # and one alpha for all, the others have 29 and 8 times their error
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(120, 4)), rng.normal(size=(500, 4))

    def signal(X):
        return np.column_stack([np.sin(2 * X[:, 0]) + s for s in (X[:, 1], -X[:, 2])])

    Y = signal(X) + 0.1 * rng.normal(size=(120, 2))
    few = Y[:, 0] + 0.1 * rng.normal(size=120)
    few[4:] = np.nan

    def error(targets):
        model = quiet(OutputKernelRegressorCV(structures=structure), X, targets)
        return np.mean((model.predict(Z)[:, :2] - signal(Z)) ** 2)

    assert error(np.column_stack([Y, few])) < 1.5 * error(Y)


def test_a_kernel_in_blocks_of_rows_has_one_alpha_where_targets_are_missing():
    X, Y = drawn(0.1, np.inf)
    Y[::3, 1] = np.nan
    for options in ({}, {"alpha_per_output": True}):
        model = OutputKernelRegressorCV(
            KERNEL, "identity", alphas=3, max_memory=0.15, **options
        )
        assert np.ndim(quiet(model, X, Y).alpha_) == len(options)


@pytest.mark.parametrize(("n_outputs", "several"), [(10, True), (11, False)])
def test_many_outputs_with_holes_have_one_if_relations_are_learned(n_outputs, several):
    X, Y = drawn(0.05, *[np.inf] * (n_outputs - 1))
    Y[::3, 1:] = np.nan
    for structure, expected in (("frobenius", several), ("identity", True)):
        model = OutputKernelRegressorCV(KERNEL, structure, alphas=4)
        assert np.ndim(quiet(model, X[:N], Y[:N]).alpha_) == expected


def test_holes_take_no_fits_to_folds_for_an_alpha_of_each(monkeypatch):
    def none(*_):
        raise AssertionError("rows can be left out in closed form")

    monkeypatch.setattr("okl.estimators.search.trials.OutputLosses", none)
    X, Y = drawn(0.1, np.inf)
    Y[::3, 1] = np.nan
    model = OutputKernelRegressorCV(KERNEL, "identity", alpha_per_output=True)
    assert np.ndim(quiet(model, X[:N], Y[:N]).alpha_) == 1


def test_an_output_is_judged_by_its_own_rows():
    # as if the rows where it is missing were not there
    X, Y = drawn(0.1, np.inf, np.inf)
    Y[N // 2 :, 1:] = np.nan
    grid = np.geomspace(10.0, 1e-4, 9)

    def standing(rows, columns):
        targets = Y[rows][:, columns]
        there = np.isfinite(targets).astype(float)
        observed = Observed(np.nan_to_num(targets), Squared(), there)
        K = Dense(Gaussian(0.3)(X[rows]))
        inputs = observed.inputs(K, fit_intercept=True)
        return LeftOutResiduals.of(inputs, observed, grid)

    whole, own = standing(np.arange(N), [1, 2]), standing(np.arange(N // 2), [1, 2])
    assert_allclose(whole.losses, own.losses, rtol=1e-9)
    found = [
        _means_in_errors(
            one.at(0) ** 2 - one.best**2, one.weights, one.weights.sum(axis=0)
        )
        for one in (whole, own)
    ]
    assert_allclose(*found, rtol=1e-9)


def test_two_rows_make_no_alpha_clear():
    X, Y = drawn(0.5, 0.5, 0.5)
    X[1] = X[0] + 0.01
    Y[:2, 2] = 1.0
    Y[2:, 2] = np.nan
    model = OutputKernelRegressorCV(
        KERNEL, "identity", alphas=8, fit_intercept=False, normalize_y=False
    )
    assert np.ndim(quiet(model, X[:N], Y[:N]).alpha_) == 0


def test_holes_in_noise_change_nothing_for_an_output_beside_it():
    X, Y = drawn(0.1, np.inf, np.inf)
    Y[::3, 1:] = np.nan
    model = quiet(OutputKernelRegressorCV(KERNEL, "identity"), X[:N], Y[:N])
    assert model.alpha_[0] < model.alpha_[1] / 10
    assert model.alpha_[1] == model.alpha_[2]
    alone = quiet(OutputKernelRegressorCV(KERNEL, "identity"), X[:N], Y[:N, :1])
    errors = [
        np.mean((np.ravel(one.predict(X[N:])[:, :1]) - Y[N:, 0]) ** 2)
        for one in (model, alone)
    ]
    assert errors[0] < 1.3 * errors[1]


def test_the_order_and_the_units_of_outputs_do_not_matter():
    X, Y = drawn(0.1, np.inf, 0.2, np.inf)
    alphas = quiet(OutputKernelRegressorCV(KERNEL, "identity"), X, Y).alpha_
    order = [2, 1, 3, 0]
    moved = Y[:, order] * [1e3, 1.0, 1e-2, 5.0] + [0.0, 3.0, -1.0, 7.0]
    found = quiet(OutputKernelRegressorCV(KERNEL, "identity"), X, moved).alpha_
    assert_allclose(found, alphas[order], rtol=1e-9)


def chosen(monkeypatch, residuals, weights=None):
    """Return the alphas for residuals (n_alphas, n_samples, n_outputs) left out."""
    grid = np.geomspace(10.0, 0.1, len(residuals))

    def left_out(inputs, formulation, alphas):
        return (residuals[np.argmin(np.abs(grid - alpha))] for alpha in alphas)

    monkeypatch.setattr(left_out_module, "leave_one_out", left_out)
    n, m = residuals.shape[1:]
    counts = None if weights is None else weights[:, None]
    observed = Observed(np.zeros((n, m)), Squared(), counts)
    inputs = observed.inputs(Dense(np.eye(n)), fit_intercept=False)
    found = clear_alphas(observed, LeftOutResiduals.of(inputs, observed, grid), grid)
    if found is None:
        return None
    return found.overall / found.weights


def alike(n, m):
    """Return errors of which those of the middle alpha are least, for all outputs."""
    rng = np.random.default_rng(0)
    return np.array([1.2, 1.0, 1.2])[:, None, None] * rng.normal(size=(n, m))


def test_it_has_to_be_better_row_by_row(monkeypatch):
    n = 50
    residuals = alike(n, 6)
    assert chosen(monkeypatch, residuals) is None
    # a tenth less in each row is clear, and half of it in one row is not
    residuals[2, :, 0] = 0.9 * residuals[1, :, 0]
    assert np.ptp(chosen(monkeypatch, residuals)) > 0
    residuals[2, :, 0] = residuals[1, :, 0]
    residuals[:2, 7, 0] = 6.0
    residuals[2, 7, 0] = 0.0
    assert chosen(monkeypatch, residuals) is None


def test_it_has_to_be_likelier(monkeypatch):
    # a hundredth less in each row is no chance, but says little
    residuals = alike(50, 3)
    residuals[2, :, 0] = 0.99 * residuals[1, :, 0]
    assert chosen(monkeypatch, residuals) is None
    # of many rows it says enough
    residuals = alike(1000, 3)
    residuals[2, :, 0] = 0.99 * residuals[1, :, 0]
    assert np.ptp(chosen(monkeypatch, residuals)) > 0
    # and weights make no rows
    residuals = alike(50, 3)
    residuals[2, :, 0] = 0.99 * residuals[1, :, 0]
    uneven = np.append(np.full(49, 20.0), 1.0)
    for weights in (uneven, np.full(50, 20.0), np.full(50, 0.01)):
        assert chosen(monkeypatch, residuals, weights) is None


def test_few_rows_of_most_of_the_weight_say_little(monkeypatch):
    # three rows have most of the weight, and one output is better by chance in these
    residuals = alike(60, 3)
    weights = np.ones(60)
    weights[:3] = 200.0
    residuals[2, :3, 0] = 0.3 * residuals[1, :3, 0]
    assert chosen(monkeypatch, residuals, weights) is None
    residuals[2, :, 0] = 0.3 * residuals[1, :, 0]
    assert np.ptp(chosen(monkeypatch, residuals)) > 0


def test_of_many_outputs_more_is_asked(monkeypatch):
    # squares that fall by 2.6 standard errors: for one of forty outputs that is chance
    n, falls = 50, 0.4 + 0.4 * 49**0.5 / 2.6 * np.tile([1.0, -1.0], 25)
    for m, leaves in ((2, True), (40, False)):
        residuals = alike(n, m)
        residuals[:2, :, 0], residuals[2, :, 0] = np.sqrt(1 + falls), 1.0
        assert (chosen(monkeypatch, residuals) is not None) == leaves


def test_those_that_leave_move_the_alpha_of_the_others(monkeypatch):
    # a large output decides for all until it has left
    residuals = alike(60, 3)
    residuals[0, :, 0] = 100 * residuals[1, :, 0]
    residuals[1, :, 0] = 50 * residuals[1, :, 0]
    residuals[2, :, 0] = 0.8 * residuals[1, :, 0]
    alphas = chosen(monkeypatch, residuals)
    assert_allclose(alphas, [0.1, 1.0, 1.0])


def test_what_is_no_choice_is_refused():
    X, Y = drawn(0.1, 0.1)
    with pytest.raises(ValueError, match="must be True, False or 'auto', got 'yes'"):
        OutputKernelRegressorCV(KERNEL, alpha_per_output="yes").fit(X, Y)
    classes = OutputKernelClassifierCV(KERNEL, alpha_per_output="auto", alphas=3)
    assert np.ndim(quiet(classes, X, (Y[:, 0] > 0).astype(int)).alpha_) == 0


def test_a_grid_is_gone_through_once(monkeypatch):
    asked = []

    def counted(inputs, formulation, alphas):
        asked.append(len(alphas))
        return leave_one_out(inputs, formulation, alphas)

    monkeypatch.setattr(left_out_module, "leave_one_out", counted)
    X, Y = drawn(0.1, np.inf, np.inf)
    model = quiet(OutputKernelRegressorCV(KERNEL, "identity"), X, Y)
    assert np.ndim(model.alpha_) == 1
    assert asked[0] == 25
    assert set(asked[1:]) == {1}  # of the outputs that have one in common


def with_gross_errors(seed, size):
    """Return rows, outputs without noise to speak of, and the same with errors."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(360, 10))
    true = X @ rng.normal(size=(10, 5)) / 10**0.5
    Y = (true + 0.1 * rng.normal(size=true.shape))[:60]
    Y[rng.choice(60, 4, replace=False), 4] += rng.choice([-1, 1], 4) * size
    return X, true, Y


@pytest.mark.parametrize("structure", ["identity", "frobenius"])
@pytest.mark.parametrize("size", [10, 30])
def test_gross_errors_in_one_output_leave_the_others_alone(structure, size):
    worst = []
    for seed in range(5):
        X, true, Y = with_gross_errors(seed, size)
        model = quiet(OutputKernelRegressorCV(structures=structure), X[:60], Y)
        errors = np.mean((model.predict(X[60:]) - true[60:]) ** 2, axis=0)
        worst.append(np.max((errors / true[60:].var(axis=0))[:4]))
    # by themselves they have .001 to .01
    assert max(worst) < 0.05


def test_an_output_without_noise_does_not_decide_for_all():
    # the alpha of the others is the one they have without it
    X, Y = drawn(0.5, 0.5, 0.5, 0.0)
    alone = quiet(OutputKernelRegressorCV(KERNEL), X, Y[:, :3]).alpha_
    together = quiet(OutputKernelRegressorCV(KERNEL), X, Y).alpha_
    assert np.ndim(alone) == 0
    assert together[3] < together[0] / 10
    assert_allclose(together[:3], together[0])


@pytest.mark.parametrize(("n_outputs", "same"), [(1, True), (3, False)])
def test_the_spread_in_a_fold_counts_if_there_is_one_output(n_outputs, same):
    # gross errors are in the first fold; and then the score is that of scikit-learn
    X, _, Y = with_gross_errors(0, 30)
    Y = Y[:, -n_outputs:]
    Y = Y[np.argsort(-np.abs(Y[:, -1]))]
    scores = [
        quiet(OutputKernelRegressorCV(KERNEL, cv=KFold(5), **given), X[:60], Y).scores_
        for given in ({}, {"scoring": "r2"})
    ]
    assert np.allclose(*scores) == same


@pytest.mark.parametrize("seed", [5, 6, 7])
def test_an_output_with_gross_errors_has_an_alpha_of_its_own(seed):
    # by squares alone it has not: a few of them hide that all other errors are smaller
    X, _, Y = with_gross_errors(seed, 30)
    alphas = quiet(OutputKernelRegressorCV(structures="identity"), X[:60], Y).alpha_
    assert np.all(alphas[4] > 10 * alphas[:4])
