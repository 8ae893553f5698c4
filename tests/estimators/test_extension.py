"""New outputs added to a fit that stays: optima, bounds, closed forms and messages."""

import pickle

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import okl
from okl import (
    OutputKernelExtension,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
)
from okl.kernels import Gaussian, Row
from okl.structures import Frobenius, LowRank
from tests.samples import draw

KERNEL = Gaussian(0.3)
N_OLD = 3
X, Y, _ = draw(24, N_OLD + 2, seed=3)
OLD, NEW = Y[:, :N_OLD], Y[:, N_OLD:]
OTHER = np.random.default_rng(7).normal(size=(9, X.shape[1]))
each_structure = pytest.mark.parametrize("structure", ["frobenius", "low_rank"])
each_intercept = pytest.mark.parametrize("b", [False, True], ids=["no-b", "b"])


def fitted(structure="frobenius", alpha=0.2, **options):
    model = OutputKernelRegressor(KERNEL, structure, alpha, tol=1e-12, **options)
    return model.fit(X, OLD)


def partly(rows=8):
    """Return the second new output in a few rows, the first in others."""
    few = np.full(NEW.shape, np.nan)
    few[:rows, 1], few[-rows:, 0] = NEW[:rows, 1], NEW[-rows:, 0]
    return few


def extended_matrix(model, extension):
    """Return the extended L in normalised units."""
    units = np.concatenate([np.atleast_1d(model.y_scale_), extension.y_scale_])
    return extension.output_kernel_ / np.outer(units, units)


@each_structure
@each_intercept
def test_it_is_the_least_of_the_joint_objective_with_the_fit_held(structure, b):
    # by a conic solver, from ||f||^2 = <F'K^-1 F, L^-1> and all of L, which knows of no
    # loadings, Schur complements or multipliers; old functions in the rows of both
    model = fitted(structure, fit_intercept=b, normalize_y=False)
    y, rows = NEW[:7, 1], OTHER[:7]
    extension = OutputKernelExtension(model, alpha=0.1).fit(rows, y)
    both = np.vstack([X, rows])
    K = KERNEL(both, both)
    root = scipy.linalg.cholesky(K + 1e-11 * np.eye(len(K)), lower=True)
    f = model.predict(both) - model.intercept_
    L0 = model.output_kernel_
    L = cp.Variable((N_OLD + 1, N_OLD + 1), PSD=True)
    inside, a = cp.Variable(len(K)), cp.Variable()  # of the new function, whitened
    known = scipy.linalg.solve_triangular(root, f, lower=True)
    span = cp.hstack([known, cp.reshape(inside, (len(K), 1), order="C")])
    penalty = cp.matrix_frac(span.T, L + 1e-9 * np.eye(N_OLD + 1)) / 2
    if structure == "frobenius":
        penalty += cp.sum_squares(L) / 2 - np.sum(L0**2) / 2
    else:
        penalty += cp.trace(L) / 2 - np.trace(L0) / 2
    residuals = y - (root @ inside)[len(X) :] - a * float(b)
    inverse = np.linalg.pinv(L0, rcond=1e-9, hermitian=True)
    norm = np.trace(inverse @ known.T @ known) / 2
    objective = cp.sum_squares(residuals) / 2 + 0.1 * (penalty - norm)
    problem = cp.Problem(cp.Minimize(objective), [L[:N_OLD, :N_OLD] == L0])
    problem.solve(solver="CLARABEL")
    found = extension.certificate_
    assert found.status == "optimal"
    assert abs(found.relative_gap) < 1e-9
    assert_allclose(found.primal, problem.value, rtol=2e-5)
    assert_allclose(extension.output_kernel_, L.value, atol=5e-3)


@each_structure
@each_intercept
def test_objectives_add_up_and_the_joint_bound_holds(structure, b):
    # what the new output adds to the objective is what was minimised; a fit of all
    # outputs lies between the bound and the extension, as near as strong convexity says
    model = fitted(structure, fit_intercept=b)
    few = partly()[:, 1:]
    rows = np.flatnonzero(~np.isnan(few[:, 0]))
    extension = OutputKernelExtension(model).fit(X[rows], few[rows])
    joint = extension.joint_certificate(OLD, few[rows])
    assert joint.status == "unproved"
    parts = model.certificate_.primal + extension.certificate_.primal
    assert_allclose(joint.primal, parts, rtol=1e-9)
    table = np.hstack([OLD, few])
    full = clone(model).set_params(tol=1e-9).fit(X, table)
    assert joint.dual <= full.certificate_.primal * (1 + 1e-8)
    assert full.certificate_.dual <= joint.primal * (1 + 1e-8)
    off = (extension.predict_all(X) - full.predict(X)) / full.y_scale_
    distance = np.sum(off[~np.isnan(table)] ** 2) / 2
    assert distance <= (joint.primal - full.certificate_.dual) * (1 + 1e-6)


