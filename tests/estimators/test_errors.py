"""Errors say what came, what was expected and what to do; nothing is fitted then."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    StratifiedKFold,
)

import okl.metrics
from okl import (
    ClassTree,
    KernelAutoencoder,
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelExtension,
    OutputKernelImputer,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
    ReducedRankRegression,
    certify,
    output_kernel_path,
)
from okl.kernels import Gaussian
from okl.metrics import ClassTreeScorer, r2_score
from okl.model_selection import GradientSearchCV
from okl.structures import Cluster, Fixed, Graph, Mixing, Sparse, Tree
from tests.samples import draw

X, Y, K = draw(10, 3)


def changed(array, index, value):
    array = np.array(array)
    array[index] = value
    return array


def indefinite():
    values, vectors = np.linalg.eigh(K)
    values[0] = -0.37
    return (vectors * values) @ vectors.T


PARAMETERS = [
    ({"alpha": 0}, "alpha must be a finite number > 0, got 0"),
    ({"alpha": -1.0}, "alpha must be a finite number > 0, got -1.0"),
    ({"alpha": np.nan}, "alpha must be a finite number > 0, got nan"),
    ({"alpha": np.inf}, "alpha must be a finite number > 0, got inf"),
    ({"alpha": "1"}, "alpha must be a finite number > 0, got '1'"),
    ({"alpha": [[1.0, 2.0], [3.0]]}, "alpha must be a number, or an array of numbers"),
    ({"alpha": None}, "alpha must be a finite number > 0, got None"),
    ({"alpha": 1e300}, r"alpha is 1e\+300, .*between 1e-50 and 1e\+50.*another alpha"),
    ({"alpha": 1e-300}, r"alpha is 1e-300, .* the range of floating point numbers"),
    ({"fit_intercept": "no"}, "fit_intercept must be True.* or .*, got 'no'"),
    ({"fit_intercept": 1}, "fit_intercept must be True.* or .*, got 1"),
    ({"tol": 0.0}, "tol must be a finite number > 0, got 0.0"),
    ({"tol": -1.0}, "tol must be a finite number > 0"),
    ({"tol": np.nan}, "tol must be a finite number > 0"),
    ({"tol": np.inf}, "tol must be a finite number > 0"),
    ({"max_iter": 0}, "max_iter must be an integer >= 1, got 0"),
    ({"max_iter": 1.5}, "max_iter must be an integer >= 1, got 1.5"),
    ({"kernel": "gauss"}, "Unknown kernel 'gauss'. Known names:.*'linear'.*'rbf'"),
    ({"structure": "lowrank"}, "Unknown structure 'lowrank'.*'frobenius'.*'low_rank'"),
    ({"solver": "newton"}, "Unknown solver 'newton'.*'closed_form'.*'newton_cg'"),
    ({"loss": "mse"}, "Unknown loss 'mse'. Known names: 'hinge', 'huber'"),
    ({"solver": "closed_form"}, "needs a structure that fixes"),
    ({"kernel": Gaussian(-1.0)}, "gamma of Gaussian must be finite and > 0.*-1.0"),
    ({"kernel": Gaussian([1.0, 2.0])}, r"shape \(3,\), one number per feature.*\(2,\)"),
    ({"structure": Fixed(np.eye(2))}, r"\(3, 3\); got an array of shape \(2, 2\)"),
]


@pytest.mark.parametrize(("change", "message"), PARAMETERS)
@pytest.mark.parametrize("cls", [OutputKernelRegressor, OutputKernelClassifier])
def test_parameters(cls, change, message):
    model = cls(**change)
    y = Y if cls is OutputKernelRegressor else (Y > 0).astype(int)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "dual_coef_")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kernel": 3}, "kernel must be a name.*got 3"),
        ({"kernel": Gaussian}, r"did you mean Gaussian\(\)\?"),
        ({"structure": 3}, "structure must be a name.*got 3"),
        ({"solver": None}, "solver must be a name.*got None"),
        ({"loss": np.square}, "loss must be a name"),
    ],
)
def test_things_of_the_wrong_kind(change, message):
    with pytest.raises(TypeError, match=message):
        OutputKernelRegressor(**change).fit(X, Y)


DATA = [
    (np.empty((0, 3)), np.empty((0, 2)), "0 sample"),
    (np.empty((10, 0)), Y, "0 feature"),
    (X[:, 0], Y, "Expected 2D array, got 1D array"),
    (X[None], Y, "dim 3"),
    (X, Y[:-1], r"inconsistent numbers of samples: \[10, 9\]"),
    (changed(X, (2, 1), np.nan), Y, "Input X contains NaN"),
    (changed(X, (2, 1), np.inf), Y, "Input X contains infinity"),
    (X, changed(Y, (slice(None), 1), np.nan), "Input y contains NaN"),
    (X, changed(Y, (2, 1), np.inf), "Input y contains infinity"),
    (X, changed(Y, (2, 1), -np.inf), "Input y contains infinity"),
    (1e150 * X, Y, r"X has entries up to [\d.]+e\+150, .* standardising its columns"),
    (sp.csr_matrix(1e-150 * X), Y, r"X has entries up to [\d.]+e-150"),
    (X, None, "requires y to be passed"),
    (X, np.full((10, 2), "long"), "y has 'long'. Classes are for OutputKernelClassif"),
    (X, np.full((10, 2), "n.d."), "NaN where they are missing, and y has 'n.d.'"),
    (X, Y[..., None], "dim 3|3D"),
    (np.full((10, 3), "long"), Y, "could not convert string to float: .*long"),
    (sp.csr_matrix(changed(X, (2, 1), np.nan)), Y, "Input X contains NaN"),
]


@pytest.mark.parametrize(("rows", "targets", "message"), DATA)
@pytest.mark.parametrize(
    "model",
    [OutputKernelRegressor(), OutputKernelRegressorCV(cv=2, alphas=2)],
    ids=type,
)
def test_data(model, rows, targets, message):
    model = clone(model)
    with pytest.raises(ValueError, match=message):
        model.fit(rows, targets)
    with pytest.raises(ValueError, match=message):
        output_kernel_path(rows, targets)
    assert not hasattr(model, "dual_coef_")


def test_kernels_and_weights_beyond_floating_point():
    for factor, shown in [(1e60, r"1e\+60"), (1e-60, "1e-60")]:
        with pytest.raises(ValueError, match=f"matrix has entries up to {shown}"):
            OutputKernelRegressor(factor * Gaussian()).fit(X, Y)
    with pytest.raises(ValueError, match=r"Weights are up to 1e\+200"):
        OutputKernelRegressor().fit(X, Y, sample_weight=np.full(10, 1e200))
    model = OutputKernelClassifier(class_weight={0: 1e200, 1: 1.0})
    with pytest.raises(ValueError, match=r"Weights are up to 1e\+200"):
        model.fit(X, np.arange(10) % 2)
    # zeros leave nothing to be learned, and are no error
    assert_allclose(OutputKernelRegressor().fit(0 * X, 0 * Y).predict(X), 0.0)


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_class_weights_that_are_none(weight):
    for model in (
        OutputKernelClassifier(class_weight={0: weight, 1: 1.0}),
        OutputKernelClassifierCV(class_weight={0: weight, 1: 1.0}, cv=2),
    ):
        message = (
            rf"class_weight must be finite and >= 0.*got \{{0: {weight}, 1: 1.0\}}"
        )
        with pytest.raises(ValueError, match=message):
            model.fit(X, np.arange(10) % 2)
    with pytest.raises(ValueError, match=r"class_weight .* not zero for all classes"):
        OutputKernelClassifier(class_weight={0: 0, 1: 0}).fit(X, np.arange(10) % 2)


def test_no_columns_of_targets():
    with pytest.raises(ValueError, match=r"0 feature.*shape=\(10, 0\)"):
        OutputKernelRegressor().fit(X, np.empty((10, 0)))


GRAMS = [
    (K[:, :6], r"must be square.*\(10, 6\)"),
    (changed(K, (0, 3), 0.99), "not symmetric"),
    (indefinite(), "most negative eigenvalue is -0.37"),
    (-K, "not positive semi-definite"),
    (changed(K, (0, 3), np.nan), "Input X contains NaN"),
]


@pytest.mark.parametrize(("matrix", "message"), GRAMS)
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_precomputed_kernels(matrix, message, intercept):
    if intercept and "-0.37" in message:
        message = "not positive semi-definite: its most negative eigenvalue is -0.3"
    model = OutputKernelRegressor("precomputed", fit_intercept=intercept)
    with pytest.raises(ValueError, match=message):
        model.fit(matrix, Y)


def test_a_precomputed_kernel_is_dense():
    with pytest.raises(TypeError, match="dense data is required"):
        OutputKernelRegressor("precomputed").fit(sp.csr_matrix(K), Y)


def test_with_an_intercept_the_kernel_may_be_conditionally_definite():
    distances = ((X[:, None] - X[None]) ** 2).sum(-1)
    model = OutputKernelRegressor("precomputed", "identity", 0.5)
    linear = OutputKernelRegressor("linear", "identity", 0.5)
    expected = linear.fit(X, Y).predict(X)
    found = model.fit(-distances / 2, Y).predict(-distances / 2)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        model.set_params(fit_intercept=False).fit(-distances / 2, Y)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
def test_prediction(kernel):
    model = OutputKernelRegressor(kernel).fit(K if kernel == "precomputed" else X, Y)
    n = model.n_features_in_
    for rows, message in [
        (np.ones((2, n + 1)), f"X has {n + 1} features, but .* expecting {n}"),
        (np.ones(n), "Expected 2D array"),
        (np.full((2, n), np.nan), "contains NaN"),
        (np.empty((0, n)), "0 sample"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.predict(rows)


SEARCH = [
    ({"alphas": 0}, "alphas must be an integer >= 1, got 0"),
    ({"alphas": -3}, "alphas must be an integer >= 1, got -3"),
    ({"alphas": True}, "alphas must be an integer >= 1, got True"),
    ({"alphas": []}, "alphas must be a number of values or a sequence"),
    ({"alphas": 2.5}, "alphas must be a number of values or a sequence"),
    ({"alphas": [[1.0]]}, "alphas must be a number of values or a sequence"),
    ({"alphas": [1.0, -1.0]}, "alpha must be a finite number > 0, got -1.0"),
    ({"alphas": ["a"]}, r"alphas must be a number of values.*got \['a'\]"),
    ({"alphas": None}, "alphas must be a number of values.*got None"),
    ({"alphas": [1.0, 1e300]}, r"alpha is 1e\+300, which is not between"),
    ({"fit_intercept": "no"}, "fit_intercept must be True.* or .*, got 'no'"),
    ({"alphas": [1.0, np.nan]}, "alpha must be a finite number > 0, got nan"),
    ({"eps": 0.0}, "eps must be a finite number > 0, got 0.0"),
    ({"eps": 1.0}, "eps must be below 1, got 1.0"),
    ({"eps": 1e-320}, "eps is .*, which is not between"),
    ({"tol": 10**400}, "tol must be a finite number > 0"),
    ({"eps": np.nan}, "eps must be a finite number > 0"),
    ({"tol": 0.0}, "tol must be a finite number > 0"),
    ({"kernel": "gauss"}, "Unknown kernel 'gauss'"),
]


@pytest.mark.parametrize(("change", "message"), SEARCH)
def test_paths_and_searches(change, message):
    options = {"cv": 2, "kernel": never, **change}
    with pytest.raises(ValueError, match=message):
        OutputKernelRegressorCV(**options).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        output_kernel_path(X, Y, **{"kernel": never, **change})


class Folds:
    """A splitter of one's own."""

    def __init__(self, *folds):
        self.folds = folds

    def split(self, X, y=None, groups=None):
        return iter(self.folds)

    def get_n_splits(self, X=None, y=None, groups=None):
        return len(self.folds)


