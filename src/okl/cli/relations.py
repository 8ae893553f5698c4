"""The relations between outputs, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from okl.cli.errors import shown
from okl.cli.layout import WIDTH, section

_MOST = 10


@dataclass(frozen=True)
class Relation:
    """Two outputs, and the correlation that the output kernel gives them."""

    first: str
    second: str
    correlation: float
    interval: tuple[float, float] | None = None
    stable: bool = False

    def strength(self) -> str:
        """Write the correlation, with its interval and * for a sure sign if known."""
        if self.interval is None:
            return f"{self.correlation:+.2f}"
        low, high = self.interval
        mark = "*" if self.stable else " "
        return f"{self.correlation:+.2f} {mark} [{low:+.2f}, {high:+.2f}]"


@dataclass(frozen=True)
class Relations:
    """The strongest relations of a model.

    Attributes
    ----------
    strongest : sequence of Relation
        The strongest first.
    n_outputs : int
        The number of outputs.
    structure : str
        The structure of the model.
    saved : bool
        Whether the model is the saved one, which else predicts outputs independently.
    """

    strongest: Sequence[Relation]
    n_outputs: int
    structure: str
    saved: bool

    def sections(self) -> list[str]:
        """Return a section of the report, none if there is one output."""
        if self.n_outputs == 1:
            return []
        lines = []
        if not self.saved:
            said = (
                "The saved model predicts each output by itself. These relations are "
                f"those of {self.structure}, which is not saved."
            )
            lines = [*wrap(said, WIDTH - 2), ""]
        return [section("Strongest relations", [*lines, *self._lines()])]

    def _lines(self) -> list[str]:
        if not self.strongest:
            return ["None: the output kernel is diagonal."]
        strengths = {relation.strength() for relation in self.strongest}
        n_pairs = self.n_outputs * (self.n_outputs - 1) // 2
        if len(strengths) == 1 and len(self.strongest) == n_pairs > 1:
            return [f"Every pair of outputs has the correlation {strengths.pop()}."]
        return [
            "Correlations of the output kernel:",
            *(
                f"{one.strength()}  {shown(one.first)} -- {shown(one.second)}"
                for one in self.strongest[:_MOST]
            ),
        ]
