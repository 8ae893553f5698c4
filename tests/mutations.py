"""Do the tests notice mistakes? Break a line, run them, see one fail; often.

    python -m tests.mutations
    python -m tests.mutations tests/claims

Each mutation is made in a copy of the project, in which the fast suite, or what of it
is in the folders named, runs until a test fails. A copy in which nothing is broken
comes first, and has to pass: a suite that fails for another reason notices nothing. The
tests that are likely to notice a mutation are named beside it, and run before all. The
full suite has every test that the fast one has, so that it notices what that notices. A
mutation that survives is a test that is wanting; the exit status says whether there is
one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parent.parent
NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "okl-demo")


class Mutation(NamedTuple):
    """A line, what is put in its place, and where tests are run first."""

    file: str
    line: str
    instead: str
    first: str


MUTATIONS = [
    # the certificate: half of the gap, a dual point outside the domain, no intercept
    Mutation(
        "certificates/certificate.py",
        "return gap / size if",
        "return gap / (2 * size) if",
        "tests/test_certificate.py",
    ),
    Mutation(
        "certificates/bounds.py",
        "value -= self.alpha * bound.value",
        "value -= 0.9 * self.alpha * bound.value",
        "tests/claims/test_hinge.py",
    ),
    Mutation(
        "structures/spectral_set.py",
        "unscaled=bound / shortest**2",
        "unscaled=bound / shortest",
        "tests/structures",
    ),
    Mutation(
        "certificates/bounds.py",
        "elif free_intercept and not _is_balanced(entries, dual_point):",
        "elif False:",
        "tests/claims/test_hinge.py",
    ),
    # closed forms and the parts of Newton's methods
    Mutation(
        "solvers/predictor/spectral.py",
        "(rotated.eigenvalues * weights + alpha)",
        "(rotated.eigenvalues * weights + 1.001 * alpha)",
        "tests/solvers/test_agreement.py",
    ),
    Mutation(
        "solvers/factor/factored_point.py",
        "identity - self.moment[:, :rank]",
        "identity - 1.001 * self.moment[:, :rank]",
        "tests/solvers/test_factored_point.py",
    ),
    Mutation(
        "solvers/output_kernel/value_function.py",
        "inner(dual, targets) / 2",
        "inner(dual, targets)",
        "tests/solvers/test_agreement.py",
    ),
    Mutation(
        "solvers/smooth/differences.py",
        "linear, squares = 2 * self.value",
        "linear, squares = 1.9 * self.value",
        "tests/solvers/test_differences.py",
    ),
    Mutation(
        "solvers/predictor/newton_point.py",
        "objective = value + alpha / 2 * inner(dual, predictions)",
        "objective = value + alpha / 2.1 * inner(dual, predictions)",
        "tests/solvers/test_newton_cg.py",
    ),
    Mutation(
        "solvers/predictor/imputation.py",
        "residual = (observed - 1) * dual",
        "residual = (observed - 1) * dual * 0.0",
        "tests/solvers/test_imputation.py",
    ),
    Mutation(
        "solvers/kinks/multipliers.py",
        "return multipliers - problem.entries.spread(share) * room",
        "return multipliers",
        "tests/claims/test_hinge.py",
    ),
    Mutation(
        "solvers/kinks/term_ascent.py",
        "rise -= inner(self.terms.predictions,",
        "rise += inner(self.terms.predictions,",
        "tests/solvers/test_term_ascent.py",
    ),
    Mutation(
        "solvers/terms/term_model.py",
        "return self.alpha * inside + self._project",
        "return 1.01 * self.alpha * inside + self._project",
        "tests/claims/test_several_kernels.py",
    ),
    Mutation(
        "solvers/smooth/joint_steps.py",
        "scores.predictions) + self.alpha / 2 * squares",
        "scores.predictions) + self.alpha / 2.1 * squares",
        "tests/solvers/test_factor_newton.py",
    ),
    Mutation(
        "solvers/smooth/joint_steps.py",
        "sizes = squares**0.25",
        "sizes = squares**0.5",
        "tests/solvers/test_factor_newton.py",
    ),
    Mutation(
        "solvers/smooth/joint_equations.py",
        "slack = damped - values / damped",
        "slack = damped - values",
        "tests/solvers/test_factor_newton.py",
    ),
    Mutation(
        "solvers/smooth/joint_equations.py",
        "rows = (off + dual @ change + inside @ factor) / damped",
        "rows = (off + dual @ change) / damped",
        "tests/solvers/test_factor_newton.py",
    ),
    # conjugate gradients: the size of a direction, and where there is no curvature
    Mutation(
        "optimization/conjugate_gradient.py",
        "extent = size + (size / previous) ** 2 * extent",
        "extent = (size / previous) ** 2 * extent",
        "tests/optimization",
    ),
    Mutation(
        "optimization/conjugate_gradient.py",
        "curvature <= rounding * largest * extent",
        "curvature <= 0",
        "tests/optimization",
    ),
    # variances, and what hyperparameters are chosen by
    Mutation(
        "posterior/conditioning.py",
        "total += noise",
        "total += 0.9 * noise",
        "tests/posterior",
    ),
    Mutation(
        "selection/criteria/joined.py",
        "weights *= _between(relation, outputs)",
        "weights *= 1.0",
        "tests/selection/criteria/test_joined.py",
    ),
    Mutation(
        "selection/objective.py",
        "value - log_prior, gradient - slope",
        "value - log_prior, gradient + slope",
        "tests/selection/test_learning.py",
    ),
    Mutation(
        "selection/leave_one_out.py",
        "return shares + left[:, None]",
        "return shares",
        "tests/selection/test_leave_one_out.py",
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


def first_failure(project: Path, tests: Sequence[str] = ()) -> str | None:
    """Run the fast suite, or those tests of it, until one fails.

    Returns
    -------
    str or None
        The name of the test that fails, None if all pass.

    Raises
    ------
    SystemExit
        If the suite ends in another way.
    """
    command = [sys.executable, "-m", "pytest", "-x", "-n", "auto"]
    command += ["-p", "no:cacheprovider", "-m", "not slow and not product"]
    command += ["--no-header", "--tb=no", *tests]
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


def main(tests: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory() as name:
        failure = first_failure(copied(Path(name)), tests)
    if failure is not None:
        raise SystemExit(f"The suite fails though nothing is broken: {failure}")
    survived = 0
    for mutation in MUTATIONS:
        with tempfile.TemporaryDirectory() as name:
            project = copied(Path(name))
            mutated(mutation, project)
            began = perf_counter()
            failure = None if tests else first_failure(project, [mutation.first])
            failure = failure or first_failure(project, tests)
        seconds = perf_counter() - began
        print(f"{mutation.file}: {mutation.instead}", flush=True)
        print(f"    {seconds:.0f} s: {failure or 'NOT NOTICED'}", flush=True)
        survived += failure is None
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
