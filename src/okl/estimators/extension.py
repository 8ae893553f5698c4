"""Outputs that arrive later, added to a fit that itself stays as it is.

A fit has learned functions f of its outputs, and L, how they are related. A further
output is known in a few rows. Its function is b'f + h, a combination of those learned
and a part of its own, and L gets its row and column, a border. To find these with all
else fixed is a convex problem (`okl.solvers.predictor.added_output`).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    MetaEstimatorMixin,
    MultiOutputMixin,
    RegressorMixin,
)
from sklearn.utils.validation import check_is_fitted

from okl.certificates import Certificate
from okl.estimators.base import warn_unless_certified
from okl.estimators.calls import spread_asked
from okl.estimators.extension_certificates import (
    NewOutputs,
    certificate_of_new,
    joint_certificate,
)
from okl.estimators.extension_spread import spreads
from okl.estimators.failed_fits import whole_or_not_at_all
from okl.estimators.kept_fit import KeptFit
from okl.estimators.new_targets import NewTargets
from okl.estimators.output_names import in_order_of_fit, matched, set_output_names
from okl.estimators.shown_attributes import ShownAttributes
from okl.metrics import r2_score


class OutputKernelExtension(
    MultiOutputMixin, RegressorMixin, MetaEstimatorMixin, ShownAttributes, BaseEstimator
):
    r"""New outputs with few rows, by the functions and relations of a fitted model.

    The function of a new output is b'f + h: a combination of the functions f of a
    fitted regressor and an own part h, which has the kernel of that regressor times a
    variance s. With L its output kernel, R(L) its penalty, and y the targets of the new
    output, normalised as the regressor does it,

    .. math::

        \sum_i \tfrac12 (y_i - b'f(x_i) - h(x_i) - a)^2 + \alpha \left(
        \frac{\|h\|^2}{2 s} + R\begin{pmatrix} L & L b \\ b'L & b'L b + s
        \end{pmatrix} - R(L) \right)

    is minimised over b, h, s >= 0 and the intercept a: what the new output adds to the
    objective of the regressor, which stays as it is. The extended matrix is positive
    semi-definite, predictions of the earlier outputs do not change at all, and the
    problem is convex, as small as the number of rows of the new output. The rows of the
    earlier fit are not needed. Several new outputs are each added to the earlier ones
    alone, so that their order does not matter: they are related by what they have in
    common with f, while their own parts are unrelated.

    Parameters
    ----------
    estimator : OutputKernelRegressor or OutputKernelRegressorCV
        Fitted, with the squared loss, one kernel and the structure ``"frobenius"`` or
        ``"low_rank"``. It is not changed. As scikit-learn's `clone` forgets fits, pass
        ``FrozenEstimator(estimator)`` of `sklearn.frozen` where it is cloned, such as
        in `sklearn.model_selection.GridSearchCV`. Where a bound on the rank is reached,
        new outputs have no own part.
    alpha : float or array (n_outputs,), default=None
        Alpha of the new outputs, or of each of them; None for that of the estimator (of
        several the geometric mean).

    Attributes
    ----------
    coef_ : array (n_outputs, n_kept)
        b of each new output, in units of the targets: the weights of the functions of
        the fitted estimator in its function, intercepts apart.
    dual_coef_ : array (n_samples, n_outputs)
        Own parts are ``kernel_(X, X_fit_) @ dual_coef_``, in units of the targets.
    intercept_ : array (n_outputs,)
        What is added to both.
    own_variance_ : array (n_outputs,)
        s of each, in squared units of the targets.
    output_kernel_ : array (n_kept + n_outputs, n_kept + n_outputs)
        The extended output kernel in units of the targets, computed when asked for; its
        first block is that of the estimator.
    y_mean_, y_scale_ : array (n_outputs,)
        What the new targets were normalised by, as in `OutputKernelRegressor`.
    alpha_ : array (n_outputs,)
        As used.
    certificate_ : Certificate
        For what was solved: the sum of the problems of the new outputs, all else held.
        It does not compare with a fit of all outputs together, as `joint_certificate`
        does.
    kernel_ : Kernel
        That of the estimator.
    X_fit_ : array or sparse matrix (n_samples, n_features)
        The rows of the new outputs.
    noise_variance_ : array (n_outputs,)
        The variance of the noise of each new output, measured in its rows left out when
        asked for.
    output_names_ : array (n_outputs,)
        The column names of y, if it was a DataFrame.
    n_features_in_, feature_names_in_
        Those of the estimator.

    Notes
    -----
    A new output of n rows takes some ten decompositions of a matrix (n, n) with
    ``"frobenius"``, and one with ``"low_rank"``.

    Examples
    --------
    >>> import numpy as np
    >>> from okl import OutputKernelExtension, OutputKernelRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> Y = np.sin(X[:, :2])
    >>> model = OutputKernelRegressor(alpha=0.01).fit(X, Y)
    >>> rows = rng.normal(size=(8, 3))
    >>> later = OutputKernelExtension(model).fit(rows, np.sin(rows[:, 0]))
    >>> later.predict(X).shape, later.output_kernel_.shape
    ((60,), (3, 3))
    """

    def __init__(self, estimator: Any, *, alpha: Any = None) -> None:
        self.estimator = estimator
        self.alpha = alpha

    def __sklearn_tags__(self) -> Any:
        """Declare sparse rows, as the estimator takes them."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @whole_or_not_at_all
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Extend the fitted estimator by new outputs.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n_samples, n_features)
            Rows of the new outputs, be they among those of the estimator or not.
        y : array or DataFrame (n_samples, n_outputs) or (n_samples,)
            Targets of the new outputs; NaN where they were not observed.
        sample_weight : array (n_samples,) or (n_samples, n_outputs), optional
            Weights of rows, or targets, as in `OutputKernelRegressor.fit`.

        Returns
        -------
        self

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        TypeError
            For an estimator that is no regressor of okl.
        ValueError
            For a fit that cannot be extended, a new output that is nowhere observed or
            has the name of one of before, or what cannot be used.
        """
        kept = KeptFit.of(self.estimator)
        set_output_names(self, y)
        y, weights = matched(self, y, sample_weight)
        names = getattr(self, "output_names_", None)
        given = NewTargets.of(kept, X, y, weights, self.alpha, names)
        self._kept, self._one_dimensional = kept, given.one_dimensional
        self._units, self.alpha_ = given.units, given.alphas
        self._adopt(given)
        warn_unless_certified(self.certificate_, 3)
        return self

    def _adopt(self, given: NewTargets) -> None:
        """Add each output, and set the fitted attributes."""
        kept, scale = self._kept, self._units.scale
        X, targets, weights = given.rows, given.targets, given.weights
        added, dual, intercept = kept.extended(X, targets, weights, self.alpha_)
        own = np.array([output.own_variance for output in added])
        self._loadings = np.array([output.loadings for output in added])
        self.coef_ = scale[:, None] * self._loadings @ kept.axes.T / kept.scale
        self.dual_coef_ = dual * own * scale
        free = kept.free_intercept
        self.intercept_ = self._units.intercept(intercept) if free else intercept
        self.own_variance_ = own * scale**2
        self.y_mean_, self.y_scale_ = self._units.mean, scale
        self._names_of_all, self._scale_of_all = kept.with_outputs(given.names, scale)
        self.kernel_, self.X_fit_ = kept.kernel, X
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(kept.estimator, name):
                setattr(self, name, getattr(kept.estimator, name))
        self.certificate_ = certificate_of_new(kept, added, targets, weights)
        self._spread = spreads(kept, given, self._loadings, own)

    def predict(
        self, X: Any, return_std: bool = False, *, include_noise: bool = False
    ) -> Any:
        """Predict the new outputs, and say how sure that is.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n_samples, n_features)
            Rows.
        return_std : bool, default=False
            Whether to return the standard deviation of the error of the function, with
            the extended L taken as given. It adds up the errors of own part and
            loadings, of which few rows say little, and of the functions kept, as the
            estimator has them, in proportion to errors in rows of the output left out.
        include_noise : bool, default=False
            Whether that is of new targets of weight one.

        Returns
        -------
        prediction : array (n_samples, n_outputs), or (n_samples,) as y
        std : array of the same shape
            Only if ``return_std``.
        """
        spread_asked(include_noise, return_std=return_std)
        check_is_fitted(self)
        X = self._kept.rows(X)
        prediction = self._predicted(X)
        if not return_std:
            return prediction
        spread = np.column_stack([one.variance(X) for one in self._spread])
        std = np.sqrt(spread * self.y_scale_**2 + include_noise * self.noise_variance_)
        return prediction, std.reshape(prediction.shape)

    @property
    def noise_variance_(self) -> np.ndarray:
        """The variance of the noise of each new output (n_outputs,)."""
        check_is_fitted(self)
        return np.array([spread.noise for spread in self._spread]) * self.y_scale_**2

    def _predicted(self, X: Any) -> np.ndarray:
        common = self._kept.functions(X) @ (self._loadings.T * self.y_scale_)
        own = self.kernel_(X, self.X_fit_) @ self.dual_coef_
        prediction = common + own + self.intercept_
        return prediction[:, 0] if self._one_dimensional else prediction

    def predict_all(self, X: Any) -> np.ndarray:
        """Predict (n_samples, n_kept + n_outputs), those of the estimator first."""
        new, kept = self.predict(X), self._kept.estimator.predict(X)
        return np.hstack([kept.reshape(len(new), -1), new.reshape(len(new), -1)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean R^2 of the new outputs over their observed targets."""
        y, weights = matched(self, y, sample_weight)
        return r2_score(y, self.predict(X), sample_weight=weights)

    @property
    def output_kernel_(self) -> np.ndarray:
        """The extended output kernel, in units of the targets."""
        check_is_fitted(self)
        kept = self._kept
        weighted = self._loadings * kept.eigenvalues
        border = self.y_scale_[:, None] * (weighted @ kept.axes.T) * kept.scale
        roots = self._loadings * np.sqrt(kept.eigenvalues) * self.y_scale_[:, None]
        corner = roots @ roots.T + np.diag(self.own_variance_)
        return np.block([[kept.estimator.output_kernel_, border.T], [border, corner]])

    def joint_certificate(self, y: Any, y_new: Any) -> Certificate:
        """Return how far the extended model is from a fit of all outputs together.

        Such a fit has the rows of before and those of the new outputs, with targets
        missing where they were not observed, and moves everything. Its objective can be
        lower than that of the extended model by at most the gap. Weights are taken to
        be one.

        Parameters
        ----------
        y : array (., n_kept)
            The targets that the estimator was fitted to.
        y_new : array (n_samples, n_outputs) or (n_samples,)
            Those that `fit` was given.

        Returns
        -------
        Certificate
            Of the objective of `OutputKernelRegressor`, in the units of both fits.

        Raises
        ------
        ValueError
            For targets of another shape than those of the fits.
        """
        check_is_fitted(self)
        new = NewOutputs(
            self._loadings @ self._kept.axes.T,
            self.dual_coef_ / self.y_scale_,
            self._units.scores(self.intercept_[None])[0],
            self.output_kernel_,
            self._units,
            self.alpha_,
            self.X_fit_,
        )
        y = in_order_of_fit(self._kept.estimator, y)
        return joint_certificate(self._kept, y, in_order_of_fit(self, y_new), new)
