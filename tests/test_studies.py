"""The models of the studies fit, on a few rows of their kind.

The studies take minutes: what the library asks of them may change, and the pages would
stay as they were.
"""

import numpy as np
import pytest
from reproductions import all_structures, attribute_detection
from reproductions.choosing import best_of_each

from okl import OutputKernelClassifierCV, OutputKernelRegressorCV
from okl.structures import Frobenius, Identity, Mean

CANDIDATES = {"identity": [Identity()], "others": [Mean(0.5), Frobenius()]}


@pytest.fixture
def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 3))
    return X, np.column_stack([np.sin(X[:, 0]), X[:, 0] + X[:, 1]])


@pytest.fixture
def labels(numbers):
    X, Y = numbers
    return X, (Y > 0).astype(int)


def test_each_candidate_has_the_best_kernel_and_alpha_of_one_search(numbers):
    search = OutputKernelRegressorCV(kernels=["linear", "rbf"], alphas=4, cv=3)
    models = best_of_each(search, CANDIDATES, *numbers)
    tried = search.cv_results_
    assert set(models) == set(CANDIDATES)
    for name, family in CANDIDATES.items():
        kinds, model = [type(structure) for structure in family], models[name]
        of_family = [type(one["structure"]) in kinds for one in tried["params"]]
        best = np.nanmax(tried["mean_test_score"][of_family])
        (place,) = np.flatnonzero(of_family & (tried["mean_test_score"] == best))
        chosen = tried["params"][place]
        assert (model.alpha, model.structure) == (chosen["alpha"], chosen["structure"])
        assert type(model.kernel) is type(chosen["kernel"])


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_candidates_of_labels(labels, loss):
    search = OutputKernelClassifierCV("linear", loss=loss, alphas=3, cv=3)
    models = best_of_each(search, CANDIDATES, *labels)
    for model in models.values():
        assert model.certificate_.status == "optimal"


def test_rivals_of_all_structures(numbers):
    X, Y = numbers
    fixed = all_structures.fixed_kernel(Y)
    kernels = {repr(one["kernel"]) for one in fixed.fit(X, Y).cv_results_["params"]}
    assert kernels == {repr(fixed.kernel_)}
    alone = all_structures.one_each().fit(X, Y)
    assert alone.predict(X).shape == Y.shape


def test_models_of_attribute_detection(labels):
    X, Y = labels
    assert set(attribute_detection.models(X, Y, "rbf")) == set(
        attribute_detection.METHODS
    )
    rivals = attribute_detection.rivals(X, Y, "linear")
    for model in rivals.values():
        assert model.decision_function(X).shape == Y.shape
