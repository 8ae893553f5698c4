"""What every structure must do, run on every instance."""

import pickle

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import null_space
from sklearn.base import clone

from okl.optimization.interior import Interior
from okl.output_kernels import SpectralKernel
from okl.structures import STRUCTURES as NAMES
from okl.structures import (
    Frobenius,
    LowRank,
    Scaled,
    Sparse,
    Structure,
    TraceBall,
    as_structure,
)
from okl.structures.spectral_set import SpectralSet
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


def of(kind):
    """Parametrise by the instances of a class."""
    cases = [c for c in STRUCTURES if isinstance(c.make(M), kind)]
    assert cases
    return pytest.mark.parametrize(
        "structure", [c.make(M) for c in cases], ids=[c.label for c in cases]
    )


def learned():
    cases = [c for c in STRUCTURES if "known" not in c.make(M).capabilities]
    return pytest.mark.parametrize(
        "structure", [c.make(M) for c in cases], ids=[c.label for c in cases]
    )


def in_domain(structure, seed):
    """Draw an S where the conjugate is finite, near its boundary if it has one."""
    S = psd(M, seed)
    if isinstance(structure, LowRank | Sparse):
        S = S / (2.01 * np.linalg.eigvalsh(S)[-1])
    return S


def closed(structure):
    """Tell whether the conjugate has a closed form."""
    return not isinstance(structure, Sparse) or structure.mu == 1


@each
def test_penalty_and_conjugate_are_the_formulas(structure):
    structure.validate(M)
    for seed in range(5 if closed(structure) else 2):
        L, S = reference.admissible(structure, M, seed), in_domain(structure, seed + 50)
        assert_allclose(
            structure.penalty(L), reference.penalty(structure, L), rtol=1e-11
        )
        for scale in (1e-3, 1.0):
            assert_allclose(
                structure.conjugate(scale * S),
                reference.conjugate(structure, scale * S),
                rtol=1e-10 if closed(structure) else 1e-6,
            )


@each
def test_fenchel_young(structure):
    for seed in range(20):
        L = reference.admissible(structure, M, seed)
        S = in_domain(structure, seed + 100)
        bound = np.vdot(S, L) - structure.penalty(L)
        assert structure.conjugate(S) >= bound - 1e-12 * (1 + abs(bound))


@learned()
def test_fenchel_young_is_an_equality_at_the_step(structure):
    # L is the step of P where S = L^-1 P L^-1 / 2 is a subgradient of R
    for seed in range(5):
        P = psd(M, seed) + 0.1 * np.eye(M)
        L = structure.update(P, tol=1e-12)
        inverse = np.linalg.inv(L)
        S = inverse @ P @ inverse / 2
        value = np.vdot(S, L) - structure.penalty(L)
        if isinstance(structure, LowRank):
            S = S * (1 - 1e-12)  # on the boundary of the domain
        assert_allclose(
            structure.conjugate((S + S.T) / 2), value, rtol=1e-8, atol=1e-11
        )


@each
def test_conjugate_is_convex_and_grows_with_the_matrix(structure):
    for seed in range(10):
        S, T = in_domain(structure, seed), in_domain(structure, seed + 30)
        middle = structure.conjugate((S + T) / 2)
        ends = (structure.conjugate(S) + structure.conjugate(T)) / 2
        assert middle <= ends + 1e-9 * (1 + abs(ends))
        assert structure.conjugate(0.5 * S) <= structure.conjugate(S) + 1e-14
        # R*(0) is minus the least penalty
        assert structure.conjugate(np.zeros((M, M))) <= 0.0


@of(LowRank)
def test_conjugate_of_the_trace_is_infinite_outside_its_domain(structure):
    S = psd(M, 1)
    S /= 2 * np.linalg.eigvalsh(S)[-1]
    assert structure.conjugate(S) == 0.0
    assert structure.conjugate(S * (1 + 1e-9)) == np.inf


@each
def test_dual_bound_is_a_bound(structure):
    for seed in range(15):
        # far outside the domain, and just about at its end
        S = (3.0, 0.7, 0.4)[seed % 3] * psd(M, seed)
        kernel = reference.admissible(structure, M, seed + 10)
        bound = structure.dual_bound(S, SpectralKernel.from_matrix(kernel))
        assert 0 <= bound.factor <= 1
        choices = [(np.eye(M) * bound.factor, bound.value)]
        if bound.directions is not None:
            vectors, limits = bound.directions
            assert_allclose(vectors.T @ vectors, np.eye(M), atol=1e-13)
            within = vectors.T @ S @ vectors
            assert_allclose(within, np.diag(np.diag(within)), atol=1e-13)
            factors = (limits, 0.3 * limits, limits * np.array([1, 0, 1, 0.5]))
            choices = [(vectors * factor, bound.value) for factor in factors]
            too_long = vectors * (1.001 * limits)
            assert structure.conjugate(too_long.T @ S @ too_long) > bound.value
        if bound.mixing is not None:
            choices.append(bound.mixing)
        if bound.directions is not None and np.isfinite(bound.unscaled):
            # no larger than what S itself needs
            assert_allclose(bound.unscaled, structure.conjugate(S), rtol=1e-9)
        for scaling, largest in choices:
            scaled = scaling.T @ S @ scaling
            if isinstance(structure, Sparse):
                scaled = scaled * (1 - 1e-6)  # inside the domain, where it is finite
            value = structure.conjugate((scaled + scaled.T) / 2)
            assert value <= largest + 1e-9 * (1 + abs(largest))


