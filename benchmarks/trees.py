"""Classes in a tree: products with L, and fits of the sizes of a patent collection.

The documents are those of `okl.datasets.make_text_tree`, of the size of section D in
Seeger (2006), where the paper took 118.5 seconds. The variances of the tree sum to one
on each path, so that every class has the same prior as in the flat model. The size of
section B, where the paper took 8657 seconds, takes minutes: set ``OKL_SLOW`` to time
it.
"""

from __future__ import annotations

import os
import resource
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.measure import Row, alternately
from okl import ClassTree, OutputKernelClassifier
from okl.datasets import make_text_tree
from okl.output_kernels import TreeKernel
from okl.structures import Tree

N_CLASSES, N_ROWS, FANOUT = 20000, 200, 7
TOL, ALPHA = 1e-3, 0.1
OPTIONS: dict[str, Any] = {
    "alpha": ALPHA,
    "loss": "softmax",
    "tol": TOL,
    "fit_intercept": False,
}
SECTION_B = 9794, (34, 113, 1172)


def run() -> list[Row]:
    return [*products(), *fits(), *many_classes()]


def products() -> list[Row]:
    rng = np.random.default_rng(0)
    sizes = [1, *(FANOUT**i for i in range(1, 5)), N_CLASSES]
    starts = np.cumsum([0, *sizes])
    parents = [np.array([-1])]
    for above, (start, size) in enumerate(zip(starts, sizes[1:], strict=False)):
        stop = starts[above + 1]
        all_of_them = np.arange(start, stop)
        more = rng.integers(start, stop, size=size - len(all_of_them))
        parents.append(np.concatenate([all_of_them, more]))
    together = np.concatenate(parents)
    names = [f"node {i}" for i in rng.permutation(len(together))]
    tree = ClassTree.from_parents(together, names)
    kernel = TreeKernel(tree.levels, rng.uniform(0.5, 1, size=tree.n_nodes))
    rows = rng.normal(size=(N_ROWS, N_CLASSES))
    multiply, copy = alternately(5, partial(kernel.multiply, rows), rows.copy)
    work = f"a product with L, {N_CLASSES} classes in a tree of depth {tree.depth}"
    return [Row(work, multiply, 10 * copy, "ten copies of the scores", 1)]


def fits() -> list[Row]:
    X, y, tree = make_text_tree(random_state=0)
    in_tree = OutputKernelClassifier("linear", shared(tree), **OPTIONS)
    flat = OutputKernelClassifier("linear", "identity", **OPTIONS)
    theirs = LogisticRegression(C=1 / ALPHA, fit_intercept=False, max_iter=1000)
    ours, alone, sklearn = alternately(
        3, *(partial(model.fit, X, y) for model in (in_tree, flat, theirs))
    )
    assert in_tree.certificate_.relative_gap <= TOL
    work = f"softmax, {X.shape[0]} documents, {tree.n_classes} classes in a tree"
    return [
        Row(f"{work}, gap {TOL:g}", ours, 1.0, "one second", 1),
        Row(f"{work}, gap {TOL:g}", ours, alone, "the flat model", 1 / 1.5),
        Row(f"{work}, flat", alone, sklearn, "LogisticRegression", 1),
    ]


def many_classes() -> list[Row]:
    """Fit a thousand classes, and return the peak of the process's memory as well."""
    if not os.environ.get("OKL_SLOW"):
        return []
    X, y, tree = make_text_tree(*SECTION_B, random_state=0)
    model = OutputKernelClassifier("linear", shared(tree), **OPTIONS)
    (seconds,) = alternately(1, partial(model.fit, X, y))
    assert model.certificate_.relative_gap <= TOL
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    work = f"softmax, {X.shape[0]} documents, {tree.n_classes} classes in a tree"
    return [
        Row(f"{work}, gap {TOL:g}", seconds, 300.0, "300 seconds", 1),
        Row(f"{work}, the peak of the process", peak, 4, "4 GiB", 1, unit="GiB"),
    ]


def shared(tree: ClassTree) -> Tree:
    """Return the structure whose variances sum to one on each path."""
    return Tree(tree, np.full(tree.depth, 1 / tree.depth))
