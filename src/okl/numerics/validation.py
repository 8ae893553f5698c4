"""Checks of numbers and matrices that users give.

Each error says what came, what was expected and what to do. The checks of X and y
themselves are scikit-learn's (`sklearn.utils.validation.validate_data`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.linalg

from okl.numerics.arrays import Array, eigh, is_numpy, namespace

# A Gram matrix may deviate from symmetry or positive semi-definiteness by this,
# relative to its largest entry or eigenvalue, before it is refused.
_GRAM_TOLERANCE = 1e-5
# Numbers between 1 / this and this have powers and quotients in double precision.
_LARGEST = 1e50
# Numbers between 1 / this and this have a square in double precision.
LARGEST_WITH_SQUARE = 1e150
# The largest number of jobs for joblib.
_MOST_JOBS = 2**31 - 1
# Negative eigenvalues below this (relative) are rounding and need no projection.
_ROUNDING = 1e-12


def check_positive(value: Any, name: str) -> float:
    """Return a finite number > 0, else raise ValueError."""
    number = _number(value)
    if not 0 < number < float("inf"):
        raise ValueError(f"{name} must be a finite number > 0, got {value!r}.")
    return number


def check_not_negative(value: Any, name: str) -> float:
    """Return a finite number >= 0, else raise ValueError."""
    number = _number(value)
    if not 0 <= number < float("inf"):
        raise ValueError(f"{name} must be a finite number >= 0, got {value!r}.")
    return number


def refuse_labels(value: Any, name: str, whose: str) -> None:
    """Raise TypeError for a series, where its labels would be ignored."""
    if hasattr(value, "iloc"):
        raise TypeError(
            f"{name} must be a number or an array, got a {type(value).__name__}, whose "
            f"labels would be ignored. Pass an array (.to_numpy()), in the order of "
            f"{whose}."
        )


def check_probability(value: Any, name: str) -> float:
    """Return a number between 0 and 1, both excluded, else raise ValueError."""
    number = _number(value)
    if not 0 < number < 1:
        raise ValueError(f"{name} must be a number between 0 and 1, got {value!r}.")
    return number


def _number(value: Any) -> float:
    """Return a real number, infinity if it is beyond floating point, else NaN."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if not isinstance(value, Real) or isinstance(value, bool):
        return float("nan")
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def check_count(value: Any, name: str, least: int = 1) -> int:
    """Return an integer >= least, else raise ValueError."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer >= {least}, got {value!r}.")
    return int(value)


def check_n_jobs(value: Any) -> None:
    """Raise ValueError unless a value is a number of jobs for joblib."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if value is not None and not (whole and 0 < abs(value) <= _MOST_JOBS):
        raise ValueError(
            "n_jobs must be None, a number of jobs (no number above 2^31), or -1 for "
            f"one per processor; got {value!r}."
        )


def check_flag(value: Any, name: str, word: str | None = None) -> bool:
    """Return True or False, True for the word allowed, else raise ValueError."""
    if word is not None and isinstance(value, str) and value == word:
        return True
    if not isinstance(value, bool | np.bool_):
        known = "True or False" if word is None else f"True, False or {word!r}"
        shape = getattr(value, "shape", ())  # targets, say, where a flag is next
        got = f"an array of shape {shape}" if shape else repr(value)
        raise ValueError(f"{name} must be {known}, got {got}.")
    return bool(value)


def check_choice(value: Any, name: str, choices: Iterable[str | None]) -> str | None:
    """Return one of a few words, or None among them, else raise ValueError."""
    choices = tuple(choices)
    # comparing an array with a word gives no truth value
    if not isinstance(value, str | None) or value not in choices:
        listed = ", ".join(map(repr, choices))
        raise ValueError(f"{name} must be one of {listed}; got {value!r}.")
    return value


def refuse_negative_weights(sample_weight: Any) -> None:
    """Raise ValueError if a weight is negative, TypeError if some are no numbers."""
    if sample_weight is None:
        return
    try:
        smallest = np.min(np.asarray(sample_weight) * 1.0, initial=0.0)
    except (TypeError, ValueError) as error:
        kind = getattr(sample_weight, "dtype", type(sample_weight).__name__)
        raise TypeError(
            f"sample_weight must be an array of numbers, got {kind} ({error})."
        ) from error
    if smallest < 0:
        raise ValueError(
            f"sample_weight has a negative entry, {smallest:.3g}; weights must be >= "
            "0, and zero for targets that were not observed."
        )


