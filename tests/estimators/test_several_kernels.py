"""Estimators with ``kernel=[...]`` and ``structure=[...]``: attributes and errors."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

import okl
from okl import (
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
    output_kernel_path,
)
from okl.kernels import Constant, Gaussian, Linear, PerOutput, Row
from okl.operators import counted_products
from okl.plotting import OutputKernelDisplay
from okl.solvers.predictor.hessian import HessianSystem
from okl.structures import Fixed, LowRank
from tests.samples import as_texts

TWO = ["frobenius", "frobenius"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    common = rng.normal(size=(40, 1))
    Y = 100 + np.array([1.0, 10.0, 0.1]) * (X @ rng.normal(size=(2, 3)) + common)
    return X, Y


@pytest.fixture(scope="module")
def model(data):
    return OutputKernelRegressor([Gaussian(0.5), Linear(), Row()], ["identity", *TWO])


def test_predictions_are_those_of_the_attributes(data, model):
    X, Y = data
    model = clone(model).fit(X, Y)
    new = X[:5] + 0.1
    expected = model.intercept_ + sum(
        kernel(new, X) @ part
        for kernel, part in zip(model.kernel_[:2], model.dual_coef_[:2], strict=True)
    )
    assert_allclose(model.predict(new), expected)
    assert [part.shape for part in model.dual_coef_] == [Y.shape] * 3
    scales = np.outer(model.y_scale_, model.y_scale_)
    assert_allclose(model.output_kernels_[0], np.diag(np.diag(scales)))
    assert_allclose(model.output_kernel_, sum(model.output_kernels_))
    assert_array_equal(model.residual_kernel_, model.output_kernels_[2])
    assert len(model.structure_) == 3


def test_the_certificate_is_computed_again(data, model):
    X, Y = data
    rng = np.random.default_rng(1)
    missing = np.where(rng.random(Y.shape) < 0.3, np.nan, Y)
    weights = rng.random(len(X)) + 0.5
    for y, weight in ((Y, None), (missing, None), (missing, weights)):
        fitted = clone(model).fit(X, y, sample_weight=weight)
        again = okl.certify(fitted, X, y, sample_weight=weight)
        assert_allclose(again.primal, fitted.certificate_.primal, rtol=1e-8)
        assert again.status == fitted.certificate_.status == "optimal"


def test_the_certificate_tells_a_changed_model(data, model):
    X, Y = data
    fitted = clone(model).fit(X, Y)
    fitted._theta = fitted._theta * 1.01
    assert okl.certify(fitted, X, Y).relative_gap > 1e-4


def test_it_is_pickled_and_cloned(data, model):
    X, Y = data
    fitted = pickle.loads(pickle.dumps(clone(model).fit(X, Y)))
    assert_allclose(fitted.predict(X), clone(model).fit(X, Y).predict(X))
    assert fitted.get_params()["structure"] == ["identity", *TWO]


def test_one_output_and_data_frames(data, model):
    pandas = pytest.importorskip("pandas")
    X, Y = data
    kernels = [Gaussian(0.5), Row()]
    fitted = OutputKernelRegressor(kernels, TWO).fit(X, Y[:, 0])
    assert fitted.predict(X).shape == (40,)
    assert fitted.dual_coef_[1].shape == (40,)
    frame = pandas.DataFrame(X, columns=["a", "b"])
    targets = pandas.DataFrame(Y, columns=["u", "v", "w"])
    named = clone(model).fit(frame, targets)
    assert list(named.output_names_) == ["u", "v", "w"]
    assert_allclose(named.predict(frame), clone(model).fit(X, Y).predict(X))


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@pytest.mark.filterwarnings("ignore:The alpha chosen")
def test_a_search_scores_lists_as_fits_to_the_folds_do(data, missing):
    X, Y = (part[:24] for part in data)
    if missing:
        Y = np.where(np.random.default_rng(2).random(Y.shape) < 0.2, np.nan, Y)
    kernels = [Gaussian(0.5), Row()]
    candidates = [["identity", "frobenius"], "frobenius"]
    folds = KFold(2, shuffle=True, random_state=0)
    search = OutputKernelRegressorCV(kernels, candidates, alphas=[3.0, 0.1], cv=folds)
    search.fit(X, Y)
    assert search.certificate_.status == "optimal"
    assert okl.certify(search, X, Y).status == "optimal"
    results = search.cv_results_
    assert [len(one["structure"]) for one in results["params"]] == [2] * 4
    assert results["param_kernel"][0][1].__class__ is Row
    best = np.argmax(results["mean_test_score"])
    assert search.alpha_ == results["param_alpha"][best]
    # in the units of all rows, which searches keep
    units = {"normalize_y": False, "tol": 1e-8}
    Z = (Y - search.y_mean_) / search.y_scale_
    for number in (0, 3):
        one = results["params"][number]
        model = OutputKernelRegressor(kernels, one["structure"], one["alpha"], **units)
        scores = [model.fit(X[a], Z[a]).score(X[b], Z[b]) for a, b in folds.split(X)]
        assert_allclose(results["mean_test_score"][number], np.mean(scores), rtol=1e-3)
    again = clone(search).set_params(
        structures=[search.cv_results_["params"][best]["structure"]]
    )
    assert_allclose(again.fit(X, Y).predict(X), search.predict(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"structures": [["frobenius"]]}, "2 in kernel=.* and 1 in structure="),
        ({"structures": []}, "structures is an empty list"),
        ({"kernel": [Row()]}, r"pass kernel=\[k, Row\(\)\]"),
        ({"structures": LowRank(1)}, "bounds the rank"),
        ({"alpha_per_output": True}, "needs one kernel"),
        ({"kernel": [Row(), "auto"]}, r"got kernel=\[Row\(\), 'auto'\]"),
    ],
)
def test_lists_that_do_not_fit_a_search(data, options, message):
    with pytest.raises(ValueError, match=message):
        OutputKernelRegressorCV(**{"kernel": [Gaussian(), Row()], **options}).fit(*data)


@pytest.mark.parametrize("kernels", [[Gaussian(1.0), Row()], [Gaussian(1.0), Linear()]])
def test_fits_to_one_row(data, kernels):
    X, Y = data
    model = OutputKernelRegressor(kernels, TWO).fit(X[:1], Y[:1])
    assert model.certificate_.status == "optimal"
    assert_allclose(model.predict(X[:2]), Y[[0, 0]])


def test_a_round_counts_once(data):
    kernels = [Gaussian(1.0), Row()]
    model = OutputKernelRegressor(kernels, ["trace_ball", "frobenius"], max_iter=1)
    with pytest.warns(ConvergenceWarning, match="after the 1 iterations"):
        model.fit(*data)
    assert model.n_iter_ == len(model.history_) == 1


@pytest.mark.filterwarnings("error:The alpha chosen")
def test_the_noise_is_in_the_term_of_a_row_however_small_alpha_is(data):
    search = OutputKernelRegressorCV(["rbf", Row()], TWO[:1], alphas=[1, 0.1, 0.01])
    search.fit(*data)
    assert search.alpha_ == 0.01


@pytest.mark.filterwarnings("ignore:The alpha chosen")
def test_a_kernel_of_the_list_is_learned(data):
    X, Y = data
    structures, few = [["identity", "frobenius"]], {"alphas": 2, "cv": 2}
    search = OutputKernelRegressorCV(["auto", Row()], structures, **few).fit(X, Y)
    alone = OutputKernelRegressorCV("auto", "identity", **few).fit(X, Y)
    learned, row = search.kernel_
    assert repr(learned) == repr(alone.kernel_)
    assert isinstance(row, Row)
    assert_array_equal(search.feature_relevances_, alone.feature_relevances_)
    assert okl.certify(search, X, Y).status == "optimal"
    assert "1 kernel learned from 40 rows" in str(search.forecast(X, Y))
    with pytest.raises(ValueError, match=r"cannot be learned here: X is sparse\."):
        search.fit(as_texts(X), Y)


@pytest.mark.filterwarnings("ignore:The alpha chosen")
def test_a_search_among_classes_with_several_kernels(data):
    X, Y = data
    search = OutputKernelClassifierCV(
        [Gaussian(0.5), Linear()], "frobenius", alphas=[1, 0.1]
    )
    search.set_params(cv=2).fit(X, Y.argmax(axis=1))
    assert search.certificate_.status == "optimal"
    assert len(search.output_kernels_) == 2


def test_the_default_search_of_several_kernels(data):
    X, Y = data
    kernels = [Linear(), Gaussian(0.5)]
    classes = OutputKernelClassifierCV(kernels, alphas=2, cv=2)
    classes.fit(X, np.argsort(Y, axis=1)[:, 0])
    assert [repr(one) for one in classes.structure_] == ["Identity()"] * 2
    labels = OutputKernelClassifierCV(kernels, alphas=2, cv=2)
    labels.fit(X, (np.median(Y, axis=0) < Y).astype(int))
    assert [repr(one) for one in labels.structure_] == ["Frobenius()"] * 2


@pytest.mark.parametrize("structure", ["frobenius", "identity"])
def test_few_equations_of_coupled_classes_are_solved_at_once(
    data, structure, monkeypatch
):
    X, Y = data
    steps = []
    solve = HessianSystem.solve

    def counted(system, right, *, rtol):
        with counted_products() as count:
            found = solve(system, right, rtol=rtol)
        steps.append(count.total)
        return found

    monkeypatch.setattr(HessianSystem, "solve", counted)
    kernels = [Linear(), Gaussian(0.5)]
    model = OutputKernelClassifier(kernels, [structure] * 2, 0.01, loss="softmax")
    model.fit(X, np.argsort(Y, axis=1)[:, 0])
    # three for the intercept, which is projected out, and rounding, with each kernel
    assert 0 < max(steps) <= 8 * len(kernels)


def test_an_alpha_for_each_output_is_noise_of_each(data):
    X, Y = data
    kernels, alphas = [Gaussian(0.5), Row()], [0.3, 1.0, 0.2]
    one = OutputKernelRegressor(kernels, TWO, 0.3).fit(X, Y)
    same = OutputKernelRegressor(kernels, TWO, [0.3, 0.3, 0.3]).fit(X, Y)
    for found, expected in zip(
        same.predict(X, return_std=True), one.predict(X, return_std=True), strict=True
    ):
        assert_allclose(found, expected, rtol=1e-6)
    other = OutputKernelRegressor(kernels, TWO, alphas).fit(X, Y)
    noise = np.diag(other.residual_kernel_) / other.y_scale_**2 + alphas
    factors = other.noise_variance_ / other.y_scale_**2 / noise
    assert_allclose(other._process.calibration.factors, factors, rtol=1e-8)


def test_a_path_has_the_models_of_its_alphas(data):
    X, Y = data
    kernels = [Gaussian(0.5), Row()]
    path = output_kernel_path(X, Y, kernel=kernels, structure=TWO, alphas=4, eps=1e-2)
    assert all(one.status == "optimal" for one in path.certificates)
    alone = OutputKernelRegressor(kernels, TWO, path.alphas[2]).fit(X, Y)
    assert_allclose(path[2].certificate_.primal, alone.certificate_.primal, rtol=2e-6)
    assert_allclose(path[2].predict(X), alone.predict(X), atol=0.02 * Y.std())


def test_inputs_that_say_nothing(data):
    X, Y = data
    model = OutputKernelRegressor([Constant(1), Row()], TWO).fit(X, Y)
    assert_allclose(model.predict(X), np.tile(Y.mean(axis=0), (40, 1)))


def test_the_display_has_a_panel_for_each_kernel(data, model):
    plt = pytest.importorskip("matplotlib.pyplot")
    X, Y = data
    fitted = clone(model).fit(X, Y)
    display = OutputKernelDisplay.from_estimator(fitted)
    assert len(display.panels_) == 3
    titles = [panel.ax_.get_title() for panel in display.panels_]
    assert titles == ["Gaussian", "Linear", "not explained by the inputs"]
    scales = np.outer(fitted.y_scale_, fitted.y_scale_)
    for panel, L in zip(display.panels_, fitted.output_kernels_, strict=True):
        assert_allclose(panel.output_kernel, L / scales)
        assert_array_equal(panel.order_, display.order_)
    _, axes = plt.subplots(1, 2)
    with pytest.raises(ValueError, match="a sequence of 3 axes"):
        OutputKernelDisplay.from_estimator(fitted, ax=axes)
    plt.close("all")


def test_a_kernel_for_each_output_is_a_term_of_independent_outputs(data):
    X, Y = data
    own = PerOutput([Gaussian(0.1), 3 * Gaussian(2.0), 5 * Gaussian(0.1)])
    alone = OutputKernelRegressor(own, "identity", alpha=0.1).fit(X, Y)
    listed = OutputKernelRegressor([own], ["identity"], alpha=0.1).fit(X, Y)
    assert_allclose(listed.predict(X), alone.predict(X), rtol=1e-4)
    assert [len(listed.kernel_), len(alone.kernel_.terms())] == [2, 2]

    related = OutputKernelRegressor([own, Linear()], ["identity", "frobenius"])
    related.fit(X, Y)
    assert related.certificate_.status == "optimal"
    assert okl.certify(related, X, Y).status == "optimal"
    *diagonal, shared = related.output_kernels_
    assert [np.count_nonzero(L) for L in diagonal] == [2, 1]
    assert np.count_nonzero(shared) == Y.shape[1] ** 2


def test_a_search_with_a_kernel_for_each_output_and_a_shared_one(data):
    X, Y = data
    own = PerOutput([Gaussian(0.1), Gaussian(0.5), Linear()])
    structures = [["identity", "frobenius"], ["identity", "identity"]]
    search = OutputKernelRegressorCV([own, Linear()], structures, alphas=[0.1, 1.0])
    search.fit(X, Y)
    assert search.certificate_.status == "optimal"
    assert len(search.output_kernels_) == 4


@pytest.mark.parametrize(
    ("kernel", "structure", "error", "message"),
    [
        ([Gaussian()], TWO, ValueError, "1 in kernel=.* and 2 in structure="),
        ([Gaussian(), Row()], "frobenius", ValueError, "2 in kernel=.* and 1 in struc"),
        (Gaussian(), TWO, ValueError, "lists of the same length"),
        ([], [], ValueError, "lists of the same length"),
        (Row(), "frobenius", ValueError, r"pass kernel=\[k, Row\(\)\]"),
        ([Row()], ["frobenius"], ValueError, r"pass kernel=\[k, Row\(\)\]"),
        ([Row(), Gaussian()], TWO, ValueError, "must be the last kernel"),
        ([Row(), Row(), Linear()], [*TWO, "mean"], ValueError, "must be the last"),
        ([Gaussian(), Row()], ["frobenius", LowRank(1)], ValueError, "bounds the rank"),
        ([Gaussian(), "precomputed"], TWO, ValueError, "use okl.kernels.Gram"),
        ([Gaussian(), 3], TWO, TypeError, "The kernel must be a name"),
        ([Gaussian(), PerOutput([Linear()])], TWO, ValueError, "needs .*='identity'"),
        ([PerOutput([]), Linear()], ["identity", "mean"], ValueError, "at least one"),
        ([PerOutput([3]), Linear()], ["identity", "mean"], TypeError, "kernels.0. of"),
        (
            [PerOutput([Linear()] * 2), Linear()],
            ["identity", "frobenius"],
            ValueError,
            "PerOutput a kernel: 3; got",
        ),
        ([Gaussian(), Row()], ["mean", Fixed(np.eye(2))], ValueError, "2"),
    ],
)
def test_lists_that_do_not_fit(data, kernel, structure, error, message):
    with pytest.raises(error, match=message):
        OutputKernelRegressor(kernel, structure).fit(*data)


def test_a_row_is_no_operand():
    for combine in (
        lambda: Gaussian() + Row(),
        lambda: Gaussian() * Row(),
    ):
        with pytest.raises(TypeError, match=r"kernel=\[k, Row\(\)\]"):
            combine()


def test_what_takes_one_kernel_says_so(data):
    X, Y = data
    with pytest.raises(TypeError, match="several, each with an output kernel"):
        OutputKernelRegressorCV(kernels=[[Gaussian(), Row()]]).fit(X, Y)
    with pytest.raises(TypeError, match="a term of its own"):
        OutputKernelRegressorCV(kernel=Row()).fit(X, Y)
    with pytest.raises(ValueError, match="not supported for data in long form"):
        OutputKernelRegressor([Gaussian(), Row()], TWO).fit(
            X, Y[:, 0], task=np.arange(40) % 2
        )
    with pytest.raises(ValueError, match="it needs several kernels"):
        OutputKernelRegressor(solver="term_newton").fit(X, Y)
    with pytest.raises(ValueError, match="it needs one kernel"):
        OutputKernelRegressor([Gaussian(), Row()], TWO, solver="majorization").fit(X, Y)
    one = OutputKernelRegressor().fit(X, Y)
    assert len(one.output_kernels_) == 1
    with pytest.raises(AttributeError, match="residual_kernel_"):
        _ = one.residual_kernel_


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "squared"])
def test_solvers_of_given_output_kernels_agree(data, loss):
    X, Y = data
    labels = (Y.mean(axis=0) < Y).astype(int)
    kernels, given = [Gaussian(0.5), Row()], ["identity", "mean"]
    values = []
    for solver in ("auto", "newton_cg", "term_newton"):
        model = OutputKernelClassifier(kernels, given, 0.5, loss=loss, solver=solver)
        values.append(model.fit(X, labels).certificate_.primal)
    assert_allclose(values, values[0], rtol=2e-6)


def test_too_many_outputs_are_refused_before_any_work():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(3, 1)), rng.normal(size=(3, 100_000))
    with pytest.raises(MemoryError, match="2 kernels to 100000 outputs"):
        OutputKernelRegressor([Gaussian(), Row()], TWO).fit(X, Y)
