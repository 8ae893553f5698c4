r"""A kernel autoencoder: compress rows by a kernel machine, decompress linearly.

With an output kernel of rank p, L = B B', the predictor f = L sum_i c_i k(., x_i) is a
machine of two layers,

.. math::

    f(x) = B\, g(x), \qquad g(x) = B' \sum_i c_i\, k(x, x_i) \in R^p,

a nonlinear map g to p numbers and a linear map B back. Learning to reproduce the rows
themselves, y_i = x_i, makes g a code of x and f(x) its reconstruction: nonlinear
denoising that lands in the space of the rows by itself, where kernel PCA lands in the
feature space of the kernel and has to look for a pre-image.

Only the range of B means something: B Q and Q'g reconstruct the same for every
orthogonal Q. The codes are therefore written in the axes that principal component
analysis would choose for the reconstructions: orthonormal, the codes of the training
rows uncorrelated and of decreasing size (at small alpha eigenvalues of L may be alike).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import with_callbacks
from sklearn.metrics import r2_score
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_array, check_is_fitted

from okl.estimators.calls import checks_its_arguments
from okl.estimators.failed_fits import whole_or_not_at_all
from okl.estimators.single_fit import SingleFit
from okl.estimators.targets import TrainingTargets
from okl.estimators.training import is_precomputed
from okl.estimators.units import Units
from okl.losses import Loss
from okl.numerics.validation import check_alpha, check_count
from okl.problems import Observed
from okl.solvers import Solver
from okl.structures import LowRank


class KernelAutoencoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SingleFit):
    r"""Nonlinear compression and denoising of rows by a two-layer kernel machine.

    It minimises, over L of rank at most p = ``n_components``, f and b,

    .. math::

        \tfrac12 \sum_i \|x_i - f(x_i) - b\|^2 + \alpha \left(
        \tfrac12 \|f\|_{K,L}^2 + \tfrac12 \operatorname{tr} L \right), \qquad
        f(x) = L \sum_i c_i\, k(x, x_i),

    which is `OutputKernelRegressor` with the structure ``LowRank(p)``,
    ``normalize_y=False`` and the rows as their own targets. With V (n_features, p) an
    orthonormal basis of the range of L and m the mean of the rows, the code of a row is
    z(x) = V'(f(x) + b - m), and V z(x) + m = f(x) + b is its reconstruction.

    With ``kernel="linear"`` the components are those of `sklearn.decomposition.PCA`
    and the j-th code is its code times max(0, 1 - alpha / s_j^2), s_j being its
    singular value: PCA itself for alpha towards 0. (Rounding grows with s_1^2 / alpha;
    1e-8 s_1^2 is a good "zero".)

    Parameters
    ----------
    n_components : int, default=2
        The length p of the codes, at most min(n_samples, n_features).
    kernel : str, Kernel or callable, default="rbf"
        The input kernel; not ``"precomputed"``, as the rows are what is reconstructed.
    alpha : float, default=1.0
        Strength of the regularisation, > 0. It shrinks the codes, the small ones to
        zero: see ``rank_``.
    fit_intercept : bool, default=True
        Whether to fit b, which is not penalised. Then the codes of the training
        rows have mean zero; without it m = 0, and reconstructions shrink towards
        the origin, not towards the mean.
    solver : str or Solver, default="auto"
        See `okl.solvers`.
    tol : float, default=1e-6
        Relative duality gap to stop at.
    max_iter : int, default=1000
        Most iterations of the solver.
    max_memory : float or None, default=None
        MiB for the kernel matrix, as in `OutputKernelRegressor`.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        V': orthonormal rows in order of ``singular_values_``, the largest entry of
        each positive as in `sklearn.decomposition.PCA`. Where alpha leaves fewer
        than ``n_components`` the last rows, and the last codes, are zero.
    singular_values_ : array (n_components,)
        The Euclidean norm of each code over the training rows, decreasing.
    mean_ : array (n_features,)
        m, the mean of the training rows; zeros without an intercept.
    reconstruction_error_ : float
        The Frobenius norm of the training rows minus their reconstructions.
    rank_ : int
        The rank of L: how many components are not zero.
    dual_coef_, intercept_, output_kernel_, output_kernel_factor_
        As in `OutputKernelRegressor`, with the features, as they are, for outputs:
        reconstructions are ``K(X, X_fit_) @ dual_coef_ + intercept_``.
    certificate_ : Certificate
        Primal and dual value, gap and status. The gap is to the best L of *any*
        rank, so where ``n_components`` is what limits the rank the status is
        ``"rank_limited"``: stationary, and more components would reconstruct better.
    history_, n_iter_, kernel_, structure_, loss_, X_fit_
        As in `OutputKernelRegressor`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Dinuzzo & Fukumizu (2011), Learning low-rank output kernels. ACML, section 3.2
    (the autoencoder) and 4.1.1 (principal component analysis).

    Examples
    --------
    >>> import numpy as np
    >>> from okl import KernelAutoencoder
    >>> angle = np.linspace(0, np.pi, 50)
    >>> arc = np.column_stack([np.cos(angle), np.sin(angle), np.ones(50)])
    >>> model = KernelAutoencoder(n_components=2, alpha=1e-3).fit(arc)
    >>> codes = model.transform(arc)
    >>> codes.shape
    (50, 2)
    >>> bool(np.abs(model.inverse_transform(codes) - arc).max() < 0.01)
    True
    """

    loss: str | Loss = "squared"  # which is a parameter of regressors
    _task = "regression"

    def __init__(
        self,
        n_components: int = 2,
        kernel: Any = "rbf",
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        solver: str | Solver = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
        max_memory: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_memory = max_memory

    @property
    def structure(self) -> LowRank:
        """An output kernel of rank at most ``n_components``."""
        return LowRank(self.n_components)

    def __sklearn_tags__(self) -> Any:
        """Declare dense rows only: what is reconstructed is not sparse."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    @checks_its_arguments
    @whole_or_not_at_all
    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> KernelAutoencoder:
        """Fit the two layers.

        Parameters
        ----------
        X : array or DataFrame (n_samples, n_features)
            Training rows.
        y : None
            Ignored.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For parameters, shapes or entries that cannot be used.
        TypeError
            For sparse rows.
        MemoryError
            If the kernel matrix cannot fit.
        """
        if isinstance(self.kernel, list | tuple):  # there is one structure
            text = f"KernelAutoencoder takes one kernel, got {self.kernel!r}. "
            raise TypeError(f"{text}Add them, as in Gaussian() + Linear().")
        check_alpha(self.alpha)  # one number: features count alike
        loss = self._checked_loss()
        n_components = check_count(self.n_components, "n_components")
        if is_precomputed(self.kernel):
            raise ValueError(
                "kernel='precomputed' leaves no rows to reconstruct. Pass the rows and "
                "a kernel; to reconstruct rows Y from a kernel matrix K, fit "
                "OutputKernelRegressor(kernel='precomputed', "
                "structure=LowRank(n_components)) to K and Y."
            )
        context = self._init_callback_context().call_on_fit_task_begin(
            estimator=self, X=X, y=None
        )
        X, _, targets = self._enter(X, y, loss)
        if n_components > min(X.shape):
            raise ValueError(
                f"n_components={n_components} is more than min(n_samples, n_features) "
                f"= {min(X.shape)}, the largest rank that {X.shape[0]} rows of "
                f"{X.shape[1]} features can have. Choose n_components <= "
                f"{min(X.shape)}."
            )
        self._fit(X, targets)
        self._set_components(X, n_components)
        context.call_on_fit_task_end(estimator=self, X=X, y=None)
        return self

    def _enter(
        self, X: Any, y: Any, loss: Loss, sample_weight: Any = None, task: Any = None
    ) -> tuple[Any, Any, TrainingTargets]:
        """Check what was given to fit; return X, and as targets the same."""
        X = self._validate_rows(X, reset=True)
        units = Units.as_given(X.shape[1])
        return X, y, TrainingTargets(Observed(X, loss), False, units)

    def _set_components(self, X: np.ndarray, n_components: int) -> None:
        """Rotate to the principal axes of the reconstructions."""
        self.mean_ = X.mean(axis=0) if self.fit_intercept else np.zeros(X.shape[1])
        axes = self._output_kernel.spectral().axes()
        _, values, rotation = np.linalg.svd(self._codes(X, axes), full_matrices=False)
        _, rows = svd_flip(None, rotation @ axes.T, u_based_decision=False)
        self.components_ = np.zeros((n_components, X.shape[1]))
        self.components_[: len(rows)] = rows
        self.singular_values_ = np.zeros(n_components)
        self.singular_values_[: len(values)] = values
        reconstructed = self.inverse_transform(self._codes(X, self.components_.T))
        self.reconstruction_error_ = float(np.linalg.norm(X - reconstructed))

    def _codes(self, X: np.ndarray, axes: np.ndarray) -> np.ndarray:
        """Return (f(X) + b - m) V for V = axes (n_features, q) in the range of L.

        Theta V first: with a linear kernel and many features f(X) would need a matrix
        of n_features x n_features on the way.
        """
        return self._function.products(X, axes) + (self.intercept_ - self.mean_) @ axes

    def transform(self, X: Any) -> np.ndarray:
        """Return the codes V'(f(x) + b - m) of rows, (n_samples, n_components)."""
        check_is_fitted(self)
        return self._codes(self._validate_rows(X, reset=False), self.components_.T)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the rows that codes stand for, V z + m.

        Parameters
        ----------
        X : array or DataFrame (n_samples, n_components)
            Codes; those of `transform` give the reconstructions f(x) + b.

        Returns
        -------
        array (n_samples, n_features)

        Raises
        ------
        ValueError
            If the codes are not of length ``n_components``.
        """
        check_is_fitted(self)
        codes = check_array(X, dtype=np.float64, input_name="X")
        if codes.shape[1] != self._n_features_out:
            raise ValueError(
                f"X has {codes.shape[1]} columns, but the codes of this "
                f"KernelAutoencoder have {self._n_features_out}. Pass what transform "
                "returned."
            )
        return codes @ self.components_ + self.mean_

    def score(self, X: Any, y: Any = None) -> float:
        """Return the part of the variance of rows that reconstructions explain.

        R^2 of all features together, 1 - sum ||x - f(x) - b||^2 / sum ||x - mean||^2: 1
        is perfect, 0 as good as the mean of these rows, of which there must be two. On
        the training rows, with a linear kernel and alpha towards 0, it is the sum of
        PCA's ``explained_variance_ratio_``, whose own score is a log likelihood.
        """
        check_is_fitted(self)
        X = self._validate_rows(X, reset=False)
        reconstructed = self.inverse_transform(self._codes(X, self.components_.T))
        return float(r2_score(X, reconstructed, multioutput="variance_weighted"))

    @property
    def _n_features_out(self) -> int:
        """The number of codes, for `get_feature_names_out`."""
        return self.components_.shape[0]
