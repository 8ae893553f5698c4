"""The steps of a search, as scikit-learn's callbacks are told of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from okl.estimators.search.trials import Step


def steps_of(estimator: Any, context: Any) -> Step:
    """Return what tells the callbacks of a fit when a named step begins and ends."""

    @contextmanager
    def step(name: str) -> Iterator[None]:
        task = context.subcontext(task_name=name)
        task.call_on_fit_task_begin(estimator=estimator)
        yield
        task.call_on_fit_task_end(estimator=estimator)

    return step
