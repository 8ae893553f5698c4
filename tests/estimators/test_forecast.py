"""What a search says of itself before it begins."""

import gc
import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted

from okl import OutputKernelClassifierCV, OutputKernelRegressorCV
from okl.estimators.search.forecast import Forecast
from okl.kernels import Average, Gaussian, Laplacian, Learnable, Linear, Matern
from okl.selection import frequent_classes
from okl.structures import Sparse
from tests.samples import draw

N = 240
X, Y, _ = draw(N, 4)
LABELS = np.argmax(Y, axis=1)
MISSING = np.where(np.random.default_rng(0).random(Y.shape) < 0.3, np.nan, Y)


def regressor(*given, **parameters):
    return OutputKernelRegressorCV(*given, **{"alphas": 2, "cv": 2} | parameters)


def peak_of(search, X, y):
    """Return the most bytes that a fit has at once."""
    gc.collect()
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search.fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak


@pytest.mark.parametrize(
    ("search", "y"),
    [
        (regressor("rbf"), Y),
        (regressor("rbf", ["identity", "low_rank"]), Y),
        (regressor("rbf", "identity", cv=None), Y),
        (regressor(kernels=["rbf", "laplacian"], structures="identity"), Y),
        (regressor("rbf", Sparse(mu=0.5)), Y),
        (regressor("rbf", "identity"), MISSING),
        (
            # an alpha so small that fits need columns of K on any processor
            OutputKernelClassifierCV(
                *("rbf", "identity"),
                loss="logistic",
                alphas=2,
                eps=1e-6,
                cv=2,
                tol=1e-3,
            ),
            LABELS,
        ),
    ],
    ids=["learned", "both", "left-out", "kernels", "sparse", "missing", "logistic"],
)
def test_memory_is_that_of_the_peak_to_a_factor_of_two(search, y):
    said = search.forecast(X, y).memory
    peak = peak_of(search, X, y)
    assert said > peak / 2
    assert said < 4 * peak


def test_learning_a_kernel_of_many_outputs_takes_time_and_memory():
    rows, targets, _ = draw(100, 1500)
    search = OutputKernelRegressorCV(structures="identity", alphas=2)
    said, few = search.forecast(rows, targets), search.forecast(rows, targets[:, :5])
    # with five outputs most time goes into matrices of rows
    assert said.seconds > 4 * few.seconds
    peak = peak_of(search, rows, targets)
    assert peak / 2 < said.memory < 2 * peak


def test_related_labels_take_longer_the_more_there_are():
    def seconds(n_labels, structure):
        rows, scores, _ = draw(400, n_labels)
        search = OutputKernelClassifierCV("rbf", structure, loss="logistic")
        return search.forecast(rows, (scores > 0).astype(int)).seconds

    assert seconds(90, "frobenius") > 2.2 * seconds(45, "frobenius")
    assert seconds(90, "identity") < 2.2 * seconds(45, "identity")


def test_learning_a_kernel_takes_longer_the_more_classes_share_a_row(monkeypatch):
    unit = "okl.estimators.search.forecast._unit"
    monkeypatch.setattr(unit, lambda: 2e-10)  # of some machine
    monkeypatch.setattr(frequent_classes, "_MOST", np.inf)
    rows = np.random.default_rng(0).normal(size=(600, 4))

    def seconds(y):
        loss = "softmax" if y.ndim == 1 else "logistic"
        search = OutputKernelClassifierCV("auto", "identity", loss=loss)
        return search.forecast(rows, y).seconds

    few, many = (np.arange(600) % n_classes for n_classes in (40, 80))
    assert seconds(many) > 2.2 * seconds(few)
    # labels are losses of their own, which take time in proportion to their number
    labels = np.random.default_rng(1).integers(2, size=(600, 80))
    assert seconds(labels) < 2.2 * seconds(labels[:, :40])
    assert seconds(labels[:, :40]) > 2.2 * seconds(labels[:, :4])


def test_a_kernel_of_very_many_classes_is_learned_from_some(monkeypatch):
    unit = "okl.estimators.search.forecast._unit"
    monkeypatch.setattr(unit, lambda: 2e-10)
    rows = np.random.default_rng(0).normal(size=(600, 4))
    classes = np.arange(600) % 60

    def seconds(kernel):
        search = OutputKernelClassifierCV(kernel, "identity", loss="softmax")
        return search.forecast(rows, classes).seconds

    named = Learnable(Gaussian(1.0))
    of_some, of_all = seconds("auto"), seconds(named)
    monkeypatch.setattr(frequent_classes, "_MOST", np.inf)
    assert of_some < 0.5 * seconds("auto")
    assert of_all == seconds(named)


