"""What came, what was expected and what to do: easy mistakes and their messages."""

import numpy as np
import pytest

from okl import (
    ClassTree,
    OutputKernelClassifier,
    OutputKernelImputer,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
    output_kernel_path,
)
from okl.kernels import Gaussian, Row
from okl.metrics import r2_scorer
from okl.structures import Tree
from tests.samples import draw

TWO = ["frobenius", "frobenius"]


@pytest.fixture(scope="module")
def data():
    X, Y, _ = draw(12, 3)
    return X, Y


def test_a_tree_that_is_none_is_named(data):
    labels = np.repeat(["a", "b", "c"], 4)
    with pytest.raises(TypeError, match=r"ClassTree.from_paths\(paths\); got \['a'"):
        OutputKernelClassifier("linear", Tree(["a", "b", "c"]), loss="softmax").fit(
            data[0], labels
        )


def test_a_tree_of_two_classes_names_the_loss_that_takes_it(data):
    tree = Tree(ClassTree.from_paths(["a", "b"]))
    labels = np.repeat(["a", "b"], 6)
    with pytest.raises(ValueError, match=r"outputs is 1; .* loss='softmax'"):
        OutputKernelClassifier("linear", tree, loss="logistic").fit(data[0], labels)
    model = OutputKernelClassifier("linear", tree, loss="softmax").fit(data[0], labels)
    with pytest.raises(ValueError, match="decision must be one of 'accuracy'"):
        model.predict(data[0], decision=None)


def test_one_class_is_named_as_it_was_written(data):
    with pytest.raises(ValueError, match="one class only, 3;"):
        OutputKernelClassifier().fit(data[0], np.full(12, 3))


def test_parameters_of_a_list_are_not_those_of_one_kernel(data):
    model = OutputKernelRegressor([Gaussian(), Row()], TWO)
    with pytest.raises(ValueError, match="set as kernel__0__NAME=value"):
        model.set_params(kernel__gamma=1.0)


@pytest.mark.filterwarnings("ignore:The alpha chosen")
def test_too_few_rows_for_a_score_say_what_to_do(data):
    X, Y = (values[:3] for values in data)
    by_r2 = OutputKernelRegressorCV(kernel="rbf", scoring=r2_scorer)
    with pytest.raises(ValueError, match="Score more rows at once, or use an error"):
        by_r2.fit(X, Y)
    by_itself = OutputKernelRegressorCV(kernel="rbf").fit(X, Y)
    assert by_itself.certificate_.status == "optimal"


def test_inputs_of_other_rows_than_the_table_are_named_so(data):
    X, Y = data
    imputer = OutputKernelImputer(OutputKernelRegressor()).fit(Y, X=X)
    with pytest.raises(ValueError, match=r"numbers of samples: \[12, 3\]"):
        imputer.transform(Y, X=X[:3])
    with pytest.raises(ValueError, match="n_iter must be an integer >= 0"):
        OutputKernelImputer(n_iter=-1).fit(Y)


def test_a_path_is_shown_by_its_alphas(data):
    path = output_kernel_path(*data, alphas=2)
    assert repr(path).startswith("OutputKernelPath(alphas=array(")
    assert len(repr(path)) < 100
