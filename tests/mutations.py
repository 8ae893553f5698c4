"""Does the fast suite notice mistakes? Break a line, run it, see it fail; ten times.

    python -m tests.mutations

Each mutation is made in a copy of the project. The full suite has every test that the
fast one has, so that it notices what that notices. A mutation that survives is a test
that is wanting; the exit status says whether there is one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parent.parent
COPIED = (
    "src",
    "tests",
    "benchmarks",
    "docs",
    "pyproject.toml",
    "Makefile",
    "README.md",
)


class Mutation(NamedTuple):
    """A line, and what is put in its place."""

    file: str
    line: str
    instead: str


MUTATIONS = [
    # the certificate: half of the gap, a dual point outside the domain, no intercept
    Mutation(
        "certificates/certificate.py",
        "return gap / scale if",
        "return gap / (2 * scale) if",
    ),
    Mutation(
        "certificates/bounds.py",
        "return value - self.alpha * bound.value",
        "return value - 0.9 * self.alpha * bound.value",
    ),
    Mutation(
        "certificates/bounds.py",
        "elif free_intercept and not _is_balanced(entries, dual_point):",
        "elif False:",
    ),
    # closed forms and the parts of Newton's methods
    Mutation(
        "solvers/predictor/spectral.py",
        "(rotated.eigenvalues * weights + alpha)",
        "(rotated.eigenvalues * weights + 1.001 * alpha)",
    ),
    Mutation(
        "solvers/factor/factored_point.py",
        "identity - self.moment[:, :rank]",
        "identity - 1.001 * self.moment[:, :rank]",
    ),
    Mutation(
        "solvers/output_kernel/value_function.py",
        "inner(dual, targets) / 2",
        "inner(dual, targets)",
    ),
    Mutation(
        "solvers/predictor/newton_point.py",
        "objective = value + alpha / 2 * inner(dual, predictions)",
        "objective = value + alpha / 2.1 * inner(dual, predictions)",
    ),
    Mutation(
        "solvers/predictor/imputation.py",
        "residual = (observed - 1) * dual",
        "residual = (observed - 1) * dual * 0.0",
    ),
    Mutation(
        "solvers/kinks/multipliers.py",
        "return multipliers - problem.entries.spread(share) * room",
        "return multipliers",
    ),
    Mutation(
        "selection/objective.py",
        "value - log_prior, gradient - slope",
        "value - log_prior, gradient + slope",
    ),
    Mutation(
        "selection/leave_one_out.py",
        "return shares + left[:, None]",
        "return shares",
    ),
]


def mutated(mutation: Mutation, folder: Path) -> None:
    """Make a mutation in a copy of the source."""
    path = folder / "src" / "okl" / mutation.file
    text = path.read_text()
    if text.count(mutation.line) != 1:
        raise SystemExit(
            f"{mutation.file} has {text.count(mutation.line)} lines {mutation.line!r}; "
            "mutations need one. Mend tests/mutations.py."
        )
    path.write_text(text.replace(mutation.line, mutation.instead))


def first_failure(folder: Path) -> str | None:
    """Run the fast suite until a test fails; return its name, None if none does."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-n",
        "auto",
        "-p",
        "no:cacheprovider",
    ]
    command += ["-m", "not slow and not product", "--no-header", "--tb=no"]
    # the copy, before what is installed
    variables = os.environ | {"PYTHONPATH": f"{folder / 'src'}{os.pathsep}{folder}"}
    shown = subprocess.run(
        command, cwd=folder, env=variables, check=False, capture_output=True, text=True
    )
    failed = [
        line
        for line in shown.stdout.splitlines()
        if line.startswith(("FAILED", "ERROR"))
    ]
    return failed[0] if failed else None


def main() -> int:
    survived = 0
    for mutation in MUTATIONS:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for part in COPIED:
                source = PROJECT / part
                copy = shutil.copytree if source.is_dir() else shutil.copy
                copy(source, folder / part)
            mutated(mutation, folder)
            began = perf_counter()
            failure = first_failure(folder)
        seconds = perf_counter() - began
        print(f"{mutation.file}: {mutation.instead}", flush=True)
        print(f"    {seconds:.0f} s: {failure or 'NOT NOTICED'}", flush=True)
        survived += failure is None
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
