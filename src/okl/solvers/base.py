"""Solvers: how a problem is minimised.

Work is split in two, because paths and folds share the first part: ``prepare``
looks at the problem alone, ``solve`` at one alpha. Each solver says which
capabilities of the loss and the structure it needs, and every solution carries
the certificate of the model it returns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from okl._component import Component
from okl._memory import require_memory
from okl.problems import Problem
from okl.solvers.solution import Solution


class Solver(Component, ABC):
    """Base of the solvers.

    Attributes
    ----------
    loss_requires, structure_requires : frozenset of str
        The capabilities without which the solver does not work.
    complete_rows : bool
        Whether every row must have a target for every output, missing or not, instead
        of naming its only one.
    """

    loss_requires: ClassVar[frozenset[str]] = frozenset({"quadratic"})
    structure_requires: ClassVar[frozenset[str]] = frozenset()
    complete_rows: ClassVar[bool] = True

    def missing(self, problem: Problem) -> list[str]:
        """Return the required capabilities that a problem lacks."""
        loss = self.loss_requires - problem.loss.capabilities
        weighted = "quadratic" in self.loss_requires and problem.weights is not None
        structure = self.structure_requires - problem.structure.capabilities
        return (
            [f"{name!r} of the loss" for name in sorted(loss)]
            + [f"{name!r} of the structure" for name in sorted(structure)]
            + ["targets without weights"] * weighted
            + ["a target matrix"] * (self.complete_rows and problem.long)
        )

    def largest_product(self, problem: Problem) -> float:
        """Estimate the multiplications of the largest product inside `solve`."""
        n_samples, n_outputs = problem.targets.shape
        return float(n_samples * n_outputs * max(n_samples, n_outputs))

    @abstractmethod
    def prepare(self, problem: Problem) -> Any:
        """Do what does not depend on alpha."""

    @abstractmethod
    def solve(
        self, prepared: Any, alpha: float, *, tol: float, max_iter: int, start: Any
    ) -> Solution:
        """Solve at one alpha.

        Parameters
        ----------
        prepared : object
            From `prepare`.
        alpha : float
            Strength of the regularisation, > 0.
        tol : float
            Relative duality gap to stop at.
        max_iter : int
            Most iterations.
        start : object or None
            `Solution.start` of the same solver at a neighbouring alpha.
        """


# Newton's method in L holds about so many arrays of its size.
_OUTPUT_MATRICES = 12


def require_output_matrices(problem: Problem) -> None:
    """Raise MemoryError unless Newton's method in L (m, m) can fit.

    Raises
    ------
    MemoryError
        Before anything of that size is allocated.
    """
    n_outputs = problem.targets.shape[1]
    require_memory(
        _OUTPUT_MATRICES * 8 * n_outputs**2,
        f"A fit of {problem.structure} to {n_outputs} outputs",
        "Use structure='low_rank' or 'trace_ball', which form no array of "
        "n_outputs x n_outputs.",
    )
