"""What every structure must do, run on every instance."""

import pickle

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import null_space
from sklearn.base import clone

from okl.structures import STRUCTURES as NAMES
from okl.structures import Structure, as_structure
from tests import reference
from tests.instances import STRUCTURES
from tests.samples import orthogonal, psd

M = 4

each = pytest.mark.parametrize(
    "structure",
    [case.make(M) for case in STRUCTURES],
    ids=[case.label for case in STRUCTURES],
)


def having(capability):
    """Parametrise by the instances that have a capability."""
    cases = [c for c in STRUCTURES if capability in c.make(M).capabilities]
    assert cases
    return pytest.mark.parametrize(
        "structure", [c.make(M) for c in cases], ids=[c.label for c in cases]
    )


def learned():
    cases = [c for c in STRUCTURES if "known" not in c.make(M).capabilities]
    return pytest.mark.parametrize(
        "structure", [c.make(M) for c in cases], ids=[c.label for c in cases]
    )


def admissible(structure, seed):
    """Draw an L that the structure allows."""
    known = reference.fixed_kernel(structure, M)
    return psd(M, seed, structure.max_rank(M)) if known is None else known


def in_domain(structure, seed):
    """Draw an S where the conjugate is finite, near its boundary if it has one."""
    S = psd(M, seed)
    if reference.conjugate(structure, S) == np.inf:
        S = S / (2 * np.linalg.eigvalsh(S)[-1])
    return S


@each
def test_penalty_and_conjugate_are_the_formulas(structure):
    structure.validate(M)
    for seed in range(5):
        L, S = admissible(structure, seed), psd(M, seed + 50)
        assert_allclose(
            structure.penalty(L), reference.penalty(structure, L), rtol=1e-13
        )
        for scale in (1e-3, 1.0, 10.0):
            assert_allclose(
                structure.conjugate(scale * S),
                reference.conjugate(structure, scale * S),
                rtol=1e-12,
            )


@each
def test_fenchel_young(structure):
    for seed in range(20):
        L, S = admissible(structure, seed), in_domain(structure, seed + 100)
        bound = np.vdot(S, L) - structure.penalty(L)
        assert structure.conjugate(S) >= bound - 1e-12 * (1 + abs(bound))


@each
def test_fenchel_young_is_an_equality_at_the_maximiser(structure):
    S = in_domain(structure, 7)
    known = reference.fixed_kernel(structure, M)
    if known is not None:
        best = known
    elif "half_squared_norm" in structure.capabilities:
        best = S
    else:
        assert "half_trace" in structure.capabilities
        top = np.linalg.eigh(S)[1][:, -1:]
        best = 3.0 * top @ top.T
    value = np.vdot(S, best) - structure.penalty(best)
    assert_allclose(structure.conjugate(S), value, rtol=1e-12, atol=1e-13)


@each
def test_conjugate_is_convex_and_grows_with_the_matrix(structure):
    for seed in range(10):
        S, T = in_domain(structure, seed), in_domain(structure, seed + 30)
        middle = structure.conjugate((S + T) / 2)
        ends = (structure.conjugate(S) + structure.conjugate(T)) / 2
        assert middle <= ends + 1e-12 * (1 + abs(ends))
        assert structure.conjugate(0.5 * S) <= structure.conjugate(S) + 1e-14
        assert structure.conjugate(np.zeros((M, M))) == 0.0


@having("half_trace")
def test_conjugate_of_the_trace_is_infinite_outside_its_domain(structure):
    S = psd(M, 1)
    S /= 2 * np.linalg.eigvalsh(S)[-1]
    assert structure.conjugate(S) == 0.0
    assert structure.conjugate(S * (1 + 1e-9)) == np.inf


@each
def test_dual_domain_scales_into_the_conjugates_zero(structure):
    S = 5 * psd(M, 3)
    domain = structure.dual_domain(S)
    if domain is None:
        assert np.isfinite(structure.conjugate(1e6 * S))
        return
    vectors, limits = domain
    assert_allclose(vectors.T @ vectors, np.eye(M), atol=1e-13)
    within = vectors.T @ S @ vectors
    assert_allclose(within, np.diag(np.diag(within)), atol=1e-13)
    for factors in (limits, 0.3 * limits, limits * np.array([1, 0, 1, 0.5])):
        scaled = vectors * factors
        assert structure.conjugate(scaled.T @ S @ scaled) == 0.0
    too_long = vectors * (1.001 * limits)
    assert structure.conjugate(too_long.T @ S @ too_long) == np.inf