def never(rows, others):
    """Fail as a kernel: errors come before it is evaluated."""
    raise AssertionError


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"structures": []}, "structures is an empty list; give at least one"),
        ({"structures": ["frobenius", "lowrank"]}, "Unknown structure 'lowrank'"),
        ({"cv": 11}, "KFold.*10 rows: Cannot have number of splits.*another cv"),
        ({"cv": GroupKFold(2)}, r"GroupKFold\(n_splits=2.*None. .*or groups to fit\."),
        ({"cv": 1}, "n_splits=1|at least one train/test split"),
        ({"cv": []}, "cv must be a number of folds, a splitter, or pairs.*no folds"),
        ({"cv": [1, 2]}, "cv must be a number of folds.*got the fold 1"),
        ({"cv": np.ones((2, 2))}, "cv must be a number of folds.*pairs of row numbers"),
        ({"cv": [([0, 1], [[2], [3, 4]])]}, "pairs of row numbers.*got the fold"),
        (
            {"cv": [([True, False], [False, True])]},
            "a mask of 2 rows, and there are 10",
        ),
        ({"cv": [([0, 1], [])]}, "Fold 0 of cv has no row to test"),
        ({"cv": Folds((range(8), [0.5]))}, r"Fold 0 .* must be a pair .*got .*0\.5"),
        ({"cv": Folds(range(8))}, r"Fold 0 .* must be a pair .*got range"),
        (
            {"structures": ["identity", Cluster(4)]},
            "n_clusters must be at most.*got 4",
        ),
        ({"structures": [Sparse(3.0)]}, "mu must be a number from 0"),
        ({"structures": "cluster"}, "'cluster' has no default for n_clusters"),
        ({"scoring": "r3"}, "'r3' is not a valid scoring value|r3"),
        ({"scoring": "accuracy"}, "'accuracy' does not fit.*numbers.*such as 'r2'"),
        ({"scoring": "neg_log_loss"}, r"not fit.*numbers \(it needs predict_proba\)"),
        ({"max_iter": 0}, "max_iter must be an integer >= 1"),
    ],
)
def test_searches(change, message):
    options = {"kernel": never, "alphas": 2, "cv": 2, **change}
    with pytest.raises(ValueError, match=message):
        OutputKernelRegressorCV(**options).fit(X, Y)


