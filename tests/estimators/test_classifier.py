"""Binary, multiclass and multilabel: codes, shapes and decisions."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs
from sklearn.linear_model import RidgeClassifier

from okl import OutputKernelClassifier, OutputKernelRegressor
from tests.samples import draw

STRUCTURES = ["identity", "frobenius", "low_rank"]


@pytest.fixture
def blobs():
    return make_blobs(60, n_features=3, centers=4, random_state=0)


LABELS = {
    "int": np.array([3, 7, -2, 5]),
    "str": np.array(["pear", "apple", "fig", "kiwi"]),
    "object": np.array(["pear", "apple", "fig", "kiwi"], dtype=object),
    "float": np.array([1.0, 2.0, 4.0, 3.0]),
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_multiclass(labels, structure, blobs):
    X, codes = blobs
    y = LABELS[labels][codes]
    model = OutputKernelClassifier(structure=structure, alpha=0.1).fit(X, y)
    assert_array_equal(model.classes_, np.unique(y))
    scores, predictions = model.decision_function(X), model.predict(X)
    assert scores.shape == (60, 4)
    assert predictions.shape == (60,)
    assert predictions.dtype == y.dtype
    assert_array_equal(predictions, model.classes_[np.argmax(scores, axis=1)])
    assert model.score(X, y) > 0.9
    assert model.dual_coef_.shape == (60, 4)
    assert model.output_kernel_.shape == (4, 4)


@pytest.mark.parametrize("labels", [*LABELS, "bool"])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_binary(labels, structure, blobs):
    X, codes = blobs
    codes = codes % 2
    y = codes.astype(bool) if labels == "bool" else LABELS[labels][codes]
    model = OutputKernelClassifier(structure=structure, alpha=0.1).fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == model.dual_coef_.shape == (60,)
    assert isinstance(model.intercept_, float)
    assert model.output_kernel_.shape == (1, 1)
    assert_array_equal(
        model.predict(X), np.where(scores > 0, model.classes_[1], model.classes_[0])
    )
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("dtype", [int, float, bool])
def test_multilabel(structure, make, dtype):
    X, Y, _ = draw(40, 3)
    labels = (Y > 0).astype(dtype)
    model = OutputKernelClassifier(structure=structure, alpha=0.05)
    model.fit(X, make(labels))
    scores, predictions = model.decision_function(X), model.predict(X)
    assert scores.shape == predictions.shape == (40, 3)
    assert_array_equal(predictions, scores > 0)
    assert predictions.dtype.kind == "i"
    assert np.mean(predictions == labels) > 0.9
    assert_array_equal(model.classes_, [0, 1, 2])
    assert not hasattr(model, "output_names_")


def test_scores_are_those_of_the_regressor_on_the_codes(blobs):
    X, y = blobs
    codes = np.where(y[:, None] == np.arange(4), 1.0, -1.0)
    regressor = OutputKernelRegressor(alpha=0.2, normalize_y=False).fit(X, codes)
    classifier = OutputKernelClassifier(alpha=0.2).fit(X, y)
    assert_array_equal(classifier.decision_function(X), regressor.predict(X))
    assert classifier.certificate_ == regressor.certificate_


def test_identity_is_the_ridge_classifier(blobs):
    X, y = blobs
    for labels in (y, y % 2):
        ours = OutputKernelClassifier("linear", "identity", 0.7).fit(X, labels)
        theirs = RidgeClassifier(alpha=0.7).fit(X, labels)
        assert_allclose(
            ours.decision_function(X), theirs.decision_function(X), atol=1e-11
        )
        assert_array_equal(ours.predict(X), theirs.predict(X))


def test_with_an_intercept_the_scores_of_classes_have_a_constant_sum(blobs):
    # the codes of a row sum to 2 - n_classes, which the intercept takes up
    X, y = blobs
    for structure in STRUCTURES:
        model = OutputKernelClassifier(structure=structure, alpha=0.1).fit(X, y)
        assert_allclose(model.decision_function(X).sum(axis=1), -2.0, atol=1e-9)
        if structure != "identity":
            assert_allclose(model.output_kernel_.sum(axis=0), 0.0, atol=1e-9)
            assert model.rank_ <= 3


def test_renaming_classes_changes_names_only(blobs):
    X, y = blobs
    one = OutputKernelClassifier().fit(X, y)
    two = OutputKernelClassifier().fit(X, LABELS["str"][np.argsort(LABELS["str"])][y])
    assert_array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(10, dtype=int), "one class only, .*0.*at least two"),
        (np.array(["a"] * 10), "one class only, .*'a'.*at least two"),
        (np.linspace(0, 1, 10), "Unknown label type: continuous"),
        (
            np.arange(20).reshape(10, 2) % 3,
            "several columns of classes.*one classifier",
        ),
        (np.full(10, np.nan), "NaN"),
        (np.full((10, 2), np.nan), "NaN"),
        (np.random.default_rng(0).normal(size=(10, 2)), "Unknown label type"),
    ],
)
def test_targets_that_are_no_classes(y, message):
    X = draw(10, 1).X
    with pytest.raises(ValueError, match=message):
        OutputKernelClassifier().fit(X, y)


def test_classes_in_arrays_of_pyarrow(blobs):
    pyarrow = pytest.importorskip("pyarrow")
    X, y = blobs
    text = LABELS["str"][y]
    expected = OutputKernelClassifier().fit(X, text)
    for make in (pyarrow.array, lambda entries: pyarrow.chunked_array([entries])):
        model = OutputKernelClassifier().fit(X, make(text.tolist()))
        assert_array_equal(model.classes_, expected.classes_)
        assert_array_equal(model.predict(X), expected.predict(X))
        with pytest.raises(ValueError, match=r"class of row 0 of y is missing \(None"):
            model.fit(X, make([None, *text[1:].tolist()]))


@pytest.mark.parametrize("kind", [list, tuple, set])
def test_lists_of_labels_are_not_classes(kind, blobs):
    X = blobs[0]
    sets = [kind(["a", "b"][: i % 3]) for i in range(len(X))]
    for y in (sets, pd.Series(sets), pd.Series(sets).to_numpy()):
        with pytest.raises(ValueError, match=r"a list of labels .*MultiLabelBinarizer"):
            OutputKernelClassifier().fit(X, y)


def test_what_predict_does_not_take_is_refused_in_the_name_of_the_classifier(blobs):
    model = OutputKernelClassifier().fit(*blobs)
    message = (
        r"^OutputKernelClassifier\.predict\(\): .* 'given'\. "
        "It takes X, task, decision, reject"
    )
    with pytest.raises(TypeError, match=message):
        model.predict(blobs[0], given=blobs[1])


@pytest.mark.parametrize("values", [(1, 2), (-1, 1), (0, 5), (3, 4)])
def test_label_indicators_are_zeros_and_ones(values):
    # scikit-learn calls any two integers indicators; the codes need to know which of
    # them says that a label is present
    X = draw(10, 1).X
    y = np.array(values)[np.random.default_rng(0).integers(0, 2, size=(10, 3))]
    with pytest.raises(ValueError, match=r"zeros and ones|0 and 1"):
        OutputKernelClassifier().fit(X, y)


def test_a_label_that_is_never_or_always_present():
    X, Y, _ = draw(30, 3)
    labels = (Y > 0).astype(int)
    labels[:, 0], labels[:, 2] = 0, 1
    for structure in STRUCTURES:
        predictions = (
            OutputKernelClassifier(structure=structure).fit(X, labels).predict(X)
        )
        assert_array_equal(predictions[:, 0], 0)
        assert_array_equal(predictions[:, 2], 1)
