"""The claims, solvers and structures with the arithmetic of other processors.

    python -m tests.processors

OpenBLAS has kernels for each family of processors, and takes those that
OPENBLAS_CORETYPE names; NumPy's own vector loops are left out by name
(NPY_DISABLE_CPU_FEATURES). Each adds up in another order, and so do two threads: a test
that passes with one of them only asserts more than the library promises.

Kernels that are already in force under another name are not run again: the OpenBLAS
that NumPy and SciPy bring has none of its own for Zen, and takes Haswell's.
"""

import os
import platform
import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

from numpy._core import _multiarray_umath as numpy_core

TESTS = [
    "tests/claims",
    "tests/optimization",
    "tests/solvers/test_agreement.py",
    "tests/structures",
]
# Two threads leave one worker, and are given the cases of the fast suite only. Half of
# their time would go into arrays of another namespace: what these tests compare are the
# calls of two libraries, which one thread shows as well.
NOT_WITH_THREADS = "not namespace"


class Processor(NamedTuple):
    """A name that OpenBLAS knows, and what the processor has.

    Attributes
    ----------
    name : str
    needs : str or None
        What this machine's processor must have for it; None for nothing.
    lacks : callable
        Tells of a feature that NumPy can leave out whether this processor lacks it.
    """

    name: str
    needs: str | None
    lacks: Callable[[str], bool]


def is_avx512(feature):
    return feature.startswith("AVX512") or feature == "X86_V4"


PROCESSORS = [
    Processor("Haswell", "AVX2", is_avx512),
    Processor("Zen", "AVX2", is_avx512),
    Processor("SkylakeX", "AVX512_SKX", lambda feature: False),
    Processor("Prescott", None, lambda feature: True),
]

IN_FORCE = """
import numpy, scipy.linalg
from threadpoolctl import threadpool_info
pools = threadpool_info()
print(*sorted({pool.get("architecture") or pool["internal_api"] for pool in pools}))
"""


def environment(processor, n_threads):
    left_out = [name for name in numpy_core.__cpu_dispatch__ if processor.lacks(name)]
    return os.environ | {
        "OPENBLAS_CORETYPE": processor.name,
        "NPY_DISABLE_CPU_FEATURES": " ".join(left_out),
        "OPENBLAS_NUM_THREADS": str(n_threads),
        "OMP_NUM_THREADS": str(n_threads),
        "OKL_TEST_THREADS": str(n_threads),
    }


def kernels_in_force(variables):
    """Return the names of OpenBLAS's kernels, and what NumPy leaves out."""
    command = [sys.executable, "-c", IN_FORCE]
    shown = subprocess.run(
        command, env=variables, check=True, capture_output=True, text=True
    )
    return shown.stdout.strip(), variables["NPY_DISABLE_CPU_FEATURES"]


def run(variables, n_threads):
    """Run the tests, as many at once as there are cores for their threads."""
    workers = max(1, (os.cpu_count() or 1) // n_threads)
    command = [sys.executable, "-m", "pytest", "-n", str(workers)]
    if n_threads == 1:
        command += ["-m", "not slow"]
    else:
        command += ["-m", "not slow and not product", "-k", NOT_WITH_THREADS]
    return subprocess.run(command + TESTS, env=variables, check=False).returncode


def main():
    if platform.machine() not in ("x86_64", "AMD64"):
        print(f"These are kernels of x86 processors; {platform.machine()} has others.")
        return 0
    failed, seen = [], {}
    for processor in PROCESSORS:
        if processor.needs and not numpy_core.__cpu_features__[processor.needs]:
            print(f"== {processor.name}: not here, needs {processor.needs}", flush=True)
            continue
        for n_threads in (1, 2):
            variables = environment(processor, n_threads)
            kernels = kernels_in_force(variables)
            label = f"{processor.name}, threads: {n_threads}"
            same = seen.setdefault((kernels, n_threads), label)
            if same != label:
                print(f"== {label}: the same kernels as {same}", flush=True)
                continue
            print(f"== {label}: OpenBLAS takes {kernels[0]}", flush=True)
            if run(variables, n_threads):
                failed.append(label)
    print("Failed: " + "; ".join(failed) if failed else "All passed.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
