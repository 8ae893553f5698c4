"""The kernel of classes is the best for held-out rows, with widths where they pay."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer

from okl.kernels import Constant, Laplacian, Learnable, Linear, Matern
from okl.losses import Huber, Softmax
from okl.parameters import HyperparameterSpace
from okl.problems import Observed
from okl.selection import kernel_of_folds as recipe
from okl.selection.criteria import FoldsLikelihood
from okl.selection.learned_kernel import learn_kernel
from okl.selection.linear_plus import (
    first_kernel,
    mean,
    with_laplacian,
    with_widths,
)
from okl.selection.standard_columns import StandardColumns
from okl.selection.standard_rows import StandardRows
from tests.covering import later

N = 60


def kernel_of(rows, folds):
    """Return the kernel of rows in one scale of their columns."""
    number, kernel = recipe.kernel_of_folds([rows], folds)
    assert number == 0
    return kernel


def halves(n):
    return [(np.flatnonzero(np.arange(n) % 2 != k), np.arange(k, n, 2)) for k in (0, 1)]


def rows_of(n_noise=0, *, slope=4.0, n=N):
    """Return rows whose first two columns tell the class, and the criterion."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 2 + n_noise))
    scores = slope * (X[:, 0] ** 2 - 1 + 0.5 * X[:, 1])
    labels = (rng.random(n) < 1 / (1 + np.exp(-scores))).astype(int)
    observed = Observed(np.eye(2)[labels], Softmax())
    rows = StandardRows((X - X.mean(0)) / X.std(0), observed, True, None)
    return rows, FoldsLikelihood(observed, halves(n), fit_intercept=True)


FOLDS = halves(N)


def spy_on(rows, values, *, of_the_mean):
    """Return rows whose searches find these values one by one, where they start."""
    values = iter(values)

    class Spy(StandardRows):
        started = []  # noqa: RUF012

        def learned(self, start, criterion, max_iter):
            self.started.append(start)
            return SimpleNamespace(kernel=start, value=next(values))

        def value(self, kernel, criterion):
            return np.inf if isinstance(kernel, Linear) else of_the_mean

    return Spy(rows.Z, rows.observed, True, None)


def parts(kernel):
    """Return the kernels besides the linear one."""
    rest = kernel.right
    halves = (rest.left, rest.right)
    several = not isinstance(rest.left, Constant)
    return [half.right for half in halves] if several else [rest.right]


def widths(one):
    return 1 / one.gamma if isinstance(one, Laplacian) else one.length_scale


def spread(kernel):
    """Return the largest ratio of two widths of a part."""
    return max(np.max(widths(p)) / np.min(widths(p)) for p in parts(kernel))


def test_columns_that_do_nothing_have_large_widths(monkeypatch):
    rows, criterion = rows_of(3, slope=8.0)
    kernel = kernel_of(rows, FOLDS)
    for one in parts(kernel):
        assert np.max(widths(one)[:2]) < np.min(widths(one)[2:])
    monkeypatch.setattr(recipe, "MOST_WIDTHS", 1)
    alike = kernel_of(rows, FOLDS)
    assert spread(alike) == pytest.approx(1.0)
    better = rows.value(alike, criterion) - rows.value(kernel, criterion)
    assert better > 2.0 + recipe._CLEAR


@pytest.mark.parametrize(
    ("more", "again", "searches"),
    [(-0.01, -0.01, 5), (-0.01, 0.01, 6), (0.01, -0.01, 5)],
)
@pytest.mark.parametrize(
    ("n_noise", "asked"), [(0, 0.25), (3, 1.0), (19, 5.0), (98, 17.5)]
)
def test_widths_have_to_gain_something_each(more, again, searches, n_noise, asked):
    rows, _ = rows_of(n_noise)
    tries = [40.0 - asked - one for one in ((more,) if more > 0 else (more, again))]
    # a search more, of both together, where what was found loses enough to pay for it
    values = [40.0, 41.0, *tries, 1.0, 1.0]
    spy = spy_on(rows, values, of_the_mean=40.0)
    kernel_of(spy, FOLDS)
    assert len(spy.started) == searches


