"""Text files must be UTF-8, the encoding that can represent every name.

Spreadsheets also write UTF-16 and Latin-1 (or its variant Windows-1252). Read as UTF-8,
such files fail at some byte or, worse, give other names. They are refused, with the
encoding that they seem to have and what to do. Files with NUL characters are refused as
well: NumPy drops these from the end of a name, which is then another name.
"""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from collections.abc import Iterable
from pathlib import Path

from okl.cli.errors import UserError

# The first bytes that mark an encoding. The mark of UTF-32 begins with that of UTF-16.
_MARKS = {
    BOM_UTF32_LE: "UTF-32",
    BOM_UTF32_BE: "UTF-32",
    BOM_UTF16_LE: "UTF-16",
    BOM_UTF16_BE: "UTF-16",
}


def check_encoding(path: Path, lines: Iterable[bytes]) -> None:
    """Refuse the lines of a file that are not UTF-8, or hold NUL characters.

    Raises
    ------
    UserError
        The message names the line, and the encoding that the file seems to have.
    """
    for number, line in enumerate(lines, 1):
        where = "in its first line, the names" if number == 1 else f"in line {number}"
        if number == 1:
            _check_beginning(path, line)
        if b"\0" in line:
            raise UserError(
                f"{path} has a NUL character {where}; expected text. Remove it, or "
                "check that the file is not damaged."
            )
        try:
            line.decode()
        except UnicodeDecodeError as error:
            byte = f"the byte 0x{line[error.start]:02x} {where}"
            reason = f"is not UTF-8 but perhaps Latin-1 or Windows-1252 ({byte})"
            raise _to_convert(path, reason, "WINDOWS-1252") from error


def _check_beginning(path: Path, line: bytes) -> None:
    for mark, encoding in _MARKS.items():
        if line.startswith(mark):
            raise _to_convert(path, f"is {encoding}, as its first bytes say", encoding)
    # UTF-16 without a mark: every other byte of a text in a Latin alphabet is zero.
    for start, encoding in enumerate(["UTF-16BE", "UTF-16LE"]):
        others, zeros = line[1 - start : 64 : 2], line[start:64:2]
        if zeros and set(zeros) == {0} and 0 not in others:
            raise _to_convert(path, f"looks like {encoding}", encoding)


def _to_convert(path: Path, reason: str, encoding: str) -> UserError:
    return UserError(
        f"{path} {reason}; convert it to UTF-8: save it from a spreadsheet as 'CSV "
        f"UTF-8', or use iconv -f {encoding} -t UTF-8."
    )
