r"""The proof of optimality that comes with every fit.

Output kernel learning is the convex problem (F = K Theta + 1 b' are the
predictions, Theta = C L the coefficients)

.. math::

    P = \sum_i V(y_i, F_i)
        + \alpha \left(\tfrac12 \operatorname{tr}(L^+ \Theta' K \Theta)
        + R(L)\right),

and every matrix C bounds its minimum from below by

.. math::

    D(C) = - \sum_i V^*(y_i, -\alpha c_i) - \alpha R^*(\tfrac12 C' K C),
    \qquad 1'C = 0 \text{ if } b \text{ is free}.

So a model proves by itself how far it is from the optimum: P at its own L,
coefficients and intercept; D at the C that its residuals imply, alpha C = minus
the gradient of the loss, scaled into the domain of R* where that is bounded. The
gap P - D is never negative and bounds what any better model could gain. Nothing
here knows how the model was found, and no solver is imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from okl._array import Array, epsilon, namespace
from okl._output_kernel import OutputKernel
from okl._validation import (
    check_alpha,
    check_gram,
    check_tolerance,
    positive_part,
)
from okl.bounds import bounds
from okl.losses import Loss, as_loss
from okl.structures import Structure, as_structure

_MESSAGES = {
    "optimal": "The relative duality gap {gap:.2g} is at most the tolerance {tol:.2g}: "
    "no other model has an objective lower by more than that.",
    "rank_limited": "Stationary under the bound on the rank; without the bound the "
    "objective could be lower by at most {gap:.2g} of it. A larger rank closes the "
    "gap.",
    "max_iter": "The relative duality gap is {gap:.2g}, above the tolerance {tol:.2g}. "
    "Increase max_iter, or tol, or alpha; at very small alpha rounding sets the limit.",
}


@dataclass(frozen=True)
class Certificate:
    """What a model proves about itself.

    Attributes
    ----------
    primal : float
        The objective P of the model.
    dual : float
        The lower bound D that its residuals imply.
    gap : float
        ``primal - dual``.
    relative_gap : float
        The gap over max(abs(primal), abs(dual), machine epsilon x loss at f = 0).
    status : {"optimal", "rank_limited", "max_iter"}
        Whether the relative gap is at most the tolerance; if not, whether a bound
        on the rank or the end of the iterations is the reason.
    message : str
        The status in a sentence, with advice.
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    status: str
    message: str

    @classmethod
    def of(
        cls,
        primal: float,
        dual: float,
        reference: float,
        *,
        tol: float,
        rank_limited: bool = False,
    ) -> Certificate:
        """Judge a pair of values; ``reference`` is epsilon x the loss at f = 0."""
        gap = primal - dual
        relative = relative_gap(primal, dual, reference)
        # a dual value above the primal one proves nothing but rounding
        if abs(relative) <= tol:
            status = "optimal"
        else:
            status = "rank_limited" if rank_limited else "max_iter"
        message = _MESSAGES[status].format(gap=relative, tol=tol)
        return cls(primal, dual, gap, relative, status, message)


def relative_gap(primal: float, dual: float, reference: float) -> float:
    """Return the gap relative to the objective, 0 where both are 0."""
    gap = primal - dual
    scale = max(abs(primal), abs(dual), reference)
    if not np.isfinite(scale):
        return float("inf")
    return gap / scale if scale > 0 else 0.0


