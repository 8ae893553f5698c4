"""How sure the relations of an output kernel are: estimates of all its entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from okl.inspection.entry_estimates import EntryEstimates


@dataclass(frozen=True, eq=False, repr=False)
class OutputKernelStability:
    """How sure the entries of an output kernel are.

    Attributes
    ----------
    correlation : EntryEstimates
        Estimates of L_ij / sqrt(L_ii L_jj), which is the same for normalised outputs
        and in the units of the targets. These and the covariances have ``estimate``,
        ``mean``, ``std``, ``lower``, ``upper`` and ``draws``.
    covariance : EntryEstimates
        Estimates of the entries of L, in the units of the targets, as
        ``output_kernel_``.
    stable : ndarray of bool of shape (n_outputs, n_outputs)
        The correlations whose sign is sure, simultaneously: with probability ``level``
        none of them is in truth zero.
    level : float
        The coverage of the intervals, and that probability.
    method : str
        How rows were resampled.
    n_failed : int
        Number of refits that ended above their tolerance.
    terms : list of OutputKernelStability
        The results for each of several kernels, of which the last may be a `Row`; with
        one kernel, this object alone. With several kernels the arrays above are for the
        sum of their output kernels.
    output_names : array (n_outputs,) or None
        The names of the columns of y, the classes or the tasks, if there are any.
    """

    correlation: EntryEstimates
    covariance: EntryEstimates
    stable: np.ndarray
    level: float
    method: str
    n_failed: int
    terms: list[OutputKernelStability]
    output_names: np.ndarray | None

    @classmethod
    def of(
        cls,
        estimate: np.ndarray,
        draws: np.ndarray,
        *,
        inflation: float,
        level: float,
        method: str,
        n_failed: int,
        terms: list[OutputKernelStability],
        output_names: np.ndarray | None,
    ) -> OutputKernelStability:
        """Summarise refits.

        Parameters
        ----------
        estimate : array (2, m, m)
            L in the units of the targets, and its correlation, in the fit to all rows.
        draws : array (n_resamples, 2, m, m)
            The same in each refit.
        inflation : float
            As `EntryEstimates.of` takes it.
        level, method, n_failed, output_names
            The attributes.
        terms : list of OutputKernelStability
            The results for each kernel, if there are several; else empty.
        """
        covariance, related = (
            EntryEstimates.of(
                estimate[kind],
                draws[:, kind],
                inflation=inflation,
                level=level,
                largest=largest,
            )
            for kind, largest in ((0, np.inf), (1, 1.0))
        )
        stable = related.stable_signs(level)
        found = cls(
            related, covariance, stable, level, method, n_failed, terms, output_names
        )
        if not terms:
            terms.append(found)
        return found

    def __repr__(self) -> str:
        """Return a line that says how many relations are stable."""
        pairs = np.triu_indices(len(self.stable), 1)
        terms = "" if len(self.terms) == 1 else f", {len(self.terms)} kernels"
        return (
            f"<OutputKernelStability: {int(self.stable[pairs].sum())} of "
            f"{len(pairs[0])} relations of {len(self.stable)} outputs are stable, "
            f"level={self.level:g}, {self.method} of {len(self.correlation.draws)} "
            f"refits{terms}>"
        )

    def table(self, output_names: Sequence[Any] | None = None) -> dict[str, np.ndarray]:
        """Return a table with a row for each pair of outputs, and for each output.

        Parameters
        ----------
        output_names : sequence of length n_outputs, default=None
            Names of the outputs; None for ``output_names``, or their numbers.

        Returns
        -------
        dict of str to array
            The columns ``first``, ``second``, ``stable``, ``correlation`` and
            ``covariance``, and the latter two with ``_std``, ``_lower`` and ``_upper``
            added to their names. `pandas.DataFrame` can be made of it.

        Raises
        ------
        ValueError
            If the number of names is not that of outputs.
        """
        m = len(self.stable)
        names = np.empty(m, dtype=object)
        known = range(m) if self.output_names is None else self.output_names
        given = list(known if output_names is None else output_names)
        if len(given) != m:
            raise ValueError(f"There are {m} outputs; got {len(given)} output_names.")
        names[:] = given
        first, second = np.triu_indices(m)
        columns = {
            "first": names[first],
            "second": names[second],
            "stable": self.stable[first, second],
        }
        for kind in ("correlation", "covariance"):
            entries = getattr(self, kind)
            columns[kind] = entries.estimate[first, second]
            for part in ("std", "lower", "upper"):
                columns[f"{kind}_{part}"] = getattr(entries, part)[first, second]
        return columns
