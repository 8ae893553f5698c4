"""The attributes of a fitted estimator that notebooks and completion of names show.

scikit-learn's HTML of an estimator lists the values of all its attributes, and its
``dir`` looks whether each is there, those that are computed when asked for among them.
Some take longer than the fit, or more memory: they are named, and not computed.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any

from okl.estimators.units import Units

# These decompose the kernel matrix, and look at each row left out.
_MEASURED = {"noise_variance_", "residual_covariance_"}
# These have many entries where there are more outputs than that.
_MOST_OUTPUTS = 1000
_LARGE = {
    "dual_coef_",
    "output_kernel_",
    "output_kernel_factor_",
    "output_kernels_",
    "residual_kernel_",
}


class ShownAttributes:
    """Base of estimators with attributes that are computed when asked for."""

    _units: Units

    def _slow_attributes(self) -> set[str]:
        """Return the names of those that are not computed unless they are asked for."""
        if not hasattr(self, "_units"):  # before the fit there is none
            return set()
        many = len(self._units.scale) > _MOST_OUTPUTS
        return (_MEASURED | _LARGE if many else _MEASURED) & set(dir(type(self)))

    def __dir__(self) -> Iterable[str]:
        """Return the names of attributes; slow ones are not computed to see them."""
        slow = self._slow_attributes()
        rest = set(object.__dir__(self)) - slow
        there = {name for name in rest if hasattr(self, name)}
        return there if "_leaves_out_slow" in vars(self) else there | slow

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """Return the attributes that scikit-learn's HTML shows, without slow ones."""
        shown = copy(self)
        vars(shown)["_leaves_out_slow"] = True
        base: Any = super(ShownAttributes, shown)
        return base._get_fitted_attr_html(doc_link)
