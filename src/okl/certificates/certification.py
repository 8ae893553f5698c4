"""The certificate of a model, computed again from arrays: `okl.certify`.

It takes public attributes of a model only, and uses no operator and no solver. See
`okl.certificates.certificate` for what it proves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from okl.certificates import Certificate, GapScale
from okl.certificates.bounds import bounds
from okl.certificates.entries import EntryMatrix
from okl.certificates.matrices import MatrixPerOutput, each_of, positive_gram
from okl.losses import Loss, as_loss
from okl.numerics.arrays import Array, namespace
from okl.numerics.validation import (
    check_alpha,
    check_gram,
    check_tolerance,
)
from okl.output_kernels import OutputKernel, SpectralKernel
from okl.structures import Structure, as_structure


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
    scores: Any = None,
    tol: float = 1e-6,
) -> Certificate:
    """Compute primal, dual and gap of a model from its public attributes alone.

    For a fitted estimator ``okl.certify(model, X, y, sample_weight=None, task=None)``
    does all of it: give what was given to ``fit``. What is certified are then the
    scores that `predict` is made of, see `okl.certify_model`.

    Parameters
    ----------
    K : array (n_samples, n_samples)
        The input kernel matrix of the training rows. For a kernel per output a list of
        such matrices, or an array (n_outputs, n_samples, n_samples); only for
        independent outputs, ``structure="identity"``.
    Y : array (n_samples, n_outputs) or (n_samples,)
        The targets as the loss codes them (-1 and +1 for classes). For a regressor
        normalise them, ``(Y - y_mean_) / y_scale_``, and the model with them:
        ``dual_coef_ / y_scale_``, ``(intercept_ - y_mean_) / y_scale_`` and
        ``output_kernel_ / np.outer(y_scale_, y_scale_)``.
    dual_coef : array of the shape of Y
        The coefficients Theta = C L: scores are ``K @ dual_coef + intercept``.
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
    scores : array of the shape of Y, optional
        The scores as the model evaluates them, which rounding may make different from
        ``K @ dual_coef + intercept``; their loss is then what counts.
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
        the identity, a loss with kinks has no dual point, numbers are not finite,
        weights negative, labels not coded as the loss wants, or a parameter of it is
        out of range.
    """
    check_alpha(alpha)
    check_tolerance(tol)
    structure, loss = as_structure(structure), as_loss(loss)
    loss.validate()
    Y, dual_coef = _columns(Y, "Y"), _columns(dual_coef, "dual_coef")
    matrices = [_as_float(matrix, "K") for matrix in each_of(K)]
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
    learned = output_kernel_of(output_kernel, output_kernel_factor, Y, structure)
    xp = namespace(Y)
    free = intercept is not None
    offset: Array | float = 0.0
    if free:
        offset = xp.reshape(xp.asarray(intercept, dtype=Y.dtype), (-1, 1))
        _check_finite(offset, "intercept")
        _check_outputs(offset, n_outputs, "intercept")
        offset = offset[:, 0]
    if weights is not None:
        weights = _columns(weights, "weights")
        if weights.shape[0] != Y.shape[0] or weights.shape[1] not in (1, n_outputs):
            raise ValueError(
                f"weights must have the shape of Y, {tuple(Y.shape)}, or "
                f"({Y.shape[0]}, 1); got {tuple(weights.shape)}."
            )
        if xp.any(weights < 0):
            raise ValueError(
                f"weights has a negative entry, {float(xp.min(weights)):.3g}; weights "
                "must be >= 0, and zero for targets that were not observed."
            )
    if loss.coding is not None and "regression" not in loss.capabilities:
        loss.coding.check(Y, weights)
    dual_point = _checked_dual_point(dual_point, Y, loss)
    pairs = [positive_gram(matrix, centered=free) for matrix in matrices]
    if scores is None:
        products = _operator([matrix for matrix, _ in pairs]) @ dual_coef
    else:
        products = _columns(scores, "scores") - offset
    return judge(
        EntryMatrix(_operator([seen for _, seen in pairs])),
        Y,
        dual_coef,
        learned,
        products,
        alpha=alpha,
        structure=structure,
        loss=loss,
        weights=weights,
        intercept=offset,
        free_intercept=free,
        dual_point=dual_point,
        tol=tol,
    )


def judge(
    entries: EntryMatrix,
    targets: Array,
    dual_coef: Array,
    output_kernel: OutputKernel,
    products: Array,
    *,
    loss: Loss,
    weights: Array | None,
    intercept: Array | float,
    free_intercept: bool,
    tol: float,
    **options: Any,
) -> Certificate:
    """Return the certificate of arrays that were checked.

    ``entries`` say how they are arranged, and have K, centred if the intercept is free:
    dual points sum to zero then. ``products`` are K Theta, ``options`` of `bounds`.
    """
    given = targets
    if free_intercept and "location" in loss.capabilities:
        # a large offset of the targets would multiply the rounding of sums of zero
        shift = loss.best_intercept(targets, 0.0 * targets, weights)
        targets, intercept = targets - shift, intercept - shift
    primal, dual = bounds(
        entries,
        targets,
        dual_coef,
        output_kernel,
        products,
        loss=loss,
        weights=weights,
        intercept=intercept,
        free_intercept=free_intercept,
        tol=tol,
        **options,
    )
    scale = GapScale.of_targets(loss, given, targets, weights)
    return Certificate.of(primal, dual, scale, tol=tol)


def output_kernel_of(
    output_kernel: Any, factor: Any, Y: Array, structure: Structure
) -> OutputKernel:
    """Return L: the one that a structure fixes, else that given, or of a factor."""
    n_outputs = Y.shape[1]
    given = [L for L in (output_kernel, factor) if L is not None]
    if len(given) != (0 if "known" in structure.capabilities else 1):
        raise ValueError(
            "Pass exactly one of output_kernel and output_kernel_factor if the "
            "structure learns the output kernel, and neither if it fixes it; got "
            f"{len(given)} for {structure}."
        )
    if output_kernel is not None:
        matrix = _as_float(output_kernel, "output_kernel")
        check_gram(matrix, "output_kernel")
        _check_outputs(matrix, n_outputs, "output_kernel")
        return SpectralKernel.from_matrix(matrix)
    if factor is not None:
        factor = _as_float(factor, "output_kernel_factor")
        _check_outputs(factor, n_outputs, "output_kernel_factor")
        # singular values of B keep twice the digits that eigenvalues of BB' would
        basis, values, _ = namespace(factor).linalg.svd(factor, full_matrices=False)
        return SpectralKernel(values**2, basis).on_range()
    known = structure.known(Y)
    assert known is not None
    return known


def _operator(matrices: list[Array]) -> Any:
    """Return what multiplies coefficients from the left."""
    return matrices[0] if len(matrices) == 1 else MatrixPerOutput(matrices)


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
            f"The loss {loss} is not differentiable everywhere, so its gradient does "
            "not determine the dual point: pass dual_point, for instance dual_point_ "
            "of a fitted estimator."
        )
    dual_point = _columns(dual_point, "dual_point")
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


def _as_float(given: Any, name: str) -> Array:
    """Keep an array of any namespace; make anything else a float64 NumPy array."""
    array = given
    if not hasattr(array, "__array_namespace__"):
        array = np.asarray(array, dtype=np.float64)
    xp = namespace(array)
    if not xp.isdtype(array.dtype, "real floating"):
        array = xp.astype(array, xp.float64)
    _check_finite(array, name)
    return array


def _check_finite(array: Array, name: str) -> None:
    if not namespace(array).all(namespace(array).isfinite(array)):
        raise ValueError(
            f"{name} has entries that are NaN or infinite; pass finite values, and for "
            "a missing target any number with weight zero."
        )


def _columns(given: Any, name: str) -> Array:
    array = _as_float(given, name)
    return array[:, None] if array.ndim == 1 else array
