"""The arrays that a fit learned, in the units of the targets.

A fit keeps L as something that multiplies, and the coefficients as they are cheapest to
keep. Users see arrays: each is computed when it is asked for, as one with an entry for
every pair of outputs may be large.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from okl.coding.tasks import LongCoefficients
from okl.estimators.score_function import ScoreFunction
from okl.estimators.shown_attributes import ShownAttributes
from okl.estimators.units import Units
from okl.kernels import Row
from okl.numerics.memory import require_memory
from okl.output_kernels import OutputKernel, OutputKernelTerms, TermCoefficients


class LearnedArrays(ShownAttributes):
    """Coefficients and output kernels of a fitted model, D the scales of its targets.

    Attributes
    ----------
    kernel_ : object
        The kernel, a list if there are several.
    """

    kernel_: Any
    _function: ScoreFunction
    _output_kernel: OutputKernel
    _theta: Any
    _units: Units
    # whether intercepts of tasks are not free, but a matter of the kernel
    _shares_intercepts = False

    @property
    def dual_coef_(self) -> Any:
        """C L D (n_samples, n_outputs) or (n_samples,); in long form computed here.

        For several kernels a list of arrays, C L_q D.
        """
        self._fitted_output_kernel()
        if isinstance(self._theta, TermCoefficients):
            return list(self._theta.parts)
        return self._theta.dense() if self._has_tasks else self._theta

    @property
    def intercept_(self) -> Any:
        """The intercept (n_outputs,), a float of a single output, 0.0 of a fit without.

        Setting it changes what `predict` adds, and what is certified.
        """
        self._fitted_output_kernel()
        intercept = self._function.intercept
        if intercept is None:
            return 0.0
        return float(intercept[0]) if len(self._theta.shape) == 1 else intercept

    @intercept_.setter
    def intercept_(self, value: Any) -> None:
        self._fitted_output_kernel()
        intercept = self._function.intercept
        if intercept is None or self._shares_intercepts:
            raise ValueError(
                "There is no intercept to set, as the model was fitted without one; "
                "fit with fit_intercept=True, and for tasks also name a structure."
            )
        # in place, as those who predict with a standard deviation share the function
        intercept[:] = value

    @property
    def output_kernel_(self) -> np.ndarray:
        """D L D (n_outputs, n_outputs), computed when asked for."""
        kernel = self._fitted_output_kernel()
        n_outputs = 1 if len(self._theta.shape) == 1 else self._theta.shape[1]
        require_memory(
            2 * 8 * n_outputs**2,
            f"The output kernel of {n_outputs} outputs",
            "Use output_kernel_factor_, which has n_outputs x rank_ entries.",
        )
        return self._units.output_kernel(kernel.matrix())

    @property
    def output_kernels_(self) -> list[np.ndarray]:
        """D L_q D of each kernel, computed when asked for."""
        kernel = self._fitted_output_kernel()
        terms = kernel.terms if isinstance(kernel, OutputKernelTerms) else (kernel,)
        return [self._units.output_kernel(term.matrix()) for term in terms]

    @property
    def residual_kernel_(self) -> np.ndarray:
        """D L_q D of the last kernel, if it is a `Row`."""
        kernels = self.output_kernels_
        if not isinstance(self.kernel_, list) or not isinstance(self.kernel_[-1], Row):
            raise AttributeError(
                "Only a fit with kernel=[..., Row()] has a residual_kernel_, the "
                "covariance of what the inputs do not explain."
            )
        return kernels[-1]

    @property
    def output_kernel_factor_(self) -> np.ndarray:
        """D B (n_outputs, ``rank_``) with L = B B', computed when asked for."""
        factor = self._fitted_output_kernel().factor()
        factor *= self._units.scale[:, None]
        return factor

    def _fitted_output_kernel(self) -> OutputKernel:
        try:
            return self._output_kernel
        except AttributeError:
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet. Call 'fit' first."
            ) from None

    @property
    def _has_tasks(self) -> bool:
        """Whether the fit was to data in long form."""
        return isinstance(self._theta, LongCoefficients)
