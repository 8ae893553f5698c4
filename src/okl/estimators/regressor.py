"""Regression with several outputs."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from okl.estimators.regression import RegressionMixin
from okl.estimators.single_fit import SingleFit
from okl.losses import Loss
from okl.solvers import Solver


class OutputKernelRegressor(RegressionMixin, SingleFit):
    r"""Kernel regression of several outputs that learns how they are related.

    Each output is normalised first: its mean is subtracted (if there is an intercept)
    and it is divided by its standard deviation, so that the unit that it is written in
    does not affect what is learned (``"huber"`` and ``"quantile"`` have the median, and
    a quantile of the distances from it, which outliers hardly move). With y_i
    normalised targets, K the kernel matrix of the rows and L the output kernel, the fit
    minimises

    .. math::

        \sum_i V(y_i, f(x_i) + b) + \alpha \left(
        \tfrac12 \|f\|_{K,L}^2 + R(L) \right), \qquad
        f(x) = L \sum_i c_i\, k(x, x_i),

    over f, L and the free intercept b: jointly convex, and solved to a relative
    duality gap of ``tol``, which is reported in ``certificate_``. The model is then
    mapped back, so that predictions, coefficients, intercept and output kernel are in
    the units of the targets that were given. ``normalize_y=False`` fits to the targets
    as they are, which is the objective of the papers.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        The input kernel: a name or object of `okl.kernels`, a function of two
        matrices, a kernel of `sklearn.gaussian_process.kernels`, or
        ``"precomputed"`` (X is the kernel matrix). A list of kernels, the last perhaps
        `okl.kernels.Row`, for a sum of functions each with its own output kernel.
    structure : str or Structure, default="frobenius"
        The penalty R on the output kernel, see `okl.structures`; of several kernels a
        list with one for each. ``"identity"``
        is kernel ridge regression of each output by itself.
    alpha : float or array (n_outputs,), default=1.0
        Strength of the regularisation, > 0; for ``"identity"`` that of
        `sklearn.kernel_ridge.KernelRidge`, whose predictions the unit of a target does
        not change. With one for each output (task), in normalised units, the loss of
        output j is divided by alpha_j, and its noise is of variance alpha_j; the
        objective, as certified, is that times the geometric mean of the alphas.
    loss : str or Loss, default="squared"
        The loss V: ``"squared"``, ``"huber"`` or ``"quantile"``, see `okl.losses`.
    fit_intercept : bool or "shared", default=True
        Whether to fit b, which is not penalised. With ``task``, ``"shared"`` is one
        intercept of all tasks, the (weighted) mean of all targets, and they have one
        scale: add a `Constant` to the kernel, and tasks differ in their intercepts as
        the structure says.
    normalize_y : bool, default=True
        Whether to normalise each output before the fit, by the mean and the standard
        deviation of its observed targets, weighted as the loss is; without an intercept
        by the root mean square alone. A constant output is divided by one. The loss
        (``Huber.delta``), the structure (matrices of ``Fixed``, ``Graph`` and
        ``Mean``), alpha and the certificate are those of normalised outputs.
    shift : float or array (n_outputs,), default=0.0
        With ``loss="quantile"``, what is added to predictions, in the units of the
        targets; of tasks one number for each. `OutputKernelRegressorCV` finds the one
        with which held-out targets are below predictions as often as the quantile says.
    solver : str or Solver, default="auto"
        See `okl.solvers`.
    tol : float, default=1e-6
        Relative duality gap to stop at.
    max_iter : int, default=1000
        Most iterations of the solver.
    max_memory : float or None, default=None
        MiB that the kernel matrix may take, with what it is decomposed into; None for
        half of what is free. A matrix that does not fit is evaluated again, in blocks
        of rows, for each product. It limits the fit alone: the standard deviations of
        `predict` decompose a stored kernel matrix, if three of its size are free.

    Attributes
    ----------
    dual_coef_ : array (n_samples, n_outputs) or (n_samples,)
        Predictions are ``kernel_(X, X_fit_) @ dual_coef_ + intercept_``, in the units
        of the targets: C L D, with D the diagonal matrix of ``y_scale_``. In long form
        computed when asked for. For several kernels the list of the C L_q D. (With
        ``loss="quantile"`` ``shift_`` is added.)
    intercept_ : array (n_outputs,) or float
        b D + ``y_mean_``; 0.0 without an intercept.
    output_kernel_ : array (n_outputs, n_outputs)
        D L D, the covariance of outputs in their units, computed when asked for. L,
        which the structure speaks of, is
        ``output_kernel_ / np.outer(y_scale_, y_scale_)``. For several kernels the sum
        of the ``output_kernels_``: the covariance where all kernels are one.
    output_kernels_ : list of arrays (n_outputs, n_outputs)
        D L_q D of each kernel.
    residual_kernel_ : array (n_outputs, n_outputs)
        The last of them, if the last kernel is `okl.kernels.Row`: the covariance of
        what the inputs do not explain.
    output_kernel_factor_ : array (n_outputs, ``rank_``)
        D B with L = B B', computed when asked for.
    rank_ : int
        The rank of L.
    y_mean_, y_scale_ : array (n_outputs,) or float
        What was subtracted from each output, and what it was divided by, before the
        fit; zeros and ones for ``normalize_y=False`` (with ``fit_intercept="shared"``
        the mean, or median, of all targets in place of zeros). A constant output has a
        scale of one, and a constant task, one of a single row for instance, that of the
        others.
    shift_ : array (n_outputs,) or float
        Only for ``loss="quantile"``: what `predict` adds. Coefficients, intercept and
        certificate are those of the fit, without it.
    noise_variance_ : array (n_outputs,) or float
        The variance of the noise of each output, in the units of the targets, with the
        squared loss. It is alpha times ``y_scale_**2``, to which an `okl.kernels.Row`
        adds the diagonal of ``residual_kernel_``, times the mean over rows of the
        squared residual of the row left out, divided by the variance that the model
        gives it: the estimate of leave-one-out likelihood. It is for a target of weight
        one. In long form that of a task is drawn to what tasks have in common, the
        more the fewer rows it has and the less they differ; where each has a scale of
        its own, that of a task of fewer than six rows. Computed when asked for, at the
        cost of the first standard deviations.
    residual_covariance_ : array (n_outputs, n_outputs)
        The covariance of the noise of the outputs of a row; its diagonal is
        ``noise_variance_``, its correlations are those of the errors in rows left out,
        shrunk where there are few. Computed when asked for.
    certificate_ : Certificate
        Primal and dual value, gap and status of this very model, of the normalised
        targets, with the loss of the scores that `predict` gives on the training rows
        (without ``shift_``);
        ``okl.certify(model, X, y)`` computes it again.
    dual_point_ : array of the shape of ``dual_coef_``
        Only for ``loss="quantile"``, which has no gradient at its kink: alpha C of the
        normalised targets, between q - 1 and q times the weight; of several alphas the
        geometric mean, and weights times that over alpha_j. `okl.certify` takes it as
        ``dual_point``.
    history_ : list of dict
        Primal, dual, relative gap and seconds of each iteration, for the normalised
        targets.
    n_iter_ : int
        Iterations, 1 for a closed form.
    kernel_, structure_ : Kernel or "precomputed", Structure, or lists of them
        As used, with data-dependent parameters resolved. With an intercept, linear
        kernels on dense rows are centred at the means of the training rows,
        ``kernel_.center``, which ``intercept_`` takes into account.
    loss_ : Loss
        As used.
    X_fit_ : array or sparse matrix (n_samples, n_features) or None
        The training rows; None for a precomputed kernel. An array of float64 is kept
        itself, not as a copy: changing it afterwards changes the model.
    output_names_ : array (n_outputs,)
        The column names of y, if it was a DataFrame; in long form the ids of the tasks.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    With the Huber loss two fits to one problem, such as with weights and with the rows
    repeated, agree as far as ``tol`` says; see the notes of `OutputKernelClassifier`.

    References
    ----------
    Rasmussen & Williams (2006), Gaussian processes for machine learning, section 5.4.2.
    (``noise_variance_``)

    Dinuzzo, Ong, Gehler & Pillonetto (2011), Learning output kernels with block
    coordinate descent. ICML. (structure "frobenius")

    Dinuzzo & Fukumizu (2011), Learning low-rank output kernels. ACML. (structure
    "low_rank")

    Examples
    --------
    >>> import numpy as np
    >>> from okl import OutputKernelRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 3))
    >>> Y = np.column_stack([X[:, 0], X[:, 0] + 0.1 * rng.normal(size=40)])
    >>> model = OutputKernelRegressor(alpha=0.1).fit(X, Y)
    >>> model.certificate_.status
    'optimal'
    >>> model.output_kernel_.shape
    (2, 2)
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        structure: Any = "frobenius",
        alpha: Any = 1.0,
        *,
        loss: str | Loss = "squared",
        fit_intercept: bool | str = True,
        normalize_y: bool = True,
        shift: float | ArrayLike = 0.0,
        solver: str | Solver = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
        max_memory: float | None = None,
    ) -> None:
        super().__init__(
            kernel,
            structure,
            alpha,
            loss=loss,
            fit_intercept=fit_intercept,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            max_memory=max_memory,
        )
        self.normalize_y = normalize_y
        self.shift = shift
