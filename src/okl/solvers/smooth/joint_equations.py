r"""The equations of a step in f and a factor of L at once.

The objective is that of `okl.solvers.smooth.joint_steps`. With a the negative gradient
of the loss, C = a / alpha and S = C'KC, the step (D, X) in (A, B) is

.. math:: D = C B - A + C X + E B, \qquad
          (I - S) X - E'P - C'K E B = C'P - B + C'K (C B - A),

E the solution of `okl.solvers.predictor.active_system` for -K (C B - A + C X) B' - P X'
on the right: a factorised system for all products of conjugate gradients.

While L may grow, I - S is replaced by its positive part, which makes the model convex.
Under an active bound on the rank it need not be: there mu alpha / 2 times the square of
the step is added (Levenberg and Marquardt), so that 1 + mu divides D and multiplies X.

Conjugate gradients in X have no preconditioner, but rotations of B are projected out.
Where the loss holds f, changes of B cost the sum of squares alone, which is the same
whatever the singular value. To precondition by the step in B of the alternation, with f
free, where changes cost the more the larger P is, took up to twice the solutions.
"""

from __future__ import annotations

from typing import NamedTuple

from okl.numerics.arrays import Array, eigh, namespace, symmetric
from okl.optimization.conjugate_gradient import conjugate_gradient
from okl.output_kernels import SpectralKernel
from okl.solvers.smooth.factor_steps import PRODUCTS, without_turns
from okl.solvers.smooth.rounds import PreparedRounds
from okl.solvers.smooth.scores import Scores


class JointPoint(NamedTuple):
    """The rows A, their image P = K A (n_samples, rank) and the factor B.

    With what follows from them; the intercept is the best one.
    """

    rows: Array
    factor: Array
    image: Array
    scores: Scores
    intercept: Array | None
    objective: float

    def is_better_than(self, other: JointPoint) -> bool:
        """Tell whether the objective is lower."""
        return self.objective < other.objective


def joint_step(
    prepared: PreparedRounds,
    here: JointPoint,
    alpha: float,
    *,
    damping: float,
    convex: bool,
    rtol: float,
) -> tuple[Array, Array]:
    """Return D and X, which solves its equations to a relative residual.

    ``damping`` is mu; if ``convex`` the positive part of I - S counts.
    """
    factor, predicted, damped = here.factor, here.image, 1 + damping
    dual = here.scores.gradient / alpha
    image = prepared.problem.operator @ dual
    values, vectors = eigh(symmetric(dual.T @ image))
    xp = namespace(values)
    slack = damped - values / damped
    if convex:
        slack = xp.clip(slack, 0.0, None)
    below = (vectors * slack) @ vectors.T
    kernel = SpectralKernel.from_factor(factor / damped**0.5)
    solve = prepared.answers(kernel, here.scores, alpha)
    off, off_image = dual @ factor - here.rows, image @ factor - predicted
    first = solve(-off_image @ factor.T / damped)

    def moved(change: Array) -> Array:
        # the part of E that is linear in X; the other one is ``first``
        right = (image @ change) @ factor.T / damped + predicted @ change.T
        return solve(-right)

    def turned(inside: Array) -> Array:
        return inside.T @ predicted + image.T @ (inside @ factor) / damped

    right = dual.T @ predicted - factor + image.T @ off / damped + turned(first)
    change = conjugate_gradient(
        lambda x: alpha * (below @ x - turned(moved(x))),
        alpha * right,
        lambda x: without_turns(x, factor),
        rtol=rtol,
        max_iter=PRODUCTS,
    )
    inside = first + moved(change)
    rows = (off + dual @ change + inside @ factor) / damped
    return rows, change
