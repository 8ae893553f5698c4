"""The targets of outputs that are added to a fit, checked and normalised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_consistent_length

from okl.estimators.frames import refuse_text
from okl.estimators.kept_fit import KeptFit
from okl.estimators.output_alphas import check_alpha_or_alphas
from okl.estimators.targets import observed_targets
from okl.estimators.units import Units
from okl.numerics.numbers import checked_numbers
from okl.numerics.validation import LARGEST_WITH_SQUARE, check_magnitude


class NewTargets(NamedTuple):
    """What `OutputKernelExtension.fit` was given.

    Attributes
    ----------
    rows : array or sparse matrix (n_samples, n_features)
    targets, weights : array (n_samples, n_new)
        Normalised; weights are zero where a target is missing.
    units : Units
    alphas : array (n_new,)
    one_dimensional : bool
        Whether y has one dimension.
    names : sequence (n_new,) or None
        What the outputs are called, if anything.
    """

    rows: Any
    targets: np.ndarray
    weights: np.ndarray
    units: Units
    alphas: np.ndarray
    one_dimensional: bool
    names: Sequence[Any] | None

    @classmethod
    def of(
        cls,
        kept: KeptFit,
        X: Any,
        y: Any,
        sample_weight: Any,
        alpha: Any,
        names: Sequence[Any] | None = None,
    ) -> NewTargets:
        """Check rows, targets, weights and alpha, which is None for that of the fit.

        Names are those of the outputs.

        Raises
        ------
        ValueError, TypeError
            As `OutputKernelExtension.fit`.
        """
        _check_names(names, kept)
        if alpha is not None:
            check_alpha_or_alphas(alpha)
        X = kept.rows(X)
        if y is None:
            raise ValueError("y is None; give the targets of the new outputs.")
        refuse_text(y)
        y = checked_numbers(y, "y")
        check_consistent_length(X, y)
        targets, weights = observed_targets(y, sample_weight, names=names)
        what, remedy = "y has entries up to", "Rescale the targets."
        check_magnitude(targets, what, remedy, largest_size=LARGEST_WITH_SQUARE)
        n_outputs = targets.shape[1]
        alphas = np.asarray(kept.alpha if alpha is None else alpha, float)
        if alphas.ndim and alphas.shape != (n_outputs,):
            raise ValueError(
                "alpha must be a number, or an array with one for each new output; got "
                f"{len(alphas)} for {n_outputs}."
            )
        units = Units.as_given(n_outputs)
        if kept.normalize:
            units = Units.of(targets, weights, free_intercept=kept.free_intercept)
            targets = units.normalised(targets, weights)
        if weights is None:
            weights = np.ones((len(targets), 1))
        return cls(
            X,
            targets,
            np.broadcast_to(weights, targets.shape),
            units,
            np.broadcast_to(alphas, (n_outputs,)).copy(),
            y.ndim == 1,
            names,
        )


def _check_names(names: Sequence[Any] | None, kept: KeptFit) -> None:
    """Raise ValueError if a new output has the name of one of before, or two."""
    seen = {str(name) for name in getattr(kept.estimator, "output_names_", ())}
    for name in () if names is None else names:
        if str(name) in seen:
            raise ValueError(
                f"y has the column {name!r}, which is already an output of the "
                "estimator, or is in y twice; rename this column, or leave it out."
            )
        seen.add(str(name))