@having("half_trace")
def test_dual_domain_does_not_trust_eigenvalues_at_rounding_level(structure):
    # a limit of 1e15 for a direction whose eigenvalue is 0 +- 1e-16 would say that
    # what rounding left there may be scaled up to anything
    for seed in range(20):
        S = psd(M, seed, rank=2)
        _, limits = structure.dual_domain(S)
        largest = 2 * np.linalg.eigvalsh(S)[-1]
        assert np.max(limits) <= 1 / np.sqrt(1e-16 * largest)


@having("step")
def test_step_is_psd_symmetric_and_keeps_the_range(structure):
    known = "known" in structure.capabilities
    for seed in range(5):
        for P in (psd(M, seed), psd(M, seed, rank=1), 1e-12 * psd(M, seed)):
            L = structure.step(P)
            assert_allclose(L, L.T, atol=1e-15 * np.abs(L).max())
            eigenvalues = np.linalg.eigvalsh(L)
            assert eigenvalues[0] >= -1e-14 * eigenvalues[-1]
            if not known:
                assert_allclose(null_space(P).T @ L, 0, atol=1e-5 * np.abs(L).max())


@having("step")
def test_step_of_zero_and_of_rounding_is_finite(structure):
    tiny = np.diag([1.0, 1e-18, -1e-18, 0.0])
    for P in (np.zeros((M, M)), tiny):
        assert np.all(np.isfinite(structure.step(P)))
    if "known" not in structure.capabilities:
        assert_array_equal(structure.step(np.zeros((M, M))), 0.0)


def step_objective(structure, L, P):
    return np.trace(np.linalg.solve(L, P)) / 2 + structure.penalty(L)


@learned()
def test_no_other_output_kernel_is_better_than_the_step(structure):
    rng = np.random.default_rng(0)
    for seed in range(5):
        # of a rank that the structure allows; the step then lives in its range
        rank = structure.max_rank(M)
        Q = orthogonal(M, seed, rank)
        P = psd(rank, seed) + 0.01 * np.eye(rank)
        L = Q.T @ structure.step(Q @ P @ Q.T) @ Q
        best = step_objective(structure, L, P)
        for _ in range(30):
            change = rng.normal(size=(rank, rank))
            change = rng.choice([1e-4, 1e-2, 1.0]) * (change + change.T)
            other = L + change * np.linalg.eigvalsh(L)[0] / np.linalg.norm(change, 2)
            other = L + rng.choice([0.01, 0.5, 0.99]) * (other - L)
            assert step_objective(structure, other, P) >= best * (1 - 1e-13)
        # stationary, not only better than what was tried
        h = 1e-4 * np.linalg.eigvalsh(L)[0]
        for _ in range(5):
            v = rng.normal(size=(rank, 1))
            up, down = L + h * v @ v.T, L - h * v @ v.T / 4
            rise = (step_objective(structure, up, P) - best) / h
            fall = (step_objective(structure, down, P) - best) / (h / 4)
            assert abs(rise + fall) < 1e-2 * (v.T @ v).item()
            assert rise >= -1e-12
            assert fall >= -1e-12


@learned()
def test_step_agrees_with_a_conic_solver(structure):
    import cvxpy as cp

    rank = structure.max_rank(M)
    Q = orthogonal(M, 1, rank)
    P = psd(rank, 2) + 0.05 * np.eye(rank)
    root = np.linalg.cholesky(P)
    L = cp.Variable((rank, rank), PSD=True)
    if "half_squared_norm" in structure.capabilities:
        R = cp.sum_squares(L) / 2
    else:
        R = cp.trace(L) / 2
    problem = cp.Problem(cp.Minimize(cp.matrix_frac(root, L) / 2 + R))
    problem.solve(solver=cp.CLARABEL)
    step = Q.T @ structure.step(Q @ P @ Q.T) @ Q
    assert_allclose(step_objective(structure, step, P), problem.value, rtol=1e-7)
    assert_allclose(step, L.value, atol=2e-4)


