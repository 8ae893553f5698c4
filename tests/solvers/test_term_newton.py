"""Several kernels and smooth losses."""

import numpy as np
import pytest

from okl import OutputKernelClassifier, OutputKernelRegressor
from okl.certificates.terms import StructureTerms
from okl.kernels import Gaussian, Laplacian, Linear
from okl.losses import Logistic
from okl.operators import Dense, OperatorTerms
from okl.problems import Inputs, formulate
from okl.solvers import Request, TermNewton
from okl.solvers.terms import proximal_points, term_newton
from okl.solvers.terms.term_iterate import TermIterate
from okl.structures import LowRank, Sparse, TraceBall
from tests.covering import later
from tests.samples import draw_classes, gaussian


def fitted(structures, alpha, loss, n=40):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=n), [-0.5, 0.5])
    kernels = [Gaussian(0.3), Linear()]
    return OutputKernelClassifier(kernels, structures, alpha, loss=loss).fit(X, y)


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
@pytest.mark.parametrize("other", ["frobenius", Sparse()], ids=str)
def test_no_function_has_the_cost_of_its_output_kernels(loss, other):
    # eps tr L^-1 / 2 is what the trace ball takes for any L: without it no step from
    # zero seems to lower the objective
    model = fitted([TraceBall(2.0), other], 5.0, loss)
    assert model.certificate_.status == "optimal"
    assert model.n_iter_ < 10


@pytest.mark.parametrize("alpha", [0.1, *later(1e-3)])
def test_proximal_points_begin_at_functions_that_fit_their_output_kernels(alpha):
    # the C of independent outputs is another function with the first L_q, the worse the
    # smaller alpha is: objectives were 4 and 28 times the least
    X, labels, K = draw_classes(40, 3)
    operator = OperatorTerms((Dense(100 * K), Dense(gaussian(X, gamma=0.1))))
    structure = StructureTerms((LowRank(), TraceBall(2.0)))
    targets = Logistic().coding.encode(labels, "multiclass", 3)
    inputs = Inputs.of(operator, fit_intercept=True)
    problem = formulate(inputs, targets, Logistic(), structure).problem
    prepared = TermNewton().prepare(problem)
    solution = TermNewton().solve(prepared, Request(alpha, 1e-6, 100))
    first = proximal_points._first(term_newton._descent, prepared, alpha).last
    begin = TermIterate.of_start(problem, alpha, first).objective
    assert begin <= 1.5 * solution.certificate.primal


@pytest.mark.parametrize("alpha", [1e-3, *later(1e-2)])
def test_whole_steps_that_hardly_change_the_dual_variables_are_taken(alpha):
    # the last steps to the optimum of a model are such; without them it ended far from
    # it, often: the fit took three times as many iterations, and stalled
    rng = np.random.default_rng(0)
    X, directions = rng.normal(size=(60, 6)), rng.normal(size=(2, 6, 3))
    scores = np.sin(X @ directions[0]) + 0.5 * X @ directions[1]
    Y = scores + rng.standard_t(2, size=(60, 3))
    kernels = [Gaussian(0.1), Laplacian(0.3)]
    model = OutputKernelRegressor(kernels, ["low_rank"] * 2, alpha, loss="huber")
    assert model.fit(X, Y).certificate_.status == "optimal"
    assert model.n_iter_ <= 11
