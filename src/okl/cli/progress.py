"""A progress bar on stderr for the folds of the cross-validation.

scikit-learn's own `sklearn.callback.ProgressBar` writes to stdout, which is for the
report; this callback does the same on stderr.
"""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn


class FoldProgress:
    """Count the subtasks of a fit: folds and the final fit.

    The bar is shown on a terminal only, and disappears when the fit ends.
    """

    def __getstate__(self) -> dict[str, Any]:
        """Return no state: the bar is not sent to other processes."""
        return {}

    def setup(self, estimator: Any, context: Any) -> None:
        """Open the bar."""
        self._progress = Progress(
            TextColumn("cross-validation"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._progress.disable = not self._progress.console.is_terminal
        self._bar = self._progress.add_task("folds", total=context.max_subtasks)
        self._progress.start()

    def on_fit_task_begin(self, estimator: Any, context: Any, **_: Any) -> None:
        """Do nothing: only finished tasks count."""

    def on_fit_task_end(self, estimator: Any, context: Any, **_: Any) -> bool:
        """Count a finished subtask; never ask to stop."""
        if context.parent is not None:
            self._progress.advance(self._bar)
        return False

    def teardown(self, estimator: Any, context: Any) -> None:
        """Close the bar."""
        self._progress.stop()