@having("known")
def test_a_known_output_kernel_is_the_formula(structure):
    L = reference.fixed_kernel(structure, M)
    like = np.zeros((3, M))
    assert_allclose(structure.known(like).matrix(), L, atol=1e-14)
    assert_allclose(structure.step(psd(M)), L, atol=1e-14)
    assert structure.penalty(L) == 0.0
    rows = np.random.default_rng(0).normal(size=(3, M))
    assert_allclose(structure.known(like).multiply(rows), rows @ L, atol=1e-14)


@learned()
def test_a_learned_output_kernel_is_not_known(structure):
    assert structure.known(np.zeros((3, M))) is None


@having("rotation_invariant")
def test_rotation_invariance(structure):
    for seed in range(5):
        Q, L, S = orthogonal(M, seed), admissible(structure, seed), psd(M, seed + 9)
        assert_allclose(
            structure.penalty(Q @ L @ Q.T), structure.penalty(L), rtol=1e-12
        )
        assert_allclose(
            structure.conjugate(Q @ S @ Q.T), structure.conjugate(S), rtol=1e-12
        )
        assert_allclose(
            structure.step(Q @ S @ Q.T), Q @ structure.step(S) @ Q.T, atol=1e-12
        )
        # embedding in more outputs changes nothing, compressing does not cost
        tall = orthogonal(M, seed, 2)
        small = psd(2, seed)
        known = "known" in structure.capabilities
        if not known:
            assert_allclose(
                structure.penalty(tall @ small @ tall.T),
                structure.penalty(small),
                rtol=1e-12,
            )
        assert structure.penalty(tall.T @ L @ tall) <= structure.penalty(L) + 1e-14


@learned()
def test_permuting_the_outputs_permutes_the_step(structure):
    order, P = np.array([2, 0, 3, 1]), psd(M, 4)
    permuted = structure.step(P[np.ix_(order, order)])
    assert_allclose(permuted, structure.step(P)[np.ix_(order, order)], atol=1e-13)


@each
def test_any_array_namespace(structure):
    L, S = admissible(structure, 1), in_domain(structure, 2)
    L_, S_ = strict.asarray(L), strict.asarray(S)
    assert_allclose(structure.penalty(L_), structure.penalty(L), rtol=1e-13)
    assert_allclose(structure.conjugate(S_), structure.conjugate(S), rtol=1e-13)
    step = structure.step(S_)
    assert step.__array_namespace__() is strict
    assert_allclose(np.asarray(step), structure.step(S), atol=1e-12)
    domain, expected = structure.dual_domain(S_), structure.dual_domain(S)
    assert (domain is None) == (expected is None)
    if domain is not None:
        assert_allclose(np.asarray(domain[1]), expected[1], rtol=1e-10)
    known = structure.known(strict.zeros((3, M), dtype=strict.float64))
    if known is not None:
        assert known.eigenvalues.__array_namespace__() is strict
        assert_allclose(
            np.asarray(known.matrix()), reference.fixed_kernel(structure, M), atol=1e-13
        )


@each
def test_parameters_survive(structure):
    for copy in (clone(structure), pickle.loads(pickle.dumps(structure))):
        assert type(copy) is type(structure)
        assert repr(copy) == repr(structure)
        assert_allclose(copy.step(psd(M)), structure.step(psd(M)))
    assert copy.set_params(**structure.get_params()) is copy


@each
def test_capabilities_are_those_that_the_base_class_documents(structure):
    assert structure.capabilities <= {
        "identity",
        "known",
        "rotation_invariant",
        "half_squared_norm",
        "half_trace",
        "step",
    }
    assert 1 <= structure.max_rank(M) <= M


@pytest.mark.parametrize("name", NAMES)
def test_a_name_stands_for_the_default_object(name):
    structure = as_structure(name)
    assert isinstance(structure, Structure)
    assert structure.name == name
    assert as_structure(structure) is structure
