"""How a fit has an alpha for each output: as other units of targets, or as weights.

In general an alpha_j gives all entries of output j the weight w_j = alpha / alpha_j,
which any loss takes that is a sum over outputs (`okl.problems.output_alphas`). With the
squared loss targets may be divided by sqrt(alpha_j / alpha) instead, as if that were
their unit: then there are no weights, and L becomes W^(1/2) L W^(1/2) with W = diag(w)
(`okl.structures.scaled`). Known output kernels so keep their closed form, learned ones
their solvers, and noise of variance alpha in those units is of variance alpha_j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from okl.estimators.targets import TrainingTargets
from okl.kernels import KernelTerms, PerOutput
from okl.numerics.validation import check_alpha, refuse_labels
from okl.problems import OutputAlphas
from okl.structures import Scaled, Structure
from okl.structures.scaled import is_scalable


def check_alpha_or_alphas(alpha: Any) -> None:
    """Raise an error unless alpha is a number > 0, or one for each output."""
    refuse_labels(alpha, "alpha", "the outputs")
    several = isinstance(alpha, np.ndarray | Sequence) and not isinstance(alpha, str)
    try:
        entries: Any = np.asarray(alpha) if several else np.empty(())
    except ValueError:  # of lists of different lengths
        entries = np.empty(0)
    if entries.ndim == 0:
        check_alpha(alpha)
        return
    if entries.ndim != 1 or not entries.size or entries.dtype.kind not in "iuf":
        raise ValueError(
            "alpha must be a number, or an array of numbers with one for each output; "
            f"got {alpha!r}."
        )
    for output, value in enumerate(entries.tolist()):
        try:
            check_alpha(value)
        except ValueError as error:
            raise ValueError(f"For output {output}: {error}") from None


def at_one_alpha(
    alphas: OutputAlphas,
    targets: TrainingTargets,
    structures: Sequence[Structure],
    kernel: Any,
) -> tuple[TrainingTargets, list[Structure]]:
    """Return targets and structures of the same fit at one alpha, the overall one.

    Parameters
    ----------
    alphas : OutputAlphas
    targets : TrainingTargets
        In the units of the normalisation.
    structures : sequence of Structure
        Of L.
    kernel : object
        As estimators take it.
    """
    observed, weights = targets.observed, alphas.weights
    if weights is None:
        return targets, list(structures)
    scalable = (
        "quadratic" in observed.loss.capabilities
        and observed.tasks is None
        and not isinstance(kernel, PerOutput | KernelTerms)
        and all(map(is_scalable, structures))
    )
    if not scalable:
        weighted = alphas.weighted(observed)
        targets = replace(targets, observed=weighted, output_weights=weights)
        return targets, list(structures)
    roots = np.sqrt(weights)
    scaled = replace(
        targets,
        observed=replace(observed, targets=observed.targets * roots),
        units=replace(targets.units, scale=targets.units.scale / roots),
        shown_units=targets.units,
    )
    return scaled, [Scaled(structure, roots) for structure in structures]
