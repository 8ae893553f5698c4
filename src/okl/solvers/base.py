"""The interface of a solver.

Work is split in two, because paths and folds share the first part: ``prepare``
looks at the problem alone, ``solve`` at one alpha. Each solver says which
capabilities of the loss and the structure it needs, and every solution carries
the certificate of the model it returns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from okl.optimization.regions import Region
from okl.parameters.component import Component
from okl.problems import Problem, Weighting
from okl.solvers.request import Request
from okl.solvers.requirements import LOSSES, REGIONS, STRUCTURES, lacking
from okl.solvers.solution import Solution

# What is said of a solver that does not take the weights of a problem.
_WEIGHTINGS = {
    False: "complete targets without weights",
    True: "weights of zero and one only",
}
# And of a solver that does not take the number of its kernels.
_NUMBERS = {False: "several kernels", True: "one kernel"}


class Solver(Component, ABC):
    """Base of the solvers.

    Attributes
    ----------
    loss_requires, structure_requires : frozenset of str
        The capabilities without which the solver does not work.
    regions : tuple of Region classes
        The kinds of region that it takes, `NoneType` for structures without one; empty
        if it takes any structure.
    weightings : frozenset of {"none", "missing", "any"}
        The weights that a solver for a quadratic loss takes; others take any.
    needs_one_kernel : bool
        Whether all outputs must have the same kernel matrix.
    workspace_matrices : int
        How many arrays of the size of the kernel matrix it forms besides that matrix.
    several_kernels : bool or None
        Whether it is for problems of several kernels, each with its own L; None for
        both these and others.
    complete_rows : bool
        Whether targets must be a matrix, with entries that may be missing, and not in
        long form, where each row names its only output.
    """

    loss_requires: ClassVar[frozenset[str]] = frozenset({"quadratic"})
    structure_requires: ClassVar[frozenset[str]] = frozenset()
    regions: ClassVar[tuple[type[Region | None], ...]] = ()
    weightings: ClassVar[frozenset[Weighting]] = frozenset({"none"})
    needs_one_kernel: ClassVar[bool] = True
    workspace_matrices: ClassVar[int] = 2
    complete_rows: ClassVar[bool] = True
    several_kernels: ClassVar[bool | None] = False

    @classmethod
    def along(cls, n_alphas: int) -> Solver:
        """Return a solver of this class that suits the number of alphas."""
        return cls()

    def matrices(self, problem: Problem) -> int:
        """Return how many arrays of the size of the kernel matrix it forms."""
        return self.workspace_matrices

    def fits_in_memory(self, problem: Problem) -> bool:
        """Tell whether there is memory for what it makes of the kernel matrix."""
        return problem.operator.workspace >= self.matrices(problem)

    def missing(self, problem: Problem) -> list[str]:
        """Return what a problem lacks, each in words that follow 'it needs'."""
        structure = problem.structure
        unknown = sorted(self.structure_requires - structure.capabilities)
        words = [STRUCTURES[name] for name in unknown]
        region = structure.region(problem.n_outputs)
        if self.regions and not isinstance(region, self.regions):
            kinds = "; or ".join(REGIONS[cls] for cls in self.regions)
            words.append(f"a structure with {kinds}")
        missing = [lacking(one, "structure", structure) for one in words]
        return self.missing_for_given(problem) + missing

    def missing_for_given(self, problem: Problem) -> list[str]:
        """Return what a problem lacks if L is given, whatever its structure."""
        loss = self.loss_requires - problem.loss.capabilities
        quadratic = "quadratic" in self.loss_requires
        weighted = quadratic and problem.weighting not in self.weightings
        several = problem.operator.several
        return (
            [lacking(LOSSES[name], "loss", problem.loss) for name in sorted(loss)]
            + [_WEIGHTINGS["missing" in self.weightings]] * weighted
            + ["one kernel for all outputs"]
            * (self.needs_one_kernel and not problem.operator.shared)
            + ["a target matrix and no task"]
            * (self.complete_rows and not problem.entries.every_output)
            + [_NUMBERS[several]] * (self.several_kernels not in (None, several))
        )

    def largest_product(self, problem: Problem) -> float:
        """Estimate the multiplications of the largest product inside `solve`."""
        n_samples, n_outputs = problem.targets.shape
        return float(n_samples * n_outputs * max(n_samples, n_outputs))

    @abstractmethod
    def prepare(self, problem: Problem) -> Any:
        """Do what does not depend on alpha."""

    @abstractmethod
    def solve(self, prepared: Any, request: Request) -> Solution:
        """Solve what `prepare` made of a problem, at the alpha of a request."""