def check_alpha(value: Any) -> float:
    """Return the regularisation strength."""
    alpha = check_positive(value, "alpha")
    check_magnitude(np.asarray(alpha), "alpha is", "Choose another alpha.")
    return alpha


def check_magnitude(
    values: Array, what: str, remedy: str, *, largest_size: float = _LARGEST
) -> None:
    """Raise ValueError unless numbers are of a size that is safe to compute with.

    Arrays of zeros are.

    Parameters
    ----------
    values : array
        Any numbers; their largest absolute value counts.
    what, remedy : str
        The beginning of the message, before that value, and its advice.
    largest_size : float, default=1e50
        The largest size allowed, and one over the smallest.
    """
    xp = namespace(values)
    largest = 0.0
    if math.prod(values.shape):  # without a copy of absolute values
        largest = max(float(xp.max(values)), -float(xp.min(values)))
    smallest_size = 1 / largest_size
    if largest != 0 and not smallest_size <= largest <= largest_size:
        raise ValueError(
            f"{what} {largest:.3g}, which is not between {smallest_size:g} and "
            f"{largest_size:g}: squares and products would leave the range of floating "
            f"point numbers. {remedy}"
        )


def check_tolerance(value: Any) -> float:
    """Return the tolerance on the relative duality gap."""
    return check_positive(value, "tol")


def check_fit_parameters(tol: Any, max_iter: Any, alphas: Iterable[Any] = ()) -> None:
    """Raise ValueError unless the parameters common to all fits are valid.

    Parameters
    ----------
    tol : float
        Relative duality gap to stop at, > 0.
    max_iter : int
        Most iterations, >= 1.
    alphas : iterable of float, default=()
        Regularisation strengths, > 0.
    """
    for alpha in alphas:
        check_alpha(alpha)
    check_tolerance(tol)
    check_count(max_iter, "max_iter")


def check_gram(matrix: Array, name: str) -> float:
    """Raise ValueError unless a matrix is square, and symmetric up to rounding.

    Returns the largest difference of two mirrored entries.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"{name} must be square and symmetric; got an array of shape "
            f"{tuple(matrix.shape)}."
        )
    if matrix.shape[0] == 0:
        return 0.0
    xp = namespace(matrix)
    scale = float(xp.max(xp.abs(matrix)))
    asymmetry = float(xp.max(xp.abs(matrix - matrix.T)))
    if asymmetry > _GRAM_TOLERANCE * scale:
        raise ValueError(
            f"{name} is not symmetric: entries differ from their mirror images by up "
            f"to {asymmetry:.3g}, the largest entry is {scale:.3g}. Pass "
            "(K + K.T) / 2 if that is what you mean."
        )
    return asymmetry


def positive_part(matrix: np.ndarray, rounding: float = 0.0) -> np.ndarray:
    """Return a symmetric matrix made PSD: itself, or with eigenvalues clipped at 0.

    For nearly every matrix one Cholesky factorisation is enough to see that it is PSD.
    Eigenvalues down to -1e-5 of the largest count as zero.

    Parameters
    ----------
    matrix : array (n, n)
    rounding : float, default=0.0
        The size of earlier rounding in the matrix: an eigenvalue so far below zero
        counts as zero as well.

    Raises
    ------
    ValueError
        If an eigenvalue is below these limits; the message names the most negative.
    """
    scale = np.trace(matrix)
    if _is_definite(matrix, _ROUNDING * max(scale, np.finfo(float).tiny)):
        return matrix
    values, vectors = eigh(matrix)
    smallest, largest = float(values[0]), float(np.max(np.abs(values)))
    if smallest < -max(_GRAM_TOLERANCE * largest, rounding):
        raise ValueError(
            "The kernel matrix is not positive semi-definite: its most negative "
            f"eigenvalue is {smallest:.6g}, its largest {float(values[-1]):.6g}. Pass "
            "a valid kernel, or clip the eigenvalues of the matrix at zero."
        )
    if smallest >= -_ROUNDING * largest:
        return matrix
    root = vectors * np.sqrt(np.clip(values, 0, None))
    return root @ root.T


def _is_definite(matrix: np.ndarray, shift: float) -> bool:
    assert is_numpy(matrix)
    shifted = matrix.copy()
    shifted[np.diag_indices_from(shifted)] += shift
    _, info = scipy.linalg.lapack.dpotrf(shifted.T, lower=True, overwrite_a=True)
    return info == 0
