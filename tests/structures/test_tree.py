"""The output kernel of a tree: against its matrix, against the identity, and errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from okl import ClassTree
from okl.output_kernels import TreeKernel
from okl.output_kernels.tree_product import TreeProduct
from okl.structures import Tree
from tests.covering import examples
from tests.instances import comb

# 4 leaves; levels 3, subtrees 2, nodes 7
TREE = ClassTree.from_paths(["a/x/p", "a/x/q", "a/y", "b/z"])


def random_kernel(seed, n_nodes):
    """Return the kernel of a random tree, with zeros above the leaves."""
    rng = np.random.default_rng(seed)
    parents = np.array([-1, *(rng.integers(0, i) for i in range(1, n_nodes))])
    tree = ClassTree.from_parents(parents)
    variances = rng.uniform(0, 2, n_nodes) * (rng.uniform(size=n_nodes) < 0.7)
    variances[tree.leaves] = rng.uniform(0.1, 2, tree.n_classes)
    return TreeKernel(tree.levels, variances)


@examples(25)
@given(seed=st.integers(0, 2**31), n_nodes=st.integers(2, 40))
def test_products_are_those_with_the_matrix(seed, n_nodes):
    kernel = random_kernel(seed, n_nodes)
    rng = np.random.default_rng(seed)
    phi = kernel.levels.along(np.eye(n_nodes)).T
    L, m = (phi * kernel.variances) @ phi.T, kernel.n_outputs
    rows, scales = rng.normal(size=(3, m)), rng.uniform(0.1, 3, size=3)
    assert_allclose(kernel.matrix(), L, atol=1e-13)
    assert_array_equal(kernel.matrix(), kernel.matrix().T)
    assert_allclose(kernel.multiply(rows), rows @ L, atol=1e-12)
    assert_allclose(kernel.adjoint(rows), rows @ kernel.factor(), atol=1e-12)
    assert_allclose(kernel.forward(kernel.adjoint(rows)), rows @ L, atol=1e-12)
    assert_allclose(kernel.rows([0, m - 1]), L[[0, -1]], atol=1e-13)
    assert_allclose(kernel.diagonal(), np.diag(L), atol=1e-13)
    assert kernel.factor().shape == (m, kernel.rank)
    assert kernel.couples == bool(np.any(L - np.diag(np.diag(L))))
    assert_allclose(kernel.spectral().matrix(), L, atol=1e-12)
    largest = np.linalg.eigvalsh(L)[-1]
    assert largest * (1 - 1e-12) <= kernel.largest_eigenvalue <= largest * (1 + 2e-6)
    found = kernel.resolvent(rows, scales, 0.3)
    for row, scale, one in zip(rows, scales, found, strict=True):
        assert_allclose(one @ (0.3 * np.eye(m) + scale * L), row, atol=1e-11)
    inverse = kernel.resolvent(rows, np.ones(1), 0.0)
    assert_allclose(inverse @ L, rows, atol=1e-10)


def test_products_of_few_rows_at_a_time_are_passes_over_the_nodes(monkeypatch):
    # of a deep tree as well, where nodes are on too many paths to write them all out
    monkeypatch.setattr("okl.output_kernels.tree_product._AT_ONCE", 50)
    rng, deep = np.random.default_rng(0), comb(60)
    deep_kernel = TreeKernel(deep.levels, rng.uniform(0, 2, deep.n_nodes))
    kernels = random_kernel(0, 30), deep_kernel
    for kernel in kernels:
        rows = rng.normal(size=(7, kernel.n_outputs))
        passes = kernel.levels.along(kernel.levels.below(rows) * kernel.variances)
        assert_allclose(kernel.multiply(rows), passes, atol=1e-10)
    factors = [TreeProduct.of(one.levels, one.variances) for one in kernels]
    assert [one is None for one in factors] == [False, True]


def test_a_large_tree_forms_no_matrix(free_memory):
    kernel = TreeKernel(ClassTree.from_parents([-1] + [0] * 3).levels, np.ones(4))
    free_memory(100)
    for form in (kernel.matrix, kernel.factor, kernel.spectral):
        with pytest.raises(
            MemoryError, match=r"3 outputs.*Use solvers that work by products"
        ):
            form()
    assert_allclose(kernel.multiply(np.eye(3)[:1]), [[2, 1, 1]])


@pytest.mark.parametrize("tie", ["level", "subtree", "node", "shared"])
def test_a_tree_of_depth_one_is_the_identity(tie):
    flat = ClassTree.from_dict(dict.fromkeys("cab", "all"))
    structure = Tree(flat, tie)
    structure.validate(3)
    assert_array_equal(structure.matrix(3), np.eye(3))
    assert not structure.known(np.zeros((1, 3))).couples


@pytest.mark.parametrize(
    ("tie", "values"),
    [
        ("level", [2.0, 0.5, 3.0]),
        ("subtree", [0.5, 3.0]),
        ("node", [2.0, 0.5, 3.0, 1.5, 0.3, 1.1, 0.7]),
        ("shared", [1.7]),
    ],
)
def test_tied_variances(tie, values):
    start = Tree(TREE, tie)
    (one,) = start.hyperparameters(4)
    assert_array_equal(one.value, np.ones(len(values)))
    structure = Tree(TREE, np.array(values))
    structure.validate(4)
    nodes = [str(name) for name in TREE.names[1:]]
    assert nodes == ["a", "b", "a/x", "a/y", "b/z", "a/x/p", "a/x/q"]
    of = {
        "level": lambda i: values[nodes[i].count("/")],
        "subtree": lambda i: values["ab".index(nodes[i][0])],
        "node": lambda i: values[i],
        "shared": lambda i: values[0],
    }[tie]
    phi = TREE.along(np.eye(TREE.n_nodes)).T[:, 1:]
    expected = (phi * [of(i) for i in range(7)]) @ phi.T
    assert_allclose(structure.matrix(4), expected, atol=1e-14)
    # derivatives by the logarithms, by differences
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(4, 4))
    weights, step = weights + weights.T, 1e-6
    slopes = structure.gradient(weights)["variances"]
    for i, slope in enumerate(slopes):
        moved = np.array(values) * np.exp(step * (np.arange(len(values)) == i))
        change = Tree(TREE, moved).matrix(4) - structure.matrix(4)
        assert_allclose(slope, np.vdot(weights, change) / step, rtol=1e-4, atol=1e-8)
    left, right = rng.normal(size=(2, 6, 4))
    formed = structure.gradient((left.T @ right + right.T @ left) / 2)["variances"]
    assert_allclose(structure.gradient(left, right)["variances"], formed, atol=1e-12)


def test_leaves_alone_are_the_identity():
    structure = Tree(TREE, "leaves")
    structure.validate(4)
    assert_array_equal(structure.matrix(4), np.eye(4))
    assert not structure.known(np.zeros((1, 4))).couples
    assert structure.hyperparameters(4) == []
    assert_array_equal(Tree(TREE, "leaves", root=2.0).matrix(4), np.eye(4) + 2)


def test_the_root_is_what_all_outputs_share():
    structure = Tree(TREE, "level", root=2.0)
    structure.validate(4)
    assert_allclose(structure.matrix(4), Tree(TREE, "level").matrix(4) + 2)


@pytest.mark.parametrize(
    ("make", "n_outputs", "text"),
    [
        (lambda: Tree(TREE), 3, "4 leaves, and the number of outputs is 3"),
        (lambda: Tree(TREE, "depth"), 4, "'level', 'subtree', .*or an array; got"),
        (lambda: Tree(TREE, [1.0, 2.0], tied="levels"), 4, "tied must be one of"),
        (lambda: Tree(TREE, np.ones(5)), 4, "3 for 'level', 2 for 'subtree', 7 for"),
        (lambda: Tree(TREE, [1.0, -1.0, 1.0]), 4, "that of 'a/x' is -1"),
        (lambda: Tree(TREE, [1.0, np.nan, 1.0]), 4, "that of 'a/x' is nan"),
        (lambda: Tree(TREE, [1.0, 0.0, 1.0]), 4, "leaf 'a/y' is zero"),
        (lambda: Tree(TREE, root=-1.0), 4, "root"),
    ],
)
def test_bad_variances_are_named(make, n_outputs, text):
    with pytest.raises(ValueError, match=text):
        make().validate(n_outputs)


def test_a_tree_is_needed():
    with pytest.raises(TypeError, match=r"must be an okl.ClassTree"):
        Tree([-1, 0, 0]).validate(2)


def test_variances_are_numbers():
    tree = ClassTree.from_paths(["a", "b"])
    said = r"variances must be one of 'level'.* array of numbers; got \{1: 2.0\}"
    with pytest.raises(TypeError, match=said):
        Tree(tree, {1: 2.0}).validate(2)


def test_an_array_is_for_the_first_that_it_fits():
    tree = comb(3)  # two levels, two subtrees
    level = Tree(tree, [1.0, 2.0])
    assert_array_equal(level.matrix(3), Tree(tree, [1.0, 2.0], tied="level").matrix(3))
    subtree = Tree(tree, [1.0, 2.0], tied="subtree")
    assert np.any(subtree.matrix(3) != level.matrix(3))
    assert_array_equal(subtree.hyperparameters(3)[0].value, [1, 2])
    with pytest.raises(ValueError, match=r"pass .*np.ones\(2\) with tied='sub"):
        Tree(tree, "subtree").hyperparameters(3)
