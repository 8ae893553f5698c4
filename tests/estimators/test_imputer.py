"""Tables with holes, filled in."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer

from okl import OutputKernelImputer, OutputKernelRegressor, OutputKernelRegressorCV
from okl.estimators.column_units import ColumnUnits
from okl.kernels import Gaussian, Matern, PerOutput
from okl.structures import Fixed
from tests.covering import later
from tests.samples import draw, psd


def holes(Y, share=0.3, seed=1):
    return np.where(np.random.default_rng(seed).random(Y.shape) < share, np.nan, Y)


def related(n=300, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 1))
    return z * [1.0, -10.0, 0.1] + rng.normal(size=(n, 3)) * [0.1, 1.0, 0.01]


def with_inputs(n=80):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    common = 0.5 * rng.normal(size=(n, 1))
    Y = np.sin(X[:, :1]) * [1, 2, 1] + common + 0.05 * rng.normal(size=(n, 3))
    return X, Y


INDEPENDENT = OutputKernelRegressor(Gaussian(0.5), "identity", 0.2)


@pytest.mark.parametrize("transform_y", ["yeo-johnson", "standardize", None])
def test_related_columns_fill_each_other_in(transform_y):
    whole = related()
    table = holes(whole)
    imputer = OutputKernelImputer(transform_y=transform_y)
    filled, std = imputer.fit_transform(table, return_std=True)
    seen = ~np.isnan(table)
    assert np.array_equal(filled[seen], table[seen])
    assert np.all(std[seen] == 0)
    assert np.all(std[~seen] > 0)
    some = ~seen & seen.any(axis=1)[:, None]
    errors = (filled - whole) / whole.std(axis=0)
    assert np.sqrt(np.mean(errors[some] ** 2)) < 0.2
    assert 0.7 < np.mean(((filled - whole) / np.where(seen, 1, std))[some] ** 2) < 1.4
    assert_allclose(imputer.transform(table), filled)
    nothing = imputer.transform(np.full((1, 3), np.nan))
    assert np.all(np.abs(nothing - whole.mean(axis=0)) < 0.2 * whole.std(axis=0))


@pytest.mark.parametrize("n_iter", [0, 2])
def test_what_is_said_of_columns_names_them(n_iter):
    X, Y = with_inputs(20)
    Y[2:, 1] = np.nan
    search = OutputKernelRegressorCV("rbf", structures="identity", alphas=3, cv=20)
    imputer = OutputKernelImputer(search, n_iter=n_iter)
    imputer.fit(pd.DataFrame(Y, columns=["a", "b", "c"]), X=X)
    assert list(imputer.estimator_.output_names_) == ["a", "b", "c"]
    Y[1:, 1] = np.nan
    with pytest.warns(UserWarning, match=r"no targets of the output 'b' \(fold 0\)"):
        imputer.fit(pd.DataFrame(Y, columns=["a", "b", "c"]), X=X)


def test_units_and_order_of_columns_do_not_matter():
    table = holes(related())
    first = OutputKernelImputer().fit_transform(table)
    unit = np.array([1e3, 1e-3, 1.0])
    second = OutputKernelImputer().fit_transform(table * unit + 5.0 * unit)
    assert_allclose(second, (first + 5.0) * unit, rtol=1e-6)
    turned = OutputKernelImputer().fit_transform(table[:, ::-1])
    assert_allclose(turned, OutputKernelImputer().fit_transform(table)[:, ::-1], 1e-3)


def test_skew_is_taken_away_and_medians_come_back():
    whole = np.exp(related() / [1.0, 10.0, 0.1])
    table = holes(whole)
    seen = ~np.isnan(table)
    some = ~seen & seen.any(axis=1)[:, None]
    errors = {}
    for transform_y in ("yeo-johnson", None):
        filled = OutputKernelImputer(transform_y=transform_y).fit_transform(table)
        errors[transform_y] = np.median(np.abs(np.log(np.abs(filled / whole)))[some])
        if transform_y is not None:
            # as many are above as below
            assert abs(np.mean(filled[some] > whole[some]) - 0.5) < 0.1
            assert np.all(filled <= np.nanmax(table, axis=0) * 4)
    assert errors["yeo-johnson"] < 0.8 * errors[None]


def test_inputs_and_the_rest_of_the_row_both_tell():
    X, whole = with_inputs()
    table = holes(whole)
    seen = ~np.isnan(table)
    some = ~seen & seen.any(axis=1)[:, None]

    def error(filled):
        return np.sqrt(np.mean((filled - whole)[some] ** 2))

    both = OutputKernelImputer(INDEPENDENT).fit_transform(table, X=X)
    alone = OutputKernelImputer().fit_transform(table)
    from_inputs = clone(INDEPENDENT).fit(X, table).predict(X)
    assert np.array_equal(both[seen], table[seen])
    assert error(both) < 0.7 * error(from_inputs)
    assert error(both) < 0.7 * error(alone)


@pytest.mark.parametrize("structure", ["identity", Fixed(psd(3, 5))])
def test_training_rows_are_as_if_they_were_new(structure):
    X, Y, _ = draw(14, 3)
    table = holes(Y)
    table[0], table[3, 0] = Y[0], np.nan
    options = {"normalize_y": False, "tol": 1e-12}
    model = OutputKernelRegressor(Gaussian(0.3), structure, 0.3, **options)
    process = model.fit(X, table)._process
    found = process.conditioned_training_rows()
    for i in (0, 3, 8):
        rest = np.delete(np.arange(14), i)
        alone = clone(model).fit(X[rest], table[rest])
        # with the errors of all rows
        known = {"calibration": process.calibration, "correlation": process.correlation}
        vars(alone._process).update(known)
        mean, covariance = alone.predict(
            X[[i]], given=table[[i]], return_cov=True, include_noise=True
        )
        assert_allclose(found.mean[i], mean[0], atol=1e-4)
        assert_allclose(found.covariance[i], covariance[0], atol=1e-6)


@pytest.mark.parametrize("factor", [1e-6, 10.0, *later(0.1, 1e6)])
def test_a_unit_changes_nothing(factor):
    table = holes(np.hstack([np.exp(related(150)), related(150, seed=1)]))
    imputer, other = OutputKernelImputer(), OutputKernelImputer()
    filled = imputer.fit_transform(table)
    assert imputer.transformer_.by_power.any()
    assert_allclose(other.fit_transform(table * factor), filled * factor, rtol=1e-4)


def test_a_power_is_taken_where_it_predicts_entries_better():
    # exponentials of related columns, beside columns related as they are
    logs, plain = related(150), related(150, seed=1)
    whole = np.hstack([np.exp(logs / [1.0, 10.0, 0.1]), plain])
    table = holes(whole)
    imputer = OutputKernelImputer()
    filled = imputer.fit_transform(table)
    assert imputer.transformer_.by_power.tolist() == [True] * 3 + [False] * 3
    for way, columns in (("yeo-johnson", slice(3)), ("standardize", slice(3, 6))):
        alone = OutputKernelImputer(transform_y=way).fit(table)
        seen = alone.transformer_.transform(table)[:, columns]
        assert_allclose(imputer.transformer_.transform(table)[:, columns], seen)
    assert np.all(filled[:, :3] > 0)
    # one column says nothing of itself, and inputs are another matter
    assert not OutputKernelImputer().fit(table[:, :1]).transformer_.by_power.any()
    X = np.random.default_rng(0).normal(size=(150, 1))
    with_inputs = OutputKernelImputer(INDEPENDENT).fit(table, X=X)
    assert not with_inputs.transformer_.by_power.any()


def test_columns_that_are_related_by_their_logarithms_all_have_a_power():
    # some of them alone do not gain much by it, and would break the relations
    rng = np.random.default_rng(0)
    logs = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 12))
    logs += 0.6 * rng.normal(size=logs.shape)
    table = holes(np.exp(logs / logs.std(axis=0)))
    assert OutputKernelImputer().fit(table).transformer_.by_power.all()
    # and logarithms, normal already, have none
    assert not OutputKernelImputer().fit(holes(logs)).transformer_.by_power.any()


def test_a_mixture_of_units_is_not_worse_than_one():
    # sizes of cells and their areas: many columns gain by a power, if all have it
    whole = load_breast_cancer().data[:200]
    errors = {"auto": 0.0, "standardize": 0.0}
    for seed in (2, 6, 7):
        hidden = np.random.default_rng(seed).random(whole.shape) < 0.2
        for way in errors:
            imputer = OutputKernelImputer(transform_y=way)
            filled = imputer.fit_transform(np.where(hidden, np.nan, whole))
            off = (filled - whole) / whole.std(axis=0)
            errors[way] += np.mean(off[hidden] ** 2)
    assert errors["auto"] <= errors["standardize"]


@pytest.mark.parametrize("seed", [1, 2, *later(0, 3, 4, 5, 6, 7)])
def test_few_rows_of_normal_columns_are_not_transformed(seed):
    rng = np.random.default_rng(seed)
    whole = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 30))
    whole += 0.5 * rng.normal(size=whole.shape)
    assert not OutputKernelImputer().fit(holes(whole, 0.2)).transformer_.by_power.any()
    skewed = OutputKernelImputer().fit(holes(np.exp(0.3 * whole), 0.2))
    assert skewed.transformer_.by_power.any()


def test_a_mixture_has_no_powers_of_columns_that_are_not_likelier_by_them(monkeypatch):
    errors = {
        (False, False, False): [1.0, 1.0, 1.0],
        (True, True, True): [0.5, 0.5, 1.5],
        (True, True, False): [0.3, 0.3, 0.9],
        (True, False, False): [0.4, 1.0, 1.0],
    }
    monkeypatch.setattr(
        ColumnUnits,
        "_errors",
        lambda units, table: np.array(errors[tuple(units.by_power.tolist())]),
    )
    table = np.exp(np.random.default_rng(0).normal(size=(50, 3)))
    units = ColumnUnits.of(table, "standardize")
    for likelier, by_power in (([5, 5, 5], [1, 1, 0]), ([5, -1, 5], [1, 0, 0])):
        judged = replace(units, likelier=np.array(likelier))._judged(table)
        assert judged.by_power.tolist() == [one == 1 for one in by_power]


def test_a_column_that_is_constant_but_for_rounding_judges_nothing():
    table = holes(np.exp(related(150) / [1.0, 10.0, 0.1]))
    constant = np.full((150, 1), 1e20)
    constant[::2] = np.nextafter(1e20, 0)
    imputer = OutputKernelImputer().fit(np.hstack([table, constant]))
    assert imputer.transformer_.by_power[:3].all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("way", ["auto", "yeo-johnson"])
def test_a_power_beyond_its_pole_is_no_matter_of_the_user(way):
    whole = load_digits().data[:300, :16]
    filled = OutputKernelImputer(transform_y=way).fit_transform(holes(whole))
    assert np.all(np.isfinite(filled))


@pytest.mark.parametrize("transform_y", ["standardize", None, "auto"])
def test_no_power_is_looked_for_where_none_is_asked_for(transform_y, monkeypatch):
    def refused(*args, **kwargs):
        raise AssertionError("a power was fitted")

    monkeypatch.setattr(PowerTransformer, "fit", refused)
    X, Y, _ = draw(20, 2)
    inputs = X if transform_y == "auto" else None  # which is "standardize" with inputs
    regressor = None if inputs is None else OutputKernelRegressor()
    model = OutputKernelImputer(regressor, transform_y=transform_y)
    assert model.fit(Y, X=inputs).transform(Y, inputs).shape == (20, 2)


def test_a_long_table_is_judged_by_some_rows():
    table = np.exp(related(2500)[:, :2] / [1.0, 10.0])
    few = np.where(np.arange(2500)[:, None] % 3 == 0, table, np.nan)
    few[1, 0] = table[1, 0]
    for one in (table, few, few[1:]):
        assert OutputKernelImputer().fit(one).transformer_.by_power.all()
    # a column that is there alone says nothing
    apart = few.copy()
    apart[:, 1], apart[2, 1] = np.nan, 1.0
    assert not OutputKernelImputer().fit(apart).transformer_.by_power.any()


def test_the_regressor_is_fitted_again_as_it_was():
    X, Y = with_inputs(20)
    again = clone(INDEPENDENT).set_params(solver="newton_cg", tol=1e-5, max_iter=99)
    model = OutputKernelImputer(again).fit(holes(Y), X=X)
    learned = ("kernel", "structure", "alpha")
    found = model.estimator_.get_params(deep=False)
    given = again.get_params(deep=False)
    assert {**found, **dict.fromkeys(learned)} == {**given, **dict.fromkeys(learned)}


def test_new_rows_are_predicted_given_what_is_known():
    X, whole = with_inputs()
    table = holes(whole)
    imputer = OutputKernelImputer(INDEPENDENT, transform_y=None)
    imputer.fit(table[:60], X=X[:60])
    filled, std = imputer.transform(table[60:], X=X[60:], return_std=True)
    expected = imputer.estimator_.predict(
        X[60:], given=table[60:], return_std=True, include_noise=True
    )
    assert_allclose(filled, expected[0])
    assert_allclose(std, expected[1])


@pytest.mark.slow
def test_by_default_the_regressor_chooses_by_itself():
    X, whole = with_inputs(20)
    imputer = OutputKernelImputer()
    filled = imputer.fit_transform(holes(whole), X=X)
    assert np.all(np.isfinite(filled))
    assert imputer.estimator_.certificate_.status == "optimal"


def test_it_is_a_step_of_a_pipeline():
    whole = related()
    table = holes(whole[:, :2])
    pipeline = make_pipeline(OutputKernelImputer(), Ridge()).fit(table, whole[:, 2])
    assert pipeline.score(table, whole[:, 2]) > 0.5
    frame = pd.DataFrame(table, columns=["a", "b"])
    imputer = OutputKernelImputer().set_output(transform="pandas")
    filled = imputer.fit_transform(frame)
    assert list(filled.columns) == ["a", "b"]
    assert filled.index.equals(frame.index)
    assert list(imputer.get_feature_names_out()) == ["a", "b"]
    assert_allclose(imputer.transform(frame), filled)
    X, Y = with_inputs(40)
    imputer = OutputKernelImputer(INDEPENDENT).set_output(transform="pandas")
    filled, std = imputer.fit_transform(
        pd.DataFrame(holes(Y), columns=["a", "b", "c"]), X=X, return_std=True
    )
    assert list(filled.columns) == ["a", "b", "c"]
    assert std.shape == (40, 3)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("transform_y", ["auto", "yeo-johnson", "standardize", None])
def test_frames_may_be_what_all_transformers_return(transform_y, library):
    frame = pd.DataFrame(np.exp(holes(related(40))), columns=["a", "b", "c"])
    imputer = OutputKernelImputer(transform_y=transform_y)
    expected = imputer.fit_transform(frame)
    with config_context(transform_output=library):
        filled = clone(imputer).fit_transform(frame)
    assert type(filled).__module__.split(".")[0] == library
    assert list(filled.columns) == ["a", "b", "c"]
    assert_allclose(filled, expected)


@pytest.mark.parametrize("value", [3.0, 0.1, -5.0])
@pytest.mark.parametrize("transform_y", ["yeo-johnson", "standardize", None])
def test_a_constant_column_is_filled_in_with_its_constant(transform_y, value):
    whole = related(30)
    whole[:, 1] = value
    imputer = OutputKernelImputer(transform_y=transform_y)
    filled, std = imputer.fit_transform(holes(whole), return_std=True)
    assert np.all(filled[:, 1] == value)
    assert np.all(std[:, 1] == 0)
    assert np.array_equal(imputer.transform([[0.0, np.nan, 1.0]])[0], [0.0, value, 1.0])


def test_what_a_pipeline_passes_for_y_is_no_input():
    X, Y = with_inputs(20)
    table = holes(Y)
    without = OutputKernelImputer().fit(table)
    passed = OutputKernelImputer().fit(table, X)
    assert_allclose(passed.transform(table), without.transform(table))
    with pytest.raises(ValueError, match=r"with no X: give X to both.*fit\(Y, X=X\)"):
        passed.transform(table, X)


def test_errors():
    X, Y = with_inputs(20)
    table = holes(Y)
    with pytest.raises(ValueError, match=r"transform_y must be one of.*'log'"):
        OutputKernelImputer(transform_y="log").fit(table)
    empty = pd.DataFrame(table, columns=["a", "b", "c"]).assign(b=np.nan)
    with pytest.raises(ValueError, match="column 'b' is missing in every row"):
        OutputKernelImputer().fit(empty)
    with pytest.raises(TypeError, match="regressor of okl with the squared loss"):
        OutputKernelImputer(RidgeCV()).fit(table, X=X)
    with pytest.raises(ValueError, match="loss='huber'"):
        OutputKernelImputer(
            OutputKernelRegressor(loss="huber", tol=1e-2)
        ).fit_transform(table, X=X)
    imputer = OutputKernelImputer().fit(table)
    with pytest.raises(ValueError, match="got X, but was fitted with no X"):
        imputer.transform(table, X=X)
    imputer = OutputKernelImputer(INDEPENDENT).fit(table, X=X)
    with pytest.raises(ValueError, match="got no X, but was fitted with X"):
        imputer.transform(table)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        OutputKernelImputer(INDEPENDENT).fit(table, X=X[:5])


@pytest.mark.parametrize("own", [False, True], ids=["one-kernel", "own-kernels"])
def test_what_was_filled_in_is_no_observation(own):
    """Nine in ten of the entries are within 1.645 standard deviations of the mean.

    Where filled-in targets counted as observed six in ten were, for two reasons: the
    posterior was that of a complete table, and left-out rows were predicted by what had
    been filled in with them.
    """
    inside = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-2, 2, (200, 2))
        noise = 0.95 * rng.normal(size=(200, 1)) + 0.3 * rng.normal(size=(200, 5))
        waves = np.c_[np.sin(2 * X[:, 0]), np.cos(2 * X[:, 1]), X[:, 0] * X[:, 1]]
        whole = waves @ rng.normal(size=(3, 5)) + 0.1 * noise
        hidden = rng.random(whole.shape) < 0.6
        table = np.where(hidden, np.nan, whole)
        one = Gaussian(0.5)
        kernel = PerOutput([one] * 5) if own else one
        regressor = OutputKernelRegressor(kernel, "identity", 0.01)
        imputer = OutputKernelImputer(regressor, transform_y=None)
        old = imputer.fit_transform(table[:100], X=X[:100], return_std=True)
        new = imputer.transform(table[100:], X=X[100:], return_std=True)
        filled, std = (np.concatenate(both) for both in zip(old, new, strict=True))
        off = np.abs(filled - whole)[hidden]
        inside.append(np.mean(off < 1.645 * std[hidden]))
        mean, covariance = imputer.estimator_.predict(
            X[100:], given=table[100:], return_cov=True, include_noise=True
        )
        assert_allclose(mean, new[0])
        assert_allclose(np.sqrt(np.einsum("ijj->ij", covariance)), new[1])
    assert 0.84 < np.mean(inside) < 0.97


@pytest.mark.parametrize("own", [False, True], ids=["one-kernel", "own-kernels"])
@pytest.mark.parametrize("seed", [0, 1])
def test_an_output_of_few_rows_is_not_filled_in_farther_each_time(seed, own):
    """Outputs that go together, one known in few rows: the mean has error one."""
    rng = np.random.default_rng(seed)
    kernel = Matern(length_scale=0.3, nu=2.5)
    inputs = np.sort(rng.uniform(0, 10, size=(100, 1)), axis=0)
    root = np.linalg.cholesky(kernel(inputs) + 1e-9 * np.eye(100))
    table = root @ (rng.normal(size=(100, 1)) + 0.03 * rng.normal(size=(100, 6)))
    hidden = rng.permutation(100)[20:]
    holed = table.copy()
    holed[hidden, 0] = np.nan
    kernels = PerOutput([kernel] * 6) if own else kernel
    regressor = OutputKernelRegressor(kernels, "identity", alpha=1e-4)
    filled = OutputKernelImputer(regressor).fit_transform(holed, X=inputs)
    error = np.mean((filled - table)[hidden, 0] ** 2)
    assert error < table[:, 0].var()


@pytest.mark.parametrize("estimator", ["ridge", 3, RidgeCV()])
def test_a_wrong_estimator_is_refused_without_inputs_too(estimator):
    imputer = OutputKernelImputer(estimator)
    with pytest.raises(TypeError, match="estimator must be a regressor of okl"):
        imputer.fit([[1.0, np.nan], [2.0, 3.0], [0.0, 1.0]])


def test_an_estimator_without_inputs_is_warned_of():
    table = np.array([[1.0, np.nan], [2.0, 3.0], [0.0, 1.0]])
    given = OutputKernelImputer(OutputKernelRegressor())
    with pytest.warns(
        UserWarning, match=r"estimator is not used.*fit\(Y, X=X\)"
    ) as one:
        given.fit(table)
    assert one[0].filename == __file__
    assert_allclose(given.transform(table), OutputKernelImputer().fit_transform(table))


def test_no_power_leads_far_beyond_what_was_observed():
    # errors of a skewed column: near the pole of its power a step was many ranges
    table = load_breast_cancer().data[:200]
    table[np.random.default_rng(2).random(table.shape) < 0.2] = np.nan
    units = ColumnUnits.of(table, "yeo-johnson")
    found = units.inverse_transform(np.full((1, table.shape[1]), 9.0))
    most = np.nanmax(table, axis=0) + np.nanstd(table, axis=0)
    assert np.all(found <= most * (1 + 1e-12))
