"""An output kernel of outputs in clusters."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from okl.numerics.validation import check_count, check_positive
from okl.optimization.interior import Interior
from okl.parameters.hyperparameter import Hyperparameter
from okl.parameters.priors import LogNormal
from okl.structures.given import weight_around_one
from okl.structures.spectral_set import SpectralSet

# The ratio of ``within`` to ``between``: lower bound, median, upper bound, and the
# standard deviation of its logarithm.
_LEAST, _MEDIAN, _MOST, _STD = 1.01, 10.0, 1e4, 2.0


class Cluster(SpectralSet):
    r"""Outputs fall into unknown clusters.

    For m outputs in r clusters, with U = 11'/m and M the projection on what is
    constant in each cluster, the squared norm weighs the average of all outputs by
    ``mean``, that of the clusters around it by ``between`` and the outputs around
    their cluster by ``within``: L^-1 = mean U + between (M - U) + within (I - M). Its
    inverse is affine in M, and relaxing M to its convex hull gives

    .. math:: L = U / \text{mean} + S, \quad S 1 = 0, \quad
              (I - U) / \text{within} \preceq S \preceq (I - U) / \text{between}, \quad
              \operatorname{tr} S \le \frac{r - 1}{\text{between}}
                                      + \frac{m - r}{\text{within}},

    a convex set, with R = 0 there. Jacob, Bach & Vert (2008), *Clustered multi-task
    learning: a convex formulation*; Ciliberto et al. (2015), appendix 6.2, which
    relaxes M in L^-1 instead: with that the problem is not jointly convex.

    Parameters
    ----------
    n_clusters : int
        r, from 1 to the number of outputs.
    within, between, mean : float
        The weights eps_W >= eps_B > 0 and eps_M > 0 of the papers.
    """

    name: ClassVar[str | None] = "cluster"
    capabilities: ClassVar[frozenset[str]] = frozenset({"update", "proximal"})

    def __init__(
        self,
        n_clusters: int,
        within: float = 10.0,
        between: float = 1.0,
        mean: float = 1.0,
    ) -> None:
        self.n_clusters = n_clusters
        self.within = within
        self.between = between
        self.mean = mean

    def validate(self, n_outputs: int) -> None:
        """Check that there are as many outputs as clusters, and within >= between."""
        n_clusters = check_count(self.n_clusters, "n_clusters")
        if n_clusters > n_outputs:
            raise ValueError(
                f"n_clusters must be at most the number of outputs, {n_outputs} here "
                f"(two classes are one output); got {n_clusters}."
            )
        within = check_positive(self.within, "within")
        between = check_positive(self.between, "between")
        check_positive(self.mean, "mean")
        if within < between:
            raise ValueError(
                "Outputs differ less within a cluster than clusters differ from each "
                f"other: within must be at least between, got within={within!r} and "
                f"between={between!r}."
            )

    def hyperparameters(self, n_outputs: int) -> list[Hyperparameter]:
        """Return within and mean; a common factor of the weights acts as alpha."""
        within, between = float(self.within), float(self.between)
        bounds = _LEAST * between, max(_MOST * between, 2 * within)
        prior = LogNormal(np.log(_MEDIAN * between), _STD)
        return [
            Hyperparameter("within", within, bounds, prior),
            weight_around_one("mean", float(self.mean)),
        ]

    def region(self, n_outputs: int) -> Interior:
        """Return the bounds, on the complement of the average of the outputs."""
        lower, upper = 1 / float(self.within), 1 / float(self.between)
        n_clusters = int(self.n_clusters)
        budget = (n_clusters - 1) * upper + (n_outputs - n_clusters) * lower
        return Interior(lower, upper, budget, mean=1 / float(self.mean))
