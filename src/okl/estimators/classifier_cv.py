"""Classification that chooses kernel, structure and alpha by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from okl.estimators.classification import ClassificationMixin
from okl.estimators.cross_validated import CrossValidated
from okl.estimators.search.candidates import for_tasks, given_structures
from okl.estimators.search.held_out_classifier import HeldOutClassifier
from okl.estimators.search.trial import Trial
from okl.estimators.shared_intercepts import OF_CLASSES, SHARED
from okl.estimators.targets import TrainingTargets
from okl.losses import Logistic, Loss, Softmax
from okl.structures import Frobenius, Identity, Structure


class OutputKernelClassifierCV(ClassificationMixin, CrossValidated):
    """`OutputKernelClassifier` that chooses kernel, structure and alpha by itself.

    As `OutputKernelRegressorCV`; folds are stratified by class, except for label
    indicators. The default score is minus the log loss of `okl.metrics`, and for losses
    without probabilities the accuracy (of whole rows for label indicators); with
    ``class_weight`` rows are weighted. Rows are left out one by one in closed form for
    the squared loss only. Fits of other losses to folds end at the relative gap
    ``100 * tol`` (5e-3 at most, unless ``tol`` is larger), as scores need fewer digits;
    the fit of the returned model ends at ``tol``. With these losses and several kernels
    the first stage fits at most 9 alphas for each fold and each kernel.

    The default, ``kernel="auto"``, learns two sums of kernels on standardised columns,
    a linear and a Matern kernel with nu 5/2, and a linear and a Laplacian kernel: in
    each two weights and one width. A width for each column replaces the one where that
    raises the log likelihood of held-out rows by a quarter for each column but the
    first, by 17.5 with 71 and more. The kernel is the mean of the two sums, or one of
    them that is clearly better, by 3, or the sum of all three kernels, with a width for
    each column in two of them, if what is then learned together is clearly better.
    Columns that share a unit, as pixels do, keep it where that is clearly better. What
    is learned maximises that log likelihood over five stratified folds: that of the
    loss where it has probabilities, else of the softmax for one of several classes, and
    of the logistic loss otherwise. Classes of a single row do not count in it.

    Parameters
    ----------
    kernel, kernels, cv, search, random_state, n_jobs
        As in `OutputKernelRegressorCV`.
    alphas : int or sequence of float, default=13
        As there. Most losses of classes take a fit for each of them and each fold.
        With one class a row, the log likelihood as score and a number of alphas, the
        one chosen is their geometric mean, weighted by the likelihoods of held-out
        rows, if that is above the likeliest: few rows say little of which is best.
    eps : float or None, default=None
        The smallest alpha relative to the largest. None is 1e-5 for a kernel that is
        given; for one that is learned a thousandth of the alpha that it was learned
        with, below which there is little to find and fits take longest (a tenth if no
        temperature is chosen). If it is the best there, as may be where many tasks are
        much alike, or of texts where no kernel is named, up to ten smaller ones are
        tried with the structure that has it (``cv_results_`` has NaN for the others),
        unless the grid is coarse or there are several kernels.
    alpha_per_output : bool or "auto", default=False
        Whether each label, task or class has an alpha of its own, as in
        `OutputKernelRegressorCV`; not with a loss of all classes together, the softmax.
        With two classes there is one output.
    temperature : "auto", float or array (n_labels,), default="auto"
        What scores are divided by before the softmax, or the logistic function, makes
        probabilities of them, > 0. With ``"auto"`` each alpha has the temperature at
        which its held-out rows are likeliest (with a weak prior around one), and is
        scored at it; each label of indicators has its own, with a weak prior around
        that of all. 1.0 is the probabilities that the loss stands for. Classes, unless
        decided by costs, and `decision_function` do not depend on it, nor does the
        certificate, but for the alpha chosen. Of no effect for losses without
        probabilities.
    structures : str, Structure or list of them, default=None
        The structures to try. None is ``"identity"`` where each row has one class, as
        relations between classes that are all observed hardly help and take several
        times as long, and ``"frobenius"`` for label indicators and with ``task``. Where
        no kernel for tasks is named (and rows are not sparse) it is `Mean` with gamma a
        tenth of the number of tasks, that number, and ten and a hundred times it, and
        ``"frobenius"``. These draw intercepts together too, as few rows determine them
        badly: ``kernel_`` has a constant, ``intercept_`` is zero.
    scoring : str or callable, default=None
        As there; None for the score said above. Others have no ``class_weight``.
    loss : str or Loss, default=None
        As in `OutputKernelClassifier`; None is ``"softmax"`` for one class a row, and
        ``"logistic"`` for label indicators, with ``task``, and for two classes, where
        it is the same model with one output for two.
    fit_intercept : bool or "shared", default=True
        As in `OutputKernelClassifier`. With ``task`` an intercept is free, unless it is
        a part of the kernel, so that the structure draws intercepts together. It is
        that by default (see ``structures``), and with ``"shared"`` where structures are
        named but no kernel is.
    class_weight, tol, max_iter, max_memory
        As there.

    Attributes
    ----------
    alpha_, structure_, kernel_, feature_relevances_
        As in `OutputKernelRegressorCV`.
    alphas_, scores_, cv_results_
        As there; the alpha chosen may be larger than the one of rank 1.
        ``cv_results_["temperature"]`` are those that probabilities were scored at,
        where they were chosen.
    best_score_ : float
        The mean score, over folds, of the alpha chosen.
    loss_ : Loss
        The loss of the fit.
    temperature_ : float or array (n_labels,)
        What scores are divided by for `predict_proba`, with a loss that has it; one for
        each label of indicators whose alpha was chosen at such, 1 for labels whose rows
        are all on one side.
    classes_, dual_coef_, intercept_, output_kernel_, certificate_, ...
        Those of `OutputKernelClassifier` refitted on all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from okl import OutputKernelClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OutputKernelClassifierCV().fit(X[::3], y[::3])
    >>> model.score(X[1::3], y[1::3]) > 0.9  # of rows that it has not seen
    True
    """

    def __init__(
        self,
        kernel: Any = None,
        structures: Any = None,
        *,
        kernels: Any = None,
        alphas: int | Sequence[float] = 13,
        eps: float | None = None,
        alpha_per_output: bool | str = False,
        temperature: float | ArrayLike | str = "auto",
        cv: Any = None,
        scoring: Any = None,
        search: str = "staged",
        random_state: Any = 0,
        n_jobs: int | None = None,
        loss: str | Loss | None = None,
        class_weight: Any = None,
        fit_intercept: bool | str = True,
        tol: float = 1e-6,
        max_iter: int = 1000,
        max_memory: float | None = None,
    ) -> None:
        super().__init__(
            kernel,
            structures,
            kernels=kernels,
            alphas=alphas,
            eps=eps,
            cv=cv,
            scoring=scoring,
            search=search,
            random_state=random_state,
            n_jobs=n_jobs,
            loss=loss,
            fit_intercept=fit_intercept,
            tol=tol,
            max_iter=max_iter,
            max_memory=max_memory,
        )
        self.alpha_per_output = alpha_per_output
        self.temperature = temperature
        self.class_weight = class_weight

    _other_intercept = SHARED
    _chosen_temperature = "auto"

    def _loss_for_the_task(self) -> Loss:
        """Return the loss, that of one class a row until labels were seen."""
        given = self.temperature
        if isinstance(given, str) and given != self._chosen_temperature:
            raise ValueError(
                f"temperature must be 'auto' or a number > 0, got {given!r}."
            )
        return Softmax() if self.loss is None else super()._loss_for_the_task()

    def _loss_of(self, loss: Loss, *, by_output: bool) -> Loss:
        """Return the logistic loss for labels, tasks and two classes, for None."""
        return Logistic() if self.loss is None and by_output else loss

    def _enter(
        self, X: Any, y: Any, loss: Loss, sample_weight: Any, task: Any
    ) -> tuple[Any, np.ndarray, TrainingTargets]:
        """Check what was given to fit, and what the intercepts are."""
        self._shares_intercepts, self._constant = False, None
        X, y, targets = super()._enter(X, y, loss, sample_weight, task)
        if self._asks_for_shared_intercepts(X, targets.observed.tasks):
            self._shares_intercepts, self._constant = True, OF_CLASSES
            self._rare_labels = None  # no intercept is infinite
        return X, y, targets

    def _given_structures(self) -> list[Structure]:
        """Return, for None, relations of labels and tasks, none of classes."""
        if self.structures is not None:
            return super()._given_structures()
        if self._shares_intercepts:
            return for_tasks(len(self.output_names_))
        # outputs other than classes have names in long form
        coder = getattr(self, "_coder", None)
        labels = coder is not None and coder.kind == "multilabel"
        related = labels or hasattr(self, "output_names_")
        return given_structures(Frobenius() if related else Identity(), self.kernel)

    def _stand_in(self, y: np.ndarray, loss: Loss) -> HeldOutClassifier:
        """Return a classifier with the classes of this one."""
        likely = "probabilities" in loss.capabilities
        tempered = likely and isinstance(self.temperature, str)
        return HeldOutClassifier(self._coder, loss, tempered)

    def _keep_calibration(self, trial: Trial) -> None:
        """Set ``temperature_``, if the loss has probabilities."""
        self.__dict__.pop("temperature_", None)  # of an earlier fit
        if "probabilities" not in trial.targets.observed.loss.capabilities:
            return
        chosen = trial.calibration
        self.temperature_ = self._coder.temperature if chosen is None else chosen
        self._coder = self._coder.at(self.temperature_)