@of(Sparse)
def test_dual_points_just_outside_the_domain_are_shrunk_where_they_leave_it(structure):
    # one factor would shrink all directions
    shrunk = 0
    for seed in range(20):
        P = psd(M, seed) + 0.1 * np.eye(M)
        L = structure.update(P, tol=1e-12)
        inverse = np.linalg.inv(L)
        longer = np.diag([1.3, 1.0, 1.0, 1.0])
        S = longer @ inverse @ P @ inverse @ longer / 2
        S = (S + S.T) / 2
        bound = structure.dual_bound(S, SpectralKernel.from_matrix(L))
        weight = 1 - structure.mu
        wished = structure.eps * inverse @ inverse + 2 * S
        A = np.eye(M) + (1 - np.eye(M)) * np.clip(wished, -weight, weight)
        outside = np.sum(np.linalg.eigvalsh(A - 2 * S) < 0)
        if outside == 0 or np.linalg.eigvalsh(A)[0] < 0:
            assert bound.mixing is None
            continue
        shrunk += 1
        mixing, value = bound.mixing
        N = np.linalg.eigvalsh(A - 2 * mixing.T @ S @ mixing)
        assert N[0] >= -1e-13
        roots = np.sqrt(np.clip(N, 0, None))
        assert_allclose(value, -np.sqrt(structure.eps) * roots.sum(), atol=1e-6)
        factors = np.sort(np.linalg.eigvals(mixing).real)
        assert np.all(factors[:outside] < 1)
        assert_allclose(factors[outside:], 1.0, atol=1e-9)
        # what one factor does to S is more than is needed
        whole = np.linalg.norm((1 - bound.factor**2) * S)
        assert np.linalg.norm(S - mixing.T @ S @ mixing) < whole
    assert shrunk >= 5


@learned()
def test_dual_bound_is_tight_at_the_step(structure):
    P = psd(M, 3) + 0.1 * np.eye(M)
    L = structure.update(P, tol=1e-12)
    inverse = np.linalg.inv(L)
    S = inverse @ P @ inverse / 2
    bound = structure.dual_bound((S + S.T) / 2, SpectralKernel.from_matrix(L))
    assert_allclose(bound.factor, 1.0, rtol=1e-6)
    if bound.directions is not None:
        assert_allclose(bound.directions[1], 1.0, rtol=1e-6)
    value = np.vdot(S, L) - structure.penalty(L)
    assert_allclose(bound.value, value, rtol=1e-5, atol=1e-11)


@of(LowRank)
def test_dual_bound_does_not_trust_eigenvalues_at_rounding_level(structure):
    # a limit of 1e15 for a direction whose eigenvalue is 0 +- 1e-16 would say that
    # what rounding left there may be scaled up to anything
    for seed in range(20):
        S = psd(M, seed, rank=2)
        _, limits = structure.dual_bound(S, None).directions
        largest = 2 * np.linalg.eigvalsh(S)[-1]
        assert np.max(limits) <= 1 / np.sqrt(1e-16 * largest)


def keeps_the_range(structure):
    """Tell whether the step has the range of P: no eps, no least eigenvalue."""
    region = structure.region(M)
    of_ball = isinstance(region, Interior) and region.is_ball
    return of_ball or isinstance(structure, LowRank | Frobenius)


@having("update")
def test_step_is_psd_symmetric_and_keeps_the_range(structure):
    for seed in range(5):
        for P in (psd(M, seed), psd(M, seed, rank=1), 1e-12 * psd(M, seed)):
            L = structure.update(P)
            assert_allclose(L, L.T, atol=1e-15 * np.abs(L).max())
            eigenvalues = np.linalg.eigvalsh(L)
            assert eigenvalues[0] >= -1e-10 * eigenvalues[-1]
            if keeps_the_range(structure):
                assert_allclose(null_space(P).T @ L, 0, atol=1e-5 * np.abs(L).max())


