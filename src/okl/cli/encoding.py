"""Text files are UTF-8, the one encoding that holds every name.

Spreadsheets also write UTF-16 and Latin-1 (or its variant Windows-1252). Read as UTF-8
they fail at some byte or, worse, turn into other names, so such a file is refused with
the encoding it seems to have and what to do. So is a file with NUL characters: NumPy
drops them from the end of a name, which is then another.
"""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from collections.abc import Iterable
from pathlib import Path

from okl.cli.errors import UserError

# The first bytes that name an encoding. Those of UTF-32 begin like those of UTF-16.
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
        Naming the line, and the encoding that the file seems to have.
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
    # Without a mark, every other byte of a text in a Latin alphabet is zero.
    for start, encoding in enumerate(["UTF-16BE", "UTF-16LE"]):
        others, zeros = line[1 - start : 64 : 2], line[start:64:2]
        if zeros and set(zeros) == {0} and 0 not in others:
            raise _to_convert(path, f"looks like {encoding}", encoding)


def _to_convert(path: Path, reason: str, encoding: str) -> UserError:
    return UserError(
        f"{path} {reason}; convert it to UTF-8: save it from a spreadsheet as 'CSV "
        f"UTF-8', or use iconv -f {encoding} -t UTF-8."
    )
