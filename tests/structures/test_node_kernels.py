"""Which node of a tree has which kernel, and what its nodes add to L."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from okl import ClassTree
from okl.output_kernels import TreeKernel
from okl.structures import Tree, TreeTerm
from okl.structures.node_kernels import NodeKernels
from tests.covering import examples

TREE = ClassTree.from_paths(["a/x/p", "a/x/q", "a/y", "b/z"])


def kernels_of(kernels, tree=TREE):
    """Return the kernel of each node by its name."""
    found = NodeKernels.of(tree, kernels)
    of_nodes = [found.kernels[i] for i in found.of_nodes]
    return dict(zip(tree.names.tolist(), of_nodes, strict=True))


def test_a_kernel_holds_below_until_another_is_given():
    found = kernels_of({1: "one", "a/x": "two", "p": None})
    two, none = ["a/x", "a/x/q"], ["/", "a/x/p"]
    for name, kernel in found.items():
        assert kernel == ("two" if name in two else None if name in none else "one")
    # a leaf above a level is not of it
    assert kernels_of({3: "deep"})["a/y"] is None
    assert set(kernels_of({0: "all"}).values()) == {"all"}


def test_a_name_counts_more_than_a_level():
    for given_as in ({1: "one", "b": "b"}, {"b": "b", 1: "one"}):
        found = kernels_of(given_as)
        assert (found["a/y"], found["b/z"]) == ("one", "b")


def test_integers_are_nodes_where_they_are_names():
    tree = ClassTree.from_parents([-1, 0, 0, 1, 1])
    assert kernels_of({1: "one"}, tree) == {
        0: None,
        1: "one",
        2: None,
        3: "one",
        4: "one",
    }


def test_the_parts_add_up_to_the_tree():
    tree = Tree(TREE, [2.0, 0.5, 3.0], tied="level", root=1.5)
    parted = clone(tree).set_params(kernels={"a": "u", "a/x": "v", 3: "w", "z": "u"})
    terms = parted.by_kernel()
    assert [term.kernel for term in terms] == [None, "u", "v", "w"]
    matrices = [term.structure.matrix(4) for term in terms]
    assert_allclose(sum(matrices), tree.matrix(4), atol=1e-14)
    # by hand: u is that of a, a/y and b/z, v of a/x
    u = np.zeros((4, 4))
    u[:3, :3] = 2
    u[2, 2] += 0.5
    u[3, 3] = 0.5
    assert_allclose(matrices[1], u, atol=1e-14)
    v = np.zeros((4, 4))
    v[:2, :2] = 0.5
    assert_allclose(matrices[2], v, atol=1e-14)
    (alone,) = tree.by_kernel()
    assert alone.structure is tree
    assert alone.kernel is None


def test_terms_know_the_order_of_outputs():
    names = np.array(["z", "q", "p", "y"])
    (_, term) = Tree(TREE, kernels={"a": "u"}).by_kernel()
    moved = term.structure.for_outputs(names)
    order = TREE.class_numbers(names)
    expected = term.structure.matrix(4)[np.ix_(order, order)]
    assert_array_equal(moved.matrix(4), expected)
    whole = Tree(TREE, kernels={"a": "u"}).for_outputs(names)
    assert whole.kernels == {"a": "u"}


@examples(25)
@given(seed=st.integers(0, 2**31), n_nodes=st.integers(2, 30))
def test_a_singular_kernel_has_the_pseudoinverse_of_its_matrix(seed, n_nodes):
    rng = np.random.default_rng(seed)
    parents = np.array([-1, *(rng.integers(0, i) for i in range(1, n_nodes))])
    tree = ClassTree.from_parents(parents)
    variances = rng.uniform(0.3, 2, n_nodes) * (rng.uniform(size=n_nodes) < 0.5)
    kernel, m = TreeKernel(tree.levels, variances), tree.n_classes
    L = kernel.matrix()
    C, D = rng.normal(size=(2, 3, m))
    inverse = np.linalg.pinv(L, rtol=1e-10, hermitian=True)
    found = kernel.quotient(C @ L, D @ L)
    assert_allclose(found, np.vdot(C @ L @ inverse, D @ L), atol=1e-8)
    kept = kernel.solve(C @ L, D)
    assert_allclose(kept, C @ L @ inverse + D - D @ L @ inverse, atol=1e-8)


@pytest.mark.parametrize(
    ("kernels", "error", "text"),
    [
        ({"c": "u"}, ValueError, r"names the node 'c'\. .*'c' is not in the tree"),
        ({4: "u"}, ValueError, "names the level 4; the levels .* are 0 .* to 3"),
        ({-1: "u"}, ValueError, "names the level -1"),
        ({"x": "u", "a/x": "v"}, ValueError, "one node as 'x' and as 'a/x'"),
        ({("a", "b"): "u"}, TypeError, "must be names of nodes or levels; got"),
        ({True: "u"}, TypeError, "must be names of nodes or levels; got True"),
        (["u"], TypeError, r"a mapping .*\{1: 'linear'\}; got \['u'\]"),
        ({0: "u", 1: "v"}, ValueError, r"kernels\[0\] of Tree has no effect"),
        ({1: "u", "a": "v", "b": "w"}, ValueError, r"kernels\[1\] of Tree has no ef"),
    ],
)
def test_bad_kernels_are_named(kernels, error, text):
    with pytest.raises(error, match=text):
        Tree(TREE, kernels=kernels).by_kernel()


def test_own_names_of_several_nodes_are_refused():
    tree = ClassTree.from_paths(["a/x", "b/x"])
    with pytest.raises(ValueError, match="'x' stands for 2 nodes"):
        Tree(tree, kernels={"x": "u"}).by_kernel()


def test_variances_are_checked_with_kernels_too():
    with pytest.raises(ValueError, match="leaf 'a/y' is zero"):
        Tree(TREE, [1.0, 0.0, 1.0], kernels={1: "u"}).by_kernel()
    with pytest.raises(ValueError, match=r"for each of the 8 nodes .* shape \(3,\)"):
        TreeTerm(TREE, np.ones(3)).validate(4)


def test_where_there_is_one_kernel_for_all_nodes_others_are_refused():
    with pytest.raises(ValueError, match=r"kernels\[1\] of Tree is a kernel of its"):
        Tree(TREE, kernels={1: "u"}).validate(4)
    Tree(TREE, kernels={1: None}).validate(4)
    Tree(TREE, kernels={}).validate(4)
