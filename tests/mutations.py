"""Does the fast suite notice mistakes? Break a line, run it, see it fail; often.

    python -m tests.mutations

Each mutation is made in a copy of the project. A copy in which nothing is broken comes
first, and has to pass: a suite that fails for another reason notices nothing. The full
suite has every test that the fast one has, so that it notices what that notices. A
mutation that survives is a test that is wanting; the exit status says whether there is
one.
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
NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "okl-demo")


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
        "solvers/kinks/term_ascent.py",
        "rise -= inner(self.terms.predictions,",
        "rise += inner(self.terms.predictions,",
    ),
    Mutation(
        "solvers/terms/term_model.py",
        "return self.alpha * inside + system.project",
        "return 1.01 * self.alpha * inside + system.project",
    ),
    Mutation("posterior/conditioning.py", "total += noise", "total += 0.9 * noise"),
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


def copied(folder: Path) -> Path:
    """Copy the project into a folder; return where it is."""
    return Path(shutil.copytree(PROJECT, folder / "project", ignore=NOT_COPIED))


def mutated(mutation: Mutation, project: Path) -> None:
    """Make a mutation in a copy of the project."""
    path = project / "src" / "okl" / mutation.file
    text = path.read_text()
    if text.count(mutation.line) != 1:
        raise SystemExit(
            f"{mutation.file} has {text.count(mutation.line)} lines {mutation.line!r}; "
            "mutations need one. Mend tests/mutations.py."
        )
    path.write_text(text.replace(mutation.line, mutation.instead))


def first_failure(project: Path) -> str | None:
    """Run the fast suite until a test fails; return its name, None if all pass.

    Raises
    ------
    SystemExit
        If the suite ends in another way.
    """
    command = [sys.executable, "-m", "pytest", "-x", "-n", "auto"]
    command += ["-p", "no:cacheprovider", "-m", "not slow and not product"]
    command += ["--no-header", "--tb=no"]
    # the copy, before what is installed
    variables = os.environ | {"PYTHONPATH": f"{project / 'src'}{os.pathsep}{project}"}
    shown = subprocess.run(
        command, cwd=project, env=variables, check=False, capture_output=True, text=True
    )
    failed = [
        line
        for line in shown.stdout.splitlines()
        if line.startswith(("FAILED", "ERROR"))
    ]
    if failed or shown.returncode == 0:
        return failed[0] if failed else None
    raise SystemExit(f"pytest ended with {shown.returncode}:\n{shown.stdout[-2000:]}")


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        failure = first_failure(copied(Path(name)))
    if failure is not None:
        raise SystemExit(f"The suite fails though nothing is broken: {failure}")
    survived = 0
    for mutation in MUTATIONS:
        with tempfile.TemporaryDirectory() as name:
            project = copied(Path(name))
            mutated(mutation, project)
            began = perf_counter()
            failure = first_failure(project)
        seconds = perf_counter() - began
        print(f"{mutation.file}: {mutation.instead}", flush=True)
        print(f"    {seconds:.0f} s: {failure or 'NOT NOTICED'}", flush=True)
        survived += failure is None
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