def test_a_few_of_many_columns_are_found():
    rows, _ = rows_of(78, slope=20.0, n=120)
    for one in parts(kernel_of(rows, halves(120))):
        assert np.max(widths(one)[:2]) < np.median(widths(one)[2:])


@pytest.mark.parametrize("seed", [0, *later(1, 2)])
def test_few_of_many_columns_are_found_where_classes_are_linear_in_them(seed):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(100, 60))
    labels = (Z[:, 0] > Z[:, 1]).astype(int)
    observed = Observed(np.eye(2)[labels], Softmax())
    rows = StandardRows(Z, observed, True, None)
    for one in parts(kernel_of(rows, halves(100))):
        assert np.max(widths(one)[:2]) < np.min(widths(one)[2:])


def test_widths_of_a_kernel_that_has_no_weight_begin_again():
    rows, _ = rows_of(3)
    # the Laplacian kernel stays where it was, and again is as good as the other one
    values = iter([40.0, 41.0, 20.0, 20.0, 41.0, 19.0, 19.0])
    started = []

    def learn(self, start, criterion, max_iter):
        started.append(start)
        return SimpleNamespace(kernel=start, value=next(values))

    spy = type("Spy", (StandardRows,), {"learned": learn})
    kernel_of(spy(rows.Z, rows.observed, True, None), FOLDS)
    first = with_widths(with_laplacian(first_kernel(5), 5), rows.Z)
    assert_allclose(started[-2](rows.Z), first(rows.Z))


@pytest.mark.parametrize("better", [0.01, -0.01])
@pytest.mark.parametrize("alone", [19.0, 15.0], ids=["mean", "one"])
def test_widths_of_both_are_learned_together_where_clearly_better(alone, better):
    kept = 19.5 if alone > 16.5 else alone
    rows, _ = rows_of(3)
    values = [40.0, 41.0, 20.0, 21.0, alone, kept - 3.0 - better]
    spy = spy_on(rows, values, of_the_mean=19.5)
    kernel = kernel_of(spy, FOLDS)
    begun = first_kernel(5)
    first = with_widths(mean(begun, with_laplacian(begun, 5)), rows.Z)
    assert_allclose(spy.started[-1](rows.Z), first(rows.Z))
    assert (kernel is spy.started[-1]) == (better > 0)


@pytest.mark.parametrize("better", [0.01, -0.01])
@pytest.mark.parametrize(("n_noise", "price"), [(3, 3.0), (19, 10.0), (98, 35.0)])
def test_widths_of_both_pay_twice_where_those_of_one_do_not(n_noise, price, better):
    rows, _ = rows_of(n_noise)
    values = [40.0, 41.0, 40.0, 40.0, 40.0 - price - better]
    spy = spy_on(rows, values, of_the_mean=40.0)
    kernel = kernel_of(spy, FOLDS)
    assert (kernel is spy.started[-1]) == (better > 0)
    assert len(spy.started) == 5


def test_widths_that_do_not_pay_are_not_kept():
    X, y = load_breast_cancer(return_X_y=True)
    X, observed = X[:120], Observed(np.eye(2)[y[:120]], Softmax())
    rows = StandardRows((X - X.mean(0)) / X.std(0), observed, True, None)
    kernel = kernel_of(rows, halves(120))
    assert spread(kernel) == pytest.approx(1.0)


def test_the_noise_of_a_loss_of_numbers_is_not_given():
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(N, 5))
    # of a loss of five altogether the widths of three more columns save two
    y = 0.6 * (Z[:, :1] ** 2 - np.abs(Z[:, 1:2])) + 0.05 * rng.normal(size=(N, 1))
    observed = Observed(y, Huber(100.0))
    kernel = kernel_of(StandardRows(Z, observed, True, None), FOLDS)
    for one in parts(kernel):
        assert np.max(widths(one)[:2]) < np.min(widths(one)[2:])


