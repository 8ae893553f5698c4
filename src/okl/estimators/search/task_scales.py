"""A note on tasks whose targets differ in size, where all have one scale.

Where intercepts are shared, the targets of all tasks are divided by one number
(`okl.estimators.shared_intercepts`). Those of a task a hundred times smaller than
others hardly count: noise of the others hides them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from okl.estimators.units import Units, typical_of
from okl.problems import Observed
from okl.trees.names import listed

# Rows of which a deviation says something, and the ratio of two that is no chance.
_FEWEST, _RATIO = 5, 100.0


def notes_of_scales(
    observed: Observed, names: Sequence[Any] | np.ndarray
) -> Iterator[str]:
    """Yield a note if tasks (named by ids) differ much in size."""
    tasks = observed.tasks
    assert tasks is not None
    counted = observed.counted()
    n_rows = np.bincount(tasks.codes[counted], minlength=tasks.n_tasks)
    typical = typical_of(observed.loss)
    how: dict[str, Any] = {"free_intercept": True, "typical": typical}
    units = Units.of(observed.targets, observed.weights, tasks, **how)
    several = np.flatnonzero((n_rows >= _FEWEST) & ~units.constant)
    sizes = units.scale[several]
    if not len(several) or sizes.max() < _RATIO * sizes.min():
        return
    small = several[sizes * _RATIO <= sizes.max()]
    ratio = sizes.max() / sizes.min()
    yield (
        f"The standard deviations of the targets of tasks differ by a factor of "
        f"{ratio:.2g}, and all tasks are divided by one number: those of the smallest, "
        f"{listed(np.asarray(names)[small])}, hardly count. If these units mean "
        "nothing, divide the targets of each task by its deviation, or name "
        "structures, such as structures='frobenius', with which each task has a scale "
        "of its own."
    )
