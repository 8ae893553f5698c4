"""One kernel tried with every structure at every alpha, on the same held-out rows.

A search is a few trials. What they have in common, the rows, their targets, the folds
and the options, is an `Experiment`; the result for one kernel is a `Trial`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from okl.estimators.output_alphas import at_one_alpha
from okl.estimators.search.alphas_of_outputs import (
    OutputLosses,
    around,
    check_alpha_per_output,
    check_one_kernel,
    clear_alphas,
    is_for_each,
    seeks_alphas,
)
from okl.estimators.search.calibrations import CalibratedScore, judged, kept
from okl.estimators.search.fold_fits import FoldFits
from okl.estimators.search.judge import Judge
from okl.estimators.search.race import PartScores, can_race, in_the_race
from okl.estimators.search.steps import Step
from okl.estimators.search.trial import Trial
from okl.estimators.targets import TrainingTargets
from okl.estimators.training import Training
from okl.kernels import KernelTerms, PerOutput
from okl.problems import Inputs, Observed, OutputAlphas, Problem
from okl.selection.folds import Folds
from okl.selection.held_out import FoldScores, score_fold, score_left_out
from okl.selection.left_out_residuals import LeftOutResiduals, can_leave_out
from okl.selection.path import alpha_grid, largest_of_paths
from okl.structures import Identity, Structure

# Arrays of the size of a kernel matrix that exist while it is decomposed.
_DECOMPOSED = 3


@dataclass(frozen=True)
class Experiment:
    """What all kernels are tried on.

    Attributes
    ----------
    X : array or sparse matrix (n_samples, n_features)
        The training rows.
    targets : TrainingTargets
    judge : Judge
    folds : list of pairs of arrays, or None
        Row numbers to train on and to test; None for leave-one-out in closed form.
    alphas, eps, fit_intercept, tol, max_iter, n_jobs, search
        As in the estimators.
    learned : float, default=1.0
        The least part of the largest alpha that kernels were learned with.
    budget : float
        Bytes that kernel matrices may take.
    alpha_per_output : bool or "auto"
        Whether each output has an alpha of its own; "auto" for those that are clearly
        better off with it, where rows are left out in closed form.
    leaves_one_out : bool
        Whether rows may be left out one by one, where exact, beside the folds.
    """

    X: Any
    targets: TrainingTargets
    judge: Judge
    folds: Folds | None
    alphas: int | Sequence[float]
    eps: float | None
    fit_intercept: bool
    tol: float
    max_iter: int
    n_jobs: int | None
    budget: float
    alpha_per_output: bool | str
    leaves_one_out: bool
    search: str
    learned: float = 1.0

    def __post_init__(self) -> None:
        """Check that outputs have a loss each, where they are to have an alpha each."""
        check_alpha_per_output(self.alpha_per_output, self.targets.observed.loss)

    @property
    def calibrates(self) -> bool:
        """Whether each alpha is judged at the calibration that suits it best."""
        return self.folds is not None and self.judge.stand_in.calibrates

    @property
    def n_steps(self) -> int:
        """The steps of a trial."""
        return 1 if self.folds is None else len(self.folds)

    @property
    def races(self) -> bool:
        """Whether the first fold says what the others leave out."""
        if self.search != "staged" or self.folds is None or len(self.folds) < 2:
            return False
        return can_race(self.folds[0][1], self.judge)

    def in_eigenbasis(self, kernels: Sequence[Any]) -> bool:
        """Tell whether folds are fitted in eigenbases, and rows left out if L is known.

        For the squared loss and complete targets, a kernel matrix for all outputs, and
        memory to decompose it.
        """
        observed = self.targets.observed
        return (
            "quadratic" in observed.loss.capabilities
            and observed.complete
            and not any(
                isinstance(kernel, PerOutput | KernelTerms) for kernel in kernels
            )
            and _DECOMPOSED * 8 * self.X.shape[0] ** 2 <= self.budget
        )

    def on_rows(self, rows: np.ndarray) -> Experiment:
        """Return the experiment on some rows: of each fold, what is among them."""
        number = np.full(self.X.shape[0], -1)
        number[rows] = np.arange(len(rows))
        folds, judge = None, self.judge.on_rows(rows)
        if self.folds is not None:
            some = [(_found(number, a), _found(number, b)) for a, b in self.folds]
            folds = [(a, b) for a, b in some if len(a) and len(b)]
            judge = judge.of_folds(folds)
        return replace(
            self,
            X=self.X[rows],
            targets=self.targets.restrict(rows),
            judge=judge,
            folds=folds,
        )

    def run(
        self,
        kernel: Any,
        structures: Sequence[Structure],
        step: Step,
        rival: np.ndarray | None = None,
    ) -> Trial:
        """Score a kernel with every structure at every alpha.

        Those that are clearly behind a rival on the first fold have no scores.
        """
        if is_for_each(self.alpha_per_output):
            check_one_kernel(kernel)
        observed = self.targets.observed
        training = Training.of(
            kernel,
            self.X,
            self.targets.row_weights,
            self.budget,
            fit_intercept=self.fit_intercept,
        )
        inputs = observed.inputs(training.operator, fit_intercept=self.fit_intercept)
        targets, judge, ratios, given = self.targets, self.judge, None, structures
        alphas = self._alphas_of_outputs(kernel, inputs, structures)
        if alphas is not None:
            targets, structures = at_one_alpha(alphas, targets, structures, kernel)
            observed, judge = targets.observed, replace(judge, units=targets.units)
            ratios = None if alphas.weights is None else 1 / alphas.weights
        formulations = [observed.formulate(inputs, s) for s in structures]
        grids = np.stack(
            [alpha_grid(f.problem, self.alphas, self.eps) for f in formulations]
        )
        if alphas is not None:
            for row, structure in enumerate(given):
                if "known" in structure.capabilities:
                    grids[row] = around(grids[row], alphas.overall)
        outcomes: list[FoldScores] = []
        if self.folds is None:
            with step("leave-one-out"):
                left_out = inputs, formulations, observed.targets, grids, judge
                outcomes.append(score_left_out(*left_out))
        else:
            of_fold = kept if self.calibrates else judge
            watch = self._watch(judge, kernel)
            problems = [] if watch is None else [f.problem for f in formulations]
            fits = self._fits(inputs, observed, structures, grids, of_fold, problems)
            results = self._of_folds(fits, watch, rival)
            for _ in self.folds:
                with step("fold"):
                    outcomes.append(next(results))
            if watch is not None:
                outcomes = fits.to_the_end(
                    outcomes, grids, lambda some: self._scored(some, judge)[0].mean(-1)
                )
        scores, calibrations = self._scored(outcomes, judge)
        return Trial(
            kernel,
            training,
            formulations,
            grids,
            scores,
            max(outcome.largest_gap for outcome in outcomes),
            targets,
            ratios,
            calibrations,
            outcomes[0].watched if self.races else None,
            None if np.ndim(self.alphas) else judge.n_likely(self.folds),
        )

    def _watch(self, judge: Judge, kernel: Any) -> Any:
        """Return what tells a fold when a path is over; None where all are fitted.

        In an eigenbasis all alphas together take hardly longer than one.
        """
        if self.search == "full" or self.in_eigenbasis([kernel]):
            return None
        observed = self.targets.observed
        return CalibratedScore(observed, judge) if self.calibrates else judge

    def _fits(
        self,
        inputs: Inputs,
        observed: Observed,
        structures: Sequence[Structure],
        grids: np.ndarray,
        judge: Any,
        watched: Sequence[Problem] = (),
    ) -> FoldFits:
        """Return what fits all structures to a fold."""
        assert self.folds is not None
        largest = largest_of_paths(watched, self.alphas, grids, self.learned)
        score = partial(
            score_fold,
            inputs.plain,
            observed,
            structures,
            grids,
            judge=judge,
            fit_intercept=self.fit_intercept,
            tol=self.tol,
            max_iter=self.max_iter,
            largest=largest,
        )
        return FoldFits(score, self.folds, self.n_jobs, largest)

    def _of_folds(
        self, fits: FoldFits, watch: Any, rival: np.ndarray | None
    ) -> Iterator[FoldScores]:
        """Yield the scores of each fold, as far as it goes by itself."""
        tried, numbers = None, range(len(fits.folds))
        if watch is not None and self.races:
            test = fits.folds[0][1]
            blocks = PartScores(watch, self.judge.one_of_each_class(test))
            first = fits.first(blocks)
            assert first.watched is not None
            tried = in_the_race(first.fitted, first.watched, rival)
            first.drop(~tried)
            yield first
            numbers = numbers[1:]
        yield from fits.of(numbers, [tried] * len(numbers), watch)

    def _scored(
        self, folds: Sequence[FoldScores], judge: Judge
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the scores of all folds, and the calibrations they are at, if any."""
        if not self.calibrates:
            return np.stack([fold.scores for fold in folds], axis=-1), None
        tests = [test for _, test in self.folds or []]
        return judged(folds, tests, self.targets.observed, judge)

    def _alphas_of_outputs(
        self, kernel: Any, inputs: Inputs, structures: Sequence[Structure]
    ) -> OutputAlphas | None:
        """Return the best alpha of each independent output, None if one is for all."""
        observed, asked = self.targets.observed, is_for_each(self.alpha_per_output)
        if not seeks_alphas(self.alpha_per_output, structures, observed):
            return None
        exact = self.leaves_one_out and can_leave_out(inputs, observed, self.budget)
        decomposes = self.in_eigenbasis([kernel]) or not observed.complete
        if not (asked or (exact and decomposes)):
            return None
        problem = observed.formulate(inputs, Identity()).problem
        grid = alpha_grid(problem, self.alphas, self.eps)
        if exact:
            left_out = LeftOutResiduals.of(inputs, observed, grid)
            if not asked:
                return clear_alphas(observed, left_out, grid)
            losses = left_out.losses
        else:
            judge = OutputLosses(observed)
            fits = self._fits(inputs, observed, [Identity()], grid[None], judge)
            losses = -sum(one.scores[0] for one in self._of_folds(fits, None, None))
        # of equal ones the largest alpha, which comes first
        return OutputAlphas.of(grid[np.argmin(losses, axis=0)], observed)


def _found(number: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the new numbers of those rows that have one."""
    found = number[rows]
    return found[found >= 0]
