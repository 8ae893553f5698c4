"""Outputs that mix a few functions, and their mixing matrix learned."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ortho_group
from sklearn.exceptions import ConvergenceWarning

from okl import OutputKernelClassifier, OutputKernelRegressor
from okl.losses import Softmax, Squared
from okl.model_selection import GradientSearchCV
from okl.operators import Dense
from okl.problems import Observed
from okl.selection.criteria import NAMES, FoldsLikelihood, choose_criterion
from okl.structures import Fixed, Mixing
from tests.covering import later
from tests.samples import draw, draw_classes, psd
from tests.selection.criteria.differences import folds_of

M, RANK, N = 4, 2, 24
B = np.random.default_rng(1).normal(size=(M, RANK))


def one_hot(labels, m):
    return (labels[:, None] == np.arange(m)) * 1.0


@pytest.mark.parametrize("own", [0.0, 0.6])
def test_the_derivative_by_the_entries(own):
    weights, rng = psd(M) - np.eye(M), np.random.default_rng(2)
    slopes = Mixing(RANK, B, own).gradient(weights)["mixing"]
    change, step = rng.normal(size=B.shape), 1e-5

    def along(t):
        return np.vdot(weights, Mixing(RANK, B + t * change, own).matrix(M))

    expected = (along(step) - along(-step)) / (2 * step)
    assert_allclose(np.vdot(slopes, change), expected, rtol=1e-8)


@pytest.mark.parametrize("own", [0.0, 0.6])
@pytest.mark.parametrize("name", [*NAMES[1:], "softmax"])
def test_criteria_follow_the_entries(name, own):
    if name == "softmax":
        X, labels, _ = draw_classes(N, M)
        observed = Observed(one_hot(labels, M), Softmax())
    else:
        X, Y, _ = draw(N, M)
        observed = Observed(Y, Squared())
    if name in {"softmax", "folds_likelihood"}:
        options = {"tol": 1e-12, "rtol": 1e-10}
        criterion = FoldsLikelihood(
            observed, folds_of(N), fit_intercept=True, **options
        )
    else:
        criterion = choose_criterion(
            name,
            observed,
            Mixing(RANK),
            folds_of(N),
            n_features=X.shape[1],
            fit_intercept=True,
        )
    K = X @ X.T + np.eye(N)

    def evaluate(mixing):
        return criterion.evaluate(Dense(K.copy()), 0.3, Mixing(RANK, mixing, own))

    found = evaluate(B)
    slopes = found.term.of_structure["mixing"]
    for seed in range(3):
        step, change = 1e-4, np.random.default_rng(seed).normal(size=B.shape)
        up, down = (evaluate(B + t * change).value for t in (step, -step))
        expected = (up - down) / (2 * step)
        scale = abs(found.value) + abs(expected)
        assert abs(np.vdot(slopes, change) - expected) < 1e-5 * scale
    # turning the functions changes nothing, so that nothing is gained along it
    generator = np.array([[0.0, 1.0], [-1.0, 0.0]])
    assert abs(np.vdot(slopes, B @ generator)) < 1e-6 * np.linalg.norm(slopes)
    turned = evaluate(B @ ortho_group.rvs(RANK, random_state=0))
    assert turned.value == pytest.approx(found.value, rel=1e-7)


@pytest.mark.parametrize("loss", ["squared", "softmax"])
def test_as_many_functions_as_outputs_are_independent_outputs(loss):
    X, labels, _ = draw_classes(N, M)
    fits = []
    for structure in ("identity", Mixing(M, np.eye(M)), Mixing(M)):
        if loss == "softmax":
            model = OutputKernelClassifier("rbf", structure, loss=loss, tol=1e-10)
            fits.append(model.fit(X, labels).decision_function(X))
        else:
            model = OutputKernelRegressor("rbf", structure, tol=1e-10)
            fits.append(model.fit(X, one_hot(labels, M)).predict(X))
    assert_allclose(fits[1], fits[0], atol=1e-4)
    assert_allclose(fits[2], fits[0], atol=1e-4)


def test_where_learning_starts():
    for rank in (1, 2, 4):
        start = Mixing(rank).matrix(M)
        # a projection, but for its scale, and always the same one
        assert_allclose(start @ start, M / rank * start, atol=1e-13)
        assert np.trace(start) == pytest.approx(M)
        assert_array_equal(start, Mixing(rank).matrix(M))
        own = Mixing(rank, own=2.0).matrix(M)
        assert_allclose(own, 2 * np.eye(M) + 0.2 * start, atol=1e-13)


def test_nothing_of_the_size_of_the_output_kernel_is_kept():
    # 3.2 TB if it were formed
    m, like = 200_000, np.zeros((2, 1))
    kernel = Mixing(3).known(np.broadcast_to(like, (2, m)))
    assert kernel.rank == 3
    assert kernel.basis.shape == (m, 3)
    assert kernel.entries is None
    rows = np.random.default_rng(0).normal(size=(2, m))
    twice = kernel.multiply(kernel.multiply(rows))
    assert_allclose(twice, m / 3 * kernel.multiply(rows), atol=1e-6)


def test_a_mixing_of_zero_predicts_nothing():
    X, Y, _ = draw(N, M)
    model = OutputKernelRegressor("rbf", Mixing(RANK, np.zeros((M, RANK)))).fit(X, Y)
    assert_allclose(model.predict(X), np.broadcast_to(Y.mean(axis=0), Y.shape))
    assert_array_equal(Mixing(RANK, 0 * B).gradient(psd(M))["mixing"], 0 * B)


def few_factors(rng, n_classes=20, n_features=12, n_factors=2):
    """Return what draws classes whose scores mix few linear functions."""
    weights = rng.normal(size=(n_features, n_factors)) / np.sqrt(n_features)
    mixing = 3 * rng.normal(size=(n_classes, n_factors))

    def rows(n):
        X = rng.normal(size=(n, n_features))
        scores = X @ weights @ mixing.T
        return X, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)

    return rows


@pytest.mark.parametrize("own", [0.0, *later(1.0)])
def test_few_examples_of_many_classes_that_mix_few_functions(own):
    rows = few_factors(np.random.default_rng(0))
    X, y = rows(4000)
    chosen = np.concatenate([np.flatnonzero(y == label)[:6] for label in range(20)])
    assert len(chosen) == 120
    X_new, y_new = rows(1000)

    def log_loss(structure):
        model = OutputKernelClassifier(
            "linear", structure, loss="softmax", alpha=10.0, fit_intercept=False
        )
        search = GradientSearchCV(model, cv=3, max_iter=15)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of 15 iterations
            search.fit(X[chosen], y[chosen])
        chances = search.predict_proba(X_new)
        return search, -np.mean(np.log(chances[np.arange(1000), y_new]))

    search, mixed = log_loss(Mixing(2, own=own))
    _, flat = log_loss("identity")
    assert mixed < flat - 0.3
    assert search.best_params_["structure__mixing"].shape == (20, 2)
    assert search.best_estimator_.certificate_.status == "optimal"


@pytest.mark.parametrize(
    ("structure", "text"),
    [
        (Mixing(0), r"integer from 1 to the number of outputs, 4; got 0"),
        (Mixing(5), r"number of outputs, 4; got 5"),
        (Mixing(2.0), r"got 2\.0"),
        (Mixing(True), r"got True"),
        (Mixing(2, np.ones((3, 2))), r"\(4, 2\); got an array of shape \(3, 2\)"),
        (Mixing(3, B), r"\(4, 3\); got an array of shape \(4, 2\)"),
        (Mixing(2, np.where(B > 0, B, np.nan)), "NaN or infinite"),
        (Mixing(2, own=-1.0), "own"),
    ],
)
def test_what_is_no_mixing_is_named(structure, text):
    with pytest.raises(ValueError, match=text):
        structure.validate(M)


def test_functions_of_the_outputs_own_are_added():
    assert_allclose(Mixing(RANK, B).known(np.zeros((1, M))).matrix(), B @ B.T)
    both = Mixing(RANK, B, own=0.5)
    both.validate(M)
    expected = Fixed(B @ B.T + 0.5 * np.eye(M)).matrix(M)
    assert_allclose(both.known(np.zeros((1, M))).matrix(), expected)
    assert both.max_rank(M) == M
    assert Mixing(RANK, B).max_rank(M) == RANK
