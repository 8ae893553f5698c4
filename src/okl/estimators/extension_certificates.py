"""What is proved of outputs that were added to a fit.

Two things: that nothing better could be added while the fit stays as it is, and how far
all of it is from a fit of all outputs together, which could move everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from okl.certificates import Certificate
from okl.certificates.bounds import rounding_reference
from okl.certificates.certification import certify
from okl.estimators.kept_fit import KeptFit
from okl.estimators.units import Units
from okl.solvers.predictor.added_output import AddedOutput

_MESSAGES = {
    "optimal": "With the fitted estimator kept as it is, the relative duality gap of "
    "the functions of the new outputs and of what L is extended by is {gap:.2g}, at "
    "most the tolerance {tol:.2g}. A fit of all outputs together could move the kept "
    "ones too: joint_certificate says what that could gain.",
    "unproved": "With the fitted estimator kept as it is, the relative duality gap of "
    "the functions of the new outputs and of what L is extended by is {gap:.2g}, above "
    "the tolerance {tol:.2g}: rounding is in the way. Choose a larger alpha.",
}


class NewOutputs(NamedTuple):
    """New outputs in normalised units, but for the output kernel.

    Attributes
    ----------
    mixing : array (n_new, n_kept)
        What their functions take of those of before.
    own_coef : array (n_samples, n_new)
        Coefficients of their own parts, in their rows.
    intercept : array (n_new,)
    output_kernel : array (n_kept + n_new, n_kept + n_new)
        The extended one, in units of the targets.
    units : Units
        Those of the new outputs.
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
    tol = kept.estimator.tol
    certificate = Certificate.of(
        sum(output.primal for output in added),
        sum(output.dual_value for output in added),
        rounding_reference(kept.estimator.loss_, targets, targets, weights),
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
    found = np.asarray(y, dtype=np.float64)
    found = found[:, None] if found.ndim == 1 else found
    if found.shape != shape:
        raise ValueError(
            f"{name} has the shape {found.shape}; the fit was to {shape}, rows and "
            "outputs. Give the targets of that fit."
        )
    return found
