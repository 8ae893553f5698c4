"""Solvers that fit the same problem find the same model, in any array namespace."""

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from okl.losses import Huber
from okl.operators import Dense, Features
from okl.solvers import (
    ClosedForm,
    Request,
    as_solver,
    choice,
    choose_solver,
)
from okl.solvers.requirements import LOSSES, REGIONS
from okl.solvers.requirements import STRUCTURES as STRUCTURE_NEEDS
from okl.structures import Identity
from tests import reference
from tests.instances import SOLVERS, STRUCTURES
from tests.samples import draw, psd, solve

each = pytest.mark.parametrize("case", STRUCTURES, ids=lambda case: case.label)
ALPHAS = [3.0, 0.1, 1e-3]


def fitting(structure, K, Y):
    """Return the solvers that take a problem with this structure."""
    problem = solve(K, Y, structure, 1.0).formulation.problem
    return [solver for solver in SOLVERS if not solver.missing(problem)]


@each
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.each_value
def test_solvers_agree(case, alpha, intercept):
    structure, (_, Y, K) = case.make(4), draw(14, 4)
    solvers = fitting(structure, K, Y)
    assert solvers
    results = [
        solve(
            K,
            Y,
            structure,
            alpha,
            solver=s,
            intercept=intercept,
            tol=1e-7,
            max_iter=1000,
        )
        for s in solvers
    ]
    first = results[0]
    for solver, result in zip(solvers, results, strict=True):
        certificate = result.solution.certificate
        if case.label != "low-rank-2":
            assert certificate.status == "optimal", solver
        assert_allclose(
            certificate.primal, first.solution.certificate.primal, rtol=1e-6
        )
        F = K @ result.dual_coef
        assert_allclose(F, K @ first.dual_coef, atol=2e-3 * np.abs(Y).max())
        L = first.output_kernel.matrix()
        assert_allclose(result.output_kernel.matrix(), L, atol=1e-2 * np.abs(L).max())


@pytest.mark.parametrize("case", STRUCTURES[:4], ids=lambda case: case.label)
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_a_known_output_kernel_is_a_linear_system(case, intercept, alpha):
    structure, (_, Y, K) = case.make(3), draw(9, 3)
    L = reference.fixed_kernel(structure, 3)
    # vec of K C L + alpha C + 1 b' = Y, 1'C = 0
    ones = np.ones((9, 1))
    A = np.kron(K, L) + alpha * np.eye(27)
    B = np.kron(ones, np.eye(3))
    if intercept:
        system = np.block([[A, B], [B.T, np.zeros((3, 3))]])
        solution = np.linalg.solve(system, np.r_[Y.ravel(), np.zeros(3)])
        C, b = solution[:27].reshape(9, 3), solution[27:]
    else:
        C, b = np.linalg.solve(A, Y.ravel()).reshape(9, 3), np.zeros(3)
    for solver in fitting(structure, K, Y):
        if "smooth" in solver.loss_requires:  # iterative, for any loss
            continue
        found = solve(K, Y, structure, alpha, solver=solver, intercept=intercept)
        assert_allclose(found.dual_coef, C @ L, atol=1e-9 * np.abs(C @ L).max())
        if intercept:
            assert_allclose(found.intercept, b, atol=1e-9)
        else:
            assert found.intercept is None
        assert found.solution.n_iter == 1


@each
@pytest.mark.parametrize(
    "setting",
    [(False, None), (True, 3), (False, 3), (True, None)],
    ids=["no-b", "b-3", "no-b-3", "b"],
)
def test_any_array_namespace(case, setting):
    (intercept, rank), structure, (_, Y, K) = setting, case.make(3), draw(6, 3)
    K = K if rank is None else psd(6, rank=rank)
    for solver in fitting(structure, K, Y):
        options = {"solver": solver, "intercept": intercept, "max_iter": 25}
        here = solve(K, Y, structure, 0.3, **options)
        there = solve(K, Y, structure, 0.3, xp=strict, **options)
        assert there.dual_coef.__array_namespace__() is strict
        assert there.output_kernel.diagonal().__array_namespace__() is strict
        assert_allclose(
            there.solution.certificate.primal,
            here.solution.certificate.primal,
            rtol=1e-7,
        )
        assert there.solution.certificate.status == here.solution.certificate.status
        F = K @ here.dual_coef
        assert_allclose(K @ np.asarray(there.dual_coef), F, atol=1e-3 * np.abs(F).max())


@each
def test_many_outputs_in_any_array_namespace(case):
    structure, (_, Y, K) = case.make(9), draw(5, 9)
    here = solve(K, Y, structure, 0.3)
    there = solve(K, Y, structure, 0.3, xp=strict)
    assert_allclose(
        there.solution.certificate.primal, here.solution.certificate.primal, rtol=1e-6
    )


@each
def test_twice_the_same_is_the_same_to_the_last_bit(case):
    structure, (_, Y, K) = case.make(4), draw(14, 4)
    for solver in fitting(structure, K, Y):
        one, two = (solve(K, Y, structure, 0.1, solver=solver) for _ in range(2))
        assert_array_equal(one.dual_coef, two.dual_coef)
        assert_array_equal(one.output_kernel.matrix(), two.output_kernel.matrix())
        assert one.solution.n_iter == two.solution.n_iter


