r"""What the observed targets of a new row tell about its others.

The targets of a row are normal with mean mu and covariance T = S + N, S that of f + b
and N that of the noise. Given those with numbers o the others, u, have

.. math:: \mu_u + T_{uo} T_{oo}^{-1} (y_o - \mu_o), \qquad
          T_{uu} - T_{uo} T_{oo}^{-1} T_{ou}.

N_uu - N_uo N_oo^-1 N_ou of this covariance is noise that no target of the row tells of.
Rows with one pattern of what is observed are taken together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# What is added to the diagonal of correlations, as outputs may repeat each other.
_JITTER = 1e-10


@dataclass(frozen=True)
class ConditionedRows:
    """Rows given a part of their targets.

    Attributes
    ----------
    mean : array (n, m)
        What was observed is as it was given.
    covariance : array (n, m, m)
        Zero for what was observed.
    """

    mean: np.ndarray
    covariance: np.ndarray

    @classmethod
    def of(
        cls,
        mean: np.ndarray,
        signal: np.ndarray,
        noise: np.ndarray,
        given: np.ndarray,
        *,
        include_noise: bool = True,
    ) -> ConditionedRows:
        """Condition rows.

        Parameters
        ----------
        mean : array (n, m)
            mu.
        signal : array (n, m, m)
            S; used as memory for the result.
        noise : array (m, m)
            N.
        given : array (n, m)
            The targets, NaN where they were not observed.
        include_noise : bool
            Whether the covariance has the noise that nothing tells of.
        """
        observed = ~np.isnan(given)
        filled = np.where(observed, given, mean)
        patterns, which = np.unique(observed, axis=0, return_inverse=True)
        which = which.ravel()
        order = np.argsort(which, kind="stable")
        ends = np.cumsum(np.bincount(which, minlength=len(patterns)))
        for pattern, rows in zip(patterns, np.split(order, ends[:-1]), strict=True):
            o, u = np.flatnonzero(pattern), np.flatnonzero(~pattern)
            total = signal[rows]
            total += noise
            rest = total[:, u[:, None], u]
            if len(o):
                inside = total[:, o[:, None], o]
                gain = _solve(inside, total[:, o[:, None], u])
                moved = given[rows[:, None], o] - mean[rows[:, None], o]
                filled[rows[:, None], u] += np.einsum("iou,io->iu", gain, moved)
                rest = rest - total[:, u[:, None], o] @ gain
            if not include_noise:
                rest = rest - conditional_noise(noise, o, u)
            signal[rows] = 0.0
            signal[rows[:, None, None], u[:, None], u] = rest
        diagonal = np.einsum("ijj->ij", signal)
        np.clip(diagonal, 0.0, None, out=diagonal)
        return cls(filled, signal)


def conditional_noise(noise: np.ndarray, o: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return N_uu - N_uo N_oo^-1 N_ou."""
    own, shared = noise[np.ix_(u, u)], noise[np.ix_(o, u)]
    if len(o) == 0:
        return own
    return own - shared.T @ _solve(noise[np.ix_(o, o)], shared)


def _solve(matrices: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve with covariances, of which variances may be zero: these tell nothing."""
    variances = np.diagonal(matrices, axis1=-2, axis2=-1)
    roots = np.where(
        variances > 0, 1 / np.sqrt(np.where(variances > 0, variances, 1)), 0
    )
    scaled = roots[..., :, None] * matrices * roots[..., None, :]
    index = np.arange(variances.shape[-1])
    scaled[..., index, index] = 1.0 + _JITTER
    return roots[..., :, None] * np.linalg.solve(scaled, roots[..., :, None] * right)
