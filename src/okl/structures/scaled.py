r"""The structure of outputs in other units: R as a penalty on D L D.

With the squared loss, an alpha for each output is a change of units. With y~ = y D and
f~ = f D for a diagonal D, the losses of all outputs have the same weight, and L becomes
L~ = D L D. The penalty R on L is then one on L~,

.. math:: \tilde R(\tilde L) = R(D^{-1} \tilde L D^{-1}), \qquad
          \tilde R^*(\tilde S) = R^*(D \tilde S D),

and the update at P~ is D times that at D^-1 P~ D^-1 times D.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from okl.numerics.arrays import Array, namespace
from okl.optimization.regions import Free
from okl.optimization.second_derivative import InOtherUnits
from okl.output_kernels import OutputKernel, SpectralKernel
from okl.structures.base import Response, Structure

# The capabilities that a structure keeps in other units of the outputs.
_KEPT = frozenset({"known", "update", "response", "proximal"})


class Scaled(Structure):
    """The structure of D L D, where another structure is that of L.

    Parameters
    ----------
    structure : Structure
        The structure of L; `is_scalable` must be true of it.
    scales : array (n_outputs,)
        The diagonal of D, > 0.
    """

    def __init__(self, structure: Structure, scales: Any) -> None:
        self.structure = structure
        self.scales = scales

    @property
    def capabilities(self) -> frozenset[str]:  # type: ignore[override]
        """Those of the structure of L that hold in any units."""
        return self.structure.capabilities & _KEPT

    def validate(self, n_outputs: int) -> None:
        """Check the scales and the structure of L."""
        scales = np.asarray(self.scales, dtype=np.float64)
        fine = scales.shape == (n_outputs,) and np.all((scales > 0) & (scales < np.inf))
        if not fine or not is_scalable(self.structure):
            raise ValueError(
                f"Scaled needs {n_outputs} finite scales > 0, one for each output, and "
                "a structure that fixes L, or 'frobenius'; got scales="
                f"{self.scales!r} and {self.structure}."
            )
        self.structure.validate(n_outputs)

    def known(self, like: Array) -> OutputKernel | None:
        """Return D L D if the structure fixes L."""
        known = self.structure.known(like)
        if known is None:
            return None
        scales = self._scales(like)
        if not known.couples:
            return SpectralKernel(scales * known.diagonal() * scales)
        return SpectralKernel.from_matrix(_both_sides(known.matrix(), scales))

    def region(self, n_outputs: int) -> Free | None:
        """Return all PSD matrices with the penalty on L, if that is the region of L."""
        inside = self.structure.region(n_outputs)
        if not isinstance(inside, Free):
            return None
        scales = np.asarray(self.scales, dtype=np.float64)
        return Free(scales if inside.scales is None else scales * inside.scales)

    def penalty(self, output_kernel: Array) -> float:
        """Return R(L)."""
        inverse = 1 / self._scales(output_kernel)
        return self.structure.penalty(_both_sides(output_kernel, inverse))

    def conjugate(self, matrix: Array) -> float:
        """Return R*(D S D)."""
        return self.structure.conjugate(_both_sides(matrix, self._scales(matrix)))

    def response(self, matrix: Array) -> Response:
        """Return that of L at D S D, mapped back."""
        scales = self._scales(matrix)
        inside = self.structure.response(_both_sides(matrix, scales))
        return Response(
            inside.value,
            _both_sides(inside.output_kernel, scales),
            InOtherUnits(inside.derivative, scales),
        )

    def update(self, matrix: Array, *, tol: float = 1e-6) -> Array:
        """Return the update of L, multiplied by D on both sides."""
        scales = self._scales(matrix)
        inside = _both_sides(matrix, 1 / scales)
        return _both_sides(self.structure.update(inside, tol=tol), scales)

    def _scales(self, like: Array) -> Array:
        """Return the diagonal of D in the namespace of an array."""
        return namespace(like).asarray(self.scales, dtype=like.dtype)


def is_scalable(structure: Structure) -> bool:
    """Tell whether solvers and bounds support a structure within `Scaled`.

    They do for a known L, and for half the squared norm. Other penalties are on
    eigenvalues or entries, and lose their form in other units.
    """
    return "known" in structure.capabilities or isinstance(structure.region(1), Free)


def unscaled(structure: Structure) -> Structure:
    """Return the structure of L within `Scaled`, any other structure as it is."""
    return structure.structure if isinstance(structure, Scaled) else structure


def _both_sides(matrix: Array, scales: Array) -> Array:
    """Return D X D."""
    return scales[:, None] * matrix * scales