@each
def test_features_and_the_matrix_give_the_same(case):
    from okl.losses import Squared
    from okl.problems import Inputs, formulate

    structure, (X, Y, _) = case.make(4), draw(14, 4)
    for intercept in (False, True):
        results = []
        for operator in (Features(X), Dense(X @ X.T)):
            inputs = Inputs.of(operator, fit_intercept=intercept)
            formulation = formulate(inputs, Y, Squared(), structure)
            solver = choose_solver("auto", formulation.problem)
            results.append(
                solver.solve(
                    solver.prepare(formulation.problem),
                    Request(0.5, tol=1e-9, max_iter=500),
                )
            )
        one, two = results
        assert_allclose(one.certificate.primal, two.certificate.primal, rtol=1e-8)
        assert_allclose(
            X.T @ one.dual_coef, X.T @ two.dual_coef, atol=1e-3 * np.abs(Y).max()
        )


class TestChoice:
    """Which solver is taken, and which are refused."""

    @pytest.mark.parametrize(
        ("label", "n_alphas", "expected"),
        [
            ("identity", 1, "closed_form"),
            ("identity", 5, "closed_form"),
            ("fixed", 1, "closed_form"),
            ("graph", 5, "closed_form"),
            ("frobenius", 1, "output_kernel_newton"),
            ("low-rank", 5, "factored_newton"),
            ("low-rank-2", 1, "factored_newton"),
            ("trace-ball", 5, "output_kernel_newton"),
            ("trace-ball-eps", 5, "output_kernel_newton"),
            ("cluster", 1, "output_kernel_newton"),
            ("sparse", 1, "output_kernel_newton"),
        ],
    )
    def test_automatic(self, label, n_alphas, expected):
        _, Y, K = draw(6, 4)
        (case,) = [case for case in STRUCTURES if case.label == label]
        problem = solve(K, Y, case.make(4), 1.0).formulation.problem
        assert choose_solver("auto", problem, n_alphas=n_alphas).name == expected

    def test_one_alpha_takes_a_factorisation(self):
        _, Y, K = draw(6, 4)
        problem = solve(K, Y, STRUCTURES[0].make(4), 1.0).formulation.problem
        for n_alphas in (1, 5):
            chosen = choose_solver("auto", problem, n_alphas=n_alphas)
            assert chosen.factorize == (n_alphas == 1)

    @pytest.mark.parametrize("name", ["cholesky", "spectral"])
    def test_names_of_before_are_understood(self, name):
        _, Y, K = draw(6, 4)
        problem = solve(K, Y, STRUCTURES[0].make(4), 1.0).formulation.problem
        assert choose_solver(name, problem).name == "closed_form"

    @pytest.mark.parametrize(
        "name",
        [
            "dual_newton",
            "rescaled_trace",
            "sparse_newton",
            "barrier_newton",
            "block_coordinate_descent",
        ],
    )
    def test_former_names_stand_for_what_replaced_them(self, name):
        assert as_solver(name).name == "output_kernel_newton"

    def test_every_name_is_known_and_unknown_ones_list_them(self):
        _, Y, K = draw(6, 4)
        problem = solve(K, Y, STRUCTURES[0].make(4), 1.0).formulation.problem
        with pytest.raises(ValueError, match="Unknown solver 'lbfgs'") as caught:
            choose_solver("lbfgs", problem)
        for solver in SOLVERS:
            assert repr(solver.name) in str(caught.value)
        with pytest.raises(TypeError, match="got 3"):
            choose_solver(3, problem)

    @pytest.mark.parametrize(
        ("solver", "label", "needs"),
        [
            ("closed_form", "frobenius", "fixes the output kernel.*is Frobenius"),
            (
                "output_kernel_newton",
                "low-rank",
                "the square of the output k.*; or bounds on eigenvalues.*is LowRank",
            ),
            ("factored_newton", "frobenius", "the trace of the output k.*is Frobenius"),
        ],
    )
    def test_a_solver_that_does_not_fit_says_what_is_missing(
        self, solver, label, needs
    ):
        _, Y, K = draw(6, 4)
        (case,) = [case for case in STRUCTURES if case.label == label]
        with pytest.raises(
            ValueError, match=f"(?s)it needs a structure .*{needs}.*solver='auto'"
        ):
            solve(K, Y, case.make(4), 1.0, solver=solver)

    def test_whatever_a_solver_needs_has_words(self):
        solvers = choice.SOLVERS.values()
        needs = ("loss_requires", "structure_requires", "regions")
        for attribute, words in zip(
            needs, (LOSSES, STRUCTURE_NEEDS, REGIONS), strict=True
        ):
            named = {name for cls in solvers for name in getattr(cls, attribute)}
            assert named == set(words)

    def test_of_another_loss_it_says_which_it_needs(self):
        _, Y, K = draw(6, 4)
        with pytest.raises(ValueError, match=r"needs the loss 'squared', and .* Huber"):
            solve(K, Y, Identity(), 1.0, loss=Huber(), solver="closed_form")


def test_a_factorisation_gives_way_where_the_shifted_matrix_is_singular():
    _, Y, K = draw(12, 3)
    K = np.repeat(np.repeat(K, 2, axis=0), 2, axis=1)  # every row twice
    Y = np.repeat(Y, 2, axis=0)
    found = solve(K, Y, STRUCTURES[0].make(3), 1e-18, solver=ClosedForm(factorize=True))
    assert np.all(np.isfinite(found.dual_coef))
    # duplicated rows with equal targets can be interpolated
    assert_allclose(K @ found.dual_coef, Y, atol=1e-6)
