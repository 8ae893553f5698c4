"""What the user got wrong, as opposed to what the program got wrong.

A `UserError` is one line: what came, what was expected, what to do. The command line
prints it and exits with code 2. Any other exception is a bug, and keeps its traceback.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_LONGEST = 300  # characters of another library's message


class UserError(Exception):
    """Something that the user can mend; its text is the line that is printed."""


@contextmanager
def refusing(prefix: str, *kinds: type[Exception]) -> Iterator[None]:
    """Turn exceptions of these kinds into a `UserError` that starts with a prefix."""
    try:
        yield
    except kinds as error:
        reason = one_line(error) or type(error).__name__
        if len(reason) > _LONGEST:  # lists of all possibilities, for example
            reason = f"{reason[: _LONGEST // 2]} ... {reason[-_LONGEST // 2 :]}"
        raise UserError(f"{prefix}: {reason}") from error


def one_line(text: object) -> str:
    """Return a text without line breaks: other libraries' errors may have many."""
    return " ".join(str(text).split())


def listing(names: Iterable[object], most: int = 12) -> str:
    """Join names for a message, not more than can be read."""
    texts = [str(name) for name in names]
    rest = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {rest} more" if rest > 0 else "")