def test_memory_of_the_decomposition_that_says_the_alphas_of_outputs():
    # it is kept for the fit to all rows, beside the folds
    rng = np.random.default_rng(0)
    n = 500
    rows = rng.normal(size=(n, 5))
    targets = np.sin(rows[:, :2]) + 0.1 * rng.normal(size=(n, 2))
    said, peaks = {}, {}
    for each in (False, "auto"):
        search = regressor("rbf", "frobenius", cv=None, alpha_per_output=each)
        said[each] = search.forecast(rows, targets).memory
        peaks[each] = peak_of(search, rows, targets)
        assert peaks[each] / 1.2 < said[each] < 1.5 * peaks[each]
    assert peaks["auto"] - peaks[False] > 4 * n**2
    assert said["auto"] - said[False] > 4 * n**2


def test_memory_of_the_systems_of_outputs_that_are_related():
    rng = np.random.default_rng(0)
    n = 200
    rows = rng.normal(size=(n, 5))
    targets = np.sin(rows @ rng.normal(size=(5, 30)))
    targets += 0.1 * rng.standard_t(2, size=targets.shape)
    search = regressor("rbf", "frobenius", loss="huber", alphas=[1e-3], max_iter=1)
    said = search.forecast(rows, targets).memory
    peak = peak_of(search, rows, targets)
    assert peak > 8 * 30 * n**2
    assert peak / 1.5 < said < 1.5 * peak


NESTED = Gaussian(0.3) * (Linear() + (Matern(2.0) + (Gaussian(1.0) + 2.0)))


@pytest.mark.parametrize(
    ("kernel", "parameters"),
    [
        (0.5 * Linear() + 2.0 * Matern(2.0, 2.5), {"cv": None}),
        (0.5 * Linear() + 2.0 * Matern(2.0, 2.5), {"structures": "frobenius"}),
        (NESTED, {"structures": ["identity", "low_rank"], "cv": 3}),
        (Average([Matern(2.0), Laplacian(0.3)]), {"structures": "identity"}),
        (NESTED, {"structures": "identity", "loss": "huber"}),
    ],
    ids=["left-out", "learned", "nested", "average", "products"],
)
def test_memory_of_kernels_that_are_combined(kernel, parameters):
    rows, targets, _ = draw(400, 4)
    search = regressor(kernel, **{"structures": "identity"} | parameters)
    said = search.forecast(rows, targets).memory
    peak = peak_of(search, rows, targets)
    # what needs products only is a small part of a large workspace here
    assert peak < said < (2.0 if "loss" in parameters else 1.5) * peak


def test_features_take_less_memory_than_a_kernel_matrix():
    narrow, whole = (
        regressor(kernel).forecast(X, Y).memory for kernel in ("linear", "rbf")
    )
    assert narrow < whole / 2


def test_sparse_rows_that_are_multiplied_take_less_than_a_kernel_matrix():
    n, d = 2000, 3000
    words = sparse.random_array((n, d), density=10 / d, format="csr", rng=0)
    classes = np.arange(n) % 3
    search = OutputKernelClassifierCV(alphas=2, cv=2, tol=1e-2)
    few, many = (search.forecast(rows, classes) for rows in (words, words.todense()))
    assert few.memory < 8 * n**2 < many.memory
    assert few.seconds < many.seconds / 2
    assert few.memory > peak_of(search, words, classes) / 2


def test_a_kernel_matrix_that_does_not_fit_is_not_counted():
    logistic = OutputKernelClassifierCV("rbf", loss="logistic", max_memory=0.1)
    whole = OutputKernelClassifierCV("rbf", loss="logistic")
    small, large = (s.forecast(X, LABELS).memory for s in (logistic, whole))
    assert small < large - 8 * N**2


def test_seconds_count_the_blocks_of_a_matrix_that_is_not_stored():
    little, less = (
        regressor("rbf", max_memory=blocks * 8 * 8 * N / 2**20).forecast(X, Y).seconds
        for blocks in (10.5, 1.5)
    )
    # of 120 rows, 21 or 3 each, in the products of two alphas on two folds
    assert less - little == pytest.approx(4 * 240 * (40 - 6) * 4e-5)


@pytest.mark.parametrize(
    "search",
    [
        regressor("rbf"),
        regressor(structures="identity", cv=None),
        OutputKernelClassifierCV("rbf", loss="logistic"),
    ],
    ids=["folds", "left-out", "logistic"],
)
def test_seconds_and_memory_grow_with_the_rows(search):
    labels = isinstance(search, OutputKernelClassifierCV)
    y = LABELS if labels else Y
    found = [search.forecast(X[:n], y[:n]) for n in (30, 60, 120, N)]
    seconds = np.array([f.seconds for f in found])
    memory = np.array([f.memory for f in found])
    assert seconds[0] > 0
    assert np.all(np.diff(seconds) > 0)
    assert np.all(np.diff(memory) > 0)


