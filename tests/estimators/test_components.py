"""Components given by name, and their parameters: scikit-learn's nested ones."""

import inspect
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV

from okl import (
    KernelAutoencoder,
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
)
from okl.kernels import Gaussian, Linear, Matern
from okl.losses import Huber
from okl.solvers import NewtonCG
from okl.structures import Cluster, LowRank, Mean, Sparse

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3))
Y = X @ rng.normal(size=(3, 4)) + 0.1 * rng.normal(size=(30, 4))
SINGLE = [OutputKernelRegressor, OutputKernelClassifier]
SEARCHING = [OutputKernelRegressorCV, OutputKernelClassifierCV]
EVERY = [*SINGLE, *SEARCHING, KernelAutoencoder]
each = pytest.mark.parametrize("Estimator", EVERY)


@each
def test_a_name_gives_way_to_its_object(Estimator):
    model = Estimator(kernel="rbf")
    assert model.set_params(kernel__gamma=0.1) is model
    assert isinstance(model.kernel, Gaussian)
    assert model.kernel.gamma == 0.1
    assert model.get_params()["kernel__gamma"] == 0.1
    fresh = clone(model)
    assert fresh.kernel is not model.kernel
    assert fresh.kernel.gamma == 0.1


@each
def test_the_constructor_keeps_what_it_is_given(Estimator):
    model = Estimator(kernel="matern")
    assert clone(model).kernel == model.kernel == "matern"
    assert "kernel__nu" not in model.get_params()  # there is no object yet
    model.set_params(tol=1e-3)
    assert model.kernel == "matern"


@pytest.mark.parametrize(
    ("params", "name", "expected"),
    [
        ({"structure__rank": 2, "structure": "low_rank"}, "structure", LowRank(2)),
        ({"structure": "mean", "structure__gamma": 3.0}, "structure", Mean(3.0)),
        (
            {
                "structure": "cluster",
                "structure__n_clusters": 2,
                "structure__within": 0.1,
            },
            "structure",
            Cluster(2, within=0.1),
        ),
        ({"loss": "huber", "loss__delta": 0.5}, "loss", Huber(0.5)),
        ({"solver": "newton_cg", "solver__columns": 7}, "solver", NewtonCG(7)),
        ({"kernel": "gaussian", "kernel__gamma": 0.5}, "kernel", Gaussian(0.5)),
        ({"kernel__nu": 0.5, "kernel": "matern"}, "kernel", Matern(nu=0.5)),
        (
            {"kernel": Linear() + Gaussian(), "kernel__right__gamma": 2.0},
            "kernel",
            Linear() + Gaussian(2.0),
        ),
        ({"kernel": RBF(), "kernel__length_scale": 2.0}, "kernel", RBF(2.0)),
    ],
)
def test_every_axis(params, name, expected):
    model = OutputKernelRegressor("linear", "sparse").set_params(**params)
    assert repr(getattr(model, name)) == repr(expected)


def test_the_structures_of_a_search():
    model = OutputKernelRegressorCV(structures="sparse").set_params(structures__mu=0.2)
    assert model.structures.mu == 0.2


def test_a_search_over_a_parameter_of_a_name():
    grid = {"structure__mu": [0.1, 0.9], "kernel__gamma": [0.01, 0.3]}
    named = GridSearchCV(OutputKernelRegressor(structure="sparse"), grid, cv=3)
    given = GridSearchCV(OutputKernelRegressor(Gaussian(), Sparse()), grid, cv=3)
    scores = named.fit(X, Y).cv_results_["mean_test_score"]
    assert len(set(scores)) == 4
    assert_array_equal(scores, given.fit(X, Y).cv_results_["mean_test_score"])
    assert named.estimator.structure == "sparse"


