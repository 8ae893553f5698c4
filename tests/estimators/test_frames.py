"""Data frames with columns that are no numbers: errors name them."""

import datetime

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from okl import (
    KernelAutoencoder,
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelExtension,
    OutputKernelImputer,
    OutputKernelRegressor,
    ReducedRankRegression,
)

pandas = pytest.importorskip("pandas")
Y = np.random.default_rng(0).normal(size=(12, 2))
FRAME = pandas.DataFrame(
    {
        "age": np.arange(12.0),
        "day": pandas.date_range("2020-01-01", periods=12),
        "colour": ["red", "green", "blue"] * 4,
    }
)
FRAME["took"] = FRAME["day"] - FRAME["day"].min()
FRAME["kind"] = FRAME["colour"].astype("category")
FRAME["mixed"] = [1, None, "?"] * 4
FITS = {
    "regressor": lambda X: OutputKernelRegressor().fit(X, Y),
    "classifier": lambda X: OutputKernelClassifierCV().fit(X, Y[:, 0] > 0),
    "autoencoder": lambda X: KernelAutoencoder(1).fit(X),
    "imputer": lambda X: OutputKernelImputer().fit(X),
    "reduced rank": lambda X: ReducedRankRegression(1).fit(X, Y),
}


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
@pytest.mark.parametrize("polars", [False, True], ids=["pandas", "polars"])
@pytest.mark.parametrize(
    ("columns", "text"),
    [
        (["age", "day"], r"dates.* in the column 'day'\. .*the days since a date"),
        (["day"], r"dates.* in the column 'day'\. "),
        (["age", "took"], r"durations in the column 'took'\. "),
        (["age", "colour"], r"the column 'colour' \('red'\).*OneHotEncoder"),
        (["kind", "colour"], r"the columns 'kind' \('red'\), 'colour' \('red'\)"),
    ],
    ids=["dates", "dates alone", "durations", "text", "categories"],
)
def test_columns_that_are_no_numbers_are_named(fit, polars, columns, text):
    X = FRAME[columns]
    if polars:
        X = pytest.importorskip("polars").from_pandas(X)
    with pytest.raises(ValueError, match=text):
        fit(X)


def test_missing_targets_may_be_na_among_objects():
    X, missing = FRAME[["age"]], np.arange(24).reshape(12, 2) % 5 == 0
    as_nan = pandas.DataFrame(np.where(missing, np.nan, Y))
    as_na = as_nan.astype(object).mask(missing, pandas.NA)
    model, other = OutputKernelRegressor().fit(X, as_nan), OutputKernelRegressor()
    assert_allclose(other.fit(X, as_na).predict(X), model.predict(X))
    assert_allclose(other.score(X, as_na), model.score(X, as_nan))
    given = model.predict(X, given=as_nan)
    assert_allclose(other.predict(X, given=as_na), given)
    labels = as_na.where(missing, as_nan > 0)
    classifier = OutputKernelClassifier().fit(X, labels)
    assert classifier.predict(X).shape == Y.shape


def test_columns_with_na_among_objects_are_named():
    X = FRAME[["age"]].assign(count=pandas.Series([1, pandas.NA, None] * 4))
    with pytest.raises(ValueError, match=r"in the column 'count'\. .*'Float64'"):
        OutputKernelRegressor().fit(X, Y)


def test_the_first_cell_that_is_no_number_is_shown():
    with pytest.raises(ValueError, match=r"in the column 'mixed' \('\?'\)"):
        OutputKernelRegressor().fit(FRAME[["age", "mixed"]], Y)


