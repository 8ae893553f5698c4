r"""The inverse of the output kernel of a tree, in two passes over its nodes.

For the leaves below a node with variance d, L is the block diagonal matrix of its
children's blocks, plus d 11'. The Sherman-Morrison identity inverts such a sum. With M
the inverse of the block diagonal matrix, it takes two numbers: t = 1'M1, and a = x'M1
for a row x. Both are sums over the children. A pass from the leaves to the root finds t
and a of each node, and one from the root to the leaves what each node takes off the
row. In the pivots 1 + d t nothing is subtracted, which makes this as exact as a
product.
"""

from __future__ import annotations

import numpy as np

from okl.numerics.arrays import Array, namespace
from okl.trees import Levels


def resolvent(
    levels: Levels, variances: Array, rows: Array, scales: Array, shift: float
) -> Array:
    """Return each row times ``(shift I + scale L)^-1`` (n, n_leaves).

    Parameters
    ----------
    levels : Levels
        The tree.
    variances : array (n_nodes,)
        The variances of its nodes.
    rows : array (n, n_leaves)
    scales : array (n,) or (1,)
        One for each row, or for all, not negative.
    shift : float
        Not negative; zero for the inverse of L, with scales of one.
    """
    leaves, inner = _parted(levels, variances)
    scales = scales[:, None]
    own = shift + scales * leaves
    inner = [scales * d for d in inner]
    sums = levels.sums(1 / own, lambda depth, t: t / (1 + inner[depth] * t))
    damped = [1 / (1 + d * t) for d, t in zip(inner, sums, strict=True)]
    shares = levels.sums(rows / own, lambda depth, a: a * damped[depth])
    taken = [d * a for d, a in zip(inner, shares, strict=True)]
    above = levels.path_sums(taken, lambda depth, total: total * damped[depth])
    return (rows - above) / own


def bounds_eigenvalues(levels: Levels, variances: Array, value: float) -> bool:
    """Tell whether all eigenvalues of L are below a value.

    They are below where value I - L is positive definite: where its pivots are
    positive.
    """
    xp = namespace(variances)
    leaves, inner = _parted(levels, variances)
    pivots = [value - leaves]

    def passed(depth: int, sums: Array) -> Array:
        pivots.append(1 - inner[depth] * sums)
        return sums / xp.where(pivots[-1] > 0, pivots[-1], 1.0)

    if float(xp.min(pivots[0])) > 0:
        levels.sums(1 / pivots[0], passed)
    return all(float(xp.min(one)) > 0 for one in pivots)


def _parted(levels: Levels, variances: Array) -> tuple[Array, list[Array]]:
    """Return the variances of leaves (1, n_leaves), and those of inner nodes by depth.

    The latter have zeros at leaves.
    """
    xp = namespace(variances)
    is_inner = np.ones(levels.n_nodes)
    is_inner[levels.leaves] = 0
    inner = variances * xp.asarray(is_inner, dtype=variances.dtype)
    leaves = xp.take(variances, xp.asarray(levels.leaves))
    return leaves[None, :], levels.by_depth(inner[None, :])
