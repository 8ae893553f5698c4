r"""The loss of held-out rows of k folds, by a fit and one more solve for each.

J is the sum of V(y_i, F_i) over the held-out rows: minus their log likelihood for the
softmax and the logistic loss. For a fold with training rows T and held-out rows H the
scores of H are K_HT C L + 1 b'. With g the gradient of the loss there, a change of K
moves J in three ways: through K_HT directly, and through C and b, which follow the move
dK_TT C L of the training scores. The derivative s of J with respect to such a move is
one solve with the equations of a Newton step (`adjoint.py`); together

.. math:: dJ = \operatorname{tr}\left( [g; s]' \, dK_{:T}\, C L \right),

two thin arrays for each fold. Seeger (2006), *Cross-validation optimization for
structured Hessian kernel methods*, sections 5 and 6.3.

*Fits that ended early.* C L of a fit differs a little from the one that the gradient of
the loss at its scores implies. What J changes by this difference is known to first
order from the same s and g; corrected for it, J errs to second order in the error of
the fit, as the objective does. A corrected loss below zero is impossible: such a fit is
too far from its optimum.

*An alpha for each output* weighs the loss of the training rows, not that of held-out
ones. Where it moves, so do the dual variables of that output by themselves.

*A kernel for each output*, with independent outputs, takes the columns of [g; s] and C
apart: tr(dK C L) is then the sum over outputs j of that of dK_j, their j-th columns.

*Several kernels*, each with its own L_q, have such a trace each: all terms share C, and
so g and s.

*A learned L* follows C as well. For the squared Frobenius norm it is C'KC / 2, and its
derivative is followed. With other learned structures L has no derivative where an entry
or an eigenvalue of it reaches zero; with these there is only the value, of the fits as
they are.
"""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, NamedTuple

import numpy as np

from okl.numerics.threads import threads_for
from okl.operators import Operator
from okl.optimization.regions import Free
from okl.problems import Observed, OutputAlphas
from okl.selection.criteria.adjoint import Adjoint
from okl.selection.criteria.base import (
    Criterion,
    Evaluation,
    Value,
    check_criteria_are_for,
)
from okl.selection.criteria.fold_checks import Names, check_folds
from okl.selection.criteria.fold_fit import FoldFit, FoldStart
from okl.selection.criteria.fold_term import FoldPart, HeldOutTerm, summed
from okl.selection.folds import Folds
from okl.structures import Structure


