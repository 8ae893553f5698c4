"""What is proved of outputs that were added to a fit.

Two things: that nothing better could be added while the fit stays as it is, and how far
all of it is from a fit of all outputs together, which could move everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from okl.certificates import Certificate, GapScale
from okl.certificates.certification import certify
from okl.estimators.kept_fit import KeptFit
from okl.estimators.new_targets import NewTargets
from okl.estimators.output_names import matched
from okl.estimators.rows import same_rows
from okl.estimators.units import Units
from okl.numerics.numbers import checked_numbers
from okl.solvers.predictor.added_output import AddedOutput

_MESSAGES = {
    "optimal": "With the fitted estimator kept as it is, the relative duality gap of "
    "what was fitted for the new outputs (their functions and their part of L) is "
    "{gap:.2g}, at most the tolerance {tol:.2g}. A fit of all outputs together could "
    "also change the kept ones: joint_certificate says how much that could gain.",
    "unproved": "With the fitted estimator kept as it is, the relative duality gap of "
    "what was fitted for the new outputs (their functions and their part of L) is "
    "{gap:.2g}, above the tolerance {tol:.2g}. If nothing was changed after the fit, "
    "rounding errors prevent a smaller gap: choose a larger alpha.",
}


class NewOutputs(NamedTuple):
    """New outputs in normalised units, but for the output kernel.

    Attributes
    ----------
    mixing : array (n_new, n_kept)
        The weights of the functions kept in theirs.
    own_coef : array (n_samples, n_new)
        Coefficients of their own parts, in their rows.
    intercept : array (n_new,)
    output_kernel : array (n_kept + n_new, n_kept + n_new)
        The extended one, in units of the targets.
    units : Units
        Units of the new outputs.
    alphas : array (n_new,)
    rows : array or sparse matrix (n_samples, n_features)
    """

    mixing: np.ndarray
    own_coef: np.ndarray
    intercept: np.ndarray
    output_kernel: np.ndarray
    units: Units
    alphas: np.ndarray
    rows: Any


def certificate_of_new(
    kept: KeptFit,
    added: Sequence[AddedOutput],
    targets: np.ndarray,
    weights: np.ndarray,
) -> Certificate:
    """Judge new outputs, all else held: the sum of their problems.

    Targets (n_samples, n_new) are normalised, weights are zero where one is missing.
    """
    values = [(output.primal, output.dual_value) for output in added]
    return _judged(kept, values, targets, weights)


def certify_extension(
    extension: Any, X: Any, y: Any, sample_weight: Any = None
) -> Certificate:
    """Judge the new outputs of a fitted extension, however they were found.

    The loss is that of what `predict` gives, norm and penalty are those of the public
    attributes, and the bound is that of minus the gradient of the loss: nothing is
    taken over from the fit but the estimator that was kept.

    Parameters
    ----------
    extension : OutputKernelExtension
    X, y, sample_weight
        What ``fit`` was given.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the extension is not fitted.
    ValueError
        If X are not the rows of the fit, or y has other columns.
    """
    check_is_fitted(extension)
    kept: KeptFit = extension._kept
    y, sample_weight = matched(extension, y, sample_weight)
    given = NewTargets.of(kept, X, y, sample_weight, None)
    shape = extension.dual_coef_.shape
    if given.targets.shape != shape or not same_rows(given.rows, extension.X_fit_):
        raise ValueError(
            "certify needs the rows and targets that the extension was fitted to, in "
            f"their order; got {given.targets.shape[0]} rows of "
            f"{given.targets.shape[1]} outputs that differ from those."
        )
    units, rows = given.units, given.rows
    scores = units.scores(extension.predict(X).reshape(given.targets.shape))
    K, functions = kept.kernel(rows), kept.functions(rows)
    loadings = (extension.coef_ * kept.scale / units.scale[:, None]) @ kept.axes
    variances = extension.own_variance_ / units.scale**2
    own = extension.dual_coef_ / units.scale
    penalty = kept.penalty(len(variances))
    values: list[tuple[float, float]] = []
    for j, alpha in enumerate(extension.alpha_):
        seen = np.flatnonzero(given.weights[:, j] > 0)
        w, y_j = given.weights[seen, j], given.targets[seen, j]
        residuals = y_j - scores[seen, j]
        norm = own[seen, j] @ K[np.ix_(seen, seen)] @ own[seen, j]
        if norm > 0:
            norm = norm / variances[j] if variances[j] > 0 else np.inf
        cost = norm / 2 + penalty.value(loadings[j], variances[j])
        # taken at the best intercept, so that the dual variables sum to zero
        mean = np.average(residuals, weights=w) if kept.free_intercept else 0.0
        ahead = residuals - mean
        c = w * ahead / alpha
        within = c @ K[np.ix_(seen, seen)] @ c
        slope = penalty.slope(loadings[j], variances[j])
        squares, forces = alpha * np.sum(c**2 / w), functions[seen].T @ c
        bound = penalty.bound(c @ y_j, squares, forces, within, slope)
        primal = residuals @ (w * residuals) / 2 + alpha * cost
        values.append((float(primal), float(alpha * bound)))
    return _judged(kept, values, given.targets, given.weights)


def _judged(
    kept: KeptFit,
    values: Sequence[tuple[float, float]],
    targets: np.ndarray,
    weights: np.ndarray,
) -> Certificate:
    """Return the certificate of primal and dual values that add up."""
    tol = kept.estimator.tol
    certificate = Certificate.of(
        sum(primal for primal, _ in values),
        sum(dual for _, dual in values),
        GapScale.of_targets(kept.estimator.loss_, targets, targets, weights),
        tol=tol,
    )
    message = _MESSAGES[certificate.status].format(
        gap=certificate.relative_gap, tol=tol
    )
    return replace(certificate, message=message)


def joint_certificate(
    kept: KeptFit, y: Any, y_new: Any, new: NewOutputs
) -> Certificate:
    """Judge functions of all outputs, in the rows of before and the new ones.

    Targets y and y_new are in their units, NaN where they are missing.
    """
    one, units, m = kept.estimator, new.units, len(kept.scale)
    mean, n = np.atleast_1d(one.y_mean_), one.X_fit_.shape[0]
    n_new, m_new = new.own_coef.shape
    first = (_targets(y, (n, m), "y") - mean) / kept.scale
    targets = np.full((n + n_new, m + m_new), np.nan)
    targets[:n, :m] = first
    targets[n:, m:] = units.scores(_targets(y_new, (n_new, m_new), "y_new"))
    theta = np.zeros(targets.shape)
    theta[:n, :m] = one.dual_coef_.reshape(n, m) / kept.scale
    theta[:n, m:] = theta[:n, :m] @ new.mixing.T
    theta[n:, m:] = new.own_coef
    alphas = np.concatenate([np.broadcast_to(kept.alphas, (m,)), new.alphas])
    alpha = float(np.exp(np.mean(np.log(alphas))))
    observed = ~np.isnan(targets)
    scale = np.concatenate([kept.scale, units.scale])
    before = (np.atleast_1d(one.intercept_) - mean) / kept.scale
    intercept = np.concatenate([before, new.intercept])
    return certify(
        kept.kernel(kept.with_rows(new.rows)),
        np.where(observed, targets, 0.0),
        theta,
        alpha=alpha,
        structure=one.structure_,
        output_kernel=new.output_kernel / np.outer(scale, scale),
        intercept=intercept if kept.free_intercept else None,
        weights=observed * (alpha / alphas),
        tol=one.tol,
    )


def _targets(y: Any, shape: tuple[int, int], name: str) -> np.ndarray:
    """Return targets as a matrix, which must be of the shape of those of a fit."""
    found = checked_numbers(y, name)
    found = found[:, None] if found.ndim == 1 else found
    if found.shape != shape:
        raise ValueError(
            f"{name} has the shape {found.shape}; the fit had targets of shape "
            f"{shape}, (n_samples, n_outputs). Pass the targets of that fit."
        )
    return found
