"""A given output kernel."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from okl.numerics.arrays import Array
from okl.numerics.validation import LARGEST_WITH_SQUARE, check_magnitude
from okl.output_kernels import OutputKernel
from okl.structures.diagonal import Diagonal
from okl.structures.given import Given

_TOLERANCE = 1e-10  # of the largest entry: what rounding leaves in a PSD matrix


class Fixed(Given):
    """The output kernel is given: a covariance of the outputs known beforehand.

    Parameters
    ----------
    output_kernel : array-like (n_outputs, n_outputs)
        Symmetric and positive semi-definite. The regressors normalise outputs first: it
        is then a covariance of normalised outputs. For one in the units of the targets,
        pass ``normalize_y=False``. Labels of a data frame are names of outputs.
    """

    parameters_of_outputs: ClassVar[dict[str, int]] = {"output_kernel": 2}

    def __init__(self, output_kernel: Any) -> None:
        self.output_kernel = output_kernel

    def validate(self, n_outputs: int) -> None:
        """Check that the matrix fits the outputs, is finite, symmetric and PSD."""
        matrix = self.matrix(n_outputs)
        if matrix.shape != (n_outputs, n_outputs):
            raise ValueError(
                f"The output kernel must have one row and one column per output, "
                f"({n_outputs}, {n_outputs}); got an array of shape {matrix.shape}."
            )
        if not np.all(np.isfinite(matrix)):
            raise ValueError(
                "The output kernel has NaN or infinite entries; replace them."
            )
        scale = np.max(np.abs(matrix))
        what, remedy = "The output kernel has entries up to", "Scale it."
        check_magnitude(matrix, what, remedy, largest_size=LARGEST_WITH_SQUARE)
        if np.max(np.abs(matrix - matrix.T)) > _TOLERANCE * scale:
            raise ValueError(
                "The output kernel is not symmetric; pass (L + L.T) / 2 if that is "
                "what you mean."
            )
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        if smallest < -_TOLERANCE * scale:
            raise ValueError(
                f"The output kernel is not positive semi-definite: its smallest "
                f"eigenvalue is {smallest:.6g}. Pass a covariance matrix, or clip its "
                "eigenvalues at zero."
            )

    def matrix(self, n_outputs: int) -> np.ndarray:
        """Return the given matrix as float64."""
        return np.asarray(self.output_kernel, dtype=np.float64)

    def known(self, like: Array) -> OutputKernel:
        """Return the decomposed matrix; a positive diagonal one as `Diagonal` does."""
        matrix = self.matrix(like.shape[1])
        variances = np.diagonal(matrix)
        if np.any(matrix != np.diag(variances)) or not np.all(variances > 0):
            return super().known(like)
        return Diagonal(variances).known(like)