class FoldsLikelihood(Criterion):
    """The loss of held-out rows, summed over folds.

    Fits, and the solves for the derivative, start where those of the last evaluation
    ended.

    Parameters
    ----------
    observed : Observed
        Targets, with a smooth loss; any weights, and missing targets.
    folds : sequence of pairs of arrays
        Row numbers to train on and to test.
    fit_intercept : bool
    tol : float, default=1e-8
        Relative gap of the fits: the derivative errs by about its root.
    max_iter : int, default=1000
        Most iterations of a fit.
    rtol : float, default=1e-5
        Relative residual of the solve for the derivative. Near the end of a search its
        parts cancel: with 1e-4 a line search may find nothing lower along it.
    """

    by_fits: ClassVar[bool] = True

    def __init__(
        self,
        observed: Observed,
        folds: Folds,
        *,
        fit_intercept: bool,
        tol: float = 1e-8,
        max_iter: int = 1000,
        rtol: float = 1e-5,
        names: Names = None,
    ) -> None:
        check_criteria_are_for(observed)
        if observed.tasks is not None:
            raise ValueError(
                "The likelihood of folds does not support data in long form. With task "
                "there are criteria for the squared loss and a structure that fixes "
                "the output kernel, such as Mean() or 'identity'; for others pass y as "
                "a matrix, one column for each output and NaN where it was not "
                "observed, and no task."
            )
        self.observed, self.fit_intercept = observed, fit_intercept
        self.tol, self.max_iter, self.rtol = tol, max_iter, rtol
        self._folds = [(np.asarray(train), np.asarray(test)) for train, test in folds]
        self._starts: list[FoldStart | None] = [None] * len(self._folds)
        self._solved: list[np.ndarray | None] = [None] * len(self._folds)
        check_folds(observed, self._folds, fit_intercept=fit_intercept, names=names)

    def evaluate(
        self,
        operator: Operator,
        alpha: Any,
        structure: Structure,
        *,
        of_kernel: bool = True,
    ) -> Evaluation:
        """Return the value at a kernel, with its derivatives.

        Raises
        ------
        numpy.linalg.LinAlgError
            If the fit to a fold ends too far from its optimum.
        """
        if not self.differentiates(structure):
            raise ValueError(
                f"The L of {structure} is learned, and the derivative of held-out "
                "scores is not available for it. Take finite differences of `value`, "
                "or use a structure that fixes L, such as 'identity', or 'frobenius'."
            )
        n, m = self.observed.targets.shape
        alphas, several = _alphas(alpha), np.ndim(alpha) == 1
        with threads_for(float(n * m * max(n, m))):
            folds = [
                self._fold(number, operator, alphas, structure)
                for number in range(len(self._folds))
            ]
        slopes = np.sum([part.slopes for fold in folds for part in fold.terms], axis=0)
        terms = zip(*(fold.terms for fold in folds), strict=True)
        return Evaluation(
            sum(fold.value for fold in folds),
            tuple(summed([one.derivative for one in own]) for own in terms),
            -slopes if several else -float(slopes.sum()),
            max(fold.gap for fold in folds),
        )

    def differentiates(self, structure: Structure) -> bool:
        """Tell whether L is given, or its penalty the squared norm, of smooth dual."""
        return all(map(self._follows, structure.of_terms))

    def _follows(self, structure: Structure) -> bool:
        """Tell whether the derivative follows the L of one kernel."""
        targets = self.observed.targets
        given = structure.known(targets) is not None
        return given or isinstance(structure.region(targets.shape[1]), Free)

    def value(self, operator: Operator, alpha: Any, structure: Structure) -> Value:
        """Return the value; without derivatives it is that of the fits as they are."""
        if self.differentiates(structure):
            return super().value(operator, alpha, structure)
        total, largest_gap, alphas = 0.0, 0.0, _alphas(alpha)
        n, m = self.observed.targets.shape
        with threads_for(float(n * m * max(n, m))):
            for number in range(len(self._folds)):
                judged = self._judged(number, operator, alphas, structure)
                total += judged.loss
                largest_gap = max(largest_gap, judged.fit.gap)
        return Value(total, largest_gap)

    def cold(self) -> FoldsLikelihood:
        """Return the same criterion, whose fits start from nothing."""
        fresh = copy(self)
        fresh._starts = [None] * len(self._folds)
        fresh._solved = [None] * len(self._folds)
        return fresh

    def _judged(
        self,
        number: int,
        operator: Operator,
        alphas: OutputAlphas,
        structure: Structure,
    ) -> _Judged:
        """Fit to the training rows of a fold, and judge the others."""
        train, test = self._folds[number]
        fit = FoldFit.of(
            operator.restrict(train),
            alphas.weighted(self.observed.restrict(train)),
            structure,
            alphas.overall,
            fit_intercept=self.fit_intercept,
            tol=self.tol,
            max_iter=self.max_iter,
            start=self._starts[number],
        )
        self._starts[number] = fit.start
        terms = fit.held_out(operator, train, test)
        scores = np.sum([term.predicted for term in terms], axis=0) + fit.intercept
        loss, downhill = self.observed.restrict(test).loss_and_downhill(scores)
        return _Judged(fit, terms, float(loss), -np.asarray(downhill))

    def _fold(
        self,
        number: int,
        operator: Operator,
        alphas: OutputAlphas,
        structure: Structure,
    ) -> _Fold:
        """Fit to the training rows of a fold, and differentiate its held-out loss."""
        fit, terms, value, g = self._judged(number, operator, alphas, structure)
        of_dual = np.sum([term.of_dual(g) for term in terms], axis=0)
        s, self._solved[number] = Adjoint.of(fit).solve(
            of_dual, g.sum(axis=0), rtol=self.rtol, start=self._solved[number]
        )
        rows = *self._folds[number], len(self.observed.targets)
        parts = [term.part(*rows, g, s) for term in terms]
        value += sum(part.correction for part in parts)
        if value < 0:
            raise np.linalg.LinAlgError(
                f"The loss of the rows held out of fold {number} cannot be computed: "
                "the fit to the other rows is too far from its optimum. Use a larger "
                "alpha, or narrower bounds."
            )
        return _Fold(value, parts, fit.gap)


def _alphas(alpha: Any) -> OutputAlphas:
    several = np.ndim(alpha) == 1
    return OutputAlphas.of_each(alpha) if several else OutputAlphas(float(alpha))


class _Judged(NamedTuple):
    """A fit to a fold, and the loss of its held-out rows.

    Attributes
    ----------
    fit : FoldFit
    terms : list of HeldOutTerm
    loss : float
    slopes : array (n_test, n_outputs)
        The derivative of the loss by the scores.
    """

    fit: FoldFit
    terms: list[HeldOutTerm]
    loss: float
    slopes: np.ndarray


class _Fold(NamedTuple):
    """What one fold adds to an evaluation."""

    value: float
    terms: list[FoldPart]
    gap: float
