"""One problem at one alpha, as a caller of `okl.solve` sees it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import okl
from okl import OutputKernelRegressor
from okl.losses import Squared
from okl.operators import Dense
from okl.problems import Inputs, formulate
from okl.solvers import OutputKernelNewton
from okl.structures import Frobenius
from tests.samples import draw, gaussian


def problem(structure, X, Y):
    inputs = Inputs.of(Dense(gaussian(X)), fit_intercept=True)
    return formulate(inputs, Y, Squared(), structure).problem


def test_it_is_what_estimators_fit():
    X, Y, K = draw(20, 3)
    solution = okl.solve(problem(Frobenius(), X, Y), 0.1)
    model = OutputKernelRegressor("precomputed", "frobenius", 0.1, normalize_y=False)
    model.fit(K, Y)
    assert solution.certificate.status == "optimal"
    assert_allclose(solution.dual_coef, model.dual_coef_, rtol=1e-12)
    assert solution.certificate.primal == model.certificate_.primal


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -1.0}, "alpha must be"),
        ({"alpha": 1.0, "tol": 0.0}, "tol must be"),
        ({"alpha": 1.0, "max_iter": 0}, "max_iter must be"),
        ({"alpha": 1.0, "solver": "simplex"}, "Unknown solver 'simplex'"),
        ({"alpha": 1.0, "solver": "closed_form"}, "needs a structure that fixes"),
    ],
)
def test_wrong_options(options, message):
    X, Y, _ = draw(8, 2)
    with pytest.raises(ValueError, match=message):
        okl.solve(problem(Frobenius(), X, Y), **options)


def test_what_is_no_problem():
    X, Y, K = draw(8, 2)
    inputs = Inputs.of(Dense(gaussian(X)), fit_intercept=True)
    with pytest.raises(TypeError, match="got a Formulation: pass its problem"):
        okl.solve(formulate(inputs, Y, Squared(), Frobenius()), 1.0)
    with pytest.raises(TypeError, match=r"formulate\(inputs, .* got ndarray"):
        okl.solve(K, 1.0)
    with pytest.raises(TypeError, match=r"such as Dense\(K\) .* got ndarray"):
        Inputs.of(K, fit_intercept=True)
    with pytest.raises(TypeError, match=r"inputs must be Inputs.of\(.* got Dense"):
        formulate(Dense(K), Y, Squared(), Frobenius())
    for matrix, message in [(X, "is square, got the shape"), (K > 0, "got bool: conv")]:
        with pytest.raises(ValueError, match=message):
            Dense(matrix)


X, Y, K = draw(8, 2)
MISSING = np.where(Y > 0, Y, np.nan)


@pytest.mark.parametrize(
    ("error", "message", "parts"),
    [
        (TypeError, "loss must be .* got 'squared'", {"loss": "squared"}),
        (TypeError, "structure must be .* got 'mean'", {"structure": "mean"}),
        (TypeError, "structure must be .* got <class", {"structure": Frobenius}),
        (ValueError, r"shape \(8,\), and .* has 8 rows", {"targets": Y[:, 0]}),
        (ValueError, r"shape \(5, 2\), and .* has 8 rows", {"targets": Y[:5]}),
        (ValueError, "floating point .* got int", {"targets": Y.astype(int)}),
        (ValueError, "a missing target any number with weight", {"targets": MISSING}),
        (ValueError, r"\(8, 2\), or \(8, 1\)", {"weights": np.ones(8)}),
    ],
)
def test_parts_that_make_no_problem(error, message, parts):
    whole = {"targets": Y, "loss": Squared(), "structure": Frobenius()} | parts
    with pytest.raises(error, match=message):
        formulate(Inputs.of(Dense(K), fit_intercept=True), **whole)


def test_the_reason_why_a_fit_ended():
    X, Y, _ = draw(20, 3)
    learned = problem(Frobenius(), X, Y)
    ended = okl.solve(learned, 1e-3, max_iter=1)
    assert ended.certificate.status == "max_iter"
    stalled = okl.solve(learned, 1e-3, solver=GivesUp())
    assert stalled.certificate.primal == ended.certificate.primal
    assert stalled.certificate.status == "stalled"
    assert "larger alpha" in stalled.certificate.message


class GivesUp(OutputKernelNewton):
    """A solver that sees no progress after its first iteration."""

    def solve(self, prepared, request):
        return super().solve(prepared, request._replace(max_iter=1))
