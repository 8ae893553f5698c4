r"""Anderson acceleration: fixed-point steps that learn from the ones before.

Steps :math:`x_{k+1} = T(x_k)` may approach their fixed point by a few percent at a
time. Their residuals :math:`g_k = T(x_k) - x_k` tell how the residual changes with x.
The combination of the last changes that leaves least of it, by least squares, is taken
out of it at once:

.. math:: x_{k+1} = T(x_k) - (\Delta X + \Delta G)\, \gamma, \qquad
          \gamma = \arg\min_\gamma \|g_k - \Delta G\, \gamma\|

(Walker & Ni 2011, type II). For linear steps that is GMRES. Other steps may be led
astray by it: where the residual at such a point is larger than the one before it, the
plain step is taken after all, and what was learned is forgotten, as in the solver SCS
(O'Donoghue 2021, section 4).
"""

from __future__ import annotations

from okl.numerics.arrays import Array, add_to_diagonal, inner, namespace, solve_definite

# How many changes are combined, and in one of how many steps.
_CHANGES, _EVERY = 10, 10
# The part of the trace of the equations that is added to their diagonal.
_RIDGE = 1e-10
# How many times the residual before it that of a combined point may be.
_WORSE = 2.0


class Anderson:
    """The last steps towards a fixed point, and the next one from these."""

    def __init__(self) -> None:
        self._steps: list[tuple[Array, Array]] = []  # x and g
        self._n_steps = 0
        self._plain: Array | None = None  # T(x), where it was not taken
        self._largest = 0.0  # squared residual of a combined point that is kept

    def next(self, point: Array, image: Array) -> Array:
        """Return the next point, from T(x) at the current one."""
        residual = image - point
        size = inner(residual, residual)
        plain, self._plain = self._plain, None
        if plain is not None and size > self._largest:
            self._steps.clear()
            return plain
        self._steps = [*self._steps[-_CHANGES:], (point, residual)]
        self._n_steps += 1
        if self._n_steps % _EVERY or len(self._steps) == 1:
            return image
        self._plain, self._largest = image, _WORSE**2 * size
        return image - self._combination(residual)

    def _combination(self, residual: Array) -> Array:
        """Return (Delta X + Delta G) gamma."""
        xp = namespace(residual)
        points, residuals = (
            xp.stack([xp.reshape(step[part], (-1,)) for step in self._steps])
            for part in (0, 1)
        )
        of_points, of_residuals = (rows[1:] - rows[:-1] for rows in (points, residuals))
        gram = of_residuals @ of_residuals.T
        ridge = _RIDGE * float(xp.sum(xp.linalg.diagonal(gram)))
        if ridge == 0:  # no residual has changed
            return xp.zeros_like(residual)
        right = of_residuals @ xp.reshape(residual, (-1,))
        gamma = solve_definite(add_to_diagonal(gram, ridge), right)
        return xp.reshape(gamma @ (of_points + of_residuals), residual.shape)
