r"""Anderson acceleration: fixed-point steps that learn from the ones before.

Steps :math:`x_{k+1} = T(x_k)` may approach their fixed point by a few percent at a
time. Their residuals :math:`g_k = T(x_k) - x_k` tell how the residual changes with x.
The combination of the last changes that leaves least of it, by least squares, is taken
out of it at once:

.. math:: x_{k+1} = T(x_k) - (\Delta X + \Delta G)\, \gamma, \qquad
          \gamma = \arg\min_\gamma \|g_k - \Delta G\, \gamma\|

(Walker & Ni 2011, type II). For linear steps that is GMRES. Other steps may be led
astray by it: where the residual at such a point is more than twice as large as the one
before it, the plain step is taken after all, and what was learned is forgotten, much as
in the solver SCS (O'Donoghue 2021, section 4).
"""

from __future__ import annotations

from typing import Generic, TypeVar

from okl.numerics.arrays import (
    Array,
    add_to_diagonal,
    epsilon,
    inner,
    namespace,
    solve_definite,
)

# How many changes are combined, and in one of how many steps.
_CHANGES, _EVERY = 10, 10
# What is added to the diagonal of the equations, as a part of their trace: the first
# number, or as many roundings as the second.
_RIDGE, _ROUNDINGS = 1e-10, 10.0
# How many times the residual before it that of a combined point may be.
_WORSE = 2.0

State = TypeVar("State")


class Anderson(Generic[State]):
    """The last steps towards a fixed point, and the next one from these.

    Steps may leave something else beside T(x), their state, which the next one begins
    with. It is that of T(x), wherever the next point is.
    """

    def __init__(self) -> None:
        self._steps: list[tuple[Array, Array]] = []  # x and g
        self._n_steps = 0
        self._plain: tuple[Array, State] | None = None  # T(x), where it was not taken
        self._largest = 0.0  # squared residual of a combined point that is kept

    def next(self, point: Array, image: Array, state: State) -> tuple[Array, State]:
        """Return the next point, from T(x) at the current one, and its state."""
        residual = image - point
        size = inner(residual, residual)
        plain, self._plain = self._plain, None
        if plain is not None and not size <= self._largest:  # or is no number
            self._steps.clear()
            return plain
        self._steps = [*self._steps[-_CHANGES:], (point, residual)]
        self._n_steps += 1
        if self._n_steps % _EVERY or len(self._steps) == 1:
            return image, state
        combination = self._combination(residual)
        if combination is None:
            return image, state
        self._plain, self._largest = (image, state), _WORSE**2 * size
        return image - combination, state

    def _combination(self, residual: Array) -> Array | None:
        """Return (Delta X + Delta G) gamma, None where rounding hides gamma."""
        xp = namespace(residual)
        points, residuals = (
            xp.stack([xp.reshape(step[part], (-1,)) for step in self._steps])
            for part in (0, 1)
        )
        of_points, of_residuals = (
            rows[1:, :] - rows[:-1, :] for rows in (points, residuals)
        )
        gram = of_residuals @ of_residuals.T
        trace = float(xp.sum(xp.linalg.diagonal(gram)))
        ridge = max(_RIDGE, _ROUNDINGS * epsilon(gram)) * trace
        if not 0 < ridge < float("inf"):  # no residual has changed, or all too much
            return None
        right = of_residuals @ xp.reshape(residual, (-1,))
        gamma = solve_definite(add_to_diagonal(gram, ridge), right)
        return xp.reshape(gamma @ (of_points + of_residuals), residual.shape)