def test_other_errors_stay_as_they_are():
    model = OutputKernelRegressor().fit(FRAME[["age"]], Y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(FRAME[["age", "colour"]])
    with pytest.raises(ValueError, match="contains NaN"):
        model.predict(pandas.DataFrame({"age": [1, pandas.NA]}, dtype="Int64"))
    # numbers written as text are read, as scikit-learn reads them
    written = FRAME[["age"]].astype(str)
    np.testing.assert_allclose(model.predict(written), model.predict(FRAME[["age"]]))


@pytest.mark.parametrize(
    "cell",
    [
        datetime.date(2020, 1, 1),
        datetime.time(8),
        datetime.timedelta(1),
        pandas.Period("2020-01"),
        np.datetime64("2020-01-01"),
    ],
    ids=["date", "time", "duration", "period", "datetime64"],
)
@pytest.mark.parametrize("first", [None, np.nan, pandas.NA])
def test_dates_among_objects_are_dates(cell, first):
    rows = FRAME[["age"]].assign(day=pandas.Series([first, *[cell] * 11], dtype=object))
    with pytest.raises(ValueError, match="dates, times or durations in the column 'd"):
        OutputKernelRegressor().fit(rows, Y)
    objects = np.array([[None, 1.0, cell], *[[2, 3, cell]] * 11], dtype=object)
    objects[0, 2] = first
    with pytest.raises(ValueError, match="dates, times or durations in the column 2"):
        OutputKernelRegressor().fit(objects, Y)


@pytest.mark.parametrize("kind", ["frame", "array", "sparse"])
def test_missing_cells_are_named(kind):
    values = np.arange(20.0).reshape(10, 2)
    values[[3, 5, 5], [1, 1, 0]] = np.nan
    rows = {
        "frame": pandas.DataFrame(values, columns=["dose", "age"]),
        "array": values,
        "sparse": csr_array(values),
    }[kind]
    named = "'dose', 'age'" if kind == "frame" else "0, 1"
    with pytest.raises(ValueError, match=f"NaN, in 2 of 10 rows, in the .* {named}"):
        OutputKernelRegressor().fit(rows, np.arange(10.0))


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_arrays_of_dates_are_no_numbers(fit):
    X = FRAME[["day"]].to_numpy()
    with pytest.raises(ValueError, match="X must be numbers, and there are dates"):
        fit(X)


@pytest.mark.parametrize("polars", [False, True], ids=["pandas", "polars"])
def test_targets_are_no_dates(polars):
    X, series, frame = np.ones((12, 1)), FRAME["day"], FRAME[["day"]]
    if polars:
        library = pytest.importorskip("polars")
        series, frame = library.from_pandas(series), library.from_pandas(frame)
    for y in (series, series.to_numpy()):
        with pytest.raises(ValueError, match="y must be numbers, and there are dates"):
            OutputKernelRegressor().fit(X, y)
    with pytest.raises(ValueError, match=r"dates.* in the column 'day'"):
        OutputKernelRegressor().fit(X, frame)


@pytest.mark.parametrize("name", ["sample_weight", "given"])
def test_dates_are_no_weights_and_no_given_targets(name):
    X, dates = np.ones((12, 1)), FRAME[["day", "day"]].to_numpy()
    dates = dates[:, 0] if name == "sample_weight" else dates
    model = OutputKernelRegressor("linear", "identity").fit(X, Y)
    use = model.predict if name == "given" else lambda X, **by: model.fit(X, Y, **by)
    with pytest.raises(ValueError, match=f"{name} must be numbers, and there are d"):
        use(X, **{name: dates})


def test_targets_that_are_dates_are_refused_wherever_they_are_fitted():
    X, dates = np.ones((12, 1)), FRAME[["day"]].to_numpy()
    model = OutputKernelRegressor("linear").fit(X, Y)
    for fit in (ReducedRankRegression(1).fit, OutputKernelExtension(model).fit):
        with pytest.raises(ValueError, match="y must be numbers, and there are dates"):
            fit(X, dates)


TEXTS = ["any idea where flights go", "none at all"]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (TEXTS, "is a sequence of texts. Put sklearn.*TfidfVectorizer"),
        (pandas.Series(TEXTS), "is a sequence of texts. Put sklearn.*TfidfVectorizer"),
        (
            pandas.DataFrame({"said": TEXTS}),
            "'said'.*TfidfVectorizer where they are texts",
        ),
        (pandas.DataFrame(index=range(2)), r"X has no columns \(shape \(2, 0\)\)"),
    ],
)
def test_what_is_not_yet_columns_of_numbers(X, message):
    with pytest.raises(ValueError, match=message):
        OutputKernelClassifier().fit(X, [0, 1])


def test_numbers_as_text_are_no_texts():
    with pytest.raises(ValueError, match=r"^(?!.*TfidfVectorizer)"):
        OutputKernelClassifier().fit(["1", "2"], [0, 1])


def test_a_data_frame_of_targets_without_columns():
    with pytest.raises(ValueError, match=r"y has no columns \(shape \(3, 0\)\)"):
        OutputKernelRegressor().fit(np.eye(3), pandas.DataFrame(index=range(3)))
