"""Solve a problem at one alpha, or along a path: every fit of a model calls this."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from okl.numerics.threads import threads_for
from okl.numerics.validation import check_fit_parameters
from okl.problems import Formulation, Problem
from okl.solvers.base import Solver
from okl.solvers.choice import choose_solver
from okl.solvers.request import Request
from okl.solvers.solution import Solution


def solve(
    problem: Problem,
    alpha: float,
    *,
    solver: str | Solver = "auto",
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> Solution:
    """Return the best model of a problem, with its certificate.

    It is computed with the library of the problem's arrays: those of CuPy and PyTorch
    on a GPU stay there (they need the extra ``gpu``; PyTorch also
    ``torch.set_default_device("cuda")``, where new arrays are made). Of the losses
    `Hinge` alone has a faster way with NumPy, by libsvm.

    Parameters
    ----------
    problem : Problem
        A loss on targets, an operator and a structure; see `okl.problems.formulate`.
    alpha : float
        Strength of the regularisation, > 0.
    solver : str or Solver, default="auto"
        A name of `okl.solvers`, or ``"auto"`` for the first that fits.
    tol : float, default=1e-6
        Relative duality gap to stop at.
    max_iter : int, default=1000
        Most iterations.

    Returns
    -------
    Solution
        In the outputs of the problem; `okl.problems.Formulation` has the way back.

    Raises
    ------
    TypeError
        For what is no problem.
    ValueError
        If alpha, tol or max_iter is out of range, or the solver does not fit.
    MemoryError
        If what the solver makes of the kernel matrix does not fit in memory.

    Examples
    --------
    >>> import numpy as np
    >>> import okl
    >>> from okl.losses import Squared
    >>> from okl.operators import Dense
    >>> from okl.problems import Inputs, formulate
    >>> from okl.structures import Frobenius
    >>> K, Y = np.eye(4), np.arange(8.0).reshape(4, 2)
    >>> inputs = Inputs.of(Dense(K), fit_intercept=False)
    >>> formulation = formulate(inputs, Y, Squared(), Frobenius())
    >>> okl.solve(formulation.problem, alpha=1.0).certificate.status
    'optimal'
    """
    _check_problem(problem)
    check_fit_parameters(tol, max_iter, [alpha])
    (solution,) = solve_path(
        problem, [alpha], solver=solver, tol=tol, max_iter=max_iter
    )
    return solution


def _check_problem(problem: Any) -> None:
    """Raise TypeError for what is no problem."""
    if isinstance(problem, Formulation):
        text = "problem must be a Problem, got a Formulation: pass its problem."
        raise TypeError(text)
    if not isinstance(problem, Problem):
        raise TypeError(
            "problem must be a Problem, such as formulate(inputs, targets, loss, "
            f"structure).problem of okl.problems, got {type(problem).__name__}."
        )


def solve_path(
    problem: Problem,
    alphas: Sequence[float],
    *,
    solver: str | Solver = "auto",
    tol: float,
    max_iter: int,
) -> Iterator[Solution]:
    """Yield the solutions at decreasing alphas, each found from the one before.

    One decomposition serves all of them. Parameters are those of `solve`, checked.
    """
    chosen = choose_solver(solver, problem, n_alphas=len(alphas))
    prepared = chosen.prepare(problem)
    start: Any = None
    for alpha in alphas:
        with threads_for(chosen.largest_product(problem)):
            request = Request(float(alpha), tol, max_iter, start)
            solution = chosen.solve(prepared, request)
        start = solution.start
        yield solution.ended(problem, request)
