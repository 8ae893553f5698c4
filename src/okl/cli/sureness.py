"""How sure the relations are, computed if the user asks for it.

It takes one fit for each part of the rows that is left out. The relations are those of
the saved model or, if that has none, of the best model that it was compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from okl.cli.data import Data
from okl.cli.errors import UserError, one_line
from okl.cli.search import Candidate
from okl.cli.settings import label
from okl.cli.tables import write_table
from okl.inspection import OutputKernelStability, output_kernel_stability
from okl.inspection.refits import parts_of
from okl.inspection.resampling import counts_of

FILE = "output_kernel_stability.csv"
_FEWEST = 2


def check_resamples(n_resamples: int | None, data: Data) -> None:
    """Raise `UserError`, before any work, if rows cannot be divided into such parts."""
    if n_resamples is None:
        return
    most, of = len(data.features), "rows of the table"
    if data.groups is not None:
        most, of = data.groups.n_groups, f"groups of --group-column {data.groups.name}"
    if not _FEWEST <= n_resamples <= most:
        raise UserError(
            f"--stability {n_resamples} does not fit: it is the number of parts in "
            f"which rows are left out, at least {_FEWEST} and at most the {most} {of}."
        )
    task = None if data.ids is None else data.ids.values
    strata, seen = parts_of(data.y, None, task, classes=data.task == "classification")
    try:
        counts_of("jackknife", n_resamples, strata, seen, _groups_of(data), 0)
    except ValueError as error:
        lost = "a class" if data.task == "classification" else "an output"
        lost = lost if data.ids is None else "a task"
        groups = data.groups
        where = "" if groups is None else f", or all of it in one {groups.name}"
        raise UserError(
            f"--stability {n_resamples} does not fit: leaving out one of the parts "
            f"loses {lost}, as the rarest is in {int(seen.sum(axis=0).min())} of the "
            f"{len(seen)} rows{where}. Leave such rows or targets out, give a larger "
            "number if the rarest has several rows, or leave --stability out."
        ) from error


def _groups_of(data: Data) -> np.ndarray | None:
    return None if data.groups is None else data.groups.values


@dataclass(frozen=True)
class Sureness:
    """How sure the relations are, or why that is not known.

    Attributes
    ----------
    stability : OutputKernelStability or None
    candidate : Candidate
        The candidate that has the relations.
    saved : bool
        Whether that candidate is the saved one.
    reason : str
        The reason why ``stability`` is None.
    parts : str
        What is left out: rows, or groups of rows.
    """

    stability: OutputKernelStability | None
    candidate: Candidate
    saved: bool
    reason: str = ""
    parts: str = "rows"

    @classmethod
    def of(
        cls,
        data: Data,
        X: np.ndarray,
        ids: Any,
        candidate: Candidate,
        saved: bool,
        n_resamples: int,
        note: Callable[[str], None],
        n_jobs: int | None = None,
    ) -> Sureness:
        """Fit a model again to parts of the rows, in parallel with ``n_jobs``.

        If that is impossible the reason is stored, and the fit stays as it is.
        """
        name = label(candidate.structure)
        if len(candidate.model.output_kernel_) == 1:
            reason = "There is one output, so there are no relations."
            return cls(None, candidate, saved, reason)
        if "known" in candidate.structure.capabilities:
            reason = (
                f"{name} learns no relations, so there is no uncertainty to estimate."
            )
            return cls(None, candidate, saved, reason)
        note(f"stability: {n_resamples + 1} more fits of {name}")
        try:
            found = output_kernel_stability(
                candidate.model,
                X,
                data.y,
                n_resamples=n_resamples,
                n_jobs=n_jobs,
                groups=_groups_of(data),
                **ids,
            )
        except (ValueError, MemoryError) as error:
            return cls(None, candidate, saved, f"Not estimated: {one_line(error)}")
        parts = "rows" if data.groups is None else f"groups of {data.groups.name}"
        return cls(found, candidate, saved, parts=parts)

    @property
    def files(self) -> dict[str, str]:
        """The file that `write` writes, if any, with its description."""
        return {FILE: "how sure each relation is"} if self.stability else {}

    def write(self, outputs: Sequence[str], path: Path) -> None:
        """Write a table with a row for each pair of outputs, and for each output."""
        if self.stability is None:
            return
        write_table(pd.DataFrame(self.stability.table(outputs)), path)

    def lines(self) -> list[str]:
        """Return sentences that say how sure the relations are."""
        if self.stability is None:
            return [self.reason]
        found = self.stability
        pairs = np.triu_indices(len(found.stable), 1)
        n_stable, n_pairs = int(found.stable[pairs].sum()), len(pairs[0])
        n_resamples = len(found.correlation.draws)
        name = label(self.candidate.structure)
        seen = "" if self.saved else f"These are relations of {name}. "
        where = " (* above; the others are grey in the heat map)"
        sure = (
            f"{n_stable} of {n_pairs} pairs of outputs have a correlation whose sign "
            f"is stable{where}: with {found.level:.0%} confidence none of these is "
            "zero in truth."
        )
        if n_stable == 0:
            sure = (
                f"None of {n_pairs} pairs of outputs has a correlation whose sign is "
                "stable: each may be zero in truth."
            )
        return [
            f"{seen}{sure} {FILE} has an interval of {found.level:.0%} for each "
            "correlation by itself.",
            f"The model was refitted {n_resamples} times, each time without another "
            f"part of the {self.parts}, which are assumed to be independent; kernel "
            "and alpha are held fixed, and shrinkage by alpha is not taken into "
            "account.",
        ]
