"""Structures: what is known or assumed about the output kernel L.

============= ============= =============================== ====================
class         name          penalty R(L)                    meaning
============= ============= =============================== ====================
`Identity`    "identity"    L = I                           independent outputs
`Fixed`                     L given                         known covariance
`Diagonal`                  L diagonal, given               known variances
`Mean`        "mean"        L^-1 = I + gamma (I - 11'/m)    near their average
`Graph`                     L = (Laplacian + gamma I)^-1    a graph of outputs
`Tree`                      L = Phi_L D Phi_L'              leaves of a tree
`TreeTerm`                  L = Phi_q D_q Phi_q'            some nodes of a tree
`Mixing`                    L = BB', B (m, rank)            few factors, given
`Frobenius`   "frobenius"   ||L||_F^2 / 2                   full rank, learned
`LowRank`     "low_rank"    tr(L) / 2, rank L <= rank       few factors, learned
`TraceBall`   "trace_ball"  tr L <= 1, eps tr L^-1 / 2      MTRL, MTFL
`Cluster`     "cluster"     bounds on its eigenvalues       unknown clusters
`Sparse`      "sparse"      trace and absolute entries      few related pairs
`Scaled`                    R(D^-1 L D^-1), D diagonal      outputs in other units
============= ============= =============================== ====================
"""

from okl.parameters.component import from_name, names_of
from okl.structures.base import Structure as Structure
from okl.structures.cluster import Cluster as Cluster
from okl.structures.diagonal import Diagonal as Diagonal
from okl.structures.fixed import Fixed as Fixed
from okl.structures.frobenius import Frobenius as Frobenius
from okl.structures.graph import Graph as Graph
from okl.structures.identity import Identity as Identity
from okl.structures.low_rank import LowRank as LowRank
from okl.structures.mean import Mean as Mean
from okl.structures.mixing import Mixing as Mixing
from okl.structures.scaled import Scaled as Scaled
from okl.structures.sparse import Sparse as Sparse
from okl.structures.trace_ball import TraceBall as TraceBall
from okl.structures.tree import Tree as Tree
from okl.structures.tree_term import TreeTerm as TreeTerm

STRUCTURES = names_of(globals(), Structure)  # type: ignore[type-abstract]


def as_structure(spec: str | Structure) -> Structure:
    """Turn a name into its default structure; pass a `Structure` through."""
    return from_name(spec, STRUCTURES, Structure)  # type: ignore[type-abstract]
