"""Which covariance is taken for which table, by entries held out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl import OutputKernelRegressor
from okl.posterior import RowDistribution, best_distribution, held_out_entries
from okl.posterior.few_factors import of_few_factors
from okl.posterior.held_out_entries import best_of_errors
from okl.posterior.incomplete_rows import shrunk


def of_factors(n, m, seed):
    rng = np.random.default_rng(seed)
    whole = rng.normal(size=(n, 2)) @ rng.normal(size=(2, m))
    return whole + 0.7 * rng.normal(size=(n, m))


def of_neighbours(n, m, seed):
    """Columns of which each is like the one before, so that factors are many."""
    rng = np.random.default_rng(seed)
    whole = rng.normal(size=(n, m))
    for j in range(1, m):
        whole[:, j] = 0.95 * whole[:, j - 1] + 0.3 * whole[:, j]
    return whole


def holes(whole, share=0.2):
    missing = np.random.default_rng(99).random(whole.shape) < share
    return missing, np.where(missing, np.nan, whole)


@pytest.mark.parametrize("seed", range(3))
def test_few_factors_are_taken_where_they_are_what_there_is(seed):
    whole = of_factors(40, 80, seed)
    missing, rows = holes(whole)

    def error(distribution):
        return np.mean((distribution.filled(rows)[0] - whole)[missing] ** 2)

    found = best_distribution(rows)
    few = RowDistribution.of(rows, shrinkage=of_few_factors)
    assert_allclose(found.covariance, few.covariance)
    assert error(found) < 0.8 * error(RowDistribution.of(rows))


@pytest.mark.parametrize("seed", range(3))
def test_other_columns_are_shrunk_alike(seed):
    _, rows = holes(of_neighbours(50, 60, seed))
    found = best_distribution(rows)
    assert np.array_equal(found.covariance, RowDistribution.of(rows).covariance)


def test_tables_of_many_rows_or_few_entries_are_not_tried(monkeypatch):
    def refuse(*args):
        pytest.fail("few factors were tried")

    monkeypatch.setattr(held_out_entries, "of_few_factors", refuse)
    for n, m in [(240, 30), (10, 12)]:
        rows = holes(of_factors(n, m, 0))[1]
        found = best_distribution(rows)
        assert np.array_equal(found.covariance, RowDistribution.of(rows).covariance)


def test_units_of_columns_do_not_matter():
    """In units of the table one column, which is noise, would decide alone."""
    _, rows = holes(of_factors(40, 80, 0))
    units = np.ones(80)
    units[3] = 1e6
    rows[:, 3] = np.random.default_rng(5).normal(size=40)
    one, other = best_distribution(rows), best_distribution(rows * units)
    off = other.covariance / np.outer(units, units) - one.covariance
    assert np.max(np.abs(off)) < 1e-8


def test_each_column_keeps_two_entries():
    seen = np.zeros((50, 100), dtype=bool)
    seen[:2] = True
    seen[:, :50] = True
    rows = np.where(seen, np.random.default_rng(0).normal(size=seen.shape), np.nan)
    out = held_out_entries._held_out_of_table(rows)
    assert out[:, :50].any()
    assert not out[:, 50:].any()
    assert np.all((seen & ~out).sum(axis=0) >= 2)


def test_constant_columns_do_not_matter():
    rows = holes(of_factors(40, 80, 0))[1]
    with_constant = np.column_stack([rows, np.full(40, 7.0)])
    with_constant[0, -1] = np.nan
    found = best_distribution(with_constant)
    assert np.all(found.covariance[-1] == 0)
    assert found.filled(with_constant)[0][0, -1] == 7.0
    assert np.all(best_distribution(np.full((40, 80), 3.0)).covariance == 0)


@pytest.mark.parametrize("with_holes", [False, True])
def test_errors_of_few_factors_are_those_of_new_rows(with_holes):
    whole = of_factors(300, 30, 1)
    rows, new = whole[:60], whole[60:]
    if with_holes:
        rows = holes(rows, 0.1)[1]
    found = best_of_errors(rows)
    few, alike = (
        RowDistribution.of(rows, centre=False, shrinkage=shrinkage)
        for shrinkage in (of_few_factors, shrunk)
    )
    assert_allclose(found.covariance, few.covariance)
    assert np.all(found.mean == 0)
    known = np.where(np.arange(30) < 15, new, np.nan)

    def error(distribution):
        return np.mean((distribution.filled(known)[0] - new)[:, 15:] ** 2)

    assert error(few) < 0.97 * error(alike)


def test_other_errors_are_shrunk_alike():
    rows = of_neighbours(50, 60, 0)
    alike = RowDistribution.of(rows, centre=False)
    assert_allclose(best_of_errors(rows).covariance, alike.covariance)
    # neither the order of rows nor that of columns plays a part
    rows = of_factors(60, 30, 1)
    order, columns = np.argsort(rows[:, 0]), np.argsort(rows[0])
    again = best_of_errors(rows[np.ix_(order, columns)]).covariance
    first = best_of_errors(rows).covariance
    assert_allclose(again, first[np.ix_(columns, columns)], rtol=1e-6, atol=1e-9)


def test_given_outputs_tell_of_others_by_few_factors(monkeypatch):
    whole = of_factors(360, 30, 1)
    X = np.random.default_rng(0).normal(size=(360, 1))
    given = np.where(np.arange(30) < 15, whole[60:], np.nan)

    def error():
        model = OutputKernelRegressor("rbf", "identity", alpha=100.0)
        found = model.fit(X[:60], whole[:60]).predict(X[60:], given=given)
        return np.mean((found - whole[60:])[:, 15:] ** 2)

    by_factors = error()
    monkeypatch.setattr(held_out_entries, "of_few_factors", shrunk)
    assert by_factors < 0.97 * error()


@pytest.fixture
def gains(monkeypatch):
    """Collect what few factors gain."""
    found = []
    is_gain = held_out_entries._is_gain

    def collected(some):
        found.append(some)
        return is_gain(some)

    monkeypatch.setattr(held_out_entries, "_is_gain", collected)
    return found


def test_gains_of_rows_are_the_same_in_any_order(gains):
    rows = of_factors(60, 30, 1)
    order, columns = np.argsort(rows[:, 0]), np.argsort(rows[0])
    for table in (rows, rows[order], rows[:, columns]):
        best_of_errors(table)
    first, in_order, of_columns = gains
    assert np.std(first) > 0.1
    assert_allclose(in_order, first[order], rtol=1e-6, atol=1e-9)
    assert_allclose(of_columns, first, rtol=1e-6, atol=1e-9)


def test_half_of_the_entries_of_new_rows_are_predicted(monkeypatch):
    shares = []
    filled = RowDistribution.filled

    def spied(distribution, rows):
        shares.append(np.isnan(rows).mean())
        return filled(distribution, rows)

    monkeypatch.setattr(RowDistribution, "filled", spied)
    best_of_errors(of_factors(60, 30, 1))
    assert_allclose(shares, 0.5, atol=0.1)


def test_what_is_less_sure_than_it_could_be_is_not_taken(gains, monkeypatch):
    """Predictions are the same, and squared errors in units of their size smaller."""
    monkeypatch.setattr(
        held_out_entries, "of_few_factors", lambda *given: 100 * shrunk(*given)
    )
    rows = of_factors(60, 30, 1)
    alike = RowDistribution.of(rows, centre=False)
    assert_allclose(best_of_errors(rows).covariance, alike.covariance)
    assert np.mean(gains) < 0


def test_a_gain_is_more_than_its_standard_error():
    # of four gains of mean 0.5: the standard deviation has to be less than one
    for spread, gained in ((0.9, True), (1.1, False)):
        gains = 0.5 + spread * np.array([1.0, -1.0, 1.0, -1.0])
        assert held_out_entries._is_gain(gains) == gained


def test_where_other_rows_do_not_tell_of_a_column_errors_are_shrunk_alike(
    gains, monkeypatch
):
    rows = of_factors(60, 30, 1)
    # rows 0 and 5, of the same fold, alone have the first column
    monkeypatch.setattr(held_out_entries, "_by_size", lambda rows: np.arange(len(rows)))
    rows[:, 0] = np.nan
    rows[[0, 5], 0] = 1.0, -1.0
    alike = RowDistribution.of(rows, centre=False)
    assert_allclose(best_of_errors(rows).covariance, alike.covariance)
    assert not gains