def test_errors_of_scores():
    def of_rows(model, X, y):
        raise ValueError("mine")

    def of_targets(y, predicted):
        raise ValueError("mine")

    for scoring in (of_rows, make_scorer(of_targets)):
        search = OutputKernelRegressorCV("rbf", alphas=2, cv=2, scoring=scoring)
        with pytest.raises(ValueError, match=r"^mine$"):  # says nothing of folds
            search.fit(X, Y)
    folds = [(np.arange(8), np.array([8, 9]))]
    search = OutputKernelClassifierCV("rbf", cv=folds, scoring="top_k_accuracy")
    with pytest.raises(ValueError, match=r"2 held-out rows cannot be .*fewer folds"):
        search.fit(X, np.r_[0, 0, np.ones(8, dtype=int)])


@pytest.mark.parametrize("scoring", ["roc_auc_ovr", "roc_auc_ovo_weighted"])
def test_scores_that_take_two_labels_for_two_classes(scoring):
    search = OutputKernelClassifierCV(Gaussian(1.0), alphas=2, cv=2, scoring=scoring)
    with pytest.raises(
        ValueError, match=r"not fit .*two label columns as two.*'roc_auc'"
    ):
        search.fit(X, (Y[:, :2] > 0).astype(int))


@pytest.mark.parametrize("given", [3, ["identity", 3], Sparse, [Sparse]])
def test_structures_that_are_none(given):
    with pytest.raises(TypeError, match="The structure must be a name"):
        OutputKernelRegressorCV(never, given).fit(X, Y)


