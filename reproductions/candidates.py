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


def candidates(n_outputs: int) -> dict[str, list[Structure]]:
    """Return the structures of every name for so many outputs."""
    return {
        "identity": [Identity()],
        "mean": [Mean(gamma=gamma) for gamma in (1.0, 10.0, 100.0)],
        "frobenius": [Frobenius()],
        "low_rank": [LowRank()],
        "trace_ball": [TraceBall(eps=0.0)],
        "trace_ball, eps > 0": [TraceBall(eps=eps) for eps in (1.0, 10.0, 100.0)],
        "cluster": [
            Cluster(n_clusters=n_clusters, within=10.0)
            for n_clusters in (1, 2, 3)
            if n_clusters < n_outputs
        ],
        "sparse": [Sparse(mu=mu, eps=1e-2) for mu in (0.1, 0.5, 0.9)],
    }


NAMES = tuple(candidates(1))


def parameters() -> str:
    """Say what each candidate with parameters tries."""
    return "; ".join(
        f"{name}: " + ", ".join(f"`{structure}`" for structure in family)
        for name, family in candidates(4).items()
        if len(family) > 1
    )