@each_structure
@each_intercept
@pytest.mark.parametrize("normalize", [False, True], ids=["as-given", "normalised"])
def test_the_certificate_is_computed_again_from_attributes(structure, b, normalize):
    model = fitted(structure, fit_intercept=b, normalize_y=normalize)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, 24)
    extension = OutputKernelExtension(model, alpha=[0.1, 0.4])
    extension.fit(X, partly(), sample_weight=weights)
    again = okl.certify(extension, X, partly(), sample_weight=weights)
    assert again.status == extension.certificate_.status == "optimal"
    assert_allclose(again.primal, extension.certificate_.primal, rtol=1e-9)
    assert_allclose(again.dual, extension.certificate_.dual, rtol=1e-6)


@each_structure
@pytest.mark.parametrize("name", ["intercept_", "dual_coef_", "own_variance_"])
def test_the_certificate_tells_a_changed_extension(structure, name):
    extension = OutputKernelExtension(fitted(structure)).fit(X, partly())
    setattr(extension, name, getattr(extension, name) * 1.05)
    again = okl.certify(extension, X, partly())
    assert again.status == "unproved"
    assert again.relative_gap > 1e-5
    assert again.primal > extension.certificate_.primal
    assert again.dual <= extension.certificate_.primal * (1 + 1e-9)


def test_the_certificate_of_an_extension_needs_its_rows():
    extension = OutputKernelExtension(fitted()).fit(X, NEW)
    for rows, y in ((X[:5], NEW[:5]), (X + 1, NEW), (X, NEW[:, 0])):
        with pytest.raises(ValueError, match="rows and targets that the extension"):
            okl.certify(extension, rows, y)
    with pytest.raises(NotFittedError):
        okl.certify(OutputKernelExtension(fitted()), X, NEW)


def test_each_output_may_have_its_own_alpha():
    alphas = [0.1, 0.2, 0.4]
    model = fitted(alpha=alphas)
    extension = OutputKernelExtension(model, alpha=[0.3]).fit(X, NEW[:, 0])
    joint = extension.joint_certificate(OLD, NEW[:, 0])
    overall = np.exp(np.mean(np.log([*alphas, 0.3])))
    parts = model.certificate_.primal / np.exp(np.mean(np.log(alphas)))
    parts += extension.certificate_.primal / 0.3
    assert_allclose(joint.primal / overall, parts, rtol=1e-9)
    default = OutputKernelExtension(model).fit(X, NEW)
    assert_allclose(default.alpha_, np.full(2, 0.2))


@each_intercept
def test_a_copy_of_an_output_has_its_function_under_the_trace(b):
    # C'KC is the projection on the range of L at the optimum: b = C'K c_j is e_j there,
    # and nothing is left for an own part
    model = fitted("low_rank", alpha=1.0, fit_intercept=b)
    extension = OutputKernelExtension(model).fit(X, OLD[:, 1])
    assert_allclose(extension.predict(OTHER), model.predict(OTHER)[:, 1], atol=2e-5)
    L = extension.output_kernel_
    assert_allclose(L[-1], np.append(L[1, :-1], L[1, 1]), atol=2e-4)
    assert 0 <= extension.own_variance_[0] < 1e-4


@each_structure
def test_many_rows_give_the_function_that_all_outputs_together_have(structure):
    rng = np.random.default_rng(5)
    rows = rng.uniform(-2, 2, size=(150, 2))
    hidden = np.column_stack([np.sin(rows[:, 0]), rows[:, 1] ** 2])
    table = hidden @ rng.normal(size=(2, 6)) + 0.1 * rng.normal(size=(150, 6))
    model = OutputKernelRegressor(KERNEL, structure, 0.05).fit(rows, table[:, :5])
    full = clone(model).fit(rows, table)
    far = []
    for n in (5, 150):
        extension = OutputKernelExtension(model).fit(rows[:n], table[:n, 5])
        far.append(np.std(extension.predict(rows) - full.predict(rows)[:, 5]))
    assert far[1] < 0.02 * np.std(table[:, 5]) < far[0]


