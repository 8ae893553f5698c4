"""The structures that the studies compare, each with the parameters it may choose."""

from __future__ import annotations

from okl.structures import (
    Cluster,
    Frobenius,
    Identity,
    LowRank,
    Mean,
    Sparse,
    Structure,
    TraceBall,
)

CANDIDATES: dict[str, list[Structure]] = {
    "identity": [Identity()],
    "mean": [Mean(gamma=gamma) for gamma in (0.1, 1.0, 10.0)],
    "frobenius": [Frobenius()],
    "low_rank": [LowRank()],
    "trace_ball": [TraceBall(eps=0.0)],
    "trace_ball, eps > 0": [TraceBall(eps=eps) for eps in (0.1, 1.0, 10.0)],
    "cluster": [
        Cluster(n_clusters=r, within=within, between=1.0, mean=1.0)
        for r in (1, 2, 3)
        for within in (3.0, 30.0)
    ],
    "sparse": [Sparse(mu=mu, eps=1e-2) for mu in (0.1, 0.5, 0.9)],
}


def parameters() -> str:
    """Say what each candidate with parameters tries."""
    return "; ".join(
        f"{name}: " + ", ".join(f"`{structure}`" for structure in family)
        for name, family in CANDIDATES.items()
        if len(family) > 1
    )
