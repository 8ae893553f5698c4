"""Hyperparameters of several kernels, each with its own output kernel, by gradients."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from okl import ClassTree, OutputKernelClassifier, OutputKernelRegressor, certify
from okl.kernels import Columns, Gaussian, Linear, PerOutput, Row
from okl.losses import Softmax, Squared
from okl.model_selection import GradientSearchCV
from okl.parameters import HyperparameterSpace
from okl.problems import Observed
from okl.selection.criteria import FoldsLikelihood
from okl.selection.model import Model
from okl.selection.objective import Objective
from okl.structures import Fixed, Frobenius, Identity, LowRank, Mean, Tree
from tests.samples import draw, draw_classes, psd

N, M = 30, 3
X, Y, _ = draw(N, M)
ROWS, CODES, _ = draw_classes(N, M)
GIVEN = Fixed(psd(M, 4))
TREE = ClassTree.from_paths(["a/0", "a/1", "b/2"])
LABELS = TREE.classes_[CODES]


def cut(estimator, parameters=None, **options):
    return GradientSearchCV(estimator, parameters, **({"max_iter": 3} | options))


def quiet(search, *args, **kwargs):
    with pytest.warns(ConvergenceWarning, match="ended early"):
        return search.fit(*args, **kwargs)


ARD = Gaussian(np.array([0.2, 0.5, 0.1]))
MODELS = {
    "two kernels": ([2.0 * ARD, Linear(scales=0.3)], [Mean(0.5), GIVEN]),
    "a row": ([Gaussian(0.3), Row()], [Identity(), Mean(2.0)]),
    "learned": ([Gaussian(0.3), Linear(scales=0.3)], [Frobenius(), Mean(0.5)]),
    "of each output": (
        [PerOutput([Gaussian(0.1), 2.0 * Gaussian(0.1), Linear()]), Gaussian(0.3)],
        [Identity(), Mean(0.5)],
    ),
    # equal kernels move apart, and the variance of a level is one for all of them
    "of nodes": (
        Gaussian(0.3),
        Tree(TREE, [2.0, 0.5], "level", kernels={"a": ARD, "a/0": None, "b": ARD}),
    ),
    "of the root": (
        Linear(),
        Tree(TREE, [2.0, 0.5], "level", root=0.3, kernels={0: Gaussian(0.2)}),
    ),
    "of nodes in a list": (
        [Linear(scales=0.3), Gaussian(0.3)],
        [Mean(0.5), Tree(TREE, [2.0, 0.5], "level", kernels={2: Gaussian(0.2)})],
    ),
}


@pytest.mark.parametrize("loss", [Softmax(), Squared()], ids=["softmax", "squared"])
@pytest.mark.parametrize("name", MODELS)
def test_gradients_are_differences(name, loss):
    softmax = "probabilities" in loss.capabilities
    rows, targets = (ROWS, np.eye(M)[CODES]) if softmax else (X, Y / Y.std(axis=0))
    observed = Observed(targets, loss)
    folds = list(KFold(2, shuffle=True, random_state=0).split(rows))
    exact = {"tol": 1e-12, "rtol": 1e-10}
    criterion = FoldsLikelihood(observed, folds, fit_intercept=True, **exact)
    model = Model(*MODELS[name], 0.4)
    space = HyperparameterSpace(model.hyperparameters(rows, targets, None))
    assert space.names == list(space.unpack(space.start))
    objective = Objective(rows, model, criterion, space, priors=False)
    found = objective(space.start)
    slope = approx_fprime(space.start, lambda theta: objective(theta).value, 1e-5)
    assert_allclose(found.gradient, slope, rtol=1e-3, atol=1e-4 * abs(found.value))


def test_every_parameter_has_its_name():
    names = {
        name: set(Model(*model, 1.0).at({}).get_params())
        & {one.name for one in Model(*model, 1.0).hyperparameters(X, Y, None)}
        for name, model in MODELS.items()
    }
    assert names == {
        "two kernels": {
            "kernel__0__left__value",
            "kernel__0__right__gamma",
            "kernel__1__scales",
            "structure__0__gamma",
        },
        "a row": {"kernel__0__gamma", "structure__1__gamma"},
        "learned": {"kernel__0__gamma", "kernel__1__scales", "structure__1__gamma"},
        "of each output": {
            "kernel__0__kernels__0__gamma",
            "kernel__0__kernels__1__left__value",
            "kernel__0__kernels__1__right__gamma",
            "kernel__1__gamma",
            "structure__1__gamma",
        },
        "of nodes": {
            "kernel__gamma",
            "structure__kernels__a__gamma",
            "structure__kernels__b__gamma",
            "structure__variances",
        },
        "of the root": {"structure__kernels__0__gamma", "structure__variances"},
        "of nodes in a list": {
            "kernel__0__scales",
            "kernel__1__gamma",
            "structure__0__gamma",
            "structure__1__kernels__2__gamma",
            "structure__1__variances",
        },
    }


def test_the_best_estimator_is_a_certified_fit_with_the_best_parameters():
    model = OutputKernelRegressor(["rbf", Linear(scales=1.0), Row()], ["mean"] * 3)
    search = GradientSearchCV(model).fit(X, Y)
    assert set(search.best_params_) == {
        "kernel__0__gamma",
        "kernel__1__scales",
        *(f"structure__{i}__gamma" for i in range(3)),
        "alpha",
    }
    assert search.criterion_ == "FoldsLikelihood"
    again = OutputKernelRegressor(["rbf", Linear(scales=1.0), Row()], ["mean"] * 3)
    again.set_params(**search.best_params_).fit(X, Y)
    assert_allclose(search.predict(X), again.predict(X), rtol=1e-12)
    assert certify(search.best_estimator_, X, Y).status == "optimal"
    assert search.cv_results_["value"][-1] < search.cv_results_["value"][0]
    # the end is evaluated without warm starts, and is what the search saw
    assert_allclose(search.best_score_, -search.cv_results_["criterion"][-1], rtol=1e-4)
    # what was given stays as it was
    assert search.estimator.kernel[0] == "rbf"
    assert search.estimator.kernel[1].scales == 1.0


@pytest.mark.parametrize("criterion", ["auto", "folds_error", "folds_likelihood"])
def test_a_list_of_one_kernel_is_that_kernel(criterion):
    alone = OutputKernelRegressor(ARD, "mean")
    listed = OutputKernelRegressor([ARD], ["mean"])
    one = GradientSearchCV(alone, criterion=criterion).fit(X, Y)
    other = GradientSearchCV(listed, criterion=criterion).fit(X, Y)
    assert one.criterion_ == other.criterion_
    assert_allclose(other.cv_results_["value"], one.cv_results_["value"], rtol=1e-10)
    assert_allclose(
        other.best_params_["kernel__0__gamma"],
        one.best_params_["kernel__gamma"],
        rtol=1e-6,
    )
    assert_allclose(other.predict(X), one.predict(X), rtol=1e-2, atol=1e-2)


def test_two_kernels_under_one_given_matrix_are_their_sum():
    listed = OutputKernelRegressor([ARD, Linear(scales=0.3)], [GIVEN, GIVEN])
    added = OutputKernelRegressor(ARD + Linear(scales=0.3), GIVEN)
    options = {"criterion": "folds_likelihood", "priors": False}
    one = GradientSearchCV(added, ["alpha"], **options).fit(X, Y)
    other = GradientSearchCV(listed, ["alpha"], **options).fit(X, Y)
    assert_allclose(
        other.cv_results_["value"][0], one.cv_results_["value"][0], rtol=1e-6
    )
    assert_allclose(other.best_score_, one.best_score_, rtol=1e-4)


def test_which_function_the_outputs_share_is_found():
    # all outputs have one function of the first column, and their own of the second
    rng = np.random.default_rng(1)
    rows = rng.uniform(-2.0, 2.0, (80, 2))
    own = np.sin(2.0 * rows[:, 1:] + 1.5 * np.arange(4))
    targets = np.sin(2.0 * rows[:, :1]) + own + 0.2 * rng.normal(size=(80, 4))
    kernels = [Columns(Gaussian(1.0), [j]) for j in range(2)]
    model = OutputKernelRegressor(kernels, ["mean", "mean"], normalize_y=False)
    names = ["structure__0__gamma", "structure__1__gamma", "alpha"]
    best = GradientSearchCV(model, names, cv=3).fit(rows, targets).best_params_
    # from one, where both start
    assert best["structure__0__gamma"] > 1.0 > best["structure__1__gamma"]


def test_an_output_kernel_without_a_derivative_by_differences():
    model = OutputKernelRegressor([Gaussian(0.3), Linear()], ["low_rank", "mean"])
    names = ["kernel__0__gamma", "structure__1__gamma"]
    search = quiet(cut(model, names, cv=2, max_iter=1), X[:20], Y[:20])
    assert search.cv_results_["value"][-1] < search.cv_results_["value"][0]
    wide = OutputKernelRegressor(
        [Gaussian(np.ones(3)), Gaussian(np.ones(3)), Gaussian(np.ones(3))],
        ["low_rank", "mean", "mean"],
    )
    with pytest.raises(ValueError, match="differences in 12 parameters"):
        cut(wide).fit(X, Y)


def test_classes_in_a_tree_with_kernels_of_nodes():
    structure = Tree(TREE, kernels={2: "rbf", "a/0": Gaussian(0.2)})
    model = OutputKernelClassifier(Linear(), structure, loss="softmax")
    search = quiet(cut(model, cv=2, max_iter=2), ROWS, LABELS)
    assert set(search.best_params_) == {
        "structure__kernels__2__gamma",
        "structure__kernels__a/0__gamma",
        "structure__variances",
        "alpha",
    }
    again = OutputKernelClassifier(Linear(), structure, loss="softmax")
    again.set_params(**search.best_params_).fit(ROWS, LABELS)
    assert_allclose(search.predict_proba(ROWS), again.predict_proba(ROWS), rtol=1e-9)
    assert structure.kernels[2] == "rbf"
    assert_array_equal(search.classes_, TREE.classes_)


def test_what_is_fixed_bounded_or_tied():
    model = OutputKernelRegressor(
        [Gaussian(0.3), Gaussian(0.1)], ["identity", "mean"], alpha=0.5
    )
    how = {
        "kernel__0__gamma": (0.25, 0.35),
        "kernel__1__gamma": "fixed",
        "alpha": "fixed",
    }
    search = GradientSearchCV(model, how).fit(X, Y)
    assert set(search.best_params_) == {"kernel__0__gamma", "structure__1__gamma"}
    assert 0.25 <= search.best_params_["kernel__0__gamma"] <= 0.35
    assert search.best_estimator_.kernel_[1].gamma == 0.1


def test_features_of_given_kernels_need_no_matrix():
    model = OutputKernelRegressor(
        [Linear(scales=0.3), Linear(), Row()], ["mean", "identity", "identity"]
    )
    names = ["alpha", "structure__0__gamma"]
    small = model.set_params(max_memory=1e-3)
    search = GradientSearchCV(small, names, max_iter=50).fit(X, Y)
    assert search.best_estimator_.certificate_.status == "optimal"
    with pytest.raises(MemoryError, match="max_memory"):
        GradientSearchCV(small).fit(X, Y)


LIST = [Gaussian(0.3), Linear(scales=0.3)]


@pytest.mark.parametrize(
    ("estimator", "options", "error", "match"),
    [
        ((LIST, ["mean"]), {}, ValueError, "lists of the same length"),
        ((LIST, ["mean", LowRank(2)]), {}, ValueError, "bounds the rank"),
        (([Row()], ["mean"]), {}, ValueError, "predicts nothing at new rows"),
        (
            (LIST, ["mean", "mean"]),
            {"parameters": ["kernel__gamma"]},
            ValueError,
            "'kernel__gamma'.*'kernel__0__gamma', 'kernel__1__scales'",
        ),
        (
            (LIST, ["mean", "mean"]),
            {"parameters": ["kernel__2__gamma"]},
            ValueError,
            "'kernel__2__gamma'",
        ),
        (
            (LIST, ["mean", "mean"]),
            {"criterion": "folds_error"},
            ValueError,
            "'folds_error' needs one kernel.*'folds_likelihood'",
        ),
        (
            ([PerOutput([Gaussian()] * 2), "rbf"], ["identity", "mean"]),
            {},
            ValueError,
            "PerOutput a kernel: 3",
        ),
        (
            (LIST, ["identity", "identity"]),
            {"parameters": []},
            ValueError,
            "nothing to learn",
        ),
        (
            ([Gaussian(0.3), Gaussian(np.ones(3))], ["identity", "mean"]),
            {},
            ValueError,
            r"kernel__1__gamma\[2\] has no influence",
        ),
    ],
)
def test_errors_name_what_came(estimator, options, error, match):
    rows = X.copy()
    rows[:, 2] = 1.0
    with pytest.raises(error, match=match):
        GradientSearchCV(OutputKernelRegressor(*estimator), **options).fit(rows, Y)


def test_parameters_of_kernels_of_nodes():
    names = ClassTree.from_paths(["a__x/0", "a__x/1", "a/2"])
    tree = Tree(names, kernels={"a": Gaussian(1.0), "a__x": Gaussian(2.0), 2: "rbf"})
    assert tree.get_params()["kernels__a__x__gamma"] == 2.0
    given = tree.kernels
    tree.set_params(kernels__a__x=Linear())
    assert isinstance(tree.kernels["a__x"], Linear)
    assert given["a__x"].gamma == 2.0
    model = OutputKernelClassifier("linear", tree, loss="softmax")
    model.set_params(structure__kernels__a__gamma=3.0, structure__kernels__2__gamma=4)
    assert model.structure.kernels["a"].gamma == 3.0
    assert model.structure.kernels[2].gamma == 4
    with pytest.raises(ValueError, match=r"kernels is a mapping from 'a', 'a__x', 2"):
        model.set_params(structure__kernels__b__gamma=3.0)
    with pytest.raises(ValueError, match=r"Linear\(\) has the parameters"):
        model.set_params(structure__kernels__a__x__gamma=3.0)