@having("update")
def test_step_of_zero_and_of_rounding_is_finite(structure):
    tiny = np.diag([1.0, 1e-18, -1e-18, 0.0])
    for P in (np.zeros((M, M)), tiny):
        assert np.all(np.isfinite(structure.update(P)))
    if isinstance(structure, Frobenius | LowRank):
        assert_array_equal(structure.update(np.zeros((M, M))), 0.0)


def step_objective(structure, L, P):
    return np.trace(np.linalg.solve(L, P)) / 2 + structure.penalty(L)


@learned()
def test_no_other_output_kernel_is_better_than_the_step(structure):
    rng = np.random.default_rng(0)
    for seed in range(5):
        P = psd(M, seed) + 0.01 * np.eye(M)
        L = structure.update(P, tol=1e-12)
        best = step_objective(structure, L, P)
        assert np.isfinite(best)
        for number in range(30):
            other = reference.admissible(structure, M, 100 * seed + number)
            other = L + rng.choice([1e-4, 0.01, 0.5, 0.99]) * (other - L)
            assert step_objective(structure, other, P) >= best * (1 - 1e-12)


@of(Frobenius)
@pytest.mark.parametrize("seed", range(5))
def test_the_step_is_stationary(structure, seed):
    rng = np.random.default_rng(seed)
    P = psd(M, seed) + 0.01 * np.eye(M)
    L = structure.update(P)
    best = step_objective(structure, L, P)
    h = 1e-4 * np.linalg.eigvalsh(L)[0]
    for _ in range(5):
        v = rng.normal(size=(M, 1))
        up, down = L + h * v @ v.T, L - h * v @ v.T / 4
        rise = (step_objective(structure, up, P) - best) / h
        fall = (step_objective(structure, down, P) - best) / (h / 4)
        assert abs(rise + fall) < 1e-2 * (v.T @ v).item()
        assert rise >= -1e-12
        assert fall >= -1e-12


def moments():
    """Return ten P, some of which put L on a boundary."""
    yield from (psd(M, seed) + 0.05 * np.eye(M) for seed in range(6))
    yield psd(M, 6, rank=2)  # L singular, or at its least eigenvalue
    yield psd(M, 7, rank=1) + 1e-3 * np.eye(M)
    yield np.diag([3.0, 1.0, 0.5, 0.1])  # L diagonal
    yield np.eye(M) + 0.01 * psd(M, 9)  # L of `Sparse` diagonal, S of `Cluster` flat


@pytest.mark.parametrize("number", range(10))
def test_step_of_the_trace_ball_is_a_root(number):
    # min tr(L^-1 P) / 2 over tr L <= 1 is (tr P^(1/2))^2 / 2, singular P or not
    P = list(moments())[number]
    values = np.clip(np.linalg.eigvalsh(P), 0, None)
    step = TraceBall().update(P, tol=1e-9)
    found = np.trace(np.linalg.pinv(step, hermitian=True, rcond=1e-10) @ P) / 2
    assert np.trace(step) <= 1 + 1e-12
    assert found == pytest.approx(np.sqrt(values).sum() ** 2 / 2, rel=1e-7)


@pytest.mark.parametrize("number", range(10))
@learned()
def test_step_agrees_with_a_conic_solver(structure, number):
    import cvxpy as cp

    P = list(moments())[number]
    values, vectors = np.linalg.eigh(P)
    kept = values > 1e-12 * values[-1]
    root = vectors[:, kept] * np.sqrt(values[kept])
    L = cp.Variable((M, M), PSD=True)
    penalty, constraints = reference.conic_penalty(structure, L)
    objective = cp.matrix_frac(root, L) / 2 + penalty
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(solver=cp.CLARABEL)
    step = structure.update(P, tol=1e-9)
    inside = vectors[:, kept].T
    found = np.trace(np.linalg.pinv(step, hermitian=True, rcond=1e-10) @ P) / 2
    ours = found + structure.penalty(step)
    assert ours <= problem.value * (1 + 1e-6)
    # an interior point method stops short of an L that is singular, by this much
    singular = len(root) > root.shape[1]
    assert ours >= problem.value * (1 - (1e-5 if singular else 1e-6))
    # the conic solver's own L is known to the root of its accuracy
    assert_allclose(
        inside @ step @ inside.T,
        inside @ L.value @ inside.T,
        atol=1e-4 * np.abs(step).max() + 1e-4,
    )


@having("known")
def test_a_known_output_kernel_is_the_formula(structure):
    L = reference.fixed_kernel(structure, M)
    like = np.zeros((3, M))
    assert_allclose(structure.known(like).matrix(), L, atol=1e-14)
    assert_allclose(structure.update(psd(M)), L, atol=1e-14)
    assert structure.penalty(L) == 0.0
    rows = np.random.default_rng(0).normal(size=(3, M))
    assert_allclose(structure.known(like).multiply(rows), rows @ L, atol=1e-14)


