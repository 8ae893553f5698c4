"""What is asked of the C library's memory."""

import platform
import subprocess
import sys
import tracemalloc

import pytest

from okl.numerics.memory import keep_freed_memory

FAULTS = """
import resource, sys
import numpy as np
from okl.numerics.memory import keep_freed_memory
def forms(times):
    for _ in range(times):
        np.ones(10**6), np.ones(10**6)
for n_bytes in map(int, sys.argv[1:]):
    keep_freed_memory(n_bytes)
    forms(2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    forms(20)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_a_little_of_all_memory_is_asked_for():
    tracemalloc.start()
    keep_freed_memory(10**15)
    left, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert left < 2**20 < peak < 2**25


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc alone")
def test_arrays_that_are_formed_over_and_over_have_the_same_pages():
    command = [sys.executable, "-c", FAULTS, "1", str(4 * 8 * 10**6)]
    done = subprocess.run(command, capture_output=True, check=True)
    before, after = map(int, done.stdout.split())
    if before < 1000:
        pytest.skip("pages are not fetched anew here")
    assert after < before / 4
