"""One line per structure, loss and solver: the contract suites run on these lists.

`tests/test_architecture.py` fails if an exported component is missing here. The
formulas that a structure is compared with are in `tests/reference.py`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from okl import ClassTree
from okl.losses import (
    Envelope,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Quantile,
    Softmax,
    Squared,
    SquaredHinge,
)
from okl.solvers import (
    AugmentedLagrangian,
    ClosedForm,
    FactoredNewton,
    Imputation,
    Majorization,
    NewtonCG,
    ObservedNewton,
    OutputKernelNewton,
    SemismoothNewton,
    Solver,
    TermNewton,
)
from okl.structures import (
    Cluster,
    Diagonal,
    Fixed,
    Frobenius,
    Graph,
    Identity,
    LowRank,
    Mean,
    Mixing,
    Scaled,
    Sparse,
    Structure,
    TraceBall,
    Tree,
    TreeTerm,
)
from tests.samples import psd


def ring(m):
    """Return the weights of a ring of m outputs, all different."""
    A = np.zeros((m, m))
    for i in range(m):
        A[i, (i + 1) % m] += 1 + 0.1 * i
    return (A + A.T) * (1 - np.eye(m))


def units(m):
    """Return what m outputs are multiplied by, all different."""
    return np.linspace(0.7, 1.6, m)


def comb(m, order=None):
    """Return the deepest tree of m classes: each inner node has one more below it."""
    order = range(m) if order is None else order
    inner = {f"n{i}": f"n{i - 1}" for i in range(1, m - 1)}
    leaves = {f"c{i}": f"n{min(depth, m - 2)}" for i, depth in enumerate(order)}
    return ClassTree.from_dict({**inner, **leaves})


def tree_term(m):
    """Return what the nodes of every other depth of a comb add to L."""
    tree = comb(m)
    return TreeTerm(tree, np.where(tree.depths % 2 == 1, 0.5 + tree.depths, 0.0))


def loadings(m):
    """Return what m outputs mix half as many functions by."""
    return np.random.default_rng(8).normal(size=(m, max(m // 2, 1)))


class StructureCase(NamedTuple):
    """A label, and what makes the structure for a number of outputs."""

    label: str
    make: Callable[[int], Structure]


STRUCTURES = [
    StructureCase("identity", lambda m: Identity()),
    StructureCase("fixed", lambda m: Fixed(psd(m, seed=5))),
    StructureCase(
        "fixed-singular", lambda m: Fixed(psd(m, seed=6, rank=max(m // 2, 1)))
    ),
    StructureCase("diagonal", lambda m: Diagonal(np.arange(m) + (m == 1))),
    StructureCase("mean", lambda m: Mean(gamma=2.5)),
    StructureCase("graph", lambda m: Graph(ring(m), gamma=0.5)),
    StructureCase(
        "tree", lambda m: Tree(comb(m), np.linspace(0.5, 2, max(m - 1, 1)), "level")
    ),
    StructureCase("tree-term", tree_term),
    StructureCase("mixing", lambda m: Mixing(max(m // 2, 1), loadings(m))),
    StructureCase("frobenius", lambda m: Frobenius()),
    StructureCase("low-rank", lambda m: LowRank()),
    StructureCase("low-rank-2", lambda m: LowRank(2)),
    StructureCase("trace-ball", lambda m: TraceBall()),
    StructureCase("trace-ball-eps", lambda m: TraceBall(eps=1e-2)),
    StructureCase("cluster", lambda m: Cluster(min(2, m))),
    StructureCase("cluster-wide", lambda m: Cluster(min(3, m), 50.0, 0.2, 2.0)),
    StructureCase("sparse", lambda m: Sparse(mu=0.3, eps=1e-2)),
    StructureCase("sparse-trace", lambda m: Sparse(mu=1.0)),
    StructureCase("scaled-identity", lambda m: Scaled(Identity(), units(m))),
    StructureCase("scaled-frobenius", lambda m: Scaled(Frobenius(), units(m))),
]

LOSSES: list[Loss] = [
    Squared(),
    Huber(0.8),
    Quantile(0.3),
    Logistic(),
    Softmax(),
    Hinge(),
    Envelope(Hinge(), 3.0, 0.1),
    SquaredHinge(),
]

SOLVERS: list[Solver] = [
    ClosedForm(),
    ClosedForm(factorize=True),
    FactoredNewton(),
    OutputKernelNewton(),
    Imputation(),
    NewtonCG(),
    TermNewton(),
    ObservedNewton(),
    SemismoothNewton(),
    AugmentedLagrangian(),
    Majorization(),
]
