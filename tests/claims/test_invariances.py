"""What must not matter: order, rotations, offsets, repetition, units."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl import OutputKernelRegressor
from okl.structures import (
    Diagonal,
    Fixed,
    Graph,
    LowRank,
    Mixing,
    Scaled,
    Tree,
    TreeTerm,
)
from tests.instances import STRUCTURES, comb, ring
from tests.samples import draw, orthogonal, psd

each = pytest.mark.parametrize("case", STRUCTURES, ids=lambda case: case.label)
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
N, M = 14, 4
ROTATING = ["identity", "frobenius", "low-rank", "low-rank-2"]
# how those that speak of single outputs look with the outputs in another order
PERMUTED = {
    Diagonal: lambda s, order: Diagonal(np.asarray(s.variances)[order]),
    Fixed: lambda s, order: Fixed(s.output_kernel[np.ix_(order, order)]),
    Graph: lambda s, order: Graph(ring(M)[np.ix_(order, order)], s.gamma),
    Mixing: lambda s, order: Mixing(s.rank, s.mixing[order]),
    Scaled: lambda s, order: Scaled(s.structure, np.asarray(s.scales)[order]),
    Tree: lambda s, order: Tree(comb(M, order), s.variances, s.tied),
    TreeTerm: lambda s, order: TreeTerm(comb(M, order), s.variances),
}


def fit(X, Y, structure, alpha=0.3, **options):
    """Fit closely enough to compare models, with a kernel of fixed scale."""
    return OutputKernelRegressor(
        "precomputed", structure, alpha, tol=1e-11, **options, normalize_y=False
    ).fit(X, Y)


def same(found, expected, rtol=1e-4):
    assert_allclose(found, expected, atol=rtol * np.abs(expected).max())


@each
@intercepts
def test_permuting_outputs(case, intercept):
    _, Y, K = draw(N, M)
    order = np.array([2, 0, 3, 1])
    structure = case.make(M)
    permuted = PERMUTED.get(type(structure), lambda s, _: s)(structure, order)
    one = fit(K, Y, structure, fit_intercept=intercept)
    two = fit(K, Y[:, order], permuted, fit_intercept=intercept)
    assert two.certificate_.primal == pytest.approx(one.certificate_.primal, rel=1e-8)
    same(two.predict(K), one.predict(K)[:, order])
    same(two.output_kernel_, one.output_kernel_[np.ix_(order, order)])


@each
@intercepts
def test_permuting_rows(case, intercept):
    _, Y, K = draw(N, M)
    order = np.random.default_rng(0).permutation(N)
    one = fit(K, Y, case.make(M), fit_intercept=intercept)
    two = fit(K[np.ix_(order, order)], Y[order], case.make(M), fit_intercept=intercept)
    assert two.certificate_.primal == pytest.approx(one.certificate_.primal, rel=1e-8)
    same(two.output_kernel_, one.output_kernel_)
    same(two.dual_coef_, one.dual_coef_[order])
    same(np.asarray(two.intercept_) + 1, np.asarray(one.intercept_) + 1)


@pytest.mark.parametrize("label", ROTATING)
@intercepts
@pytest.mark.parametrize("n", [N, 3])
def test_rotating_outputs(label, intercept, n):
    (case,) = [case for case in STRUCTURES if case.label == label]
    _, Y, K = draw(n, M)
    Q = orthogonal(M, 3)
    one = fit(K, Y, case.make(M), fit_intercept=intercept)
    two = fit(K, Y @ Q, case.make(M), fit_intercept=intercept)
    assert two.certificate_.primal == pytest.approx(one.certificate_.primal, rel=1e-8)
    same(two.predict(K), one.predict(K) @ Q)
    if "known" not in one.structure_.capabilities:
        same(two.output_kernel_, Q.T @ one.output_kernel_ @ Q)


@each
def test_adding_a_constant_shifts_the_intercept_only(case):
    _, Y, K = draw(N, M)
    shift = np.array([1.0, -20.0, 300.0, 0.5])
    one, two = fit(K, Y, case.make(M)), fit(K, Y + shift, case.make(M))
    same(two.dual_coef_, one.dual_coef_, 1e-6)
    same(two.output_kernel_, one.output_kernel_, 1e-6)
    same(two.intercept_, one.intercept_ + shift, 1e-7)


@each
@intercepts
def test_every_sample_twice_with_twice_alpha(case, intercept):
    _, Y, K = draw(N, M)
    one = fit(K, Y, case.make(M), fit_intercept=intercept)
    two = fit(
        np.tile(K, (2, 2)),
        np.tile(Y, (2, 1)),
        case.make(M),
        alpha=0.6,
        fit_intercept=intercept,
    )
    assert two.certificate_.primal == pytest.approx(
        2 * one.certificate_.primal, rel=1e-8
    )
    same(two.predict(np.tile(K, 2)), one.predict(K))
    same(two.output_kernel_, one.output_kernel_)


@each
def test_a_constant_added_to_the_kernel_is_absorbed_by_the_intercept(case):
    _, Y, K = draw(N, M)
    one, two = fit(K, Y, case.make(M)), fit(K + 7.0, Y, case.make(M))
    same(two.predict(K + 7.0), one.predict(K))
    same(two.output_kernel_, one.output_kernel_)


@pytest.mark.parametrize(
    ("structure", "of_targets", "of_kernel"),
    [
        ("low_rank", (1, 1), (1 / 2, -1 / 2)),
        ("frobenius", (2 / 3, 2 / 3), (2 / 3, -1 / 3)),
    ],
)
@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_units_of_targets_and_kernel(structure, of_targets, of_kernel, factor):
    # (tY, t^p alpha) has the solution (tF, t^q L), and (cK, c^p alpha) has (F, c^q L)
    _, Y, K = draw(N, M)
    one = fit(K, Y, structure)
    p, q = of_targets
    two = fit(K, factor * Y, structure, alpha=0.3 * factor**p)
    same(two.predict(K), factor * one.predict(K))
    same(two.output_kernel_, factor**q * one.output_kernel_)
    p, q = of_kernel
    three = fit(factor * K, Y, structure, alpha=0.3 * factor**p)
    same(three.predict(factor * K), one.predict(K))
    same(three.output_kernel_, factor**q * one.output_kernel_)


@pytest.mark.parametrize("structure", ["frobenius", "low_rank", LowRank(2)])
def test_an_output_twice_gets_the_same_predictions(structure):
    _, Y, K = draw(N, M)
    model = fit(K, np.column_stack([Y, Y[:, 0]]), structure)
    predictions = model.predict(K)
    same(predictions[:, -1], predictions[:, 0], 1e-8)
    L = model.output_kernel_
    same(L[-1], L[0], 1e-7)


def test_an_unrelated_fixed_kernel_separates_the_outputs():
    _, Y, K = draw(N, M)
    blocks = np.zeros((M, M))
    blocks[:2, :2], blocks[2:, 2:] = psd(2, 1), psd(2, 2)
    joint = fit(K, Y, Fixed(blocks))
    for part in (slice(0, 2), slice(2, 4)):
        alone = fit(K, Y[:, part], Fixed(blocks[part, part]))
        same(joint.predict(K)[:, part], alone.predict(K), 1e-9)
