"""Label indicators that were not observed."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics as sklearn_metrics
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold

from okl import OutputKernelClassifier, OutputKernelClassifierCV, certify
from okl.kernels import Gaussian
from okl.metrics import accuracy_score
from tests.samples import draw, gaussian

LOSSES = ["squared", "logistic", "squared_hinge"]
each = pytest.mark.parametrize("loss", LOSSES)


def sample(n=40, part=0.3, seed=0):
    """Draw rows and three labels, zeros and ones with NaN, both of each seen."""
    X, Y, _ = draw(n, 3, seed)
    labels = (np.median(Y, axis=0) < Y).astype(float)
    missing = np.random.default_rng(seed).random(labels.shape) < part
    return X, labels, np.where(missing, np.nan, labels)


@each
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_a_label_is_learned_from_the_rows_where_it_was_observed(loss, intercept):
    X, _, holed = sample()
    options = {"loss": loss, "fit_intercept": intercept, "tol": 1e-10}
    model = OutputKernelClassifier(Gaussian(0.3), "identity", 0.3, **options)
    model.fit(X, holed)
    assert model.certificate_.status == "optimal"
    assert_array_equal(np.unique(model.predict(X)), [0, 1])
    for j in range(3):
        rows = ~np.isnan(holed[:, j])
        alone = OutputKernelClassifier(Gaussian(0.3), "identity", 0.3, **options)
        alone.fit(X[rows], holed[rows, j])
        assert_allclose(
            model.decision_function(X)[:, j], alone.decision_function(X), atol=1e-4
        )


@each
def test_what_is_missing_does_not_matter_and_certify_knows(loss):
    X, labels, holed = sample()
    K = gaussian(X)
    model = OutputKernelClassifier("precomputed", alpha=0.3, loss=loss).fit(K, holed)
    again = certify(
        K,
        2 * labels - 1,
        model.dual_coef_,
        weights=(~np.isnan(holed)).astype(float),
        loss=loss,
        alpha=0.3,
        structure="frobenius",
        output_kernel=model.output_kernel_,
        intercept=model.intercept_,
    )
    assert_allclose(again.primal, model.certificate_.primal, rtol=1e-9)
    assert again.status == model.certificate_.status == "optimal"
    assert len(OutputKernelClassifier().fit(X, holed).classes_) == 3


def test_data_frames_with_missing_cells():
    X, _, holed = sample()
    expected = OutputKernelClassifier().fit(X, holed).decision_function(X)
    for dtype in ("float64", "Int64", "boolean", object):
        frame = pd.DataFrame(holed, columns=["a", "b", "c"]).astype(dtype)
        model = OutputKernelClassifier().fit(X, frame)
        assert list(model.output_names_) == ["a", "b", "c"]
        assert_allclose(model.decision_function(X), expected, atol=1e-12)


@pytest.mark.parametrize("dtype", ["Int64", "boolean"])
def test_arrays_of_data_frames_that_may_miss_cells_and_do_not(dtype):
    X, Y, _ = sample()
    labels = pd.DataFrame(Y).astype(dtype).to_numpy()
    assert labels.dtype == object
    model = OutputKernelClassifier().fit(X, labels)
    expected = OutputKernelClassifier().fit(X, Y)
    assert_array_equal(model.decision_function(X), expected.decision_function(X))
    assert model.score(X, labels) == expected.score(X, Y)
    half = np.array([[0.5, 1], [0, 1]], dtype=object)
    with pytest.raises(ValueError, match="continuous"):
        OutputKernelClassifier().fit(X[:2], half)
    with pytest.raises(ValueError, match="continuous"):
        accuracy_score(half, np.array([[0, 1], [0, 1]]))


@pytest.mark.parametrize(
    "names", [np.array([5, 7, 9]), np.array(["0", "1", "2"])], ids=["numbers", "text"]
)
def test_a_column_of_classes_in_an_array_of_objects(names):
    X, _, _ = sample()
    classes = names[np.arange(len(X)) % 3]
    column = classes[:, None].astype(object)
    with pytest.warns(DataConversionWarning):
        model = OutputKernelClassifier().fit(X, column)
    assert list(model.classes_) == list(names)
    predicted = OutputKernelClassifier().fit(X, classes).predict(X)
    assert_array_equal(model.predict(X), predicted)
    assert model.score(X, column) == np.mean(predicted == classes)
    # text is no indicator, in an array of objects as elsewhere
    two = np.array([["0", "1"], ["1", "0"]], dtype=object)[np.arange(len(X)) % 2]
    with pytest.raises(ValueError, match="several columns of classes"):
        OutputKernelClassifier().fit(X, two)


@pytest.mark.parametrize("cv", [None, 3])
def test_a_search(cv):
    X, _, holed = sample(60)
    structures, grid = ["identity", "frobenius"], {"alphas": 4, "eps": 1e-2}
    search = OutputKernelClassifierCV(
        "rbf", structures, loss="squared", **grid, cv=cv, search="full"
    ).fit(X, holed)
    assert np.all((search.scores_ >= 0) & (search.scores_ <= 1))
    found = OutputKernelClassifier(
        structure=search.structure_, alpha=search.alpha_
    ).fit(X, holed)
    assert_allclose(search.decision_function(X), found.decision_function(X), atol=1e-3)
    # the first fold by hand
    folds = KFold(5, shuffle=True, random_state=0) if cv is None else KFold(cv)
    train, test = next(folds.split(X))
    model = OutputKernelClassifier(
        search.kernel_, "identity", search.alphas_[0, 2]
    ).fit(X[train], holed[train])
    score = accuracy_score(holed[test], model.predict(X[test]))
    assert search.scores_[0, 2, 0] == pytest.approx(score)
    assert score == model.score(X[test], holed[test])


def test_grid_search():
    X, _, holed = sample()
    for scoring in (None, make_scorer(accuracy_score)):
        search = GridSearchCV(
            OutputKernelClassifier(structure="identity"),
            {"alpha": [0.1, 1.0]},
            # scikit-learn looks for classes to stratify by unless it is told not to
            cv=KFold(3),
            scoring=scoring,
        ).fit(X, holed)
        assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


class TestAccuracy:
    """A row is right if all its observed labels are."""

    def test_by_hand(self):
        nan = np.nan
        truth = [[1, 0, nan], [nan, 1, 1], [0, nan, nan], [nan, nan, nan]]
        guess = [[1, 0, 1], [0, 1, 0], [0, 1, 1], [1, 1, 1]]
        assert accuracy_score(truth, guess) == pytest.approx(2 / 3)
        weighted = accuracy_score(truth, guess, sample_weight=[1, 2, 3, 100])
        assert weighted == pytest.approx(4 / 6)

    def test_without_holes_it_is_that_of_scikit_learn(self):
        rng = np.random.default_rng(0)
        labels, guess = rng.integers(0, 2, (2, 30, 3))
        w = rng.random(30)
        for pair in ((labels, guess), (labels[:, 0], guess[:, 0])):
            for weights in (None, w):
                assert accuracy_score(*pair, sample_weight=weights) == pytest.approx(
                    sklearn_metrics.accuracy_score(*pair, sample_weight=weights)
                )
        assert accuracy_score(["a", "b"], ["a", "a"]) == 0.5

    def test_errors(self):
        holed = np.array([[np.nan, 1.0], [0.0, 1.0]])
        with pytest.raises(ValueError, match="same shape"):
            accuracy_score(holed, [[0, 1]])
        with pytest.raises(ValueError, match="No row has an observed label"):
            accuracy_score(np.full((3, 2), np.nan), np.zeros((3, 2)))
        with pytest.raises(ValueError, match="NaN"):
            accuracy_score([np.nan, 1.0], [1.0, 1.0])


class TestErrors:
    """What says that it cannot be learned from."""

    @pytest.fixture(
        params=[OutputKernelClassifier(), OutputKernelClassifierCV(cv=2)],
        ids=["single", "cv"],
    )
    def classifier(self, request):
        return request.param

    def test_a_label_that_is_nowhere_observed(self, classifier):
        X, _, holed = sample()
        holed[:, 1] = np.nan
        with pytest.raises(ValueError, match=r"every row of 1 of 3 outputs.*number 1"):
            classifier.fit(X, holed)

    def test_infinity(self, classifier):
        X, _, holed = sample()
        holed[0, 0] = np.inf
        with pytest.raises(ValueError, match="infinity"):
            classifier.fit(X, holed)

    def test_no_indicators(self, classifier):
        X, _, holed = sample()
        holed[~np.isnan(holed)] *= 2
        with pytest.raises(ValueError, match="must be 0 and 1"):
            classifier.fit(X, holed)

    @pytest.mark.parametrize("classes", [2, 3])
    def test_classes(self, classifier, classes):
        X, _, _ = sample()
        y = np.arange(40.0) % classes
        y[3] = np.nan
        for labels in (y, y[:, None]):
            with pytest.raises(ValueError, match="NaN"):
                classifier.fit(X, labels)

    def test_softmax_has_no_labels(self):
        X, _, holed = sample()
        with pytest.raises(ValueError, match="softmax"):
            OutputKernelClassifier(loss="softmax").fit(X, holed)

    def test_weights_of_classes(self):
        X, _, holed = sample()
        with pytest.raises(ValueError, match="class_weight"):
            OutputKernelClassifier(class_weight="balanced").fit(X, holed)