def test_each_target_of_a_row_with_a_weight_counts():
    observed = Observed(np.zeros((N, 3)), Huber())
    gain = recipe._gain(observed, 2.0, 1.0)
    assert gain == pytest.approx(1.5 * N * np.log(2.0))
    for weights in (np.ones((N, 1)), np.ones((N, 3))):
        again = recipe._gain(replace(observed, weights=weights), 2.0, 1.0)
        assert again == pytest.approx(gain)
    half = (np.arange(N) % 2)[:, None]
    again = recipe._gain(replace(observed, weights=half), 2.0, 1.0)
    assert again == pytest.approx(gain / 2)


@pytest.mark.parametrize(("distance", "tries"), [(0.0, True), (4.0, False)])
def test_widths_are_not_tried_where_less_than_their_price_is_lost(
    distance, tries, monkeypatch
):
    rows, _ = rows_of(20, slope=1.0)
    sides = rows.observed.targets[:, :1] - rows.observed.targets[:, 1:]
    Z = rows.Z + distance * sides
    tried = []

    def with_widths(kernel, Z):
        tried.append(kernel)
        return kernel

    monkeypatch.setattr(recipe, "with_widths", with_widths)
    kernel_of(StandardRows(Z, rows.observed, True, None), FOLDS)
    assert bool(tried) == tries


@pytest.mark.parametrize("clear", [0.0, 3.0, np.inf])
def test_the_mean_of_both_unless_one_is_clearly_better(clear, monkeypatch):
    rows, criterion = rows_of()
    monkeypatch.setattr(recipe, "_CLEAR", clear)
    learned = []

    def learn(self, *given):
        learned.append(found := StandardRows.learned(rows, *given))
        return found

    monkeypatch.setattr(recipe, "MOST_WIDTHS", 1)
    spy = type("Spy", (StandardRows,), {"learned": learn})
    kernel = kernel_of(
        spy(rows.Z, rows.observed, rows.fit_intercept, rows.row_weights), FOLDS
    )
    smooth, rough = (one.kernel for one in learned)
    assert [type(parts(one)[0]) for one in (smooth, rough)] == [Matern, Laplacian]
    both = mean(smooth, rough)
    values = [rows.value(one, criterion) for one in (smooth, rough, both)]
    expected = both
    if values[2] - min(values[:2]) > clear:
        expected = (smooth, rough)[int(np.argmin(values[:2]))]
    assert_allclose(kernel(rows.Z), expected(rows.Z))
    assert_allclose(both(rows.Z), (smooth(rows.Z) + rough(rows.Z)) / 2)


@pytest.mark.parametrize("family", [0, 1], ids=["Matern", "Laplacian"])
def test_each_is_best_for_held_out_rows(family, monkeypatch):
    rows, criterion = rows_of()
    monkeypatch.setattr(recipe, "_ITERATIONS", 30)
    monkeypatch.setattr(recipe, "MOST_WIDTHS", 1)
    monkeypatch.setattr(recipe, "mean", lambda *both: both[family])
    monkeypatch.setattr(recipe, "_CLEAR", np.inf)
    one = kernel_of(rows, FOLDS)
    (part,) = parts(one)

    def objective(weight=1.0, width=1.0, slope=1.0):
        size = widths(part) * width
        shape = Laplacian(1 / size) if family else Matern(size, 2.5)
        kernel = Linear(scales=slope * np.mean(one.left.scales))
        kernel = kernel + weight * one.right.left.value * shape
        space = HyperparameterSpace(kernel.hyperparameters(rows.Z))
        return rows.value(kernel, criterion) - space.log_prior(space.start)[0]

    for name, factor in (("weight", 1.5), ("width", 1.3), ("slope", 2.0)):
        for ratio in (factor, 1 / factor):
            assert objective() < objective(**{name: ratio})


