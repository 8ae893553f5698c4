"""Timing, peak memory, and the words for the machine they were measured on."""

from __future__ import annotations

import gc
import platform
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy
import scipy
import sklearn
from threadpoolctl import threadpool_info


@dataclass(frozen=True)
class Row:
    """One line of the table: ours against a yardstick, and what must be reached.

    ``ours`` and ``theirs`` are in the unit, the smaller the better; ``reach`` is the
    ratio theirs / ours asked for.
    """

    work: str
    ours: float
    theirs: float
    yardstick: str
    reach: float
    unit: str = "s"
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours

    @property
    def reached(self) -> bool:
        return self.ratio >= self.reach


def best_of(repeats: int, work: Callable[[], object]) -> float:
    """Return the least seconds of several runs: the machine can only slow one down."""
    seconds = []
    for _ in range(repeats):
        gc.collect()
        start = perf_counter()
        work()
        seconds.append(perf_counter() - start)
    return min(seconds)


def alternately(repeats: int, *works: Callable[[], object]) -> tuple[float, ...]:
    """Time several works in turn, so that a drift of the machine meets them all."""
    best = [float("inf")] * len(works)
    for _ in range(repeats):
        for position, work in enumerate(works):
            best[position] = min(best[position], best_of(1, work))
    return tuple(best)


def peak_bytes(code: str) -> int:
    """Return the peak resident memory of a fresh process, over what it held before.

    The code is Python; what it does before a line ``# measure`` is not counted, but
    what it still holds then is there at the peak as well. Linux only: the kernel
    forgets the peak when asked to.
    """
    before, after = code.split("# measure\n")
    program = f"""
{before}
def status(field):
    for line in open("/proc/self/status"):
        if line.startswith(field):
            return int(line.split()[1]) * 1024
open("/proc/self/clear_refs", "w").write("5")
base = status("VmRSS")
{after}
print(status("VmHWM") - base)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return int(done.stdout.split()[-1])


def machine() -> str:
    """Describe processor, memory and versions."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                name = line.split(":")[1].strip()
                break
    blas = {
        f"{lib['internal_api']} {lib['version']}"
        for lib in threadpool_info()
        if lib["user_api"] == "blas"
    }
    memory = ""
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        total = int(meminfo.read_text().split()[1]) / 2**20
        memory = f", {total:.0f} GiB"
    return (
        f"{name}{memory}; Python {platform.python_version()}, NumPy "
        f"{numpy.__version__}, SciPy {scipy.__version__}, scikit-learn "
        f"{sklearn.__version__}, {', '.join(sorted(blas))}"
    )
