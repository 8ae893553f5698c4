"""Say before a large allocation that it will not fit, and what to do instead."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn import get_config
from sklearn.utils import gen_batches

from okl.numerics.validation import check_positive

# For fewer bytes free memory is not checked: to look it up takes as long as a fit to a
# few dozen rows.
UNQUESTIONED = 2**24

# The most memory of a freed array that glibc is made to keep, below its limit of 32
# MiB.
_MOST_KEPT = 31 * 2**20

# Files with the memory limit of the process group, its usage, and the part of that
# which caches files and can be reclaimed; for two versions of control groups.
_CONTROL_GROUPS = (
    (
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory.current",
        ("/sys/fs/cgroup/memory.stat", "inactive_file"),
    ),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        ("/sys/fs/cgroup/memory/memory.stat", "total_inactive_file"),
    ),
)


def available_memory() -> int | None:
    """Return the bytes that can still be allocated, None where that is not known."""
    free = [
        bytes_ for bytes_ in (_system_memory(), _limited_memory()) if bytes_ is not None
    ]
    return min(free) if free else None


def keep_freed_memory(n_bytes: int) -> None:
    """Make the C library reuse the memory of freed arrays, up to this size.

    glibc returns the memory of a large array to the system when the array is freed, and
    the pages of the next one have to be fetched again. In a search that forms matrices
    of the same sizes repeatedly that takes a quarter of the time. It keeps memory of at
    most the size of an array that was freed before, so that to allocate and free one,
    without writing to it, is enough. Other C libraries are not affected.

    Parameters
    ----------
    n_bytes : int
        Size of the arrays that are formed repeatedly; at most 31 MiB are kept.
    """
    np.empty(min(n_bytes, _MOST_KEPT), dtype=np.uint8)


def require_memory(n_bytes: int, purpose: str | Callable[[], str], remedy: str) -> None:
    """Raise MemoryError if an allocation cannot succeed.

    Parameters
    ----------
    n_bytes : int
        The estimated peak.
    purpose : str or callable
        What the memory is for. A function that returns the string is called only for
        the error: the string of a component takes longer than the check.
    remedy : str
        What the user can do instead.
    """
    if n_bytes < UNQUESTIONED:
        return
    free = available_memory()
    if free is not None and n_bytes > free:
        purpose = purpose() if callable(purpose) else purpose
        raise MemoryError(
            f"{purpose} needs about {_readable(n_bytes)}, but only {_readable(free)} "
            f"are free. {remedy}"
        )


def working_memory() -> int:
    """Return the bytes of scikit-learn's ``working_memory``."""
    return int(get_config()["working_memory"] * 2**20)


def blocks_of_rows(n_rows: int, row_bytes: int) -> Iterator[slice]:
    """Cut rows of ``row_bytes`` each into blocks that fit into `working_memory`."""
    return gen_batches(n_rows, max(1, working_memory() // max(1, row_bytes)))


def check_max_memory(max_memory: float | None) -> None:
    """Check a limit in MiB; None is no limit."""
    if max_memory is not None:
        check_positive(max_memory, "max_memory")


def memory_budget(max_memory: float | None) -> float:
    """Return the bytes that a fit may take for its kernel matrices.

    Parameters
    ----------
    max_memory : float or None
        In MiB. None for half of the free memory, or infinity where that is not known.
    """
    if max_memory is not None:
        return check_positive(max_memory, "max_memory") * 2**20
    free = available_memory()
    return float("inf") if free is None else free / 2


def _readable(n_bytes: float) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if n_bytes < 1024 or unit == "GiB":
            return (
                f"{n_bytes:.0f} {unit}" if unit == "bytes" else f"{n_bytes:.1f} {unit}"
            )
        n_bytes /= 1024
    raise AssertionError


def _system_memory() -> int | None:
    try:
        return _entry("/proc/meminfo", "MemAvailable:") * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _limited_memory() -> int | None:
    for limit, usage, reclaimable in _CONTROL_GROUPS:
        try:
            free = int(Path(limit).read_text()) - int(Path(usage).read_text())
        except (OSError, ValueError):
            continue
        try:
            return free + _entry(*reclaimable)
        except (OSError, ValueError):
            return free
    return None


def _entry(table: str, name: str) -> int:
    """Return the number after a name in a file with one entry on each line."""
    for line in Path(table).read_text().splitlines():
        found, _, number = line.partition(" ")
        if found == name:
            return int(number.removesuffix("kB"))
    raise ValueError(f"{table} has no {name}")
