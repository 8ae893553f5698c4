"""Kernels in a list: their parameters reach into it.

scikit-learn looks into components but not into lists of them. Here a list of kernels is
tuned as ``kernels__0__gamma``, ``kernels__1__gamma`` and so on, and the kernels
themselves as ``kernels__0``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from okl.kernels.base import Kernel, check_is_kernel
from okl.parameters.component import Component


class KernelList(Component):
    """What has a parameter ``kernels``, a list of kernels."""

    kernels: Any

    def _check_kernels(self) -> None:
        """Raise ValueError for an empty list, TypeError for what is not a kernel."""
        name = type(self).__name__
        if not isinstance(self.kernels, list | tuple) or not self.kernels:
            raise ValueError(
                f"kernels of {name} must be a list of at least one kernel, got "
                f"{self.kernels!r}."
            )
        for i, kernel in enumerate(self.kernels):
            check_is_kernel(kernel, f"kernels[{i}] of {name}")

    def of_one_width(self, n_features: int) -> list[np.ndarray]:
        """Return the groups of all kernels, as `Kernel.of_one_width` has them."""
        return [
            group
            for kernel in self.kernels
            for group in kernel.of_one_width(n_features)
        ]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; if deep, also ``kernels__0``, ``kernels__0__gamma``.

        scikit-learn looks into components but not into lists of them.
        """
        params = super().get_params(deep=deep)
        if deep and isinstance(self.kernels, list | tuple):
            for i, kernel in enumerate(self.kernels):
                inner = kernel.get_params() if isinstance(kernel, Kernel) else {}
                params[f"kernels__{i}"] = kernel
                params.update({f"kernels__{i}__{k}": v for k, v in inner.items()})
        return params

    def set_params(self, **params: Any) -> Any:
        """Set parameters, also those of the kernels in the list.

        Raises
        ------
        ValueError
            For an unknown parameter.
        """
        nested = sorted(key for key in params if key.startswith("kernels__"))
        super().set_params(**{k: v for k, v in params.items() if k not in nested})
        for key in nested:  # "kernels__0" sorts before its own "kernels__0__gamma"
            if key not in self.get_params():
                raise ValueError(
                    f"Invalid parameter {key!r} for {self}. Valid parameters are: "
                    f"{sorted(self.get_params())}."
                )
            index, _, inner = key.removeprefix("kernels__").partition("__")
            if inner:
                self.kernels[int(index)].set_params(**{inner: params[key]})
            else:
                kernels = list(self.kernels)
                kernels[int(index)] = params[key]
                self.kernels = kernels
        return self
