"""One warning for letters of names that are missing in the font of the pictures.

Matplotlib warns of each such letter, in each picture. Here one sentence says what to
do.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_OF_MATPLOTLIB = "Glyph "


@contextmanager
def missing_letters_said_once() -> Iterator[None]:
    """Warn once of missing letters, and as usual of anything else."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    others = [w for w in caught if not str(w.message).startswith(_OF_MATPLOTLIB)]
    for other in others:
        warnings.warn_explicit(
            other.message, other.category, other.filename, other.lineno
        )
    if len(others) < len(caught):
        warnings.warn(
            "The font of the pictures lacks letters of some names, which are drawn as "
            "boxes. Reports and tables have the names as they are. To use a font that "
            "has them, set font.family in matplotlib's settings file, matplotlibrc",
            stacklevel=3,
        )
