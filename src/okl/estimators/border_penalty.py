r"""What the border of an extended output kernel costs, and its conjugate.

A new output gives L a further row and column, its border. With R(L) = mu tr(L) / 2 +
nu ||L||^2 / 2, a border (L b, v), v = b'L b + s, costs

.. math:: R(L_+) - R(L) = \nu \|L b\|^2 + \tfrac\mu2 v + \tfrac\nu2 v^2.

The lower bound of the problem of a new output holds, for dual variables c with the
forces g = F'c on the functions kept, with any t >= c'Kc / 2, t being the slope of the
cost in v (`okl.solvers.predictor.added_output`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class BorderPenalty(NamedTuple):
    """The penalty of one new output.

    Attributes
    ----------
    eigenvalues : array (q,)
        Those of L, > 0; loadings b are in its eigenvectors.
    mu, nu : float
        Not both zero.
    own_part : bool
        Whether s may be above zero.
    """

    eigenvalues: np.ndarray
    mu: float
    nu: float
    own_part: bool

    def value(self, loadings: np.ndarray, own_variance: float) -> float:
        """Return R(L+) - R(L), infinite where there may be no own part."""
        if own_variance > 0 and not self.own_part:
            return float("inf")
        border = self.eigenvalues * loadings
        v = float(border @ loadings) + own_variance
        return self.nu * float(border @ border) + self.mu / 2 * v + self.nu / 2 * v**2

    def slope(self, loadings: np.ndarray, own_variance: float) -> float:
        """Return t, the derivative of the cost by v."""
        v = float((self.eigenvalues * loadings) @ loadings) + own_variance
        return self.mu / 2 + self.nu * v

    def inverse(self, t: float) -> np.ndarray:
        """Return the diagonal of M = (2 t L + 2 nu L^2)^+ in the eigenvectors of L."""
        return 1 / (2 * self.eigenvalues * (t + self.nu * self.eigenvalues))

    def bound(
        self, linear: float, squares: float, forces: np.ndarray, within: float, t: float
    ) -> float:
        """Return the lower bound at c, divided by alpha; c is scaled where it must be.

        Parameters
        ----------
        linear, squares : float
            c'y, and alpha c'W^-1 c.
        forces : array (q,)
            g.
        within : float
            c'Kc.
        t : float
            A value near the best; c'Kc / 2 takes its place if that is larger.
        """
        within, scale = within if self.own_part else 0.0, 1.0
        if self.nu > 0:
            t = max(t, within / 2)
        elif within > 2 * t:
            scale = (2 * t / within) ** 0.5
        curved = squares + float(self.inverse(t) @ forces**2)
        value = scale * linear - scale**2 * curved / 2
        if self.nu > 0:
            value -= (t - self.mu / 2) ** 2 / (2 * self.nu)
        return value
