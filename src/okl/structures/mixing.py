"""An output kernel of few factors, whose loadings are learned as hyperparameters."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from okl.numerics.arrays import Array, namespace
from okl.numerics.validation import check_magnitude, check_not_negative
from okl.output_kernels import OutputKernel, SpectralKernel
from okl.parameters.hyperparameter import Hyperparameter
from okl.parameters.priors import Normal
from okl.parameters.scales import LinearScale
from okl.structures.given import Given, both_factors

# Entries of B stay below so many standard deviations, or twice the largest given one.
_MOST = 10.0
# The variance that outputs share where learning starts, relative to ``own``.
_START = 0.1


class Mixing(Given):
    r"""Outputs mix a few independent functions, by weights that can be learned.

    .. math:: f_t = \sum_{q=1}^{\text{rank}} B_{tq} g_q + h_t, \qquad
              L = B B' + \text{own} \, I,

    with B the mixing matrix (n_outputs, rank), and h_t a function of each output's own,
    by default none. A fit takes B as given, so that it is convex and certified;
    `okl.model_selection.GradientSearchCV` learns it, as ``structure__mixing``, together
    with alpha and the kernel. It is for many classes with few examples each: `LowRank`
    learns L from the training error, this search from the error of rows left out.

    The search has a prior: each entry of B is normal around its start in B_0, with
    variance 1 / rank (own / rank if ``own`` is not zero), a penalty of
    ``rank ||B - B_0||^2 / 2`` (over own if that is not zero). BR with an orthogonal R
    is the same model; B = 0 is a stationary point of the search, which is not convex.
    Where the rank is far below what the scores of the classes need, ``own=1.0`` is
    safer: outputs stay nearly independent where the data show no relation.

    Where ``own`` is zero, products with L take O(n_outputs rank) a row, and L is not
    formed; a search over B has matrices (n_outputs, n_outputs) in any case.

    Seeger (2006), Cross-validation optimization for structured Hessian kernel methods,
    section 7.2; neither the prior nor ``own`` is in the paper.

    Parameters
    ----------
    rank : int
        The number of functions that are mixed, from 1 to the number of outputs.
    mixing : array (n_outputs, rank) or None, default=None
        B. Labels of the rows of a data frame are names of outputs. None is a default
        start, always the same: random orthonormal columns times sqrt(n_outputs /
        rank), which is as near to independent outputs as the rank allows. BB' is the
        identity if the rank is the number of outputs, and else a multiple of a
        projection, with trace n_outputs. Where ``own`` is not zero, BB' is own / 10
        times that.
    own : float, default=0.0
        Variance of the outputs' own functions h_t, >= 0. It is not learned: alpha sets
        the scale of all of L.
    """

    parameters_of_outputs: ClassVar[dict[str, int]] = {"mixing": 1}

    def __init__(self, rank: int, mixing: Any = None, own: float = 0.0) -> None:
        self.rank = rank
        self.mixing = mixing
        self.own = own

    def validate(self, n_outputs: int) -> None:
        """Check the rank against the outputs, and B against both."""
        rank: Any = self.rank
        whole = isinstance(rank, Integral) and not isinstance(rank, bool)
        if not whole or not 1 <= rank <= n_outputs:
            raise ValueError(
                "The rank of Mixing must be an integer from 1 to the number of outputs"
                f", {n_outputs}; got {rank!r}."
            )
        check_not_negative(self.own, "own")
        if self.mixing is None:
            return
        mixing = np.asarray(self.mixing, dtype=np.float64)
        if mixing.shape != (n_outputs, rank):
            raise ValueError(
                "mixing must have a row for each output and a column for each of the "
                f"{rank} functions, ({n_outputs}, {rank}); got an array of shape "
                f"{mixing.shape}. Use mixing=None for the default start."
            )
        if not np.all(np.isfinite(mixing)):
            raise ValueError("mixing has NaN or infinite entries; replace them.")
        check_magnitude(mixing, "mixing has entries up to", "Scale it.")

    def max_rank(self, n_outputs: int) -> int:
        """Return the number of functions g_q, or of outputs if these have their own."""
        return n_outputs if self.own else int(self.rank)

    def known(self, like: Array) -> OutputKernel:
        """Return L, decomposed; from its factor B where ``own`` is zero.

        Raises
        ------
        MemoryError
            If L has to be formed, and does not fit.
        """
        if self.own:
            return super().known(like)
        mixing = namespace(like).asarray(self._mixing(like.shape[1]), dtype=like.dtype)
        return SpectralKernel.from_factor(mixing)

    def matrix(self, n_outputs: int) -> np.ndarray:
        """Return B B' + own I, formed."""
        mixing = self._mixing(n_outputs)
        return mixing @ mixing.T + float(self.own) * np.eye(n_outputs)

    def hyperparameters(self, n_outputs: int) -> list[Hyperparameter]:
        """Return B, whose entries have signs."""
        mixing = self._mixing(n_outputs)
        std = float(np.sqrt((self.own or 1.0) / self.rank))
        most = max(_MOST * std, 2 * float(np.abs(mixing).max()))
        bounds = (-most, most)
        return [
            Hyperparameter(
                "mixing", mixing, bounds, Normal(mixing, std), scale=LinearScale()
            )
        ]

    def gradient(
        self, left: np.ndarray, right: np.ndarray | None = None
    ) -> dict[str, np.ndarray]:
        """Return the derivatives by the entries of B: dL = dB B' + B dB'."""
        left, right = both_factors(left, right)
        B = self._mixing(left.shape[1])
        return {"mixing": left.T @ (right @ B) + right.T @ (left @ B)}

    def _mixing(self, n_outputs: int) -> np.ndarray:
        """Return B as given, or the default start."""
        if self.mixing is not None:
            return np.asarray(self.mixing, dtype=np.float64)
        drawn = np.random.default_rng(0).standard_normal((n_outputs, self.rank))
        trace = n_outputs * (_START * float(self.own) or 1.0)
        return np.linalg.qr(drawn)[0] * np.sqrt(trace / self.rank)
