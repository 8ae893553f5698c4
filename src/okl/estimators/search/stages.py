"""The two stages of a search over kernels, structures and alphas.

Kernels move the error more than structures do, and a kernel that is poor for
independent outputs is poor for related ones. Every kernel is therefore first tried with
independent outputs: on a part of the rows where there are many, and in closed form
where rows can be left out one by one; otherwise on the folds, at fewer alphas. Where
the best one has the smallest or the largest width of the short list, widths beyond it
are tried until they are no better. The best two are then tried with every structure at
every alpha. Where that would be the same fits to the same folds once more, as with
independent outputs alone, few rows and few alphas, all kernels are tried in one stage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from okl.estimators.search.kernel_learning import KernelLearning
from okl.estimators.search.results import Results
from okl.estimators.search.smaller_alphas import ROUNDED, with_smaller_alphas
from okl.estimators.search.steps import Step
from okl.estimators.search.to_be_learned import is_auto, learnables, with_learned
from okl.estimators.search.trial import Trial
from okl.estimators.search.trials import Experiment
from okl.selection.learned_kernel import LearnedKernel
from okl.solvers import solve_path
from okl.structures import Identity, Structure

# Kernels that get beyond the first stage, and the most kernels that it adds.
_FINALISTS, _ADDED = 2, 3
# The rows that the first stage looks at, and its alphas where every one of them takes a
# fit for each fold.
FIRST_ROWS, FIRST_ALPHAS = 2000, 9
# How far below the noise that a kernel was learned with the grid of alphas reaches, and
# where too sure probabilities are made less so by a temperature.
_BELOW, _BELOW_TEMPERED = 0.1, 0.001


@dataclass(frozen=True)
class Search:
    """What is searched.

    Attributes
    ----------
    kernels : list of Kernel, PerOutput or "precomputed"
        Resolved candidates; `Learnable` stands for one that is learned.
    structures : list of Structure
    first, second : Experiment
        What the candidates of each stage are tried on.
    staged : bool
        Whether there is a first stage, given more kernels than get beyond it.
    beyond : callable or None
        From the best kernel of the first stage and all that were tried to a further one
        to try, or None.
    learning : KernelLearning or None
        What kernels are learned from, if any are.
    unlearned : str or None
        Why none is, where one was asked for.
    goes_on : bool
        Whether smaller alphas are tried if the smallest of the grid is the best.
    learned : sequence of LearnedKernel
        The kernels that were learned so far.
    """

    kernels: list[Any]
    structures: list[Structure]
    first: Experiment
    second: Experiment
    staged: bool
    beyond: Callable[[Any, Sequence[Any]], Any] | None
    learning: KernelLearning | None
    unlearned: str | None
    goes_on: bool
    learned: Sequence[LearnedKernel] = ()

    @property
    def has_first_stage(self) -> bool:
        """Whether some kernels are dropped before structures are compared."""
        if not self.staged or len(self.kernels) <= _FINALISTS:
            return False
        return self.beyond is not None or not self._says_all

    @property
    def _says_all(self) -> bool:
        """Whether a first stage would take the same fits as the second."""
        alphas = self.first.alphas
        return (
            self.first.folds is not None
            and all("identity" in s.capabilities for s in self.structures)
            and self.first.X.shape[0] <= FIRST_ROWS
            and (np.ndim(alphas) > 0 or int(alphas) <= FIRST_ALPHAS)  # type: ignore
        )

    @property
    def n_finalists(self) -> int:
        """How many kernels are tried with every structure."""
        return _FINALISTS if self.has_first_stage else len(self.kernels)

    @property
    def learns_again(self) -> bool:
        """Whether a kernel is learned once more, for the relation of tasks found."""
        if self.learning is None or self.learning.of_tasks is None:
            return False
        made = any(map(is_auto, learnables(self.kernels)))
        made = made or any(one.standard is not None for one in self.learned)
        return made and any("identity" not in s.capabilities for s in self.structures)

    @property
    def n_steps(self) -> int:
        """How many steps a run tells of."""
        before = len(self.kernels) * self.first.n_steps * self.has_first_stage
        before += len(learnables(self.kernels))
        again = (1 + self.second.n_steps) * self.learns_again
        return before + self.n_finalists * self.second.n_steps + again

    def learn(self, step: Step) -> Search:
        """Learn the kernels that are to be learned; return the search with them.

        Alphas that are counted, not given, then reach from the largest that matters to
        below the noise that the kernels were learned with, and no further unless they
        were asked to. A loss whose parameter is left to the data is that for the errors
        that the best of them makes.
        """
        if self.learning is None:
            return self
        found: list[LearnedKernel] = []
        to_learn = learnables(self.kernels)
        for one in to_learn:
            with step("kernel"):
                found.append(self.learning.run(one))
        kernels = list(zip(to_learn, [one.kernel for one in found], strict=True))
        return replace(
            self,
            kernels=[with_learned(kernel, kernels) for kernel in self.kernels],
            first=self._along(self.first, found),
            second=self._along(self.second, found),
            learned=found,
        )

    def learn_again(
        self, trial: Trial, results: Results, step: Step
    ) -> tuple[Search, Trial]:
        """Learn the best kernel of tasks once more, for the relation that was found.

        It is tried with that relation alone, whose parameters are learned as well where
        structures differ in them, as those of the default do.
        Where tasks have an alpha each the kernel stays what it is.
        Return the search with both and their trial, if that is better, else what there
        was.
        """
        mine = [one for one in self.learned if one.kernel is trial.kernel]
        if self.learning is None or not (self.learns_again and mine):
            return self, trial
        if trial.ratios is not None or not np.isfinite(trial.best):
            return self, trial
        row, column = trial.chosen
        structure, alpha = self.structures[row], float(trial.alphas[row, column])
        output_kernel = None
        if "known" not in structure.capabilities:
            (solution,) = solve_path(
                trial.formulations[row].problem,
                [alpha],
                tol=self.second.tol,
                max_iter=self.second.max_iter,
            )
            if solution.output_kernel.rank == 0:
                return self, trial
            output_kernel = solution.output_kernel.matrix()
        assert self.learning.of_tasks is not None
        # two of a kind are values of a parameter, and another one may be better
        several = sum(type(one) is type(structure) for one in self.structures) > 1
        with step("kernel"):
            found = self.learning.of_tasks.learn_again(
                mine[0], structure, output_kernel, alpha, learns_structure=several
            )
        if found is None:
            return self, trial
        learned, relation = found
        second = self._along(self.second, [learned])
        better = second.run(learned.kernel, [relation], step, trial.rival)
        better = better.as_row(row, len(self.structures))
        structures = [*self.structures]
        structures[row] = relation
        results.add(2, better, structures)
        if not better.best > trial.best:
            return self, trial
        learned_so_far = [*self.learned, learned]
        return replace(self, learned=learned_so_far, structures=structures), better

    def _along(
        self, experiment: Experiment, found: Sequence[LearnedKernel]
    ) -> Experiment:
        """Return an experiment whose paths, and loss, suit the learned kernels."""
        learned = min(one.smallest for one in found)
        errors = [one.errors for one in found if one.errors is not None]
        targets = experiment.targets
        loss: Any = targets.observed.loss
        if errors and "adaptive" in loss.capabilities:
            targets = targets.with_loss(loss.for_errors(*min(errors)))
        return replace(
            experiment, targets=targets, eps=self._reaching(learned), learned=learned
        )

    def _reaching(self, learned: float) -> float:
        """Return the smallest alpha over the largest, for that of learned kernels."""
        likely = "probabilities" in self.second.targets.observed.loss.capabilities
        below = _BELOW_TEMPERED if likely and self.second.calibrates else _BELOW
        given, eps = self.second.eps, max(below * learned, min(learned, ROUNDED))
        return eps if given is None else min(given, eps)

    def run(self, random_state: Any, step: Step) -> tuple[Trial, Results]:
        """Return the trial of the best kernel, and the scores of all candidates."""
        results = Results(self.second.judge.stand_in.calibration)
        kernels: Sequence[Any] = self.kernels
        if self.has_first_stage:
            kernels = self._finalists(random_state, results, step)
        best: Trial | None = None
        for kernel in kernels:
            rival = None if best is None else best.rival
            trial = self._tried(self.second, kernel, step, rival)
            results.add(2, trial, self.structures)
            # one kernel matrix at a time, and the best one
            if best is None or trial.best > best.best:
                best = trial
        assert best is not None
        return best, results

    def _tried(
        self,
        experiment: Experiment,
        kernel: Any,
        step: Step,
        rival: np.ndarray | None,
    ) -> Trial:
        """Return the trial of a kernel with every structure."""
        trial = experiment.run(kernel, self.structures, step, rival)
        if not self.goes_on:
            return trial
        return with_smaller_alphas(experiment, trial, self.structures)

    def _finalists(
        self, random_state: Any, results: Results, step: Step
    ) -> Sequence[Any]:
        """Return the best kernels for independent outputs, in the order given."""
        experiment = self.first
        if experiment.X.shape[0] > FIRST_ROWS:
            counted = experiment.targets.observed.counted()
            drawn = check_random_state(random_state).permutation(counted)[:FIRST_ROWS]
            some = experiment.on_rows(np.sort(drawn))
            if some.folds is None or some.folds:  # else no fold holds out any of them
                experiment = some
        alphas = experiment.alphas
        if experiment.folds is not None and isinstance(alphas, int | np.integer):
            experiment = replace(experiment, alphas=min(int(alphas), FIRST_ALPHAS))
        tried, scores = list(self.kernels), []

        def score(kernel: Any, step: Step) -> None:
            trial = experiment.run(kernel, [Identity()], step)
            results.add(1, trial, [Identity()])
            scores.append(trial.best)

        for kernel in self.kernels:
            score(kernel, step)
        for _ in range(_ADDED):
            best = tried[int(np.argmax(scores))]
            further = None if self.beyond is None else self.beyond(best, tried)
            if further is None:
                break
            tried.append(further)
            score(further, lambda name: nullcontext())  # not among the steps foretold
        order = np.argsort(-np.asarray(scores), kind="stable")[:_FINALISTS]
        return [tried[number] for number in np.sort(order)]
