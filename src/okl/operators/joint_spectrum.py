"""The eigendecomposition of what maps dual variables to predictions, C -> K C L."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from okl.numerics.arrays import Array
from okl.operators.base import Spectrum
from okl.output_kernels import SpectralKernel


@dataclass(frozen=True)
class JointSpectrum:
    """J = W diag(s) W', W = U (x) V for K = U diag(d) U' and L = V diag(l) V'.

    W is never formed, and s is kept as the array (k, q) of the products d_i l_j.

    Attributes
    ----------
    inputs : Spectrum
        U and d.
    outputs : SpectralKernel
        V and l.
    """

    inputs: Spectrum
    outputs: SpectralKernel

    @cached_property
    def eigenvalues(self) -> Array:
        """The products d_i l_j (k, q)."""
        return self.inputs.eigenvalues[:, None] * self.outputs.eigenvalues

    def coordinates(self, rows: Array) -> Array:
        """Return U' rows V (k, q)."""
        return self.outputs.coordinates(self.inputs.vectors.T @ rows)

    def from_coordinates(self, coordinates: Array) -> Array:
        """Return U coordinates V' (n_samples, n_outputs)."""
        return self.inputs.vectors @ self.outputs.from_coordinates(coordinates)
