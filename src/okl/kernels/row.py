"""What the inputs do not explain: a separate function value for each row."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from okl.kernels.base import Matrix
from okl.parameters.component import Component


class Row(Component):
    r"""The identity on the training rows, and zero between them and new ones.

    The second kernel of ``kernel=[k, Row()]``, with an output kernel of its own: each
    row has an additional function value, unrelated to those of all other rows, and L_2
    is the covariance of what the inputs do not explain,

    .. math:: F = K C L_1 + C L_2 + 1 b'.

    With the squared loss the model is a Gaussian process whose noise has the covariance
    L_2 + alpha I between the outputs of a row. A new row is predicted by the other
    kernels alone: even a training row that is given to ``predict`` is a new one.

    Like any learned output kernel, L_2 is flattened by its penalty: with
    ``"frobenius"`` its largest eigenvalues grow as the cube roots of those of the
    covariance of what is left, with ``"low_rank"`` as the square roots, so that
    correlations come out too small. ``residual_covariance_`` of a regressor, which
    ``predict(given=)`` uses, is estimated from rows left out instead, unless L_2 was
    given.

    It is not a kernel itself, as two rows are the same by their number and not by their
    values: it cannot be part of sums and products of kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from okl import OutputKernelRegressor
    >>> from okl.kernels import Gaussian, Row
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> common = rng.normal(size=60)
    >>> Y = np.column_stack([X[:, 0] + common, X[:, 1] + common])
    >>> structures = ["frobenius", "frobenius"]
    >>> model = OutputKernelRegressor([Gaussian(), Row()], structures).fit(X, Y)
    >>> model.residual_kernel_.shape
    (2, 2)
    """

    instead: ClassVar[str] = (
        "Row() is not a kernel but a term of its own: pass kernel=[k, Row()], with a "
        "structure for each"
    )

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> np.ndarray:
        """Return the identity; zeros between the rows of X and others."""
        n_samples = np.shape(X)[0]
        return np.eye(n_samples) if Z is None else np.zeros((n_samples, np.shape(Z)[0]))

    def resolve(self, X: Matrix, weights: np.ndarray | None = None) -> Row:
        """Return a copy: nothing depends on the data."""
        return Row()

    def centered(self, X: Matrix, weights: np.ndarray | None = None) -> Row:
        """Return itself: it has no origin."""
        return self

    def of_one_width(self, n_features: int) -> list[np.ndarray]:
        """Return no columns."""
        return []