@pytest.mark.parametrize(
    ("model", "params", "message"),
    [
        (
            OutputKernelRegressor("precomputed"),
            {"kernel__gamma": 0.1},
            r"kernel='precomputed' has no parameters to set, X is the kernel matrix "
            r"itself: got kernel__gamma. Set kernel=Gaussian\(gamma=0.1\) instead.",
        ),
        (
            OutputKernelRegressor(),
            {"solver__columns": 1},
            r"solver='auto' has no parameters to set, the choice is left to the fit: .*"
            r"Set solver=.*\(columns=1\) instead",
        ),
        (
            OutputKernelRegressor(np.dot),
            {"kernel__anything": 1},
            r"kernel=<.*> has no parameters to set: got kernel__anything. "
            "First set kernel ",
        ),
        (
            OutputKernelRegressor(Gaussian),
            {"kernel__gamma": 1},
            r"kernel=<class.*> has no parameters to set.*Set kernel=Gaussian\(gamma=1",
        ),
        (
            OutputKernelRegressorCV(structures=["sparse", "mean"]),
            {"structures__mu": 0.1},
            r"Invalid parameter 'structures__mu' for OutputKernelRegressorCV: "
            r"structures is a list of 2. .* as structures__0__NAME=value",
        ),
        (
            OutputKernelRegressor([Gaussian(), "linear"], ["mean", "identity"]),
            {"tol": 0.1, "kernel__2__gamma": 0.1},
            "Invalid parameter 'kernel__2__gamma' for OutputKernelRegressor: kernel is "
            "a list of 2",
        ),
        (
            OutputKernelRegressor([Gaussian(), "linear"], ["mean", "identity"]),
            {"kernel__0__gamma": 0.1, "kernel__0__nu": 0.1},
            r"Invalid parameter 'kernel__0__nu' .*: Gaussian\(\) has .* \['gamma'\]",
        ),
        (
            OutputKernelRegressor(["precomputed", "rbf"], ["mean", "identity"]),
            {"kernel__0__gamma": 0.1},
            "kernel='precomputed' has no parameters to set",
        ),
        (OutputKernelRegressorCV(), {"cv__n_splits": 3}, "cv=None has no parameters"),
        (
            OutputKernelRegressor(structure="cluster"),
            {"structure__within": 0.1},
            "The structure 'cluster' has no default for n_clusters",
        ),
        (
            OutputKernelRegressor(),
            {"kernel__gama": 0.1},
            r"Invalid parameter 'gama' for estimator Gaussian\(\).*\['gamma'\]",
        ),
        (
            OutputKernelRegressor(kernel="rbff"),
            {"kernel__gamma": 0.1},
            "Unknown kernel 'rbff'. Known names: 'cosine'",
        ),
        (
            OutputKernelRegressor(),
            {"kernell__gamma": 0.1},
            "Invalid parameter 'kernell' for estimator OutputKernelRegressor",
        ),
        (
            KernelAutoencoder(),
            {"structure__rank": 1},
            "Invalid parameter 'structure' for estimator KernelAutoencoder",
        ),
    ],
)
def test_errors_leave_the_estimator_as_it_was(model, params, message):
    before = repr(model)
    with pytest.raises(ValueError, match=message):
        model.set_params(**params)
    assert repr(model) == before


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"gamma": 0.1},
            r"unexpected keyword argument 'gamma'. It is a parameter of the kernel: "
            r"pass kernel=Gaussian\(gamma=0.1\).",
        ),
        ({"length_scale": [1, 2]}, r"pass kernel=Matern\(length_scale=...\)."),
        ({"nonsense": 1}, r"'nonsense'. The parameters are alpha.*kernel, .*tol\."),
        ({"X": X}, r"'X'. The parameters are "),
    ],
)
@each
def test_unknown_parameters_of_the_constructor(Estimator, parameters, message):
    with pytest.raises(TypeError, match=f"^{Estimator.__name__}: got an .*{message}"):
        Estimator(**parameters)


def test_parameters_in_lists():
    kernels, structures = [Gaussian(), "matern"], [LowRank(), "mean"]
    model = OutputKernelRegressor(kernels, structures)
    names = model.get_params()
    assert names["kernel__0"] is kernels[0]
    assert names["kernel__1"] == "matern"
    assert {"kernel__0__gamma", "structure__0__rank"} < names.keys()
    assert "kernel__1__nu" not in names  # there is no object yet
    copy = clone(model)
    copy.set_params(kernel__0__gamma=0.1, kernel__1__nu=0.5, structure__1__gamma=3.0)
    assert repr(copy.kernel) == "[Gaussian(gamma=0.1), Matern(nu=0.5)]"
    assert repr(copy.structure) == "[LowRank(), Mean(gamma=3.0)]"
    copy.set_params(kernel__0__length_scale=2.0, kernel__0=Matern())
    assert repr(copy.kernel[0]) == "Matern(length_scale=2.0)"
    # neither the lists that were given nor what is in them
    assert repr(kernels) == "[Gaussian(), 'matern']"
    assert repr(structures) == "[LowRank(), 'mean']"
    copy.set_params(kernel="rbf", kernel__gamma=2.0)
    assert repr(copy.kernel) == "Gaussian(gamma=2.0)"


def test_grid_search_reaches_kernels_and_structures_in_lists():
    model = OutputKernelRegressor([Gaussian(1.0), Linear()], ["identity", Mean(1.0)])
    grid = {"kernel__0__gamma": [1e-3, 1.0], "structure__1__gamma": [0.1, 10.0]}
    search = GridSearchCV(model, grid, cv=2).fit(X, Y)
    best = search.best_estimator_
    assert best.kernel[0].gamma == search.best_params_["kernel__0__gamma"]
    assert best.structure[1].gamma == search.best_params_["structure__1__gamma"]
    assert len(set(search.cv_results_["mean_test_score"])) == 4
    with_lists = OutputKernelRegressorCV(
        structures=["mean", LowRank()], kernels=["rbf"]
    )
    with_lists.set_params(structures__1__rank=2, kernels__0__gamma=0.5)
    assert with_lists.structures[1].rank == 2
    assert with_lists.kernels[0].gamma == 0.5


def test_parameters_of_other_components():
    with pytest.raises(TypeError, match=r"pass structure=Sparse\(mu=0.1\)"):
        OutputKernelRegressor(mu=0.1)
    with pytest.raises(TypeError, match=r"pass structures=LowRank\(rank=2\)"):
        OutputKernelClassifierCV(rank=2)
    with pytest.raises(TypeError, match=r"pass loss=Huber\(delta=1.0\)"):
        OutputKernelRegressor(delta=1.0)
    with pytest.raises(TypeError, match=r"^OutputKernelRegressor: too many positional"):
        OutputKernelRegressor("rbf", "identity", 1.0, "squared")


@each
def test_the_signature_is_that_of_the_constructor(Estimator):
    parameters = inspect.signature(Estimator).parameters
    assert sorted(parameters) == sorted(Estimator().get_params(deep=False))
    assert parameters["tol"].default == 1e-6


class Extended(OutputKernelRegressor):
    """A user's estimator with a parameter that has no default."""

    def __init__(self, extra, **others):
        self.extra = extra
        super().__init__(**others)


def test_estimators_that_others_derive():
    model = pickle.loads(pickle.dumps(Extended(3, alpha=2.0)))
    assert (model.extra, model.alpha) == (3, 2.0)
