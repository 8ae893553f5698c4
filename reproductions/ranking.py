"""Methods compared over sets of data by ranks and ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from reproductions.report import table

# Of sets, the errors of the methods that ran there.
Errors = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Standing:
    """How a method does beside another.

    Attributes
    ----------
    n_sets : int
        Where both ran.
    mean_rank : float
        Among the methods that ran on every set and this one; the best is one.
    log_ratio, error : float
        Mean of the logarithm of its error over that of the other, and its standard
        error over sets.
    worse : int
        On how many sets its error is the larger one.
    """

    n_sets: int
    mean_rank: float
    log_ratio: float
    error: float
    worse: int

    @property
    def ratio(self) -> str:
        """The geometric mean of the ratio, with the range of one standard error."""
        mean, error = np.exp(self.log_ratio), np.exp(self.error) - 1
        return f"{mean:.3f} ± {mean * error:.3f}"


def standings(
    errors: Errors, methods: Sequence[str], beside: str
) -> dict[str, Standing]:
    """Return the standing of every method that ran on some set."""
    everywhere = [m for m in methods if all(m in found for found in errors.values())]
    result = {}
    for method in methods:
        sets = [found for found in errors.values() if method in found]
        if not sets:
            continue
        rivals = list(dict.fromkeys([*everywhere, method]))
        ranks = [
            rankdata([one[m] for m in rivals])[rivals.index(method)] for one in sets
        ]
        logs = np.array([np.log(one[method] / one[beside]) for one in sets])
        error = np.std(logs, ddof=1) / len(logs) ** 0.5 if len(logs) > 1 else np.nan
        result[method] = Standing(
            len(sets),
            float(np.mean(ranks)),
            float(logs.mean()),
            float(error),
            int(np.sum(logs > 0)),
        )
    return result


def standings_table(
    errors: Errors, methods: Sequence[str], beside: str, what: str
) -> str:
    """Return the standings as a table; ``what`` is what the errors are called."""
    head = [*("method", "sets", "mean rank"), f"{what} over that of {beside}"]
    lines = [
        (method, one.n_sets, f"{one.mean_rank:.2f}", one.ratio, one.worse)
        for method, one in standings(errors, methods, beside).items()
    ]
    return table([*head, f"worse than {beside}"], lines)


def about_standings(beside: str, what: str) -> str:
    """Return what columns of that table are."""
    return (
        "The mean rank of a method is that among the methods that ran on every set of "
        f"the table\nand itself. *{what.capitalize()} over that of {beside}* is the "
        "geometric mean over the sets where the\nmethod ran, ± a standard error over "
        f"sets; *worse than {beside}* counts those."
    )