WORDS = np.array(["staged", "auto"])
WORD = WORDS[0, ...]  # an array without axes
CLASSES = ClassTree.from_paths([["a", "b"], ["a", "c"]])


@pytest.mark.parametrize(
    ("use", "name"),
    [
        (lambda: OutputKernelRegressorCV(search=WORDS).fit(X, Y), "search"),
        (lambda: OutputKernelRegressorCV(n_jobs=WORDS).fit(X, Y), "n_jobs"),
        (
            lambda: OutputKernelRegressorCV(structures=WORD).fit(X, Y),
            "'staged'",
        ),
        (lambda: OutputKernelRegressorCV(cv=WORD).fit(X, Y), "cv"),
        (lambda: OutputKernelImputer(transform_y=WORDS).fit(Y), "transform_y"),
        (
            lambda: GradientSearchCV(
                OutputKernelRegressor("linear"), np.array(1.0)
            ).fit(X, Y),
            "parameters",
        ),
        (lambda: r2_score(Y, Y, multioutput=WORDS), "multioutput"),
        (lambda: ClassTreeScorer(CLASSES, WORDS), "metric"),
        (lambda: Tree(CLASSES, [1.0] * 3, tied=WORDS).validate(2), "tied"),
    ],
)
def test_an_array_in_the_place_of_a_word(use, name):
    with pytest.raises((ValueError, TypeError), match=name):
        use()


MODEL = OutputKernelRegressor().fit(X, Y)
LONG = OutputKernelRegressor("linear").fit(X, Y[:, 0], task=np.arange(10) % 2)
ADDED = OutputKernelExtension(MODEL).fit(X, X[:, 0])
NAMED = pd.DataFrame(Y, columns=["b", "c", "d"])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("use", "message"),
    [
        (
            lambda: OutputKernelRegressorCV("auto").fit(1e200 * X, Y),
            "X has entries up to .*Rescale X",
        ),
        (
            lambda: OutputKernelClassifierCV().fit(1e307 * X, np.arange(10) % 2),
            "X has entries up to .*Rescale X",
        ),
        (lambda: OutputKernelImputer().fit(1e200 * X), "The table has entries up to"),
        (lambda: OutputKernelExtension(MODEL).fit(X, None), "y is None; give the"),
        (
            lambda: OutputKernelExtension(MODEL).fit(X, 1e200 * X[:, 0]),
            "y has entries up to .*Rescale the targets",
        ),
        (
            lambda: OutputKernelExtension(MODEL).fit(X, X[:, 0], np.full(10, 1e200)),
            "Weights are up to",
        ),
        (lambda: certify(ADDED, X, 1e-250 * X[:, 0]), "y has entries up to"),
        (lambda: certify(MODEL, X, Y, np.full(10, 1e200)), "Weights are up to"),
        (
            lambda: certify(
                OutputKernelRegressor("linear", Sparse()).fit(X, Y), X, 1e-250 * Y
            ),
            "y has a standard deviation up to .*Rescale the targets",
        ),
        (
            lambda: certify(
                OutputKernelRegressor("precomputed").fit(K, Y), 1e307 * K, Y
            ),
            "kernel matrix has entries up to",
        ),
        (
            lambda: OutputKernelRegressor().fit(X, Y[:, 0], task=[{}] * 10),
            r"task has ids that cannot be sorted, such as \{\}",
        ),
        (lambda: LONG.predict(X, task=[{}] * 10), "task has ids that cannot"),
        (
            lambda: OutputKernelRegressor(structure=Tree("b/c")).fit(X, NAMED),
            r"class_tree must be an okl\.ClassTree",
        ),
        (
            lambda: OutputKernelRegressor(
                structure=Tree(CLASSES, np.full(2, 1e200))
            ).fit(X, Y[:, :2]),
            "variances of nodes are up to",
        ),
        (lambda: ClassTree.from_networkx({"a": "b"}), r"must be a networkx\.DiGraph"),
        (
            lambda: (
                OutputKernelClassifier("linear", Tree(CLASSES), loss="softmax")
                .fit(X, ["b", "c"] * 5)
                .score(X, ["b", "c"])
            ),
            "inconsistent numbers of samples",
        ),
        (
            lambda: OutputKernelRegressor(structure=Graph(np.full((3, 3), 1e200))).fit(
                X, Y
            ),
            "gamma=1.0 is negligible compared with the weights .* 1e\\+200",
        ),
        (
            lambda: OutputKernelRegressor(structure=Fixed(np.full((3, 3), 1e308))).fit(
                X, Y
            ),
            "The output kernel has entries up to",
        ),
        (
            lambda: OutputKernelRegressor(
                structure=Mixing(1, np.full((3, 1), 1e200))
            ).fit(X, Y),
            "mixing has entries up to",
        ),
    ],
)
def test_what_cannot_be_computed_with_is_named(use, message):
    with pytest.raises((ValueError, TypeError), match=message):
        use()


