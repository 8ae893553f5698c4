"""Errors of the user, as opposed to errors of the program.

A `UserError` is one line: what came, what was expected, what to do. The command line
prints it and exits with code 2. Any other exception is a bug, and keeps its traceback.

Messages quote names and cells of tables, which may contain anything, such as escape
codes that colour a terminal or hide its lines. These codes are spelt out, so that they
have no effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_LONGEST = 300  # characters of another library's message
# Control codes, line separators, marks that change the direction of writing, and
# surrogates, which no file can hold.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class UserError(Exception):
    """An error that the user can correct; its text is the line that is printed."""


@contextmanager
def refusing(prefix: str, *kinds: type[Exception]) -> Iterator[None]:
    """Turn exceptions of these kinds into a `UserError` that starts with a prefix."""
    try:
        yield
    except kinds as error:
        reason = one_line(error) or type(error).__name__
        if len(reason) > _LONGEST:  # for example lists of all possibilities
            reason = f"{reason[: _LONGEST // 2]} ... {reason[-_LONGEST // 2 :]}"
        raise UserError(f"{prefix}: {reason}") from error


def shown(text: object) -> str:
    r"""Return a text with its control codes spelt out, a line break as ``\n``."""
    return _CONTROL.sub(lambda code: ascii(code[0])[1:-1], str(text))


def one_line(text: object) -> str:
    """Return a text without line breaks: other libraries' errors may have many."""
    return shown(" ".join(str(text).split()))


def listing(names: Iterable[object], most: int = 12) -> str:
    """Join names for a message, at most ``most`` of them.

    Names that are empty, or begin or end with blanks, are in quotes.
    """
    texts = [shown(name) for name in names]
    texts = [text if text and text == text.strip() else f"'{text}'" for text in texts]
    rest = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {rest} more" if rest > 0 else "")
