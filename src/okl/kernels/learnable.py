"""A kernel that a search learns from the targets before it tries it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from okl.kernels.base import Kernel, Matrix, check_is_kernel


class Learnable(Kernel):
    """Stands for a kernel whose parameters a search learns first, by their gradient.

    It is for `OutputKernelRegressorCV` and `OutputKernelClassifierCV`, as their
    ``kernel``, in the list ``kernels``, or in a list of terms as in ``kernel=[k,
    Row()]``. Its continuous parameters and alpha are first learned for independent
    outputs, as `GradientSearchCV` with ``criterion="auto"`` learns them, starting from
    the parameters of ``kernel``, on at most 2000 rows (1000 by folds, as for classes).
    The losses ``"huber"`` and ``"quantile"`` have the squared loss in their place, with
    targets far away drawn in, as for ``"auto"``. The learned kernel is then a candidate
    like the others, for which alpha is chosen anew. It is an error if nothing can be
    learned (sparse rows, a loss of one's own that is not smooth, fewer than five rows
    that differ). Without a kernel it is ``"auto"``, which makes one from the data.

    Parameters
    ----------
    kernel : Kernel or None, default=None
        The kernel from which learning starts. One with one width for all columns keeps
        one; ``Gaussian(np.ones(n_features))``, or `per_feature`, has one for each.
    parameters : mapping, iterable of str, or None, default=None
        What is learned, and how, as in `GradientSearchCV`: by names such as
        ``"kernel__gamma"`` or ``"kernel__left__gamma"``, and ``"alpha"``, which is
        learned in any case unless a mapping fixes it.

    Examples
    --------
    >>> import numpy as np
    >>> from okl import OutputKernelRegressorCV
    >>> from okl.kernels import Gaussian, Learnable
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=60)
    >>> search = OutputKernelRegressorCV(
    ...     structures="identity",
    ...     kernels=["linear", Learnable(Gaussian(np.ones(2)))],
    ... ).fit(X, y)
    >>> bool(search.kernel_.gamma[0] > 10 * search.kernel_.gamma[1])
    True
    """

    def __init__(
        self,
        kernel: Any = None,
        parameters: Mapping[str, Any] | Iterable[str] | None = None,
    ) -> None:
        self.kernel = kernel
        self.parameters = parameters

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return ``'auto'`` if it has no kernel, else the usual representation."""
        plain = self.kernel is None and self.parameters is None
        return repr("auto") if plain else super().__repr__(N_CHAR_MAX)

    def resolve(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Return `Learnable` of the resolved kernel."""
        if self.kernel is None:
            if self.parameters is not None:
                raise ValueError(
                    f"Learnable got parameters={self.parameters!r} without the kernel "
                    "that they belong to: pass kernel too, or leave parameters out."
                )
            return self
        kernel = check_is_kernel(self.kernel, "kernel of Learnable")
        return Learnable(kernel.resolve(X, weights), self.parameters)

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> np.ndarray:
        """Raise TypeError: there is no matrix."""
        raise self._not_learned()

    def diagonal(self, X: Matrix) -> np.ndarray:
        """Raise TypeError: there is no matrix."""
        raise self._not_learned()

    def _not_learned(self) -> TypeError:
        return TypeError(
            f"{self!r} cannot be evaluated before a search has learned it. Pass it, by "
            "itself or in a list, to OutputKernelRegressorCV or "
            "OutputKernelClassifierCV; for one fit use GradientSearchCV, which learns "
            "a kernel without Learnable around it."
        )