@pytest.mark.parametrize("scoring", ["r2", "precision"])
def test_scores_of_other_targets_are_refused(scoring):
    y = np.array(["a", "b", "c"])[np.arange(len(X)) % 3]
    search = OutputKernelClassifierCV(never, alphas=2, cv=2, scoring=scoring)
    with pytest.raises(ValueError, match=f"{scoring}' does not fit.*multiclass"):
        search.fit(X, y)


def test_scores_of_several_labels_are_advised_where_there_are_several():
    y = np.stack([X[:, 0] > 0, X[:, 1] > 0], axis=1).astype(int)
    search = OutputKernelClassifierCV("linear", "identity", alphas=2, cv=2)
    with pytest.raises(ValueError, match="multilabel-indicator") as refusal:
        search.set_params(scoring="balanced_accuracy").fit(X, y)
    advised = re.findall("'([a-z0-9_]+)'", str(refusal.value).partition("such as")[2])
    assert len(advised) == 3
    for scoring in advised:
        assert np.isfinite(search.set_params(scoring=scoring).fit(X, y).best_score_)


def test_scores_that_are_not_numbers_are_refused():
    with pytest.raises(ValueError, match=r"Every mean score.*NaN"):
        OutputKernelRegressorCV(
            alphas=2, cv=2, scoring=lambda model, rows, y: np.nan
        ).fit(X, Y)


def test_metadata_nobody_asked_for():
    with pytest.raises(ValueError, match=r"unexpected metadata \['colour'\]"):
        OutputKernelRegressorCV(alphas=2, cv=2).fit(X, Y, colour=1)


def masked(array, index):
    array = np.ma.array(array)
    array[index] = np.ma.masked
    return array


LABELS = np.arange(10) % 2
MASKED = [
    ("X", lambda X, Y: OutputKernelRegressor().fit(X, Y.data), None),
    ("X", lambda X, Y: MODEL.predict(X), None),
    ("X", lambda X, Y: KernelAutoencoder().fit(X), None),
    ("X", lambda X, Y: OutputKernelImputer().fit(X), None),
    ("y", lambda X, Y: OutputKernelRegressor().fit(X.data, Y), None),
    ("y", lambda X, Y: OutputKernelRegressorCV("rbf").fit(X.data, Y), None),
    ("y", lambda X, Y: output_kernel_path(X.data, Y), None),
    ("y", lambda X, Y: OutputKernelExtension(MODEL).fit(X.data, Y), None),
    ("y", lambda X, Y: ReducedRankRegression(1).fit(X.data, Y), None),
    ("y", lambda X, Y: OutputKernelClassifier().fit(X.data, Y > 0), None),
    ("y_true", lambda X, Y: MODEL.score(X.data, Y), None),
    ("given", lambda X, Y: MODEL.predict(X.data, given=Y), None),
    (
        "sample_weight",
        lambda X, Y: OutputKernelRegressor().fit(X.data, Y.data, sample_weight=abs(Y)),
        None,
    ),
    (
        "task",
        lambda X, Y: OutputKernelRegressor().fit(
            X.data, Y.data[:, 0], task=masked(LABELS, 3)
        ),
        "task is missing in some rows",
    ),
    (
        "labels",
        lambda X, Y: OutputKernelClassifier().fit(X.data, masked(LABELS, 3)),
        r"class of row 3 of y is missing \(masked\)",
    ),
]


@pytest.mark.parametrize(("name", "use", "message"), MASKED)
def test_masked_entries_are_not_taken_for_observed(name, use, message):
    message = message or (
        rf"{name} is a masked array, with 1 of its 30 entries masked.* NaN .*"
        rf"{name}\.astype\(float\)\.filled"
    )
    with pytest.raises(ValueError, match=message):
        use(masked(X, (2, 1)), masked(Y, (4, 0)))


def test_a_mask_without_masked_entries_changes_nothing():
    model = OutputKernelRegressor().fit(np.ma.array(X), np.ma.array(Y))
    assert_allclose(model.predict(X), MODEL.predict(X), rtol=1e-12)


@pytest.mark.parametrize(
    "given",
    [
        list,
        lambda y: pytest.importorskip("polars").Series(y),
        pd.Series,
        pd.Categorical,
        lambda y: pd.Series(y, dtype="string"),
        lambda y: pd.Series([None if c is None else ord(c) for c in y], dtype="Int64"),
    ],
)
def test_classes_cannot_be_missing(given):
    y = given(["a", "b", None, "a", "b"] * 2)
    with pytest.raises(ValueError, match=r"class of row 2 of y is missing \(.*\)"):
        OutputKernelClassifier().fit(X, y)


def test_too_few_rows_of_each_class_for_the_folds():
    for cv in (None, 2):
        with pytest.raises(ValueError, match="4 rows has a class of its own"):
            OutputKernelClassifierCV(cv=cv).fit(X[:4], [0, 1, 2, 3])
    with pytest.raises(ValueError, match="most frequent class has 2 rows: pass cv"):
        OutputKernelClassifierCV(cv=3).fit(X[:4], [0, 1, 2, 2])