@each_structure
def test_what_was_there_stays_and_the_extension_is_psd(structure):
    model = fitted(structure)
    before, L = model.predict(OTHER), model.output_kernel_
    extension = OutputKernelExtension(model).fit(X, partly())
    assert_array_equal(extension.predict_all(OTHER)[:, :N_OLD], before)
    assert_array_equal(model.predict(OTHER), before)
    found = extension.output_kernel_
    assert_array_equal(found[:N_OLD, :N_OLD], L)
    assert_array_equal(found, found.T)
    assert np.linalg.eigvalsh(found)[0] >= -1e-12 * np.trace(found)
    # function and border belong together
    scale = np.append(model.y_scale_, extension.y_scale_)
    assert found.shape == (len(scale), len(scale))
    assert_allclose(found[N_OLD:, :N_OLD], extension.coef_ @ L, atol=1e-10)
    corner = extension.coef_ @ L @ extension.coef_.T + np.diag(extension.own_variance_)
    assert_allclose(found[N_OLD:, N_OLD:], corner, atol=1e-10)
    common = (before - model.intercept_) @ extension.coef_.T
    own = extension.kernel_(OTHER, extension.X_fit_) @ extension.dual_coef_
    expected = common + own + extension.intercept_
    assert_allclose(extension.predict(OTHER), expected, atol=1e-9)


@each_structure
def test_outputs_are_added_one_by_one_in_their_rows_and_units(structure):
    model, few = fitted(structure), partly()
    together = OutputKernelExtension(model).fit(X, few)
    for j in range(2):
        rows = ~np.isnan(few[:, j])
        alone = OutputKernelExtension(model).fit(X[rows], 1e3 * few[rows, j] + 5)
        expected = 1e3 * together.predict(OTHER)[:, j] + 5
        assert_allclose(alone.predict(OTHER), expected, rtol=1e-7)


@each_structure
def test_weight_two_is_the_row_twice(structure):
    model, twice = fitted(structure), np.repeat(np.arange(6), [1, 2, 1, 2, 1, 3])
    weighted = OutputKernelExtension(model).fit(
        X[:6], NEW[:6, 0], sample_weight=[1, 2, 1, 2, 1, 3]
    )
    repeated = OutputKernelExtension(model).fit(X[twice], NEW[twice, 0])
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-6)
    assert_allclose(
        weighted.certificate_.primal, repeated.certificate_.primal, rtol=1e-9
    )


def test_a_reached_rank_leaves_no_own_part():
    model = fitted(LowRank(1), alpha=0.05)
    extension = OutputKernelExtension(model).fit(X, NEW)
    assert model.rank_ == 1
    assert extension.certificate_.status == "optimal"
    assert_array_equal(extension.own_variance_, 0.0)
    assert np.linalg.matrix_rank(extension.output_kernel_, tol=1e-8) == 1


@each_structure
def test_targets_that_say_nothing_add_nothing(structure):
    model = fitted(structure)
    for rows, y in ((X[:1], NEW[:1, 0]), (X[:5], np.full(5, 3.0))):
        extension = OutputKernelExtension(model).fit(rows, y)
        assert extension.certificate_.status == "optimal"
        assert_allclose(extension.predict(OTHER), y[0], atol=1e-9)
    silent = fitted("low_rank", alpha=1e3)  # L = 0
    extension = OutputKernelExtension(silent, alpha=0.1).fit(X, NEW[:, 0])
    assert_array_equal(extension.coef_, 0.0)
    assert extension.own_variance_[0] > 0
    assert extension.score(X, NEW[:, 0]) > 0.5


