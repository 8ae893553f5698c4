"""Arrays of numbers: what holds something else is refused by its name."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from okl.numerics.dates import refuse_dates
from okl.numerics.missing import nan_for_na, refuse_masked


def checked_numbers(values: Any, name: str, **how: Any) -> Any:
    """Return what `sklearn.utils.validation.check_array` does, in float64 or as said.

    Of one or two dimensions; NaN, which stands for what is missing, is let through.

    Raises
    ------
    ValueError
        As that does, with this name; and for dates and masked entries.
    TypeError
        For what is no array.
    """
    refuse_masked(values, name)
    refuse_dates(values, name)
    usual = {"ensure_2d": False, "ensure_all_finite": "allow-nan", "dtype": np.float64}
    try:
        return check_array(nan_for_na(values), input_name=name, **usual | how)
    except (TypeError, ValueError) as error:
        if f"Input {name} " in str(error):  # what scikit-learn says of NaN
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        said = str(error).splitlines()[0]  # the next ones are all of a complex array
        raise kind(f"{name} must be an array of numbers: {said}") from error
