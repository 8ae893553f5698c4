"""An output kernel of few factors, whose loadings are learned as hyperparameters."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from okl.numerics.arrays import Array, namespace
from okl.output_kernels import SpectralKernel
from okl.parameters.hyperparameter import Hyperparameter
from okl.parameters.priors import Normal
from okl.parameters.scales import LinearScale
from okl.structures.given import Given

# Entries of B stay below this, or twice the largest given one: rows of the start have
# norm one, and how large all are is what alpha says.
_MOST = 10.0


class Mixing(Given):
    r"""Outputs mix a few independent functions, by weights that can be learned.

    .. math:: f_t = \sum_{q=1}^{\text{rank}} B_{tq} g_q, \qquad L = B B',

    with B the mixing matrix (n_outputs, rank), and ``sum_q ||g_q||^2`` the squared norm
    of the predictor. A fit takes B as it is given, so that it is convex and certified;
    `okl.model_selection.GradientSearchCV` learns it, as ``structure__mixing``, together
    with alpha and the kernel. Each entry of B has a normal prior of variance 1 / rank,
    a penalty ``rank ||B||^2 / 2``: a priori L is the identity on average.

    It is for many classes with few examples each, where `LowRank` learns L from the
    training error, and this from the error of rows left out. BR with an orthogonal R
    is the same model. Products with L take O(n_outputs rank) a row; what the search
    follows B by is one matrix (n_outputs, n_outputs). That search is not convex, and
    B = 0 a stationary point of it.

    Seeger (2006), Cross-validation optimization for structured Hessian kernel methods,
    section 7.2. The prior is not in the paper.

    Parameters
    ----------
    rank : int
        The number of functions, from 1 to the number of outputs.
    mixing : array (n_outputs, rank) or None, default=None
        B. None is where learning starts, always the same: sqrt(n_outputs / rank) times
        orthonormal columns that were drawn once at random, which is as near to
        independent outputs as the rank allows. L is the identity if the rank is the
        number of outputs, and else a multiple of a projection, with trace n_outputs.
    """

    def __init__(self, rank: int, mixing: Any = None) -> None:
        self.rank = rank
        self.mixing = mixing

    def validate(self, n_outputs: int) -> None:
        """Check the rank against the outputs, and B against both."""
        rank: Any = self.rank
        whole = isinstance(rank, Integral) and not isinstance(rank, bool)
        if not whole or not 1 <= rank <= n_outputs:
            raise ValueError(
                "The rank of Mixing must be an integer from 1 to the number of outputs, "
                f"{n_outputs}; got {rank!r}."
            )
        if self.mixing is None:
            return
        mixing = np.asarray(self.mixing, dtype=np.float64)
        if mixing.shape != (n_outputs, rank):
            raise ValueError(
                "mixing must have a row for each output and a column for each of the "
                f"{rank} functions, ({n_outputs}, {rank}); got an array of shape "
                f"{mixing.shape}. None is a start for any."
            )
        if not np.all(np.isfinite(mixing)):
            raise ValueError("mixing has NaN or infinite entries; replace them.")

    def max_rank(self, n_outputs: int) -> int:
        """Return the number of functions."""
        return int(self.rank)

    def known(self, like: Array) -> SpectralKernel:
        """Return B B', decomposed by way of B'B."""
        mixing = namespace(like).asarray(self._mixing(like.shape[1]), dtype=like.dtype)
        return SpectralKernel.from_factor(mixing)

    def matrix(self, n_outputs: int) -> np.ndarray:
        """Return B B', formed."""
        mixing = self._mixing(n_outputs)
        return mixing @ mixing.T

    def hyperparameters(self, n_outputs: int) -> list[Hyperparameter]:
        """Return B, whose entries have signs."""
        mixing = self._mixing(n_outputs)
        most = max(_MOST, 2 * float(np.abs(mixing).max()))
        prior = Normal(1 / np.sqrt(self.rank))
        return [
            Hyperparameter("mixing", mixing, (-most, most), prior, scale=LinearScale())
        ]

    def gradient(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """Return that by the entries of B: dL = dB B' + B dB'."""
        return {"mixing": 2 * weights @ self._mixing(len(weights))}

    def _mixing(self, n_outputs: int) -> np.ndarray:
        """Return B, as given or as learning starts."""
        if self.mixing is not None:
            return np.asarray(self.mixing, dtype=np.float64)
        drawn = np.random.default_rng(0).standard_normal((n_outputs, self.rank))
        return np.linalg.qr(drawn)[0] * np.sqrt(n_outputs / self.rank)
