"""Filling in tables of which entries are missing.

Rows are taken to be normal, once columns are standardised or, where that predicts
entries better, transformed by a power. Without inputs all rows have one mean and
covariance, found by expectation-maximisation over what was observed, and shrunk where
rows are few; with inputs the mean is a function of them that a regressor learns, and
the covariance that of its errors in rows left out. Either way a missing entry becomes
the mean given what was observed in its row, mapped back to the column's units.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
)

from okl.estimators.column_units import WAYS, ColumnUnits
from okl.estimators.completion import completed
from okl.estimators.failed_fits import whole_or_not_at_all
from okl.estimators.frames import titled, validated
from okl.estimators.table_regressor import regressor_of_table
from okl.numerics.validation import (
    LARGEST_WITH_SQUARE,
    check_choice,
    check_count,
    check_magnitude,
)
from okl.posterior import best_distribution

# How many calls up the caller of a fit is, with its decorator between.
_DEPTH = 3


class _Filling(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Methods in the form that scikit-learn's ``set_output`` wraps.

    It takes the table for the first argument, which it calls X itself.
    """

    estimator: Any
    transform_y: str | None
    n_iter: int

    def __sklearn_tags__(self) -> Any:
        """Declare that entries may be missing."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @whole_or_not_at_all
    def fit(self, Y: Any, y: Any = None, X: Any = None) -> Self:
        """Learn how columns go together.

        Parameters
        ----------
        Y : array or DataFrame (n_samples, n_outputs)
            The table, NaN where an entry is missing.
        y : object, optional
            Not used, whatever it is: here pipelines of scikit-learn pass the targets of
            their last step. Inputs come after it, best by name: ``fit(Y, X=X)``.
        X : array, sparse matrix or DataFrame (n_samples, n_features), optional
            Inputs that explain the table, complete.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a column without an entry, or parameters and entries that cannot be
            used.
        """
        check_count(self.n_iter, "n_iter", least=0)
        check_choice(self.transform_y, "transform_y", WAYS)
        estimator = regressor_of_table(
            self.estimator, has_inputs=X is not None, depth=_DEPTH
        )
        table = self._validated(Y, reset=True)
        nowhere = np.flatnonzero(np.isnan(table).all(axis=0))
        if len(nowhere):
            names = getattr(self, "feature_names_in_", range(table.shape[1]))
            raise ValueError(
                f"The column {names[nowhere[0]]!r} is missing in every row; leave such "
                "columns out."
            )
        low, high = np.nanmin(table, axis=0), np.nanmax(table, axis=0)
        ends, what = np.concatenate([low, high]), "The table has entries up to"
        check_magnitude(ends, what, "Rescale it.", largest_size=LARGEST_WITH_SQUARE)
        self._constants = np.where(low == high, low, np.nan)
        way = self.transform_y
        if way == "auto" and X is not None:
            way = "standardize"
        self.transformer_ = ColumnUnits.of(table, way)
        values = self.transformer_.transform(table)
        self.estimator_: Any = None
        self.distribution_ = best_distribution(values) if X is None else None
        if X is None:
            return self
        names = getattr(self, "feature_names_in_", None)
        first = clone(estimator).fit(X, titled(values, names))
        self.estimator_ = completed(first, X, values, self.n_iter)
        return self

    def transform(self, Y: Any, X: Any, return_std: bool) -> Any:
        """Fill in rows; see `OutputKernelImputer.transform`."""
        check_is_fitted(self)
        table = self._validated(Y, reset=False)
        if (X is None) != (self.estimator_ is None):
            got, before = ("no X", "X") if X is None else ("X", "no X")
            raise ValueError(
                f"{type(self).__name__} got {got}, but was fitted with {before}: give "
                "X to both, by name, as in fit(Y, X=X), or to none."
            )
        values = self.transformer_.transform(table)
        if self.distribution_ is not None:
            filled, variance = self.distribution_.filled(values)
            return self._in_units(table, filled, np.sqrt(variance), return_std)
        check_consistent_length(table, X)
        filled, std = self.estimator_.predict(
            X, given=values, return_std=True, include_noise=True
        )
        return self._in_units(table, filled, std, return_std)

    def fit_transform(self, Y: Any, y: Any, X: Any, return_std: bool) -> Any:
        """Fit and fill in; see `OutputKernelImputer.fit_transform`."""
        self.fit(Y, y, X)
        if X is None:
            return _Filling.transform(self, Y, None, return_std)
        table = self._validated(Y, reset=False)
        process = self.estimator_._gaussian_process()
        rows = process.conditioned_training_rows()
        std = np.sqrt(np.einsum("ijj->ij", rows.covariance))
        return self._in_units(table, rows.mean, std, return_std)

    def _validated(self, table: Any, *, reset: bool) -> np.ndarray:
        how: Any = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
        return validated(self, table, reset=reset, **how)

    def _in_units(
        self, table: np.ndarray, filled: np.ndarray, std: np.ndarray, return_std: bool
    ) -> Any:
        """Map what was filled in back; what was observed stays as it is.

        A constant column stays as it is too: mapped there and back its value would not
        be quite the same. A standard deviation becomes half the length of the interval
        that one to both sides is mapped to.
        """
        seen = ~np.isnan(table)
        varies = np.isnan(self._constants)
        back = self.transformer_.inverse_transform
        filled_in = np.where(varies, back(filled), self._constants)
        result = np.where(seen, table, filled_in)
        if not return_std:
            return result
        spread = (back(filled + std) - back(filled - std)) / 2
        return result, np.where(seen | ~varies, 0.0, spread)


class _TableFirst:
    """The public methods: X is the inputs, by name too, and the table comes first."""

    def transform(self: Any, Y: Any, X: Any = None, *, return_std: bool = False) -> Any:
        """Fill in what is missing in rows.

        Parameters
        ----------
        Y : array or DataFrame (n_samples, n_outputs)
            Rows, NaN where an entry is missing.
        X : array, sparse matrix or DataFrame (n_samples, n_features), optional
            Their inputs, if there were inputs in the fit. Rows that were not part of
            the fit: for those that were, take `fit_transform`.
        return_std : bool, default=False
            Whether to return the standard deviation of each entry, zero for those that
            were observed.

        Returns
        -------
        filled : array (n_samples, n_outputs), or what ``set_output`` says
        std : array (n_samples, n_outputs)
            Only if ``return_std``.
        """
        return _Filling.transform(self, Y, X, return_std)

    def fit_transform(
        self: Any, Y: Any, y: Any = None, X: Any = None, *, return_std: bool = False
    ) -> Any:
        """Fit to a table and fill it in.

        With inputs each row, as the regressor has seen it, is first predicted from the
        other rows; then what was observed in it is taken into account.

        Parameters
        ----------
        Y, y, X
            As in `fit`.
        return_std : bool, default=False
            As in `transform`.

        Returns
        -------
        filled : array (n_samples, n_outputs), or what ``set_output`` says
        std : array (n_samples, n_outputs)
            Only if ``return_std``.
        """
        return _Filling.fit_transform(self, Y, y, X, return_std)


class OutputKernelImputer(_TableFirst, _Filling):  # type: ignore[misc]
    """Fills in tables by what was observed in the same row, and by inputs.

    One model serves all patterns of missing entries. Without inputs rows are taken to
    be normal, after a transformation of each column; mean and covariance are those of
    largest likelihood, found by expectation and maximisation, with correlations shrunk
    where rows are few (no duality gap certifies them). With fewer than eight rows for
    each column, covariances of few factors are tried too, and taken if they predict
    entries that are held out clearly better. With inputs a regressor, whose fit is
    certified, predicts each column from them, and its errors in rows left out have the
    covariance that conditions on what was observed:
    ``estimator_.predict(X, given=Y)``.

    Parameters
    ----------
    estimator : regressor of okl, default=None
        For tables with inputs, with the squared loss; None for
        ``OutputKernelRegressorCV(structures="identity")``. Without inputs it is not
        used, and a warning says so.
    transform_y : {"auto", "standardize", "yeo-johnson"} or None, default="auto"
        What is done to columns first. ``"standardize"`` by
        `sklearn.preprocessing.StandardScaler`: entries are filled in with means, of
        least squared error. ``"yeo-johnson"`` by `PowerTransformer` on what was
        observed, which takes skew away: entries are medians, at most one standard
        deviation of the transformed column beyond what was observed. ``"auto"`` is
        what predicts entries best from the others of their rows: ``"standardize"``, a
        power for all columns, or one only for those whose squared error it takes below
        0.8 of that without. A power has to save a hundredth of the error of the table,
        in variances of its columns, and to make columns likelier by more than
        Schwarz's price of a parameter. With inputs, on which entries may depend in
        other ways than on each other, it is ``"standardize"``. None is nothing.
    n_iter : int, default=5
        With inputs, how many times the regressor is fitted again, with the kernel and
        the alpha of the first fit, to the table as it was filled in before. Outputs
        that are independent given the inputs, and were not observed in the same rows,
        would else have fits that differ by the errors of the rows of each. Standard
        deviations stay those of the first fit. 0 keeps it altogether, as outputs that
        are related do in any case.

    Attributes
    ----------
    transformer_ : transformer
        Of the columns; ``by_power`` (n_outputs,) says which have a power.
    estimator_ : regressor or None
        Fitted to the transformed columns, where there were inputs.
    distribution_ : RowDistribution or None
        ``mean`` and ``covariance`` of the transformed columns, without inputs.
    n_features_in_, feature_names_in_
        As in scikit-learn, of the table.

    References
    ----------
    Dempster, Laird & Rubin (1977), Maximum likelihood from incomplete data via the EM
    algorithm. Journal of the Royal Statistical Society B 39.

    Donoho, Gavish & Johnstone (2018), Optimal shrinkage of eigenvalues in the spiked
    covariance model. Annals of Statistics 46.

    Schaefer & Strimmer (2005), A shrinkage approach to large-scale covariance matrix
    estimation. Statistical Applications in Genetics and Molecular Biology 4.

    Examples
    --------
    >>> import numpy as np
    >>> from okl import OutputKernelImputer
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=200)
    >>> Y = np.column_stack([z, 2 * z, np.exp(z)]) + 0.01 * rng.normal(size=(200, 3))
    >>> Y[0, 1] = np.nan
    >>> filled = OutputKernelImputer().fit_transform(Y)
    >>> bool(abs(filled[0, 1] - 2 * z[0]) < 0.1)
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        transform_y: str | None = "auto",
        n_iter: int = 5,
    ) -> None:
        self.estimator = estimator
        self.transform_y = transform_y
        self.n_iter = n_iter
