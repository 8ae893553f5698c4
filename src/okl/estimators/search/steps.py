"""The steps of a search, as scikit-learn's callbacks are told of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

# From the name of a piece of work to a context that tells when it begins and ends.
Step = Callable[..., AbstractContextManager[Any]]


def steps_of(estimator: Any, context: Any) -> Step:
    """Return what tells the callbacks of a fit when a named step begins and ends.

    ``step(name, n_steps)`` is the context of a step. It yields such a function for the
    ``n_steps`` steps within it, None if their number is not known.
    """

    @contextmanager
    def step(name: str, n_steps: int | None = 0) -> Iterator[Step]:
        task = context.subcontext(task_name=name, max_subtasks=n_steps)
        task.call_on_fit_task_begin(estimator=estimator)
        yield steps_of(estimator, task)
        task.call_on_fit_task_end(estimator=estimator)

    return step
