r"""A preconditioner of alpha I + V' (K (x) L) V for the L of a tree.

With K ~ R R' the function of a leaf c is R t_c, where t_c is the sum of one vector for
each node on its path; D is the diagonal of the second derivative. The equations of a
node involve no other node but its parent, through matrices with as many rows as R has
columns. They are eliminated from the leaves to the root and solved on the way back,
without any matrix for two nodes. With h_c = R' D_c^(1/2) r_c and G_c = R' D_c R at the
leaves,

.. math:: A_p = I + \frac{d_p}{\alpha} M_p, \qquad
          M_p = \sum_c A_c^{-1} M_c, \quad g_p = \sum_c A_c^{-1} g_c,
          \quad t_p = A_p^{-1} \left(t_{\text{above } p} + \frac{d_p}{\alpha} g_p\right)

over the children c of p, where M and g are G and h at a leaf.

The softmax loss does not see what all classes have in common: V is D^(1/2) times a
projection that takes it out of each row. D alone would count this common part. The root
therefore gets a variance that is as good as infinite, which changes nothing in the
equations, and takes the common part out of the functions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, namespace
from okl.operators import NystroemFactor
from okl.output_kernels import OutputKernel
from okl.trees import Levels

# The variance of the root that stands for infinity, relative to the largest.
FREE = 1e6
# The matrices of the nodes take no more than so many arrays of scores take.
_ARRAYS = 1


def tree_preconditioner(
    columns: NystroemFactor,
    curvature: Curvature,
    nodes: tuple[Levels, Array],
    alpha: float,
) -> Callable[[Array], Array]:
    """Return the approximate inverse as a map of arrays (n_samples, n_outputs).

    All outputs have the same columns R; the nodes are a tree and its variances.
    """
    levels, weights = nodes[0], curvature.diagonal
    n, m = weights.shape
    allowed = int(max((_ARRAYS * n * m / levels.n_nodes) ** 0.5, 1))
    sample = columns.factors[0][:, : min(allowed, columns.rank)]
    grams = weighted_grams(sample, weights)
    inverse = eliminated(grams, nodes, alpha, free=not curvature.separable)
    roots = namespace(weights).sqrt(weights)

    def apply(right: Array) -> Array:
        inside = inverse(sample.T @ (roots * right))
        return (right - roots * (sample @ inside)) / alpha

    return apply


def nodes_of(kernel: OutputKernel) -> tuple[Levels, Array]:
    """Return the tree of L, and the variances of its nodes.

    Classes that share nothing are side by side under a root without variance.
    """
    nodes = kernel.nodes if kernel.couples else None
    if nodes is not None:
        return nodes
    variances = kernel.diagonal()
    xp, m = namespace(variances), variances.shape[0]
    parents = np.concatenate([[-1], np.zeros(m, dtype=np.intp)])
    levels = Levels(parents, np.arange(1, m + 1))
    return levels, xp.concat([0 * variances[:1], variances])


def eliminated(
    grams: Array, nodes: tuple[Levels, Array], alpha: float, *, free: bool
) -> Callable[[Array], Array]:
    """Return the inverse of alpha L^-1 + diag(G_c) as a map of arrays (k, n_leaves).

    G of each leaf is a column (k^2,) of the grams. The root is free where the loss is
    blind to what all leaves share.
    """
    levels, variances = nodes
    xp, k = namespace(grams), round(grams.shape[0] ** 0.5)
    if free:
        large = FREE * float(xp.max(variances))
        variances = xp.concat([variances[:1] + large, variances[1:]])
    scales = [d / alpha for d in levels.by_depth(variances[None, :])]
    identity = xp.eye(k, dtype=grams.dtype)
    inverses: dict[int, Array] = {}

    def upward(depth: int, flat: Array) -> Array:
        """Return A^-1 M of the nodes of a depth, from M as columns (k^2, nodes)."""
        below = xp.reshape(flat.T, (-1, k, k))
        pivots = identity + scales[depth][0, :, None, None] * below
        inverses[depth] = xp.linalg.inv(pivots)
        return xp.reshape(inverses[depth] @ below, (-1, k * k)).T

    def solved(depth: int, right: Array) -> Array:
        """Return A^-1 times the column of each node of a depth (k, nodes)."""
        return (inverses[depth] @ right.T[:, :, None])[:, :, 0].T

    levels.sums(grams, upward)

    def apply(right: Array) -> Array:
        sums = levels.sums(right, solved)
        added = [d * g for d, g in zip(scales, sums, strict=True)]
        return levels.path_sums(added, solved)

    return apply


def weighted_grams(sample: Array, weights: Array) -> Array:
    """Return R' diag(w) R for each column w of the weights, as columns (k^2, m).

    With many columns w, one row of all the matrices is one product of matrices, and
    symmetry saves half of the work.
    """
    xp = namespace(weights)
    k, m = sample.shape[1], weights.shape[1]
    grams = xp.empty((k, k, m), dtype=weights.dtype)
    if m < k:
        for c in range(m):
            grams[:, :, c] = sample.T @ (sample * weights[:, c : c + 1])
        return xp.reshape(grams, (k * k, m))
    for a in range(k):
        row = (sample[:, a : a + 1] * sample[:, a:]).T @ weights
        grams[a, a:, :] = row
        grams[a:, a, :] = row
    return xp.reshape(grams, (k * k, m))