def test_it_is_an_estimator_of_scikit_learn():
    model = OutputKernelRegressorCV("linear", cv=3, alphas=3)
    table = pd.DataFrame(OLD, columns=["a", "b", "c"])
    frame = pd.DataFrame(X, columns=["x", "y", "z"])
    model.fit(frame, table)
    new = pd.DataFrame(NEW, columns=["d", "e"])
    extension = OutputKernelExtension(FrozenEstimator(model)).fit(frame, new)
    assert_array_equal(extension.output_names_, ["d", "e"])
    assert_array_equal(extension.feature_names_in_, ["x", "y", "z"])
    assert_allclose(extension.alpha_, model.alpha_)
    again = pickle.loads(pickle.dumps(extension))
    assert_array_equal(again.predict(frame), extension.predict(frame))
    assert clone(extension).fit(frame, new["d"]).predict(frame).shape == (24,)
    search = GridSearchCV(clone(extension), {"alpha": [1e-2, 1.0]}, cv=3)
    assert search.fit(frame, new).best_score_ > 0
    sparse = OutputKernelRegressor("linear").fit(scipy.sparse.csr_array(X), OLD)
    dense = OutputKernelRegressor("linear").fit(X, OLD)
    found = OutputKernelExtension(sparse).fit(scipy.sparse.csr_array(X[:9]), NEW[:9])
    expected = OutputKernelExtension(dense).fit(X[:9], NEW[:9])
    assert_allclose(found.predict(scipy.sparse.csr_array(X)), expected.predict(X))


def test_errors_name_the_culprit():
    model = fitted()
    extend = OutputKernelExtension
    with pytest.raises(NotFittedError):
        extend(OutputKernelRegressor()).fit(X, NEW)
    with pytest.raises(NotFittedError):
        extend(model).predict(X)
    pipeline = make_pipeline(StandardScaler(), OutputKernelRegressor()).fit(X, OLD)
    with pytest.raises(TypeError, match="pipeline or a search pass the fitted regr"):
        extend(pipeline).fit(X, NEW)
    for options, culprit in (
        ({"structure": "identity"}, r"got Identity\(\)"),
        ({"structure": "trace_ball"}, r"got TraceBall\(\)"),
        ({"loss": "huber"}, r"loss='squared'; got Huber"),
        (
            {"kernel": [KERNEL, Row()], "structure": ["frobenius"] * 2},
            r"one kernel for all outputs .* got one with \[Gaussian",
        ),
    ):
        other = OutputKernelRegressor(**options).fit(X, OLD)
        with pytest.raises(ValueError, match=culprit):
            extend(other).fit(X, NEW)
    tasks = OutputKernelRegressor().fit(X, OLD[:, 0], task=np.arange(24) % 3)
    with pytest.raises(ValueError, match="got one with data in long form"):
        extend(tasks).fit(X, NEW)
    with pytest.raises(ValueError, match="1 of 2 outputs, the first is number 1"):
        extend(model).fit(X, np.column_stack([NEW[:, 0], np.full(24, np.nan)]))
    with pytest.raises(ValueError, match=r"alpha must be .* got 3 for 2"):
        extend(model, alpha=[1.0, 2.0, 3.0]).fit(X, NEW)
    with pytest.raises(
        ValueError, match=r"alpha must be a finite number > 0, got .auto"
    ):
        extend(model, alpha="auto").fit(X, NEW)
    with pytest.raises(ValueError, match=r"Targets must be numbers, .* y has 'a'"):
        extend(model).fit(X, np.array(["a", "b"] * 12))
    with pytest.raises(ValueError, match="X has 2 features, but"):
        extend(model).fit(X[:, :2], NEW)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        extend(model).fit(X[:5], NEW)
    named = OutputKernelRegressor().fit(X, pd.DataFrame(OLD, columns=["a", "b", "c"]))
    for columns in (["b", "d"], ["d", "d"]):
        with pytest.raises(
            ValueError, match=f"the column '{columns[-1 - ('b' in columns)]}'"
        ):
            extend(named).fit(X, pd.DataFrame(NEW, columns=columns))
    extension = extend(model).fit(X, NEW)
    with pytest.raises(ValueError, match=r"y_new has the shape \(5, 2\); .* \(24, 2\)"):
        extension.joint_certificate(OLD, NEW[:5])
    hidden = np.ma.masked_array(NEW, NEW > 0)
    with pytest.raises(ValueError, match="y_new is a masked array"):
        extension.joint_certificate(OLD, hidden)
    with pytest.raises(ValueError, match="y contains infinity"):
        extension.joint_certificate(np.where(OLD > 0, np.inf, OLD), NEW)


def test_a_penalty_says_what_it_is_made_of():
    L = np.array([[2.0, 0.5], [0.5, 1.0]])
    for structure in (Frobenius(), LowRank()):
        mu, nu = structure.region(2).trace_and_square
        value = mu * np.trace(L) / 2 + nu * np.sum(L**2) / 2
        assert_allclose(structure.penalty(L), value)