@each
def test_the_largest_eigenvalue_is_a_bound_and_reached(structure):
    bound = structure.largest_eigenvalue(np.zeros((3, M)))
    reached = 0.0
    for seed in range(20):
        L = reference.admissible(structure, M, seed)
        reached = max(reached, np.linalg.eigvalsh(L)[-1])
    assert reached <= bound * (1 + 1e-9)
    if np.isfinite(bound):
        # one direction, off the average, that asks for all it can have; or the average
        v = np.array([1.0, -1.0, 0.0, 0.0]) / np.sqrt(2)
        for direction in (v, np.ones(M) / 2):
            L = structure.update(1e12 * np.outer(direction, direction))
            reached = max(reached, np.linalg.eigvalsh(L)[-1])
        assert_allclose(reached, bound, rtol=1e-5)
    else:
        assert "known" not in structure.capabilities
        assert not isinstance(structure, SpectralSet)
        assert np.linalg.eigvalsh(structure.update(1e12 * np.eye(M)))[-1] > 1e3


@learned()
def test_a_learned_output_kernel_is_not_known(structure):
    assert structure.known(np.zeros((3, M))) is None


@having("rotation_invariant")
def test_rotation_invariance(structure):
    for seed in range(5):
        Q, L, S = (
            orthogonal(M, seed),
            reference.admissible(structure, M, seed),
            psd(M, seed + 9),
        )
        assert_allclose(
            structure.penalty(Q @ L @ Q.T), structure.penalty(L), rtol=1e-12
        )
        assert_allclose(
            structure.conjugate(Q @ S @ Q.T), structure.conjugate(S), rtol=1e-12
        )
        assert_allclose(
            structure.update(Q @ S @ Q.T), Q @ structure.update(S) @ Q.T, atol=1e-12
        )
        # embedding in more outputs changes nothing, compressing does not cost
        tall = orthogonal(M, seed, 2)
        small = reference.admissible(structure, 2, seed)
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
    renumbered = structure
    if isinstance(structure, Scaled):
        renumbered = Scaled(structure.structure, structure.scales[order])
    permuted = renumbered.update(P[np.ix_(order, order)])
    assert_allclose(permuted, structure.update(P)[np.ix_(order, order)], atol=1e-13)


@each
def test_any_array_namespace(structure):
    L, S = reference.admissible(structure, M, 1), in_domain(structure, 2)
    L_, S_ = strict.asarray(L), strict.asarray(S)
    assert_allclose(structure.penalty(L_), structure.penalty(L), rtol=1e-13)
    assert_allclose(structure.conjugate(S_), structure.conjugate(S), rtol=1e-13)
    step = structure.update(S_)
    assert step.__array_namespace__() is strict
    assert_allclose(np.asarray(step), structure.update(S), atol=1e-12)
    found = structure.dual_bound(S_, SpectralKernel.from_matrix(L_))
    expected = structure.dual_bound(S, SpectralKernel.from_matrix(L))
    assert_allclose(found[:2], expected[:2], rtol=1e-10)
    if expected.directions is not None:
        assert_allclose(np.asarray(found.directions[1]), expected.directions[1])
    if isinstance(structure, Sparse):
        found = structure.dual_bound(9 * S_, SpectralKernel.from_matrix(L_)).mixing
        expected = structure.dual_bound(9 * S, SpectralKernel.from_matrix(L)).mixing
        assert_allclose(np.asarray(found[0]), expected[0], atol=1e-10)
        assert_allclose(found[1], expected[1], rtol=1e-10)
    known = structure.known(strict.zeros((3, M), dtype=strict.float64))
    if known is not None:
        assert known.matrix().__array_namespace__() is strict
        assert_allclose(
            np.asarray(known.matrix()), reference.fixed_kernel(structure, M), atol=1e-13
        )


@each
def test_parameters_survive(structure):
    for copy in (clone(structure), pickle.loads(pickle.dumps(structure))):
        assert type(copy) is type(structure)
        assert repr(copy) == repr(structure)
        assert_allclose(copy.update(psd(M)), structure.update(psd(M)))
    assert copy.set_params(**structure.get_params()) is copy


@each
def test_capabilities_are_those_that_the_base_class_documents(structure):
    assert structure.capabilities <= {
        "identity",
        "known",
        "rotation_invariant",
        "update",
        "response",
        "proximal",
    }
    assert 1 <= structure.max_rank(M) <= M
    fixed = "known" in structure.capabilities
    assert structure.region(M) is None if fixed else structure.region(M) is not None


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"cluster"}))
def test_a_name_stands_for_the_default_object(name):
    structure = as_structure(name)
    assert isinstance(structure, Structure)
    assert structure.name == name
    assert as_structure(structure) is structure
