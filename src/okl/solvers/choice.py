"""Which solver for which problem."""

from __future__ import annotations

from okl.parameters.component import Names, from_name
from okl.problems import Problem
from okl.solvers.base import Solver
from okl.solvers.kinks.augmented_lagrangian import AugmentedLagrangian
from okl.solvers.smooth_loss import CURVED, CURVED_IN_FEW
from okl.solvers.squared_loss import SQUARED_LOSS
from okl.solvers.table import Choice, candidates, first_that_fits

CHOICE = (
    *SQUARED_LOSS,
    *CURVED_IN_FEW,
    Choice(
        "with kinks; several kernels, curved in few",
        (AugmentedLagrangian,),
        (AugmentedLagrangian,),
    ),
    *CURVED,
)
SOLVERS: Names[Solver] = Names(
    cls for row in CHOICE for cls in (*row.given, *row.learned)
)


def choice_table() -> str:
    """Return the table that ``solver="auto"`` walks, in Markdown."""
    lines = ["| judged, observed | L given | L learned, in order |", "|---|---|---|"]
    for row in CHOICE:
        cells = (
            ", ".join(f"`{cls.name}`" for cls in solvers)
            for solvers in (row.given, row.learned)
        )
        lines.append(f"| {' | '.join((row.judged, *cells))} |")
    return "\n".join(lines) + "\n"


def as_solver(spec: str | Solver) -> Solver | None:
    """Turn a name into its solver; None for ``"auto"``.

    Raises
    ------
    ValueError
        For an unknown name; the message lists the known ones.
    """
    if isinstance(spec, str) and spec == "auto":
        return None
    if isinstance(spec, str) and spec not in SOLVERS:
        known = ", ".join(map(repr, ("auto", *SOLVERS)))
        raise ValueError(f"Unknown solver {spec!r}. Known names: {known}.")
    return from_name(spec, SOLVERS, Solver)  # type: ignore[type-abstract]


def choose_solver(spec: str | Solver, problem: Problem, *, n_alphas: int = 1) -> Solver:
    """Return the solver asked for, or the first that fits the problem.

    Parameters
    ----------
    spec : str or Solver
        A name, ``"auto"``, or a solver.
    problem : Problem
        What is to be solved.
    n_alphas : int, default=1
        For how many alphas: a factorisation of K + alpha I serves one only.

    Raises
    ------
    ValueError
        If the name is unknown or the solver asked for does not fit.
    MemoryError
        If what a solver makes of the kernel matrix does not fit in memory.
    """
    solver = as_solver(spec)
    if solver is None:
        candidate = first_that_fits(CHOICE, problem, n_alphas=n_alphas)
        if candidate is not None:
            return candidate
        if candidates(CHOICE, problem):
            raise MemoryError(
                f"{problem.structure} with {problem.loss} needs a decomposition of the "
                f"kernel matrix of {problem.operator.n_samples} samples, which does "
                "not fit into max_memory. Raise max_memory, fit on fewer rows, or use "
                "a kernel with fewer features than rows (kernel='linear') or a known "
                "output kernel (structure='identity')."
            )
        raise ValueError(
            f"No solver fits the loss {problem.loss} with the structure "
            f"{problem.structure}."
        )
    missing = solver.missing(problem)
    if missing:
        raise ValueError(
            f"The solver {solver.name!r} does not fit: it needs "
            f"{'; it needs '.join(missing)}. Use solver='auto'."
        )
    if not solver.fits_in_memory(problem):
        raise MemoryError(
            f"The solver {solver.name!r} forms {solver.matrices(problem)} more arrays "
            "of the size of the kernel matrix of "
            f"{problem.operator.n_samples} samples, which do not fit into max_memory. "
            "Raise max_memory, or use solver='auto'."
        )
    return solver
