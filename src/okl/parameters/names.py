"""Names of parameters, read from a constructor once.

scikit-learn reads the signature of a constructor each time that parameters are asked
for, set or copied. A search copies a kernel and sets its parameters for each fit, and
these may be small.
"""

from __future__ import annotations

from functools import cache

from sklearn.base import BaseEstimator


class NamedParameters(BaseEstimator):
    """Base of what has the parameters of its constructor."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        # scikit-learn has no public method to override, and changes such lists
        return list(cls._names())

    @classmethod
    @cache
    def _names(cls) -> tuple[str, ...]:
        return tuple(super()._get_param_names())