def pixels(n=120, n_quiet=30):
    """Return rows in which columns that tell nothing hardly vary, and the classes."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 3 + n_quiet))
    labels = (X[:, 0] ** 2 + X[:, 1] * X[:, 2] > 0.7).astype(int)
    X[:, 3:] *= 0.05
    return X, Observed(np.eye(2)[labels], Softmax())


def scales_of(X):
    """Return the choices of `learn_kernel` for rows."""
    columns = StandardColumns.of(X, None, centred=True)
    return [columns, columns.in_one_unit()]


def test_columns_that_hardly_vary_may_keep_their_unit():
    X, observed = pixels()
    scales = scales_of(X)
    choices = [StandardRows(one.rows(X), observed, True, None) for one in scales]
    number, kernel = recipe.kernel_of_folds(choices, halves(120))
    assert number == 1
    criterion = FoldsLikelihood(observed, halves(120), fit_intercept=True)
    standard = choices[0].value(kernel_of(choices[0], halves(120)), criterion)
    assert choices[1].value(kernel, criterion) < standard - 3.0
    learned = learn_kernel(X, observed, halves(120), Learnable(), fit_intercept=True)
    expected = scales[1].in_units(kernel)
    assert_allclose(learned.kernel(X), expected(X), rtol=1e-9)
    assert learned.relevances[:3].sum() > 0.9


def test_units_that_mean_nothing_are_not_kept():
    X, observed = pixels(n_quiet=5)
    X[:, 3:] /= 0.05
    units = np.array([1e-3, 1.0, 1e3, 10.0, 0.1, 1.0, 50.0, 1e4])
    choices = [
        StandardRows(s.rows(X * units), observed, True, None)
        for s in scales_of(X * units)
    ]
    assert recipe.kernel_of_folds(choices, halves(120))[0] == 0
    given = observed, halves(120), Learnable()
    as_they_are = learn_kernel(X, *given, fit_intercept=True).kernel(X)
    in_units = learn_kernel(X * units, *given, fit_intercept=True).kernel(X * units)
    assert_allclose(in_units, as_they_are, rtol=1e-3)


def test_a_choice_has_to_be_clearly_better(monkeypatch):
    X, observed = pixels()
    rows = [StandardRows(one.rows(X), observed, True, None) for one in scales_of(X)]
    monkeypatch.setattr(recipe, "_CLEAR", np.inf)
    assert recipe.kernel_of_folds(rows, halves(120))[0] == 0


@pytest.mark.parametrize("better", [0.01, -0.01])
def test_the_scale_is_chosen_once_and_only_that_one_is_searched(better):
    rows, _ = rows_of(3)
    standard = spy_on(rows, [40.0] + 6 * [39.0], of_the_mean=50.0)
    begun = 40.0 - recipe._CLEAR - better
    one_unit = spy_on(rows, [begun] + 6 * [begun - 1.0], of_the_mean=45.0)
    number, _ = recipe.kernel_of_folds([standard, one_unit], FOLDS)
    assert number == (better > 0)
    searched = [len(one.started) > 1 for one in (standard, one_unit)]
    assert searched == [better < 0, better > 0]


def test_columns_that_were_standardised_leave_no_choice():
    X, _ = pixels()
    assert scales_of(X)[0].differ
    assert not scales_of((X - X.mean(0)) / X.std(0))[0].differ


def test_a_choice_that_begins_worse_is_not_searched():
    X, observed = pixels(n_quiet=5)
    X[:, :3] *= 0.01  # the columns that count hardly vary

    class Spy(StandardRows):
        def learned(self, start, criterion, max_iter):
            raise AssertionError("no search was worth it")

    standard, one_unit = scales_of(X)
    choices = [
        StandardRows(standard.rows(X), observed, True, None),
        Spy(one_unit.rows(X), observed, True, None),
    ]
    assert recipe.kernel_of_folds(choices, halves(120))[0] == 0


def test_one_unit_is_a_variance_of_one_on_average():
    X, _ = pixels()
    for one in scales_of(7.0 * X + 3.0):
        Z = one.rows(7.0 * X + 3.0)
        assert_allclose(Z.mean(axis=0), 0.0, atol=1e-12)
        assert_allclose(np.mean(Z.var(axis=0)), 1.0)
    assert_allclose(Z.std(axis=0), X.std(axis=0) / np.sqrt(np.mean(X.var(axis=0))))
