"""Names of parameters, read from each constructor only once.

scikit-learn reads the signature of a constructor each time that parameters are asked
for, set or copied. A search copies a kernel and sets its parameters for each fit, and
for small fits that time would count.
"""

from __future__ import annotations

from functools import cache

from sklearn.base import BaseEstimator


class NamedParameters(BaseEstimator):
    """Base of classes whose parameters are those of their constructor."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        # scikit-learn has no public method for it, and changes the list that it gets
        return list(cls._names())

    @classmethod
    @cache
    def _names(cls) -> tuple[str, ...]:
        return tuple(super()._get_param_names())
