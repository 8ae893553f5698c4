"""Which preconditioner a Newton step has, and how many columns of K are in it.

The choice depends on what couples the outputs, and on what each form costs:

- ``"joint"``: one small matrix for all outputs
  (`okl.solvers.predictor.low_rank_preconditioner`), unless it takes longer than the
  products it saves.
- ``"entries"``: the matrix of the entries where the loss has curvature, if that is no
  larger than the small one, or takes no longer than the products it saves
  (`okl.solvers.predictor.entries_preconditioner`).
- ``"separate"``: a small matrix for each output, where nothing couples them; also where
  each has a kernel of its own and the loss couples them, which is then replaced by its
  diagonal.
- ``"apart"``: a large one for each, where little couples them
  (`okl.solvers.predictor.apart_preconditioner`).
- ``"tree"``: the nodes of a tree, eliminated one by one
  (`okl.solvers.predictor.tree_preconditioner`). That is exact but for the softmax loss,
  whose coupling it does not know. Classes that nothing but the softmax loss couples are
  eliminated so as well, side by side below a root.
- ``"sum"``: several kernels (`okl.solvers.predictor.term_preconditioner`).
- ``"nothing"``: no preconditioner, where L is not that of a tree and has too many
  directions. To replace the weights of a row by their mean would be worse.
"""

from __future__ import annotations

from typing import NamedTuple

from okl.losses.base import Curvature
from okl.operators import JointOperator, JointSum, Kronecker
from okl.solvers.predictor.apart_preconditioner import MOST_ENTRIES, apart_cost
from okl.solvers.predictor.entries_preconditioner import n_entries
from okl.solvers.predictor.term_preconditioner import n_directions

# The work of the small matrix may be that of so many products with K, which as
# products of large matrices are much faster; fewer columns than this are too few.
_PRODUCTS, _FEWEST = 12, 10
# The work of the small matrices of a tree's leaves, in the same unit.
_OF_A_TREE = 2
# Small matrices up to this size cost less than the steps that they save.
_SMALL = 500
# Arrays of the size of the matrix of the entries that there are while it is made.
_COPIES = 3


class Form(NamedTuple):
    """The form of the approximate inverse."""

    name: str  # one of those above
    rank: int  # the columns of K that are used
    cost: float  # what it takes to make, in products with J


_NOTHING = Form("nothing", 0, 0.0)


def form_of(
    joint: JointOperator, rank: int, curvature: Curvature, alpha: float
) -> Form:
    """Return the form that is chosen, given the most columns of K that it may use."""
    apart = apart_cost(joint, curvature, alpha)
    if apart is not None:
        return Form("apart", rank, apart)
    if isinstance(joint, JointSum):
        return _form_of_sum(joint, rank, curvature)
    n, kernel = curvature.diagonal.shape[0], joint.output_kernel
    # a product costs two multiplications for each row and feature: so many features
    # bound the rank
    work = max(joint.work / n, 1.0)
    by_loss = not curvature.separable
    nodes = kernel.nodes if kernel.couples else None
    if by_loss or (kernel.couples and nodes is None):
        form = _form_of_all(joint, rank, curvature)
        # else the nodes of a tree are cheaper
        if form is not None and (nodes is None or form.cost <= _PRODUCTS):
            return form
    if nodes is not None or (not kernel.couples and by_loss and joint.shared):
        some = min(rank, int(max((_OF_A_TREE * work) ** 0.5, _FEWEST)))
        return Form("tree", some, some**2 / (2 * work))
    if kernel.couples:
        return _NOTHING
    return Form("separate", rank, min(rank, work / 2) ** 2 / work)


def _form_of_all(joint: JointOperator, rank: int, curvature: Curvature) -> Form | None:
    """Return the form of one matrix for all outputs, None where it is too large."""
    (n, m), work = curvature.diagonal.shape, joint.work
    n_directions = max(min(joint.output_kernel.rank, m), 1)
    some = min(rank, _affordable(work, n, n_directions))
    size = some * n_directions if some >= min(_FEWEST, rank) else 0
    if curvature.separable and isinstance(joint, Kronecker):
        seen = n_entries(curvature)
        cost = seen**3 / (3 * m * work)
        fits = _COPIES * seen**2 <= min(MOST_ENTRIES, joint.workspace * n**2)
        if fits and (seen <= size or cost <= _PRODUCTS):
            return Form("entries", some, cost)
    if not size:
        return None
    return Form("joint", some, (n * size**2 / 2 + size**3 / 3) / (m * work))


def _form_of_sum(joint: JointSum, rank: int, curvature: Curvature) -> Form:
    """Return how many columns of each kernel make a matrix for all outputs."""
    (n, m), directions = curvature.diagonal.shape, n_directions(joint)
    some = min(rank, _affordable(joint.work, n, directions))
    if some < min(_FEWEST, rank):
        return _NOTHING
    sample, size = some * len(joint.operator.terms), some * directions
    forming = n * m * sample**2 / 2 + m * size**2
    if not curvature.separable:
        forming += n * size**2 / 2
    return Form("sum", some, (forming + size**3 / 3) / (m * joint.work))


def _affordable(work: float, n_samples: int, n_directions: int) -> int:
    """Return for how many columns the small matrix costs no more than it may."""
    allowed = _PRODUCTS * work
    forming = (2 * allowed / (n_samples * n_directions)) ** 0.5
    factoring = (allowed / n_directions**2) ** (1 / 3)
    return int(max(min(forming, factoring), _SMALL / n_directions))