def certify(
    K: Any,
    Y: Any,
    dual_coef: Any,
    *,
    alpha: float,
    structure: str | Structure,
    output_kernel: Any = None,
    output_kernel_factor: Any = None,
    intercept: Any = None,
    loss: str | Loss = "squared",
    weights: Any = None,
    dual_point: Any = None,
    tol: float = 1e-6,
) -> Certificate:
    """Compute primal, dual and gap of a model from its public attributes alone.

    Parameters
    ----------
    K : array (n_samples, n_samples)
        The input kernel matrix of the training rows. For a kernel per output a list of
        such matrices, or an array (n_outputs, n_samples, n_samples); only for
        independent outputs, ``structure="identity"``.
    Y : array (n_samples, n_outputs) or (n_samples,)
        The targets as the loss codes them (-1 and +1 for classes).
    dual_coef : array of the shape of Y
        The coefficients Theta = C L: predictions are ``K @ dual_coef + intercept``.
    alpha : float
        Strength of the regularisation.
    structure : str or Structure
        The penalty on the output kernel.
    output_kernel, output_kernel_factor : array (n_outputs, n_outputs) or (n_outputs, p)
        L, or a factor B with L = B B'; one of them for a learned structure,
        neither for one that fixes L.
    intercept : array (n_outputs,) or float, optional
        The intercept, if one was fitted; None says that there is none.
    loss : str or Loss, default="squared"
        The loss.
    weights : array of the shape of Y, or (n_samples, 1), optional
        What multiplies the loss of each entry, or row; 0 for a missing target.
    dual_point : array of the shape of Y, optional
        alpha C, instead of what the gradient of the loss implies; a loss with kinks,
        like the hinge, needs it: ``dual_point_`` of a fit. Outside the domain of the
        dual, its lower bound is minus infinity.
    tol : float, default=1e-6
        The relative gap up to which the status is ``"optimal"``.

    Returns
    -------
    Certificate

    Raises
    ------
    ValueError
        If shapes do not match, K is not symmetric, L is missing, given twice or given
        to a structure that fixes it, there are several K and a structure that is not
        the identity, or a loss with kinks has no dual point.
    """
    check_alpha(alpha)
    check_tolerance(tol)
    structure, loss = as_structure(structure), as_loss(loss)
    Y, dual_coef = _as_columns(_as_float(Y)), _as_columns(_as_float(dual_coef))
    matrices = [_as_float(matrix) for matrix in _each_of(K)]
    for matrix in matrices:
        check_gram(matrix, "K")
        if dual_coef.shape != Y.shape or matrix.shape[0] != Y.shape[0]:
            raise ValueError(
                f"K, Y and dual_coef must agree: got K {matrix.shape}, Y {Y.shape} "
                f"and dual_coef {dual_coef.shape}."
            )
    n_outputs = Y.shape[1]
    structure.validate(n_outputs)
    if len(matrices) > 1:
        _check_matrix_per_output(len(matrices), n_outputs, structure)
    given = [L for L in (output_kernel, output_kernel_factor) if L is not None]
    if len(given) != (0 if "known" in structure.capabilities else 1):
        raise ValueError(
            "Give exactly one of output_kernel and output_kernel_factor for a learned "
            f"structure, and none for one that fixes it; got {len(given)} for "
            f"{structure}."
        )
    learned: OutputKernel | None
    if output_kernel is not None:
        matrix = _as_float(output_kernel)
        check_gram(matrix, "output_kernel")
        _check_outputs(matrix, n_outputs, "output_kernel")
        learned = OutputKernel.from_matrix(matrix)
    elif output_kernel_factor is not None:
        factor = _as_float(output_kernel_factor)
        _check_outputs(factor, n_outputs, "output_kernel_factor")
        learned = OutputKernel.from_factor(factor)
    else:
        learned = structure.known(Y)
    assert learned is not None
    xp = namespace(Y)
    free = intercept is not None
    offset: Array | float = 0.0
    if free:
        offset = xp.reshape(xp.asarray(intercept, dtype=Y.dtype), (-1, 1))
        _check_outputs(offset, n_outputs, "intercept")
        offset = offset[:, 0]
    if weights is not None:
        weights = _as_columns(_as_float(weights))
        if weights.shape[0] != Y.shape[0] or weights.shape[1] not in (1, n_outputs):
            raise ValueError(
                f"weights must have the shape of Y, {tuple(Y.shape)}, or "
                f"({Y.shape[0]}, 1); got {tuple(weights.shape)}."
            )
    dual_point = _checked_dual_point(dual_point, Y, loss)
    matrices = [_positive(matrix, centered=free) for matrix in matrices]
    primal, dual = bounds(
        matrices[0] if len(matrices) == 1 else _PerOutput(matrices),
        Y,
        dual_coef,
        learned,
        alpha=alpha,
        structure=structure,
        loss=loss,
        weights=weights,
        intercept=offset,
        free_intercept=free,
        dual_point=dual_point,
    )
    reference = epsilon(Y) * loss.value(Y, xp.zeros_like(Y), weights)
    return Certificate.of(primal, dual, reference, tol=tol)


def _each_of(K: Any) -> Any:
    """Return the matrices of a list or a stack of them, or the only one in a list."""
    several = isinstance(K, list | tuple) and len(K) > 0 and np.ndim(K[0]) == 2
    return K if several or getattr(K, "ndim", 2) == 3 else [K]


@dataclass(frozen=True)
class _PerOutput:
    """A matrix for each output, that multiplies its column."""

    matrices: list[Array]
    shared: ClassVar[bool] = False

    def __matmul__(self, right: Array) -> Array:
        products = [matrix @ right[:, j] for j, matrix in enumerate(self.matrices)]
        return namespace(right).stack(products, axis=1)


def _check_matrix_per_output(
    n_matrices: int, n_outputs: int, structure: Structure
) -> None:
    if n_matrices != n_outputs:
        raise ValueError(
            f"A list of kernel matrices must have one per output, {n_outputs} here; "
            f"got {n_matrices}."
        )
    if "identity" not in structure.capabilities:
        raise ValueError(
            "A kernel matrix per output needs structure='identity', got "
            f"{structure}; give one matrix for all outputs."
        )


def _checked_dual_point(dual_point: Any, Y: Array, loss: Loss) -> Array | None:
    """Return alpha C, which a loss with kinks must have."""
    if dual_point is None:
        if "smooth" in loss.capabilities:
            return None
        raise ValueError(
            f"The loss {loss} has kinks, where its gradient implies no dual point: "
            "give dual_point, for instance dual_point_ of a fitted estimator."
        )
    dual_point = _as_columns(_as_float(dual_point))
    if dual_point.shape != Y.shape:
        raise ValueError(
            f"dual_point must have the shape of Y, {tuple(Y.shape)}; got "
            f"{tuple(dual_point.shape)}."
        )
    return dual_point


def _check_outputs(array: Array, n_outputs: int, name: str) -> None:
    if array.ndim != 2 or array.shape[0] != n_outputs:
        raise ValueError(
            f"{name} must have one row per output, {n_outputs} here; got an array of "
            f"shape {tuple(array.shape)}."
        )


def _positive(K: Array, *, centered: bool) -> Array:
    """Return K with what makes it, or HKH, indefinite by rounding taken out."""
    xp = namespace(K)
    seen = K
    if centered:
        seen = K - xp.mean(K, axis=0)
        seen = seen - xp.mean(seen, axis=1, keepdims=True)
    matrix = np.asarray(seen)
    clipped = positive_part(matrix)
    if clipped is matrix:
        return K
    return K + xp.asarray(clipped - matrix, dtype=K.dtype)


def _as_float(array: Any) -> Array:
    """Keep an array of any namespace; make anything else a float64 NumPy array."""
    if hasattr(array, "__array_namespace__"):
        xp = namespace(array)
        if xp.isdtype(array.dtype, "real floating"):
            return array
        return xp.astype(array, xp.float64)
    return np.asarray(array, dtype=np.float64)


def _as_columns(array: Array) -> Array:
    return array[:, None] if array.ndim == 1 else array
