"""The change of an error from one predictor to another one, on the same rows.

The errors are squared errors, those of a quantile or numbers of wrong answers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from okl.cli.groups import Groups
from okl.cli.truth import column_means

# The standard errors beyond which a change is clear, for one of several outputs and for
# all of them together; and the least change that is.
CLEAR, _FEW, _LEAST = 3.0, 2.0, 0.01


@dataclass(frozen=True)
class Change:
    """The relative difference of an error from another one.

    Attributes
    ----------
    relative : array (n_outputs,)
        The ratio of the mean errors, minus one; NaN where the other error is zero.
    error : array (n_outputs,)
        Standard error of that, with rows or groups taken as independent.
    over : str
        Whether rows or groups are taken as independent.
    """

    relative: np.ndarray
    error: np.ndarray
    over: str

    @classmethod
    def of(
        cls, errors: np.ndarray, others: np.ndarray, groups: Groups | None = None
    ) -> Change:
        """Compare the errors of rows (n_samples, n_outputs), NaN where one is missing.

        The standard error is that of a ratio of means, to first order [1]_.

        References
        ----------
        .. [1] Cochran, "Sampling techniques", Wiley, 1977, section 6.4.
        """
        both = ~np.isnan(errors) & ~np.isnan(others)
        n = both.sum(axis=0)
        sums = (np.where(both, e, 0.0).sum(axis=0) for e in (errors, others))
        with np.errstate(divide="ignore", invalid="ignore"):
            own, other = (total / n for total in sums)
            ratio = np.where(other > 0, own / other, np.nan)
            # without any error of the first the ratio, zero, would seem sure
            less = np.where(ratio > 0, ratio, 1.0)
            rest = np.where(both, errors - less * others, 0.0)
            parts, over = n, "rows"
            if groups is not None:
                rest, both = groups.sums(rest), groups.sums(both)
                parts, over = (both > 0).sum(axis=0), f"groups of {groups.name}"
            spread = (rest**2).sum(axis=0) * parts / np.maximum(parts - 1, 1)
            return cls(ratio - 1, np.sqrt(spread) / n / other, over)

    @classmethod
    def overall(
        cls,
        errors: np.ndarray,
        others: np.ndarray,
        groups: Groups | None,
        in_one_unit: bool,
    ) -> Change:
        """Compare the errors of all outputs of a row, each relative to its mean error.

        Errors in one unit are compared as they are.
        """
        scale = np.ones(others.shape[1])
        if not in_one_unit:
            scale = column_means(others)
            scale = np.where(scale > 0, scale, 1.0)
        neither = np.isnan(errors) | np.isnan(others)
        n = (~neither).sum(axis=1)
        rows = [np.where(neither, 0.0, e / scale).sum(axis=1) for e in (errors, others)]
        mean, other = (np.where(n, total / np.maximum(n, 1), np.nan) for total in rows)
        return cls.of(mean[:, None], other[:, None], groups)

    def is_clearly_less(self) -> bool:
        """Tell whether the first error is less, not by chance alone, and enough."""
        return bool(self.relative[0] < -max(_FEW * self.error[0], _LEAST))

    def of_output(self, j: int) -> str:
        """Return the change of an output as text."""
        if np.isnan(self.relative[j]):
            return "-"
        return f"{self.relative[j]:+.1%} ± {self.error[j]:.1%}"

    def clearly_worse(self) -> np.ndarray:
        """Return the numbers of outputs with clearly larger errors, largest first."""
        with np.errstate(invalid="ignore"):
            line = np.maximum(CLEAR * self.error, _LEAST)
            worse = np.flatnonzero(self.relative > line)
        return worse[np.argsort(-self.relative[worse], kind="stable")]
