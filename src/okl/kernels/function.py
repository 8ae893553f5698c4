"""Any function as a kernel, scikit-learn's Gaussian-process kernels included.

`sklearn.svm.SVC` accepts a function of two sets of rows that returns their matrix;
so does this library, through one adapter. The Gaussian-process kernels are such
functions too. They also know their diagonal, and treat a missing second argument as
"the same samples", so both are passed on. A kernel with white noise is refused: the
noise is in the matrix of the training rows, but not in that between the same rows and
themselves as new ones, so that predictions for these would not be the scores that were
fitted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.gaussian_process.kernels import WhiteKernel
from sklearn.utils import gen_batches

from okl.kernels.base import Kernel, Matrix


class CallableKernel(Kernel):
    """Kernel given by a function, k(x, z) = function(X, Z)[i, j].

    Parameters
    ----------
    function : callable or sklearn.gaussian_process.kernels.Kernel
        Called with X (n_samples, n_features) and Z (n_other, n_features), returns a
        finite matrix of shape (n_samples, n_other). The function has to make it
        symmetric and positive semi-definite; fits refuse one with a ``WhiteKernel``.
        The parameters of a Gaussian-process kernel can be tuned as
        ``function__length_scale``, but are not learned by gradients
        (``hyperparameters`` is empty).
    """

    def __init__(self, function):
        self.function = function

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> np.ndarray:
        """Return the matrix that the function gives, checked and copied."""
        if Z is None and not self._is_gaussian_process(X):
            Z = X
        K = self.function(X, Z)
        n_rows, n_columns = np.shape(X)[0], np.shape(X if Z is None else Z)[0]
        return self._checked(K, (n_rows, n_columns))

    def diagonal(self, X: Matrix) -> np.ndarray:
        """Return k(x_i, x_i), from small diagonal blocks if there is no ``diag``."""
        n_samples = np.shape(X)[0]
        if self._is_gaussian_process(X):
            return self._checked(self.function.diag(X), (n_samples,))
        blocks = [self(X[rows]).diagonal() for rows in gen_batches(n_samples, 128)]
        return np.concatenate(blocks)

    @property
    def is_psd(self) -> bool:
        """Return False: what the user gave is not known to be a kernel."""
        return False

    def resolve(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Return a copy after checking that the function can be called."""
        if not callable(self.function) or isinstance(self.function, type):
            raise TypeError(
                "function of CallableKernel must take (X, Z) and return a matrix, got "
                f"{self.function!r}."
            )
        self._refuse_white_noise()
        return super().resolve(X, weights)

    def _refuse_white_noise(self) -> None:
        if not hasattr(self.function, "get_params"):
            return
        parts = [self.function, *self.function.get_params(deep=True).values()]
        if any(isinstance(part, WhiteKernel) for part in parts):
            raise ValueError(
                f"The kernel {self.function!r} has white noise, which relates a row "
                "only to itself, and not to a new row with the same values. Leave "
                "WhiteKernel out, as alpha accounts for noise: for one kernel and "
                "structure='identity' alpha plus the noise level gives the same "
                "predictions. For noise that outputs share pass kernel=[k, Row()]."
            )

    def _is_gaussian_process(self, X: Matrix) -> bool:
        if not hasattr(self.function, "diag"):
            return False
        if sparse.issparse(X):
            raise TypeError(
                f"{self.function!r} is a kernel of sklearn.gaussian_process and takes "
                "dense X only, got a sparse matrix: pass X.toarray() or use a kernel "
                "of okl.kernels."
            )
        return True

    def _checked(self, values: Any, shape: tuple[int, ...]) -> np.ndarray:
        if sparse.issparse(values):
            values = values.toarray()
        values = np.array(values, dtype=np.float64)  # a copy: the function may keep it
        if values.shape != shape:
            raise ValueError(
                f"The kernel function {self.function!r} must return shape {shape} for "
                f"X with {shape[0]} rows, got {values.shape}."
            )
        if not np.isfinite(values).all():
            raise ValueError(
                f"The kernel function {self.function!r} returned values that are not "
                "finite."
            )
        return values
