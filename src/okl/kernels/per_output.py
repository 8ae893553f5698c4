"""A kernel per output, for outputs that vary with the inputs at different scales.

The outputs of one model may need different kernels, for example classes of which some
are spread out and others compact. The model then has a sum of separable kernels,
sum_q L_q (x) K_q, with L_q diagonal. Kernels that are equal up to a factor, such as
``30 * k`` and ``5 * k``, share one matrix K_q; the factors are entries of L_q.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from okl.kernels._list import KernelList
from okl.kernels.base import Kernel, Matrix
from okl.kernels.differentiable import Derivatives, within
from okl.parameters.component import have_same_parameters
from okl.parameters.hyperparameter import Hyperparameter


class KernelTerm(NamedTuple):
    """A kernel and the outputs whose kernels are multiples of it.

    Attributes
    ----------
    kernel : Kernel
    outputs : array of int (p,)
        Column numbers, ascending.
    scales : array (p,)
        For each output the factor > 0 of the kernel.
    """

    kernel: Kernel
    outputs: np.ndarray
    scales: np.ndarray


class PerOutput(KernelList):
    r"""One kernel for each output, k_1 for the first and so on.

    .. math:: K \text{ of the model } = \sum_j e_j e_j' \otimes K_j

    for independent outputs, ``structure="identity"``; a loss such as softmax couples
    them all the same. Seeger (2006), *Cross-validation optimization for structured
    Hessian kernel methods*, section 8.1 (mc-sep).

    It is not a kernel itself, as it has no matrix, but estimators take it as one.
    Outputs that have kernels of their own, and are related as well, take a list of two
    kernels, ``kernel=[PerOutput(kernels), k]`` with ``structure=["identity",
    "frobenius"]``: each output is its own function plus one that has the kernel k and a
    learned output kernel. The fit has a term for each different kernel.

    Parameters
    ----------
    kernels : list of Kernel
        One per output: per column of Y; per class or label in the order of
        ``classes_``. Two classes are one output, but two with the softmax loss.
        Parameters of the kernels are tuned as ``kernels__0__gamma`` and so on.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from okl import OutputKernelClassifier
    >>> from okl.kernels import Gaussian, PerOutput
    >>> X, y = load_iris(return_X_y=True)
    >>> kernel = PerOutput([Gaussian(0.1), 30 * Gaussian(0.5), 5 * Gaussian(0.5)])
    >>> model = OutputKernelClassifier(kernel, "identity", loss="softmax").fit(X, y)
    >>> len(model.kernel_.terms())
    2
    """

    # what to do where one kernel is asked for
    instead: ClassVar[str] = (
        "it is the whole kernel of an estimator, or one of its list, whose parameters "
        "are learned by GradientSearchCV, without Learnable"
    )

    def __init__(self, kernels):
        self.kernels = kernels

    def resolve(self, X: Matrix, weights: np.ndarray | None = None) -> PerOutput:
        """Return the list of the resolved kernels.

        Parameters are those of `Kernel.resolve`.

        Raises
        ------
        ValueError
            If the list is empty or a parameter of a kernel is out of range.
        TypeError
            If something in the list is not a kernel.
        """
        self._check_kernels()
        return PerOutput([kernel.resolve(X, weights) for kernel in self.kernels])

    def centered(self, X: Matrix, weights: np.ndarray | None = None) -> PerOutput:
        """Return the list of the kernels, each of them centred if it can be."""
        return PerOutput([kernel.centered(X, weights) for kernel in self.kernels])

    def hyperparameters(
        self, X: Matrix, weights: np.ndarray | None = None
    ) -> list[Hyperparameter]:
        """Return the parameters of all kernels, ``kernels__0__gamma`` and so on."""
        return [
            one.within(f"kernels__{j}")
            for j, kernel in enumerate(self.kernels)
            for one in kernel.hyperparameters(X, weights)
        ]

    def gradient(self, X: Matrix, left: np.ndarray, right: np.ndarray) -> Derivatives:
        """Return the derivatives by the logarithms of the parameters of all kernels.

        The derivatives are those of the sum of left_q' K_j right_q over the columns q,
        where j = q modulo the number of outputs: columns come in blocks with one for
        each output.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            The rows of the matrices.
        left, right : array (n_samples, k n_outputs)
            The columns, in k blocks.

        Returns
        -------
        dict
            From the names in ``hyperparameters(X)`` to floats or arrays.

        Raises
        ------
        ValueError
            If the arrays have other shapes.
        """
        m = len(self.kernels)
        if np.ndim(left) != 2 or np.shape(left)[1] % m:
            raise ValueError(
                f"left must have {m} columns, one for each kernel, or blocks of as "
                f"many; its shape is {np.shape(left)}."
            )
        found: Derivatives = {}
        for j, kernel in enumerate(self.kernels):
            own = kernel.gradient(X, left[:, j::m], right[:, j::m])
            found |= within(f"kernels__{j}", own)
        return found

    def validate(self, n_outputs: int) -> None:
        """Raise ValueError unless there is one kernel for each output."""
        self._check_kernels()
        if len(self.kernels) != n_outputs:
            raise ValueError(
                "PerOutput needs one kernel per output: the number of kernels is "
                f"{len(self.kernels)}, of outputs {n_outputs}. Outputs are the columns "
                "of Y, the labels, or the classes; two classes are one output, but "
                "two for loss='softmax'."
            )

    def terms(self) -> list[KernelTerm]:
        """Group the kernels that have equal parameters, up to a factor.

        Raises
        ------
        ValueError
            If the list is empty.
        TypeError
            If something in it is not a kernel.
        """
        self._check_kernels()
        shared: list[tuple[Kernel, list[int], list[float]]] = []
        for j, kernel in enumerate(self.kernels):
            scale, core = kernel.factored()
            for known, outputs, scales in shared:
                if have_same_parameters(known, core):
                    outputs.append(j)
                    scales.append(scale)
                    break
            else:
                shared.append((core, [j], [scale]))
        return [
            KernelTerm(core, np.asarray(outputs), np.asarray(scales, dtype=float))
            for core, outputs, scales in shared
        ]
