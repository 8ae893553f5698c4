"""Regression that chooses kernel, structure and alpha by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from okl.estimators.cross_validated import CrossValidated
from okl.estimators.quantile_shift import set_shift
from okl.estimators.regression import RegressionMixin
from okl.estimators.search.candidates import (
    for_tasks,
    given_structures,
    has_open_tasks,
)
from okl.estimators.search.held_out_regressor import HeldOutRegressor
from okl.estimators.search.trial import Trial
from okl.estimators.shared_intercepts import constant_of_numbers
from okl.estimators.targets import TrainingTargets
from okl.losses import Loss
from okl.numerics.validation import LARGEST_WITH_SQUARE, check_magnitude
from okl.structures import Frobenius, Structure


class OutputKernelRegressorCV(RegressionMixin, CrossValidated):
    """`OutputKernelRegressor` that chooses kernel, structure and alpha by itself.

    Every structure is tried at every alpha of its own grid, on the same held-out rows,
    with one eigendecomposition of the kernel matrix a fold; the best is refitted on all
    rows. Kernel parameters (``gamma="scale"``), what targets are normalised by
    (``y_mean_``, ``y_scale_``) and grids come from all training rows; the folds take
    blocks of one kernel matrix. Scores are those of predictions in the units of the
    targets.

    By default the kernel is learned from the targets first, see the notes. Of a list
    of more than two, all are first tried with independent outputs
    (``structure="identity"``), on at most 2000 rows, and the best two go on, unless
    that would be the same fits again.

    Parameters
    ----------
    kernel : str, Kernel or callable, default=None
        The only kernel to try, as in `OutputKernelRegressor`. ``"auto"``, or None
        without ``kernels``, is one that is learned from the targets first. A list is
        that of a model of several kernels, of which one may be ``"auto"``.
    structures : str, Structure or list of them, default=None
        The structures to try. None is ``"frobenius"``, and with ``task``, where no
        kernel is named (and rows are not sparse), `Mean` as well, with gamma a tenth of
        the number of tasks, that number, and ten and a hundred times it. With
        a list of kernels each of them stands for all kernels, or is a list with one for
        each: ``[["identity", "frobenius"]]``.
    kernels : list of str, Kernel or callable, or "short_list", default=None
        The kernels to choose from, ``"auto"`` among them if wanted. ``"short_list"``
        stands for seven: linear, Gaussian with gamma 1/4, 1 and 4 times ``"scale"``,
        and Matern with nu 5/2 and length_scale 1/2, 1 and 2 times ``"scale"``, and up
        to three widths beyond these while the best one is the smallest or the largest
        of its family; for sparse rows, for linear and cosine kernels.
    alphas : int or sequence of float, default=25
        The values, or how many, evenly spaced on a log scale from alpha_max of the
        structure down to ``eps`` times it; see `output_kernel_path`.
    eps : float, default=1e-5
        The smallest alpha relative to the largest. With a kernel that is learned the
        grid reaches at least to a tenth of the noise found with it.
    alpha_per_output : bool or "auto", default="auto"
        Whether each output has an alpha of its own: that of the grid with the least
        loss on held-out rows, with independent outputs. With other structures, and
        scores, alphas keep their ratios, and one factor of them is chosen. Rows are
        left out one by one in closed form for the squared loss, one kernel in memory
        and no ``cv`` (with missing targets, of few or small sets of rows); else they
        are those of the folds, which takes as many fits again. ``"auto"`` does so only
        in that closed form, with structures that are known or ``"frobenius"`` (no more
        outputs than rows, ten with missing targets), for outputs clearly better off:
        the squared errors of rows left out have to fall by more than chance gives to
        any of the outputs one time in forty, and their log likelihood to rise by three.
        The other outputs have one alpha in common. See also `GradientSearchCV`.
    cv : int, splitter or iterable, default=None
        As in `sklearn.model_selection.GridSearchCV`, for every stage of the search.
        None for leave-one-out in closed form where all structures are known, the loss
        is squared and all targets were observed (as `sklearn.linear_model.RidgeCV`
        does), and for five shuffled folds otherwise, fewer with fewer than ten rows.
        The first stage, whose outputs are independent, leaves rows out one by one
        also where the second takes folds.
    scoring : str or callable, default=None
        As there; None for the mean R^2 over outputs, or, where a fold has fewer than
        six targets of an output, for one minus the mean over targets of squared errors
        over the variances of their outputs. The losses ``"huber"`` and ``"quantile"``
        have D^2 in place of R^2, the same of absolute errors or of the pinball loss of
        the quantile (`okl.metrics.d2_pinball_score`), and 3 / min(q, 1 - q) targets in
        place of six for a quantile q. With missing targets it is a
        scorer of `okl.metrics`. A callable is given held-out predictions in the place
        of the rows of X, and a stand-in that returns them. Of rows left out one by one
        all predictions are scored together.
    search : {"staged", "compare", "full"}, default="staged"
        ``"full"`` tries every kernel with every structure, on all rows, at every alpha.
        ``"compare"`` drops kernels in a first stage, if there are several. Where each
        alpha is a fit of its own (another loss than the squared one, missing targets,
        tasks, several kernels) it also leaves out alphas below a tenth of the best one,
        by the mean of all folds, as fits take longest there, once the best is a tenth
        of the largest or less. Every structure has scores. ``"staged"`` does the same
        and, where each alpha is a fit of its own, fits to the other folds only what is
        not clearly behind on the first: structures and alphas whose scores of its
        held-out rows (twenty at least, for log likelihoods of classes; of ten blocks of
        five rows at least, for all others) are on average no more than three standard
        errors of the difference below those of the best so far, earlier kernels
        included. It mostly chooses as ``"compare"`` does. Scores of what was left out
        are NaN.
    random_state : int, RandomState instance or None, default=0
        Of the default folds, and of the 2000 rows of the first stage and of those that
        a kernel is learned from.
    n_jobs : int, default=None
        Folds in parallel, by joblib.
    fit_intercept : bool or "shared", default=True
        As in `OutputKernelRegressor`. With ``task``, where neither kernel nor structure
        is named (and rows are not sparse), True is ``"shared"``: few rows determine a
        mean, and a scale, badly. ``"shared"`` asks for it where structures are named.
        Kernels have a constant in addition then, at first of the mean square of all
        (normalised) targets, which is one by default; ``kernel_`` says so.
    shift : "auto", float or array (n_outputs,), default="auto"
        With ``loss="quantile"``, what is added to predictions, in the units of the
        targets. A fit is nearer to its own targets than to others, too many of which
        are beyond a quantile far from the middle. ``"auto"`` is for each output the
        quantile of the errors in held-out rows, which candidates are scored with.
        Outputs of few rows, and tasks, have one in common, in units of ``y_scale_``.
    loss, normalize_y, tol, max_iter, max_memory
        As there.

    Attributes
    ----------
    alpha_ : float or array (n_outputs,)
        The alpha chosen, an array where outputs have alphas of their own.
    structure_ : Structure
        The structure chosen.
    kernel_ : Kernel, PerOutput or "precomputed"
        The kernel chosen.
    alphas_ : array (n_structures, n_alphas)
        The grid of each structure with the kernel chosen, decreasing; for
        normalised targets. Of alphas of outputs it is their geometric mean.
    scores_ : array (n_structures, n_alphas, n_folds)
        The held-out scores with the kernel chosen; n_folds is one where rows were left
        out one by one. NaN at alphas that a fold left out, see ``search``, and of
        structures that were not tried with that kernel, see the notes.
    best_score_ : float
        The largest mean over folds.
    feature_relevances_ : array (n_features,)
        Where the kernel chosen is that of ``"auto"``: how much predictions change along
        each column, the mean squared derivative times the variance of the column,
        summed over outputs in units of their spread; these numbers sum to one. They are
        those of the outputs, independent or of related tasks, for which the kernel was
        learned, on the rows that it was learned from.
    cv_results_ : dict of arrays
        One entry for each kernel, structure and alpha that was tried, in the form of
        `sklearn.model_selection.GridSearchCV`: ``stage`` (1 or 2), ``param_kernel``,
        ``param_structure``, ``param_alpha``, ``params``, ``split0_test_score``, ...,
        ``mean_test_score``, ``std_test_score`` and ``rank_test_score``; and
        ``chosen_alpha``, true of the alpha that the kernel and structure would have;
        also ``shift`` where it was found.
    dual_coef_, intercept_, output_kernel_, y_mean_, y_scale_, shift_, certificate_, ...
        Those of `OutputKernelRegressor` refitted on all rows.

    Notes
    -----
    With n rows, a trial of one kernel costs a kernel matrix and, for the squared loss,
    an eigendecomposition of the matrix (about 10 n^3 operations) for each fold and one
    for all rows, beside the fits that the structures take. By default that is one
    trial, of the kernel that was learned; with ``kernels="short_list"`` up to ten
    decompositions of at most 2000 rows, then two trials. What that comes to on this
    machine, `forecast` says roughly: ``print(model.forecast(X, y))``.

    The default, ``kernel="auto"``, learns a kernel for all outputs, w0 times `Linear`
    plus w1 times `Matern` with nu 5/2, `Laplacian` or `Gaussian`, on standardised
    columns (``kernel_`` has the numbers for X as it is): both weights and a width for
    each column minimise the restricted likelihood of independent outputs, and the one
    of the three that predicts rows that are left out best is kept, the Gaussian one
    where it is clearly better (the Laplacian one is not tried where the square of the
    number of rows times that of columns is above 10^8). With fewer than five rows for
    each column one width for all is a further candidate, and widths are looked for from
    two starts; above 500 columns one width is all there is, unless that product is at
    most 10^8. With the losses ``"huber"`` and ``"quantile"`` it is learned twice, from
    targets that are no further from the median of their output, and then from what is
    predicted where their rows are left out, than normal noise is; the delta of
    ``"huber"`` is then for these errors (``loss_``). With a smooth loss of one's own it
    is what `OutputKernelClassifierCV` has, by the loss of five shuffled folds. Constant
    columns are left out. It is learned from all training rows, at most 2000 of them
    (1000 where it takes folds) and fewer where outputs were observed in different rows.
    The rows that the search holds out have influenced it: all scores are a little
    optimistic, alike for all structures, but not in comparison with other ``kernels``.

    *Tasks.* Few rows of each say little of a kernel of independent tasks. Once it has
    been tried, its weights and widths, the constant of shared intercepts and, if
    several were tried as by default, the gamma of a `Mean` are therefore learned once
    more, for the best structure, or the output kernel that was fitted with it: by up to
    40 iterations of a search for the largest restricted likelihood of all targets
    together, of at most 1000 rows and 500 tasks. The kernel that is found, the second
    one of ``cv_results_``, is tried with this structure alone, at every alpha, and kept
    if its best score is better. So in a search that learns its kernel and takes
    ``task``, with the squared loss, unless no structure relates tasks, or each has an
    alpha of its own.

    Missing targets, weights and ``task`` are taken: of a row with a larger weight the
    noise is smaller, only ratios of weights count, and copies of a row, targets and
    all, are one row of so much more weight. Sparse rows have the linear or the cosine
    kernel, whichever is better (the linear one where all have the same norm). Where
    there is nothing to learn from (fewer than five rows, constant columns or targets)
    the short list is tried on standardised columns, with a warning that says why.

    Examples
    --------
    >>> import numpy as np
    >>> from okl import OutputKernelRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> Y = X[:, :1] + 0.1 * rng.normal(size=(60, 4))
    >>> model = OutputKernelRegressorCV(structures=["identity", "low_rank"]).fit(X, Y)
    >>> model.structure_
    LowRank()
    """

    _open_tasks = False  # whether tasks are there of which nothing was named

    def __init__(
        self,
        kernel: Any = None,
        structures: Any = None,
        *,
        kernels: Any = None,
        alphas: int | Sequence[float] = 25,
        eps: float = 1e-5,
        alpha_per_output: bool | str = "auto",
        cv: Any = None,
        scoring: Any = None,
        search: str = "staged",
        random_state: Any = 0,
        n_jobs: int | None = None,
        loss: str | Loss = "squared",
        fit_intercept: bool | str = True,
        normalize_y: bool = True,
        shift: float | ArrayLike | str = "auto",
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
        self.normalize_y = normalize_y
        self.shift = shift

    _chosen_shift = "auto"

    def _enter(
        self, X: Any, y: Any, loss: Loss, sample_weight: Any, task: Any
    ) -> tuple[Any, np.ndarray, TrainingTargets]:
        """Check what was given to fit, in the units that it is judged in as well."""
        X, y, targets = super()._enter(X, y, loss, sample_weight, task)
        known, what = y[~np.isnan(y)], "y has entries up to"
        remedy = "Rescale the targets."
        check_magnitude(known, what, remedy, largest_size=LARGEST_WITH_SQUARE)
        tasks = targets.observed.tasks
        self._open_tasks = has_open_tasks(self, X, tasks)
        self._constant = None
        if self._shares_intercepts:
            self._constant = constant_of_numbers(
                targets.observed, normalized=bool(self.normalize_y)
            )
        return X, y, targets

    def _given_structures(self) -> list[Structure]:
        """Return, for None, learned relations, and what draws tasks together."""
        if self.structures is not None:
            return super()._given_structures()
        if self._open_tasks:
            return for_tasks(len(self.output_names_))
        return given_structures(Frobenius(), self.kernel)

    def _stand_in(self, y: np.ndarray, loss: Loss) -> HeldOutRegressor:
        """Return a regressor of one or several outputs."""
        return HeldOutRegressor.of(y, loss, self._given_shift)

    def _keep_calibration(self, trial: Trial) -> None:
        """Set ``shift_``, if it was to be found."""
        if self._given_shift is None:
            set_shift(self, trial.calibration, trial.targets)
