"""Input kernels: how similar two samples are.

A kernel is a function k(x, x') with a positive semi-definite matrix
``K[i, j] = k(x_i, x_j)`` for any rows. The objects here are functions with
parameters; they hold no data. ``kernel(X)`` is the square matrix of the rows of
X, ``kernel(X, Z)`` the rectangular one.

Parameters that depend on the data (``gamma="scale"``) are settled once by
``resolve(X)``, where they are also checked, so that fit and predict use the same
function. A kernel whose parameters still depend on the data refuses to be called.

Sums and products of kernels are kernels, and so is a nonnegative constant; the
operators ``+`` and ``*`` build them, which is why these classes are in the file of the
base class.
"""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from okl.kernels._checks import nonnegative_number
from okl.kernels._hyperparameters import weight_parameter
from okl.kernels.differentiable import Differentiable, Evaluated, Matrix, within_pair
from okl.parameters.hyperparameter import Hyperparameter


class Kernel(Differentiable):
    """Base of the input kernels.

    Shapes: X is (n_samples, n_features), Z is (n_other, n_features), dense or
    sparse; matrices are dense float64 arrays.
    """

    # With this NumPy leaves ``np.float64(2) * kernel`` to `__rmul__`, and an array
    # times a kernel is an error, not an array of kernels.
    __array_ufunc__: ClassVar[None] = None

    @abstractmethod
    def diagonal(self, X: Matrix) -> np.ndarray:
        """Return k(x_i, x_i) of shape (n_samples,) without forming the matrix."""

    def resolve(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Return a copy whose data-dependent parameters are numbers.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            The training rows.
        weights : array (n_samples,), optional
            How much each row counts; None for one each.

        Raises
        ------
        ValueError
            If a parameter is out of its range or does not fit the shape of X.
        TypeError
            If a part that should be a kernel is something else.
        """
        return clone(self)

    def centered(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Return a kernel that gives the same models, with an origin among the rows.

        Where an intercept is free, kernels that differ by a(x) + a(z), for any
        function a, give the same predictions. A large offset of the rows, such as that
        of dates in seconds, would leave no digits for their differences; a kernel whose
        origin can be moved returns one with the origin at their means. By default it
        returns itself. Parameters are those of `resolve`.
        """
        return self

    def features(self, X: Matrix) -> Matrix | None:
        """Return Phi (n_samples, n_features) with K = Phi Phi', if there is one.

        None (the default) if no such features are known.
        """
        return None

    def factored(self) -> tuple[float, Kernel]:
        """Return a number > 0 and a kernel, of which this one is the product.

        Kernels that differ only by a factor give equal kernels, if their parameters are
        numbers.
        """
        return 1.0, self

    def of_one_width(self, n_features: int) -> list[np.ndarray]:
        """Return the groups of columns of X that share a width, by column numbers.

        Where one number scales the distance of rows, a column of large numbers hides
        the others. There is no group (the default) for a kernel that is no function of
        a distance, such as the linear one, nor for one number per feature.
        """
        return []

    def __add__(self, other: Any) -> Kernel:
        return Sum(self, _as_operand(other))

    def __radd__(self, other: Any) -> Kernel:
        return Sum(_as_operand(other), self)

    def __mul__(self, other: Any) -> Kernel:
        return Product(self, _as_operand(other))

    def __rmul__(self, other: Any) -> Kernel:
        return Product(_as_operand(other), self)


class Constant(Kernel):
    """The same similarity for all pairs, k(x, z) = value.

    Added to a kernel it acts as a penalized intercept, multiplied it sets the
    variance. In sums and products it may be written as a number: ``30 * kernel + 1``.

    Parameters
    ----------
    value : float
        A number >= 0.
    """

    def __init__(self, value):
        self.value = value

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> np.ndarray:
        """Return the matrix filled with the value."""
        shape = np.shape(X)[0], np.shape(X if Z is None else Z)[0]
        return np.full(shape, nonnegative_number(self, "value"))

    def diagonal(self, X: Matrix) -> np.ndarray:
        """Return the value for each row."""
        return np.full(np.shape(X)[0], nonnegative_number(self, "value"))

    def resolve(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Return a copy after checking that the value is a number >= 0."""
        return Constant(nonnegative_number(self, "value"))

    def factored(self) -> tuple[float, Kernel]:
        """Return the value and `Constant` 1, unless the value is zero."""
        return (self.value, Constant(1.0)) if self.value > 0 else (1.0, self)

    def hyperparameters(
        self, X: Matrix, weights: np.ndarray | None = None
    ) -> list[Hyperparameter]:
        """Return the value, unless it is zero."""
        return [weight_parameter("value", self.value)] if self.value > 0 else []

    def value_and_pullback(self, X: Matrix, Z: Matrix | None = None) -> Evaluated:
        """Return the matrix; the derivative is the value times the sum of weights."""
        value = self.value
        return self(X, Z), lambda W: {"value": value * W.sum()} if value > 0 else {}


class _Pair(Kernel):
    """What the sum and the product of two kernels share.

    Parameters
    ----------
    left, right : Kernel
        The operands, tuned as ``left__gamma`` and ``right__gamma``.
    """

    def __init__(self, left, right):
        self.left = left
        self.right = right

    def of_one_width(self, n_features: int) -> list[np.ndarray]:
        """Return the groups of both kernels."""
        left, right = self.left, self.right
        return left.of_one_width(n_features) + right.of_one_width(n_features)

    @property
    def is_psd(self) -> bool:
        """Whether both kernels are positive semi-definite by construction."""
        return self.left.is_psd and self.right.is_psd

    def resolve(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Return the same combination of the two resolved kernels."""
        left = check_is_kernel(self.left, f"left of {type(self).__name__}")
        right = check_is_kernel(self.right, f"right of {type(self).__name__}")
        return type(self)(left.resolve(X, weights), right.resolve(X, weights))

    def hyperparameters(
        self, X: Matrix, weights: np.ndarray | None = None
    ) -> list[Hyperparameter]:
        """Return the parameters of both kernels."""
        return [
            one.within(side)
            for side, kernel in (("left", self.left), ("right", self.right))
            for one in kernel.hyperparameters(X, weights)
        ]


class Sum(_Pair):
    """Sum of two kernels, k(x, z) = left(x, z) + right(x, z).

    Parameters
    ----------
    left, right : Kernel
        The summands, tuned as ``left__gamma`` and ``right__gamma``.
    """

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> np.ndarray:
        """Return the sum of the two matrices."""
        K = self.left(X, Z)
        K += self.right(X, Z)
        return K

    def value_and_pullback(self, X: Matrix, Z: Matrix | None = None) -> Evaluated:
        """Return the sum, and the derivatives of both summands."""
        K, left = self.left.value_and_pullback(X, Z)
        other, right = self.right.value_and_pullback(X, Z)
        return K + other, lambda W: within_pair(left(W), right(W))

    def diagonal(self, X: Matrix) -> np.ndarray:
        """Return the sum of the two diagonals."""
        return self.left.diagonal(X) + self.right.diagonal(X)

    def centered(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Centre both summands."""
        return Sum(self.left.centered(X, weights), self.right.centered(X, weights))

    def factored(self) -> tuple[float, Kernel]:
        """Return the factor of the first summand, and the sum divided by it."""
        (first, left), (second, right) = self.left.factored(), self.right.factored()
        return first, left + _times(second / first, right)


class Product(_Pair):
    """Elementwise product of two kernels, k(x, z) = left(x, z) right(x, z).

    Parameters
    ----------
    left, right : Kernel
        The factors, tuned as ``left__gamma`` and ``right__gamma``.
    """

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> np.ndarray:
        """Return the elementwise product of the two matrices."""
        K = self.left(X, Z)
        K *= self.right(X, Z)
        return K

    def value_and_pullback(self, X: Matrix, Z: Matrix | None = None) -> Evaluated:
        """Return the product; each factor gets W times the matrix of the other one."""
        K, left = self.left.value_and_pullback(X, Z)
        other, right = self.right.value_and_pullback(X, Z)
        return K * other, lambda W: within_pair(left(W * other), right(W * K))

    def diagonal(self, X: Matrix) -> np.ndarray:
        """Return the product of the two diagonals."""
        return self.left.diagonal(X) * self.right.diagonal(X)

    def centered(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Centre a kernel that is multiplied by a constant; else change nothing."""
        left, right = self.left, self.right
        if isinstance(left, Constant):
            return Product(left, right.centered(X, weights))
        if isinstance(right, Constant):
            return Product(left.centered(X, weights), right)
        return self

    def factored(self) -> tuple[float, Kernel]:
        """Return the product of both numbers, and that of the remaining kernels."""
        (first, left), (second, right) = self.left.factored(), self.right.factored()
        if isinstance(left, Constant):
            return first * second, _times(left.value, right)
        if isinstance(right, Constant):
            return first * second, _times(right.value, left)
        return first * second, left * right


def _times(factor: float, kernel: Kernel) -> Kernel:
    return kernel if factor == 1 else Product(Constant(factor), kernel)


def check_is_kernel(value: Any, where: str) -> Kernel:
    """Return a value that must be a kernel object.

    Raises
    ------
    TypeError
        Otherwise; the message starts with `where`.
    """
    if isinstance(value, Kernel):
        return value
    names = "okl.kernels.as_kernel turns names and functions into one"
    message = f"{where} must be an object of okl.kernels, got {value!r}; "
    raise TypeError(f"{message}{getattr(value, 'instead', names)}.")


def _as_operand(value: Any) -> Kernel:
    """Read a number c as Constant(c), so that ``30 * k`` and ``k + 1`` work."""
    if isinstance(value, Real) and not isinstance(value, bool):
        return Constant(value)
    return check_is_kernel(value, "What is added to or multiplied with a kernel")
