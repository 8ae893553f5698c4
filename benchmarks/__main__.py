"""Run the benchmarks and write the table: ``python -m benchmarks [NAME ...]``.

Each benchmark runs in a process of its own, once for each number of threads, so that
the libraries below NumPy see the number from their start.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.measure import Row, machine

NAMES = (
    "experiment_1",
    "many_outputs",
    "kernel_ridge",
    "digits",
    "sparse_step",
    "joint_fit",
    "softmax",
    "trees",
    "hinge",
    "missing",
    "long_form",
    "row_blocks",
    "kernel_gradients",
    "search",
    "decompositions",
    "criteria",
    "learning",
    "imputation",
    "several_kernels",
    "larger_fits",
    "peak_memory",
    "forecasts",
    "many_classes",
)
# What does not depend on the number of threads is measured with the last one only.
_ONCE = ("decompositions", "peak_memory", "forecasts")
RESULTS = Path(__file__).parent / "results.md"
KEPT = Path(__file__).parent / "results.json"
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=NAMES, help=", ".join(NAMES))
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        (name,) = arguments.names
        rows = importlib.import_module(f"benchmarks.{name}").run()
        print(json.dumps([asdict(row) for row in rows]))
        return
    for threads in arguments.threads:
        for name in arguments.names:
            if name in _ONCE and threads != arguments.threads[-1]:
                continue
            lines = [_line(row) for row in _run(name, threads)]
            print("\n".join(lines), flush=True)
            _keep(threads, name, lines)


def _keep(threads: int, name: str, lines: list[str]) -> None:
    """Put the lines of one benchmark in the place of older ones; write the page."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    kept.setdefault(str(threads), {})[name] = {"machine": machine(), "lines": lines}
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    page = [
        "# Benchmarks",
        "",
        "Written by `python -m benchmarks`. Ratios are theirs / ours, in one process,",
        "and best of several runs where one takes less than minutes. On two threads",
        "the published iterations on small matrices are slower than on one: compare",
        "them there. Seconds compare within a machine only.",
    ]
    for number in sorted(kept):
        page += ["", f"## {number} thread{'s' if number != '1' else ''}"]
        found = [kept[number][known] for known in NAMES if known in kept[number]]
        for name_of_machine in dict.fromkeys(entry["machine"] for entry in found):
            page += [
                "",
                f"{name_of_machine}:",
                "",
                "| work | ours | yardstick | theirs | ratio | asked | reached |",
                "|---|---|---|---|---|---|---|",
            ]
            for entry in found:
                if entry["machine"] == name_of_machine:
                    page += entry["lines"]
    RESULTS.write_text("\n".join(page) + "\n")


def _run(name: str, threads: int) -> list[Row]:
    environment = os.environ | {variable: str(threads) for variable in _THREADS}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", name, "--inside"],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [Row(**fields) for fields in json.loads(done.stdout.splitlines()[-1])]


def _line(row: Row) -> str:
    note = f" ({row.note})" if row.note else ""
    return (
        f"| {row.work} | {row.ours:.3g} {row.unit} | {row.yardstick}{note} "
        f"| {row.theirs:.3g} {row.unit} | {row.ratio:.3g} | {row.reach:.3g} "
        f"| {'yes' if row.reached else '**no**'} |"
    )


if __name__ == "__main__":
    main()