def test_a_seed_that_is_none():
    with pytest.raises(ValueError, match="'a' cannot be used to seed"):
        OutputKernelRegressorCV(random_state="a").fit(X, Y)


def test_of_complex_targets_no_entries_are_shown():
    with pytest.raises(ValueError, match=r"y must be .* Complex data not supported$"):
        OutputKernelRegressor().fit(X, Y + 1j)


def test_a_class_in_one_fold_only_is_an_error_of_nobody():
    y = np.array([0] * 5 + [1] * 4 + [2])
    with pytest.warns(UserWarning, match="1 of 3 classes has a single row: 2"):
        model = OutputKernelClassifierCV("rbf", alphas=2, cv=3).fit(X, y)
    assert np.all(np.isfinite(model.scores_))


def test_targets_too_large_for_their_squares():
    single = OutputKernelRegressor(normalize_y=False)
    with pytest.raises(ValueError, match=r"y has entries up to .* Rescale the targets"):
        single.fit(X, 1e150 * Y)
    normalised = OutputKernelRegressor().fit(X, 1e150 * Y)
    expected = OutputKernelRegressor().fit(X, Y).predict(X)
    np.testing.assert_allclose(normalised.predict(X) / 1e150, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("model", "use", "message"),
    [
        (
            OutputKernelRegressor(),
            lambda m: m.fit(X),
            "fit.*'y'. It takes X, y, sample_weight, task",
        ),
        (
            OutputKernelRegressor(),
            lambda m: m.fit(X, Y, weights=1),
            "fit.*'weights'. It takes X, y",
        ),
        (MODEL, lambda m: m.predict(X, std=True), "predict.*'std'. It takes X, return"),
        (MODEL, lambda m: m.score(X), "score.*'y'. It takes X, y, sample_weight"),
        (OutputKernelRegressorCV(), lambda m: m.fit(X), "fit.*'y'. It takes X, y"),
        (OutputKernelClassifier(), lambda m: m.score(X), "score.*'y'. It takes X"),
        (KernelAutoencoder(), lambda m: m.fit(X, w=1), "fit.*'w'. It takes X, y"),
        (GradientSearchCV(MODEL), lambda m: m.score(X), "score.*'y'. It takes X, y"),
    ],
)
def test_arguments_are_refused_in_the_name_of_the_class(model, use, message):
    name = type(model).__name__
    with pytest.raises(TypeError, match=rf"^{name}\.{message}"):
        use(model)


UNSEEN = OutputKernelClassifier(
    structure=Tree(ClassTree.from_paths(["a/b", "a/c", "d"])), loss="softmax"
)