def test_seconds_grow_with_what_is_searched():
    base = regressor("rbf").forecast(X, Y).seconds
    for larger in (
        regressor("rbf", ["frobenius", "low_rank"]),
        regressor("rbf", alphas=8),
        regressor("rbf", cv=6),
        regressor(kernels=["rbf", "laplacian"]),
        # chosen on the folds that are given
        regressor("rbf", alpha_per_output=True),
    ):
        assert larger.forecast(X, Y).seconds > 1.2 * base


def test_seconds_count_the_starts_of_widths():
    # 200 rows are few for 41 columns, for 39 they are not
    rows = np.random.default_rng(0).normal(size=(200, 41))
    search = regressor(structures="identity", cv=None)
    few, enough = (search.forecast(rows[:, :d], Y[:200]).seconds for d in (41, 39))
    assert few > 1.2 * enough


def test_seconds_of_one_width_are_less():
    # the square of the rows times the columns is 1e8 at 2500 columns
    wide = np.random.default_rng(0).normal(size=(200, 2600))
    search = regressor(structures="identity", cv=None)
    one, each = (search.forecast(wide[:, :d], Y[:200]).seconds for d in (2600, 2400))
    assert one < each / 2


def test_the_sentence():
    said = str(
        OutputKernelRegressorCV(
            structures=["frobenius", "identity"], kernels="short_list"
        ).forecast(X, Y)
    )
    plan = (
        "7 kernels with independent outputs, then the best 2 with 2 structures at 25 "
        "alphas on 5 folds; "
    )
    assert said.startswith(plan)
    assert said.endswith(" MiB of memory")
    alone = regressor("rbf", "identity", cv=None).forecast(X, Y)
    assert alone.plan == (
        "1 kernel with 1 structure at 2 alphas with rows left out one by one"
    )


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (3.0, "some seconds"),
        (42.0, "roughly 40 seconds"),
        (600.0, "roughly 10 minutes"),
        (3 * 3600.0, "roughly 3 hours"),
    ],
)
def test_durations_in_words(seconds, words):
    assert str(Forecast(seconds, 5 * 2**20, "all")) == (
        f"all; {words}, up to 5 MiB of memory"
    )


def test_nothing_is_fitted_or_set():
    search = regressor("rbf")
    before = dict(vars(search))
    search.forecast(X, Y)
    assert vars(search) == before
    with pytest.raises(NotFittedError):
        check_is_fitted(search)


@pytest.mark.parametrize(
    ("search", "rows", "targets"),
    [
        (regressor("rbf", []), X, Y),
        (regressor("rbf", alphas=0), X, Y),
        (regressor("rbf", kernels=["linear"]), X, Y),
        (regressor("rbf", search="half"), X, Y),
        (regressor("rbf"), np.full_like(X, np.nan), Y),
        (regressor("rbf"), X, Y[:-1]),
        (regressor("rbf"), X[:1], Y[:1]),
        (OutputKernelClassifierCV("rbf"), X, np.zeros(N)),
    ],
    ids=["structures", "alphas", "kernels", "search", "nan", "rows", "one", "class"],
)
def test_errors_are_those_of_fit(search, rows, targets):
    message = refusal(search.fit, rows, targets)
    assert message
    assert refusal(search.forecast, rows, targets) == message


def test_folds_that_can_be_read_once():
    folds = list(KFold(2).split(X))
    search = regressor("rbf", cv=(pair for pair in folds))
    with pytest.raises(TypeError, match=r"cv is a generator.*Pass a list"):
        search.forecast(X, Y)
    search.fit(X, Y)
    with pytest.raises(ValueError, match=r"got no folds from an iterator.*a list"):
        search.fit(X, Y)


def refusal(method, *given):
    """Return what a method says of arguments that it refuses, None if it does not."""
    try:
        method(*given)
    except ValueError as error:
        return str(error)
    return None


def test_kinks_take_longer_where_the_output_kernel_is_known():
    search = regressor("rbf", "identity", loss="huber")
    smooth = search.forecast(X, Y).seconds
    assert search.set_params(loss="quantile").forecast(X, Y).seconds > 1.5 * smooth


def test_a_kernel_of_classes_takes_fits_however_few_the_rows():
    rows, y = X[:30], np.arange(30) % 2
    given = OutputKernelClassifierCV("rbf", "identity", alphas=3).forecast(rows, y)
    learned = OutputKernelClassifierCV("auto", "identity", alphas=3).forecast(rows, y)
    assert learned.seconds - given.seconds > 0.5  # hundreds of fits
