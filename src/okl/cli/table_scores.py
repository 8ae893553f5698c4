"""Scores of a model on a table, as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np

from okl.cli.errors import shown
from okl.cli.layout import WIDTH, aligned
from okl.cli.truth import Truth

_IF_NEW = "Scores of rows that the model was fitted to are too good."


@dataclass(frozen=True)
class TableScores:
    """How well a model predicts a table.

    Attributes
    ----------
    truth : Truth
        The targets of the table.
    columns : dict of str to array (n_outputs,)
        Scores and counts of the outputs.
    errors : dict of str to array (n_outputs,)
        The sizes of errors, in the units of the targets.
    overall : dict of str to float
        Some of these for all outputs together.
    remarks : list of str
        Sentences.
    sections : list of str
        Further sections of the page.
    """

    truth: Truth
    columns: Mapping[str, np.ndarray]
    errors: Mapping[str, np.ndarray]
    overall: Mapping[str, float]
    remarks: list[str]
    sections: list[str]

    def lines(self) -> list[str]:
        """Return a table of the outputs, and the remarks."""
        rows = [["", *self.columns, *self.errors]]
        for j, name in enumerate(self.truth.outputs):
            cells = [_cell(values[j]) for values in self.columns.values()]
            cells += [_cell(values[j], digits="g") for values in self.errors.values()]
            rows.append([shown(name), *cells])
        if len(self.truth.outputs) > 1:
            what = "all rows" if self.truth.row_has_one_output else "mean"
            known = [self.overall.get(name, np.nan) for name in self.columns]
            rows.append([what, *(_cell(value, "") for value in known)])
            rows[-1] += [""] * len(self.errors)
        lines = aligned(rows)
        for remark in (*self.remarks, _IF_NEW):
            lines += ["", *wrap(remark, WIDTH - 2)]
        return lines


def _cell(value: Any, missing: str = "-", digits: str = "f") -> str:
    if isinstance(value, int | np.integer):
        return f"{value}"
    return missing if np.isnan(value) else f"{value:.4{digits}}"