@pytest.mark.parametrize(
    "fit",
    [
        lambda: OutputKernelRegressor(loss="huber", max_iter=1).fit(X, Y),
        lambda: OutputKernelRegressorCV("rbf", alphas=[1.0], max_iter=1).fit(X, Y),
        lambda: KernelAutoencoder(1, max_iter=1, tol=1e-15).fit(X),
        lambda: UNSEEN.fit(X, ["a/b", "a/c"] * 5),
    ],
)
def test_warnings_point_at_the_line_that_fits(fit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("labels", [[0, 1], [True, False], ["a", 1], [1, "a"]])
def test_classes_that_are_objects_are_refused(labels):
    y = np.array(labels * 5, dtype=object)
    with pytest.raises(ValueError, match=r"objects and no text, such as (0|1|True); "):
        OutputKernelClassifier().fit(X, y)
    OutputKernelClassifier().fit(X, y.astype(str))


def test_row_numbers_of_folds_that_are_no_rows():
    beyond, before = np.arange(5, 13), np.arange(-2, 3)
    for wrong, first in ((beyond, 10), (before, -2)):
        folds = [(np.arange(5), np.arange(5, 10)), (np.arange(5), wrong)]
        for search in (OutputKernelRegressorCV(cv=folds), gradient(cv=folds)):
            with pytest.raises(ValueError, match=f"Fold 1 of cv .* number {first}, "):
                search.fit(X, Y)


def gradient(**parameters):
    return GradientSearchCV(OutputKernelRegressor(Gaussian(1.0)), **parameters)


def test_an_alpha_for_each_output_that_is_not_learned():
    for parameters in (["kernel__gamma"], {"alpha": "fixed"}, "kernel__gamma"):
        search = gradient(parameters=parameters, alpha_per_output=True)
        with pytest.raises(
            ValueError, match="Add 'alpha' to parameters, or leave alpha_per"
        ):
            search.fit(X, Y)
    names = iter(["alpha", "kernel__gamma"])  # which can be read once
    search = gradient(parameters=names, alpha_per_output=True).fit(X, Y)
    assert np.shape(search.best_params_["alpha"]) == (3,)


@pytest.mark.parametrize("cv", [LeaveOneOut(), RepeatedStratifiedKFold(n_repeats=2)])
def test_nothing_is_said_of_classes_that_folds_have_or_cannot_have(cv):
    rows, y = np.repeat(X, 2, axis=0), np.arange(20) % 2
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*classes have no test row")
        OutputKernelClassifierCV("rbf", alphas=[1.0, 0.1], cv=cv).fit(rows, y)


def test_a_score_that_a_fold_cannot_have():
    rows = np.random.default_rng(0).normal(size=(30, 2))
    y = np.where(np.arange(30) < 3, 2, np.arange(30) % 2)
    search = OutputKernelClassifierCV("rbf", alphas=[1.0, 0.1], scoring="roc_auc_ovr")
    with pytest.raises(ValueError, match=r"\d held-out rows .*Number of.* hold some"):
        search.fit(rows, y)


def test_a_class_with_many_rows_that_some_folds_do_not_test():
    rows, y = np.repeat(X, 2, axis=0), np.arange(20) % 2
    groups = np.where(y == 0, 0, np.arange(20) % 3)
    search = OutputKernelClassifierCV("rbf", alphas=[1.0, 0.1], cv=GroupKFold(3))
    with pytest.warns(UserWarning, match="1 of 2 classes .* 3 folds: 0, .* has 10 row"):
        search.fit(rows, y, groups=groups)


def test_scores_that_are_not_for_such_labels_are_refused_before_any_fit():
    three, labels = np.array(list("abc") * 3 + ["a"]), (Y > 0).astype(int)
    search = OutputKernelClassifierCV(scoring="roc_auc", cv=2)
    with pytest.raises(ValueError, match=r"'roc_auc' does not fit .*multi_class"):
        search.fit(X, three)
    search.set_params(scoring="neg_log_loss")
    with pytest.raises(
        ValueError, match=r"sum to one.*okl.metrics.neg_log_loss_scorer"
    ):
        search.fit(X, labels)
    for scoring in ("neg_log_loss", "roc_auc_ovr", "top_k_accuracy"):
        few = OutputKernelClassifierCV("rbf", alphas=[1.0, 0.1], scoring=scoring, cv=2)
        assert np.isfinite(few.fit(X, three).best_score_)


def test_several_kernels_of_an_autoencoder():
    with pytest.raises(TypeError, match=r"takes one kernel.* Gaussian\(\) \+ Linear"):
        KernelAutoencoder(1, kernel=["rbf", "linear"]).fit(X)


def test_a_table_is_not_filled_in_by_another_loss():
    table = changed(Y, (0, 0), np.nan)
    with pytest.raises(ValueError, match=r"the squared loss.* got loss='huber'"):
        OutputKernelImputer(OutputKernelRegressor(loss="huber")).fit(table, X=X)


@pytest.mark.parametrize(
    ("score", "true", "predicted"),
    [
        (okl.metrics.r2_score, Y, Y),
        (okl.metrics.mean_squared_error, Y[:, 0], Y[:, 0]),
        (okl.metrics.accuracy_score, [0, 1] * 5, [0, 1] * 5),
        (okl.metrics.log_loss, [0, 1] * 5, [0.5] * 10),
        (okl.metrics.roc_auc_score, [0, 1] * 5, [0.1, 0.2] * 5),
    ],
)
def test_negative_weights_are_refused_by_scores_too(score, true, predicted):
    with pytest.raises(ValueError, match="has a negative entry, -1; weights"):
        score(true, predicted, sample_weight=np.r_[-1.0, np.ones(9)])


NUMBER = [0.0, 1.0] * 5
DATES = np.arange("2020-01-01", "2020-01-11", dtype="datetime64[D]")
WEIGHTS_THAT_ARE_NONE = {"dict": {}, "datetime64": DATES, "str": "many"}


@pytest.mark.parametrize("kind", WEIGHTS_THAT_ARE_NONE)
@pytest.mark.parametrize(
    "score",
    [
        OutputKernelRegressor(Gaussian(1.0)).fit(X, NUMBER).score,
        OutputKernelClassifier(Gaussian(1.0)).fit(X, NUMBER).score,
        lambda X, y, **given: okl.metrics.log_loss(y, NUMBER, **given),
        lambda X, y, **given: okl.metrics.taxo_loss(
            *(["a"], ["b"]), tree=ClassTree.from_paths(["a", "b"]), **given
        ),
    ],
)
def test_scores_refuse_weights_that_are_no_numbers(score, kind):
    message = f"sample_weight must be an array of numbers, got .*{kind}"
    with pytest.raises(TypeError, match=message):
        score(X, NUMBER, sample_weight=WEIGHTS_THAT_ARE_NONE[kind])


def test_fits_refuse_weights_that_are_no_numbers():
    with pytest.raises(TypeError, match=r"sample_weight must be .*: .*not 'dict'"):
        OutputKernelRegressor().fit(X, Y, sample_weight={})
    with pytest.raises(ValueError, match=r"sample_weight must be .*: .*convert string"):
        OutputKernelClassifier().fit(X, NUMBER, sample_weight=["a"] * 10)


@pytest.mark.parametrize("given", [{}, "many", [[1.0, 2.0], [3.0]]])
def test_scores_and_fits_name_what_is_no_number(given):
    model = OutputKernelRegressor(Gaussian(1.0)).fit(X, NUMBER)
    with pytest.raises((TypeError, ValueError), match="y_true must be an array of num"):
        model.score(X, given)
    with pytest.raises((TypeError, ValueError), match=r"(y|Targets) must be .*num"):
        model.fit(X, given)


def test_dates_are_no_targets_to_score():
    model = OutputKernelRegressor(Gaussian(1.0)).fit(X, NUMBER)
    with pytest.raises(ValueError, match="y_true must be numbers, and there are dates"):
        model.score(X, DATES)
    model = OutputKernelClassifier(Gaussian(1.0)).fit(X, NUMBER)
    with pytest.raises(TypeError, match=r"of one kind; got datetime64.* and float64"):
        model.score(X, DATES)


def test_memory_for_too_few_rows_to_learn_from_is_what_is_said():
    rows, targets = np.repeat(X, 2, axis=0) + np.arange(20)[:, None], np.tile(Y, (2, 1))
    search = OutputKernelRegressorCV(
        structures="identity", alphas=2, eps=0.1, max_memory=0.0024
    )
    with pytest.warns(UserWarning, match="memory is short: there is room for 4 rows"):
        search.fit(rows, targets)


def test_a_label_that_never_varies_is_named_as_such():
    labels = np.column_stack([np.arange(10) % 2, np.zeros(10)]).astype(float)
    model = OutputKernelClassifier(Gaussian(1.0), "identity", loss="logistic")
    with pytest.raises(ValueError, match="All rows, or none, are of class 1"):
        GradientSearchCV(model).fit(X, labels)


def test_an_alpha_in_an_array_without_dimensions_is_a_number():
    for alpha in (np.array(0.5), np.array(1)):
        model = OutputKernelRegressor(alpha=alpha).fit(X, Y)
        expected = OutputKernelRegressor(alpha=float(alpha)).fit(X, Y)
        assert_allclose(model.dual_coef_, expected.dual_coef_)
    with pytest.raises(ValueError, match="alpha must be a finite number > 0"):
        OutputKernelRegressor(alpha=np.array(-1.0)).fit(X, Y)


def test_a_column_of_classes_has_no_missing_numbers():
    y = changed(np.arange(10) % 2.0, 3, np.nan)
    for labels in (y, y[:, None], pd.Series(y), pd.DataFrame({"sick": y})):
        with pytest.raises(ValueError, match=r"row 3 of y is missing \(Input y conta"):
            OutputKernelClassifier().fit(X, labels)


def test_a_score_that_is_not_for_numbers_says_so_where_some_are_missing():
    y = Y[:, 0].copy()
    y[1] = np.nan
    search = OutputKernelRegressorCV("rbf", scoring="neg_log_loss")
    with pytest.raises(ValueError, match=r"targets that are numbers .*predict_p"):
        search.fit(X, y)


def test_labels_that_would_be_ignored_are_refused():
    # they went by their places
    series = pd.Series([1.0, 2.0], ["b", "a"])
    frame, labels = pd.DataFrame(X[:, :2], columns=["a", "b"]), (Y > 0).astype(int)
    for model, y in (
        (OutputKernelRegressor("rbf", alpha=series), Y[:, :2]),
        (OutputKernelRegressor(Gaussian(series)), Y),
        (OutputKernelClassifier(loss="logistic", temperature=series), labels[:, :2]),
    ):
        with pytest.raises(TypeError, match="got a Series, whose labels would be ign"):
            model.fit(frame, y)


def test_folds_of_tasks_are_to_be_given_as_a_list():
    rng = np.random.default_rng(0)
    X, y, task = rng.normal(size=(24, 2)), rng.normal(size=24), np.arange(24) % 3
    search = OutputKernelRegressorCV("linear", "identity", alphas=2)
    splitter = StratifiedKFold(2)
    with pytest.raises(ValueError, match=r"Pass cv=list\(splitter.split\(X, labels\)"):
        search.set_params(cv=splitter).fit(X, y, task=task)
    search.set_params(cv=list(splitter.split(X, task))).fit(X, y, task=task)
    assert search.scores_.shape[-1] == 2


def notes_of(labels, cv=None):
    """Return what a search says of classes that folds lack."""
    rows = np.random.default_rng(0).normal(size=(len(labels), 2))
    search = OutputKernelClassifierCV("rbf", alphas=[1.0, 0.1], cv=cv)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(rows, labels)
    texts = [str(warning.message) for warning in caught]
    return [text for text in texts if "row" in text and "alpha" not in text]


@pytest.mark.parametrize("cv", [None, 2])
def test_of_classes_of_one_row_only_that_is_said(cv):
    # no folds can both learn and test them
    (text,) = notes_of(["a", "b"] * 20 + ["rare", "once"], cv)
    assert text.startswith("2 of 4 classes have a single row: 'once', 'rare'.")
    assert "Merge them with other classes, leave out their rows, or" in text


def test_how_many_stratified_folds_there_can_be():
    labels = ["a", "b"] * 20 + ["rare"] * 3
    (text,) = notes_of(labels)
    assert "'rare', the first of which has 3 rows in all. At most 3 stratified" in text
    assert notes_of(labels, 3) == []
    blocks = KFold(3).split(np.zeros(43))  # the last one has them all
    tested, trained = notes_of(labels, list(blocks))
    assert "At most 3 stratified folds have rows of every class" in tested
    assert "no rows of the class 'rare' (fold 2)" in trained
    assert trained.endswith("Stratified folds would train on some of each.")
